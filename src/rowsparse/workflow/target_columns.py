"""Which columns are the targets, and what they hold."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rowsparse.workflow.loading import Loaded
from rowsparse.workflow.messages import InputError, Message, holding, quoted, setting, shown

__all__ = ["TargetColumns", "complete_target", "find_columns", "find_targets", "read_targets"]

# Whole numbers with at most this many different values are classes.
_MOST_CLASSES = 20
# Among more names than this, no similar one is searched for.
_MOST_NAMES = 5000


@dataclass(frozen=True)
class TargetColumns:
    """What is to be predicted.

    Attributes
    ----------
    y : array of shape (n,) or (n, c)
        Classes, 0/1 labels or numbers.
    task : {"classification", "multilabel", "regression"}
    names : tuple of str
        Names of the columns.
    classes : tuple of str
        Names of classes or labels, in the order of their values or columns.
    counts : tuple of int
        How many samples each has.
    notes : tuple of str
    """

    y: NDArray[Any]
    task: str
    names: tuple[str, ...]
    classes: tuple[str, ...] = ()
    counts: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()


def find_columns(setting_name: str, wanted: str | None, columns: Sequence[str]) -> list[str]:
    """The columns that a setting such as "a,b,c" or "label_*" names, in the order of the table.

    >>> find_columns("drop", "b_*,a", ["a", "b_1", "b_2", "c"])
    ['a', 'b_1', 'b_2']
    """
    if not wanted:
        return []
    known = set(columns)
    if wanted in known:
        return [wanted]
    found: set[str] = set()
    for name in filter(None, (part.strip() for part in wanted.split(","))):
        if name in known:
            found.add(name)
            continue
        is_pattern = any(mark in name for mark in "*?[")
        matching = [c for c in columns if fnmatchcase(c, name)] if is_pattern else []
        if not matching:
            raise _not_found(setting_name, name, columns, is_pattern)
        found.update(matching)
    return [name for name in columns if name in found]


def _not_found(
    setting_name: str, name: str, columns: Sequence[str], is_pattern: bool
) -> InputError:
    problem = f"no column of the table matches {shown(name)}."
    if not is_pattern:
        if len(columns) <= _MOST_NAMES:
            close = difflib.get_close_matches(name, columns, n=1)
        else:
            close = [column for column in columns if column.casefold() == name.casefold()][:1]
        hint = f"did you mean {shown(close[0])}?" if close else f"it has {quoted(columns)}."
        problem = f"there is no column {shown(name)} in the table; {hint}"
    return InputError(f"{setting(setting_name)}: {problem}")


def find_targets(wanted: str | None, loaded: Loaded) -> list[str]:
    """The names of the target columns."""
    columns = loaded.candidates
    if wanted:
        return find_columns("target", wanted, columns)
    if loaded.frame is None and {name.rstrip("0123456789") for name in columns} <= {"y", "Y"}:
        return columns
    raise InputError(
        f"Name the column to predict with {setting('target')}; the table has {quoted(columns)}."
    )


def read_targets(columns: dict[str, NDArray[Any]], task: str = "auto") -> TargetColumns:
    """Find out whether the targets are classes, labels or numbers.

    Parameters
    ----------
    columns : dict of str to array
        The target columns; None or NaN stands for no value.
    task : {"auto", "classification", "multilabel", "regression"}
        What they hold, if known.
    """
    columns = {name: complete_target(name, values) for name, values in columns.items()}
    if len(columns) > 1:
        return _several(columns, task)
    (name, values), *_ = columns.items()
    if task == "multilabel":
        raise InputError(
            f"{setting('task', 'multilabel')} needs several target columns, as in "
            f"{setting('target', 'a,b,c')}."
        )
    if np.unique(values).size < 2:
        raise InputError(f"The target {shown(name)} is the same in every row: nothing to predict.")
    is_number = values.dtype.kind in "iuf"
    if task == "regression" and values.dtype.kind not in "biuf":
        raise InputError(
            f"The target {shown(name)} holds text, and {setting('task', 'regression')} needs "
            "numbers."
        )
    if task == "regression" or (task == "auto" and is_number and _is_continuous(values)):
        return TargetColumns(values.astype(np.float64), "regression", (name,))
    classes, counts = np.unique(values, return_counts=True)
    notes: tuple[str, ...] = ()
    if task == "auto" and is_number and classes.size > 2:
        note = Message(
            f"The target {shown(name)} holds {classes.size} different whole numbers, taken as "
            f"classes ({setting('task', 'regression')} takes them as numbers)."
        )
        notes = (note,)
    labels = tuple(str(value) for value in classes.tolist())
    sizes = tuple(counts.tolist())
    return TargetColumns(values, "classification", (name,), labels, sizes, notes)


def _several(columns: dict[str, NDArray[Any]], task: str) -> TargetColumns:
    if task == "classification":
        raise InputError(
            f"{setting('task', 'classification')} takes one target column; several are labels "
            "(multilabel) or numbers (regression)."
        )
    text = [name for name, values in columns.items() if values.dtype.kind not in "biuf"]
    if text:
        raise InputError(f"Several targets must hold 0 and 1, or numbers; {holding(text)} text.")
    y = np.column_stack([values.astype(np.float64) for values in columns.values()])
    binary = np.asarray(np.isin(y, (0.0, 1.0)).all(axis=0))
    names = tuple(columns)
    if task == "multilabel" and not binary.all():
        other = [name for name, yes in zip(names, binary.tolist(), strict=True) if not yes]
        raise InputError(f"Labels must be 0 or 1; {quoted(other)} has other values.")
    if task == "regression" or not binary.all():
        return TargetColumns(y, "regression", names)
    counts = tuple(y.sum(axis=0).astype(int).tolist())
    return TargetColumns(y.astype(np.int64), "multilabel", names, names, counts)


def _is_continuous(values: NDArray[Any]) -> bool:
    """Whether numbers are fractions, or of too many different values to be classes."""
    if values.dtype.kind == "f" and not np.all(values == np.floor(values)):
        return True
    different = np.unique(values).size
    return different > 2 and different > min(_MOST_CLASSES, values.size / 2)


def complete_target(name: str, values: NDArray[Any]) -> NDArray[Any]:
    """The values of a target, whole numbers as integers and text as text; refused if any misses."""
    if values.dtype.kind == "O":
        absent = np.array([value is None or value != value for value in values])
    else:
        absent = np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), bool)
    if absent.any():
        raise InputError(
            f"The target {shown(name)} is missing in {int(absent.sum()):,} of {len(values):,} "
            "rows: remove those rows first."
        )
    if values.dtype.kind == "f":
        if not np.isfinite(values).all():
            raise InputError(f"The target {shown(name)} holds infinity.")
        if np.all(values == np.floor(values)) and np.abs(values).max(initial=0) < 2**53:
            return values.astype(np.int64)
    if values.dtype.kind == "O":
        return np.array([str(value) for value in values])
    return values
