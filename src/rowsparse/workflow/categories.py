"""Columns of text: identifiers, categories that are encoded one by one, and prose."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rowsparse._arrays import Array, Index
from rowsparse._text import counted
from rowsparse.workflow.cells import looks_numeric
from rowsparse.workflow.dates import DATES_ADVICE, hold_dates
from rowsparse.workflow.identifiers import is_id_name
from rowsparse.workflow.messages import holding, quoted, setting
from rowsparse.workflow.mixed_text import refuse_mixed

__all__ = ["Category", "Encoded", "encode_text"]

# More different values than this are no categories.
_MOST_VALUES = 50
# A column is of numbers if more than this share of its values are: of few different values, which
# may be categories, and of many, which would be left out.
_MOSTLY_OF_FEW, _MOSTLY_OF_MANY = 0.8, 0.5
# So many different numbers beside so few different words make it one of numbers in any case.
_MANY_NUMBERS, _FEW_WORDS = 10, 3
_DROP_IT = f"leave the column out with {setting('drop')}"


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
    prose, dates : list of str
        Columns of too many different values, and of dates.
    missing : dict of str to array of int
        The rows in which a category has no value.
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
    prose: list[str] = field(default_factory=list)
    dates: list[str] = field(default_factory=list)
    missing: dict[str, Index] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    n_columns: int = 0

    @property
    def left_out(self) -> dict[str, str]:
        """Columns of prose and of dates, and why they are no features."""
        prose = dict.fromkeys(self.prose, "was left out: it holds text with many different values")
        dates = dict.fromkeys(self.dates, f"was left out as it holds dates: {DATES_ADVICE}")
        return prose | dates


def encode_text(
    columns: dict[str, NDArray[Any]], *, impute: bool, place: Callable[[int], str]
) -> Encoded:
    """Encode columns of text.

    Parameters
    ----------
    columns : dict of str to array
        None stands for a missing value.
    impute : bool
        Whether the most frequent value replaces missing ones.
    place : callable
        Where in the file a row, counted from 0, is.

    Examples
    --------
    >>> colour = np.array(["red", "blue", "green"] * 2, dtype=object)
    >>> encode_text({"colour": colour}, impute=False, place=str).names
    ['colour=blue', 'colour=green', 'colour=red']
    """
    n = len(next(iter(columns.values()))) if columns else 0
    found = Encoded(np.empty((n, 0)), n_columns=len(columns))
    blocks: list[Array] = []
    encoded: list[str] = []
    for name, values in columns.items():
        present = [value for value in values.tolist() if value is not None]
        counts = Counter(present)
        if hold_dates(counts):
            found.dates.append(name)
            continue
        is_many = len(counts) > _MOST_VALUES or len(counts) > max(2, n // 2)
        if len(counts) < n or not is_id_name(name):
            refuse_mixed(name, values, place, mostly=_mostly(counts, is_many), otherwise=_DROP_IT)
        if not counts:
            found.constant.append(name)
        elif len(counts) == n:
            found.identifiers.append(name)
        elif is_many:
            found.prose.append(name)
        elif len(counts) == 1 and len(present) == n:
            found.constant.append(name)
        else:
            commonest = min(counts, key=lambda level: (-counts[level], level))
            if len(present) < n:
                found.missing[name] = np.flatnonzero([v is None for v in values.tolist()])
                if not impute:
                    continue
                values = np.array([commonest if v is None else v for v in values], dtype=object)
            found.categories[name] = Category(tuple(sorted(counts)), commonest)
            encoded.append(name)
            _encode(found, blocks, name, values, sorted(counts))
    found.X = np.column_stack(blocks) if blocks else found.X
    found.notes += _sentences(found, encoded)
    return found


def _mostly(counts: Counter[str], is_many: bool) -> float:
    """The share of numbers from which on a column is one of numbers."""
    n_words = sum(not looks_numeric(value) for value in counts)
    if n_words <= _FEW_WORDS and len(counts) - n_words >= _MANY_NUMBERS:
        return 0.0
    return _MOSTLY_OF_MANY if is_many else _MOSTLY_OF_FEW


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


def _sentences(found: Encoded, encoded: list[str]) -> list[str]:
    notes = []
    if found.prose:
        text = holding(found.prose, ", which")
        notes.append(f"Left out: {text} text with many different values.")
    if found.dates:
        dates = holding(found.dates, ", which")
        notes.append(f"Left out: {dates} dates; to use such a column, {DATES_ADVICE}.")
    if encoded:
        noun = "Column" if len(encoded) == 1 else "Columns"
        notes.append(
            f"{noun} {quoted(encoded)} of categories: encoded as "
            f"{counted(len(found.names), 'column')} of 0 and 1."
        )
    return notes
