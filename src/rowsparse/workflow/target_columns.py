"""Which columns are the targets, and what they hold."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rowsparse._arrays import Mask
from rowsparse.targets import FEW, Guess, guess_task
from rowsparse.workflow.dates import DATES_ADVICE, hold_dates
from rowsparse.workflow.loading import Loaded
from rowsparse.workflow.messages import InputError, Message, holding, quoted, setting, shown
from rowsparse.workflow.mixed_text import refuse_mixed

__all__ = [
    "TargetColumns",
    "complete_target",
    "find_columns",
    "find_targets",
    "missing_in",
    "read_targets",
    "split_names",
]

# A target of text is of numbers if more than this share of its values are.
_MOSTLY = 0.5
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


def split_names(text: str | None) -> list[str]:
    """What stands between commas.

    >>> split_names("a, b,"), split_names(None)
    (['a', 'b'], [])
    """
    return [part.strip() for part in (text or "").split(",") if part.strip()]


def find_columns(
    setting_name: str,
    wanted: str | None,
    columns: Sequence[str],
    left_out: Mapping[str, str] | None = None,
) -> list[str]:
    """The columns that a setting such as "a,b,c" or "label_*" names, in the order of the table.

    Parameters
    ----------
    setting_name : str
    wanted : str or None
        The value of the setting.
    columns : sequence of str
        Names of the columns to choose from.
    left_out : mapping of str to str, optional
        Other columns of the file, and why each cannot be chosen, as the end of a sentence.

    Examples
    --------
    >>> find_columns("drop", "b_*,a", ["a", "b_1", "b_2", "c"])
    ['a', 'b_1', 'b_2']
    """
    if not wanted:
        return []
    known = set(columns)
    if wanted in known:
        return [wanted]
    found: set[str] = set()
    for name in split_names(wanted):
        if name in known:
            found.add(name)
            continue
        is_pattern = any(mark in name for mark in "*?[")
        matching = [c for c in columns if fnmatchcase(c, name)] if is_pattern else []
        if not matching:
            raise _not_found(setting_name, name, columns, left_out or {}, is_pattern)
        found.update(matching)
    return [name for name in columns if name in found]


def _not_found(
    setting_name: str,
    name: str,
    columns: Sequence[str],
    left_out: Mapping[str, str],
    is_pattern: bool,
) -> InputError:
    problem = f"no column of the table matches {shown(name)}."
    matching = [other for other in left_out if other == name or fnmatchcase(other, name)]
    if matching:
        problem = f"{shown(matching[0])} {left_out[matching[0]]}."
    elif not is_pattern:
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


def read_targets(
    columns: dict[str, NDArray[Any]], task: str = "auto", place: Callable[[int], str] = str
) -> TargetColumns:
    """Find out whether the targets are classes, labels or numbers.

    Parameters
    ----------
    columns : dict of str to array
        The target columns; None or NaN stands for no value.
    task : {"auto", "classification", "multilabel", "regression"}
        What they hold, if known.
    place : callable
        Where in the file a row, counted from 0, is.
    """
    columns = {name: complete_target(name, values) for name, values in columns.items()}
    if task != "classification":
        _refuse_odd_text(columns, place)
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
    notes: tuple[str, ...] = ()
    if task == "auto":
        guess = guess_task(values)
        task = guess.task
        if is_number and (guess.close or (guess.n_values > 2 and task == "classification")):
            notes = (_doubt(name, guess),)
    if task == "regression":
        return TargetColumns(values.astype(np.float64), task, (name,), notes=notes)
    classes, counts = np.unique(values, return_counts=True)
    labels = tuple(str(value) for value in classes.tolist())
    sizes = tuple(counts.tolist())
    return TargetColumns(values, "classification", (name,), labels, sizes, notes)


def _doubt(name: str, guess: Guess) -> Message:
    """What whole numbers were taken as, and how to have it otherwise."""
    taken, other, others = "classes", "regression", "numbers"
    if guess.task == other:
        taken, other, others = "numbers", "classification", "classes"
    return Message(
        f"The target {shown(name)} holds {guess.n_values} different whole numbers, taken as "
        f"{taken} ({setting('task', other)} takes them as {others})."
    )


def _refuse_odd_text(columns: dict[str, NDArray[Any]], place: Callable[[int], str]) -> None:
    """Refuse dates, and numbers with a few words among them."""
    otherwise = f"take its values as classes with {setting('task', 'classification')}"
    for name, values in columns.items():
        if values.dtype.kind != "U":
            continue
        if hold_dates(values.tolist()):
            raise InputError(
                f"The target {shown(name)} holds dates: {DATES_ADVICE}, or {otherwise}."
            )
        # Few different values may be classes such as 0, 1, 2 and 3+.
        if np.unique(values).size > FEW:
            refuse_mixed(name, values, place, mostly=_MOSTLY, otherwise=otherwise)


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
    if task == "regression" or guess_task(y).task == "regression":
        return TargetColumns(y, "regression", names)
    counts = tuple(y.sum(axis=0).astype(int).tolist())
    return TargetColumns(y.astype(np.int64), "multilabel", names, names, counts)


def missing_in(values: NDArray[Any]) -> Mask:
    """Which values are missing: None or NaN."""
    if values.dtype.kind == "O":
        return np.array([value is None or value != value for value in values], dtype=bool)
    return np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), dtype=bool)


def complete_target(name: str, values: NDArray[Any]) -> NDArray[Any]:
    """The values of a target, whole numbers as integers and text as text; refused if any misses."""
    absent = missing_in(values)
    if absent.any():
        raise InputError(
            f"The target {shown(name)} is missing in {int(absent.sum()):,} of {len(values):,} "
            f"rows: leave them out with {setting('drop_missing_target')}."
        )
    if values.dtype.kind == "f":
        if not np.isfinite(values).all():
            raise InputError(f"The target {shown(name)} holds infinity.")
        if np.all(values == np.floor(values)) and np.abs(values).max(initial=0) < 2**53:
            return values.astype(np.int64)
    if values.dtype.kind == "O":
        return np.array([str(value) for value in values])
    return values
