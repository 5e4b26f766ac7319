"""Columns of text: identifiers, categories that are encoded one by one, and prose."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rowsparse._arrays import Array, Index
from rowsparse._text import counted
from rowsparse.workflow.messages import InputError, holding, quoted, setting, shown

__all__ = ["Category", "Encoded", "encode_text"]

# More different values than this are no categories.
_MOST_VALUES = 50
# A column is of numbers if more than this share of its values are.
_MOSTLY = 0.8


@dataclass(frozen=True)
class Category:
    """The values of a column of categories, sorted, and the most frequent of them."""

    values: tuple[str, ...]
    commonest: str


@dataclass
class Encoded:
    """Columns of text as numbers.

    Attributes
    ----------
    X : array of shape (n, m)
        One column of 0 and 1 for each value of a category; one only if there are two values.
    names : list of str
        As in "colour=red".
    origins : list of str
        The column of text that each column of X was made from.
    groups : dict of str to array of int
        Columns of X for each category of more than two values.
    categories : dict of str to Category
        The columns of text that were encoded.
    identifiers, constant : list of str
        Columns that are different, or the same, in every row.
    missing : dict of str to int
        Missing values of the categories.
    notes : list of str
    n_columns : int
        Number of columns of text.
    """

    X: Array
    names: list[str] = field(default_factory=list)
    origins: list[str] = field(default_factory=list)
    groups: dict[str, Index] = field(default_factory=dict)
    categories: dict[str, Category] = field(default_factory=dict)
    identifiers: list[str] = field(default_factory=list)
    constant: list[str] = field(default_factory=list)
    missing: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    n_columns: int = 0


def encode_text(columns: dict[str, NDArray[Any]], *, impute: bool) -> Encoded:
    """Encode columns of text, where None stands for a missing value.

    >>> colour = np.array(["red", "blue", "green"] * 2, dtype=object)
    >>> encode_text({"colour": colour}, impute=False).names
    ['colour=blue', 'colour=green', 'colour=red']
    """
    n = len(next(iter(columns.values()))) if columns else 0
    found = Encoded(np.empty((n, 0)), n_columns=len(columns))
    blocks: list[Array] = []
    prose: list[str] = []
    encoded: list[str] = []
    for name, values in columns.items():
        present = [value for value in values.tolist() if value is not None]
        counts = Counter(present)
        if not counts:
            found.constant.append(name)
        elif len(counts) == n:
            found.identifiers.append(name)
        elif len(counts) > _MOST_VALUES or len(counts) > max(2, n // 2):
            _refuse_numbers(name, present)
            prose.append(name)
        elif len(counts) == 1 and len(present) == n:
            found.constant.append(name)
        else:
            _refuse_numbers(name, present)
            commonest = min(counts, key=lambda level: (-counts[level], level))
            if len(present) < n:
                found.missing[name] = n - len(present)
                if not impute:
                    continue
                values = np.array([commonest if v is None else v for v in values], dtype=object)
            found.categories[name] = Category(tuple(sorted(counts)), commonest)
            encoded.append(name)
            _encode(found, blocks, name, values, sorted(counts))
    found.X = np.column_stack(blocks) if blocks else found.X
    found.notes += _sentences(found, prose, encoded)
    return found


def _encode(
    found: Encoded, blocks: list[Array], name: str, values: NDArray[Any], levels: list[str]
) -> None:
    """Columns of 0 and 1 for one category."""
    block = (values[:, None] == np.array(levels, dtype=object)).astype(np.float64)
    if len(levels) <= 2:
        # The other value is what is left.
        block, levels = block[:, -1:], levels[-1:]
    else:
        found.groups[name] = np.arange(len(levels)) + len(found.names)
    blocks.append(block)
    found.names += [f"{name}={level}" for level in levels]
    found.origins += [name] * len(levels)


def _refuse_numbers(name: str, present: list[str]) -> None:
    """A column of numbers with a few words in it is a mistake, not a category."""
    words = [value for value in present if not _is_number(value)]
    if words and len(words) < (1 - _MOSTLY) * len(present):
        raise InputError(
            f"Column {shown(name)} holds numbers, but text such as {shown(words[0])} in "
            f"{counted(len(words), 'row')}: correct the file, or leave the column out with "
            f"{setting('drop')}."
        )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _sentences(found: Encoded, prose: list[str], encoded: list[str]) -> list[str]:
    notes = []
    if prose:
        notes.append(f"Left out: {holding(prose, ', which')} text with many different values.")
    if encoded:
        noun = "Column" if len(encoded) == 1 else "Columns"
        notes.append(
            f"{noun} {quoted(encoded)} of categories: encoded as {len(found.names):,} columns of 0 "
            "and 1."
        )
    return notes
