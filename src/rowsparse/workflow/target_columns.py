"""Which columns are the targets, and what they hold: classes, labels, numbers, survival times."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rowsparse.targets import FEW, MOST_COUNT, NUMERIC_TASKS, Guess, guess_task
from rowsparse.workflow.columns import DATES_ADVICE, as_text, hold_dates, missing_in, refuse_mixed
from rowsparse.workflow.loading import Loaded
from rowsparse.workflow.messages import (
    InputError,
    holding,
    quoted,
    setting,
    shown,
    split_names,
)

__all__ = [
    "NO_TARGET",
    "SURVIVAL",
    "TargetColumns",
    "complete_target",
    "find_columns",
    "find_survival",
    "find_targets",
    "read_survival",
    "read_targets",
    "weights_of_classes",
    "with_positive",
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
        Classes, 0/1 labels, numbers, or a structured array with the events and the times.
    task : {"classification", "multilabel", "regression", "counts", "survival"}
    names : tuple of str
        Names of the columns; of survival that of the times, then that of the events.
    classes : tuple of str
        Names of classes or labels, in the order of their values or columns.
    counts : tuple of int
        How many samples each has.
    values : tuple
        The classes as they are in the file, if ``y`` has their places in another order; of survival
        the one that is the event, as text.
    notes : tuple of str
    """

    y: NDArray[Any]
    task: str
    names: tuple[str, ...]
    classes: tuple[str, ...] = ()
    counts: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()
    values: tuple[Any, ...] = ()


# In the place of a target that cannot be used.
NO_TARGET = TargetColumns(np.empty(0), "", ())


def find_columns(
    setting_name: str,
    wanted: str | None,
    columns: Sequence[str],
    left_out: Mapping[str, str] | None = None,
) -> list[str]:
    """The columns that a setting such as "a,b,c" or "label_*" names, in the order of the table.

    ``left_out`` has other columns of the file, and why each cannot be chosen, as the end of a
    sentence.

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
    columns = loaded.target_names
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
    """Find out whether the targets are classes, labels or numbers, if ``task`` is "auto".

    None or NaN stands for no value; ``place`` says where in the file a row, counted from 0, is.
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
    if task in NUMERIC_TASKS and values.dtype.kind not in "biuf":
        raise InputError(
            f"The target {shown(name)} holds text, and {setting('task', task)} needs numbers."
        )
    if task == "counts":
        _check_counts(name, values, place)
    notes: tuple[str, ...] = ()
    if task == "auto":
        guess = guess_task(values)
        task = guess.task
        if is_number and (guess.close or (guess.n_values > 2 and task == "classification")):
            notes = (_doubt(name, guess),)
    if task in NUMERIC_TASKS:
        return TargetColumns(values.astype(np.float64), task, (name,), notes=notes)
    classes, counts = np.unique(values, return_counts=True)
    labels = tuple(str(value) for value in classes.tolist())
    sizes = tuple(counts.tolist())
    return TargetColumns(values, "classification", (name,), labels, sizes, notes)


def with_positive(target: TargetColumns, positive: str | None) -> TargetColumns:
    """The target with a class as the second of two, as which it is the positive one."""
    if positive is None:
        return target
    if target.task != "classification" or len(target.classes) != 2:
        raise InputError(
            f"{setting('positive')} is for two classes; the target "
            + (f"has {len(target.classes)}." if target.classes else "holds numbers.")
        )
    if positive not in target.classes:
        raise InputError(
            f"{setting('positive')}: there is no class {shown(positive)}; the target "
            f"{shown(target.names[0])} has {quoted(target.classes)}."
        )
    if positive == target.classes[1]:
        return target
    values, code = np.unique(target.y, return_inverse=True)
    return replace(
        target,
        y=1 - code,
        classes=target.classes[::-1],
        counts=target.counts[::-1],
        values=tuple(values[::-1].tolist()),
    )


def weights_of_classes(target: TargetColumns, wanted: str | None) -> Any:
    """The weights that a setting such as "balanced" or "a=5,b=1" names: a value of scikit-learn."""
    if wanted is None:
        return None
    if target.task != "classification":
        raise InputError(f"{setting('class_weight')} is for classes; the target holds none.")
    if wanted == "balanced":
        return wanted
    values = dict(zip(target.classes, np.unique(target.y).tolist(), strict=True))
    found = {}
    for part in split_names(wanted):
        name, _, number = (piece.strip() for piece in part.rpartition("="))
        if name not in values:
            raise InputError(
                f"{setting('class_weight')}: there is no class {shown(name or part)}; the target "
                f"has {quoted(target.classes)}."
            )
        try:
            found[values[name]] = float(number)
        except ValueError:
            found[values[name]] = np.nan
        if not 0 < found[values[name]] < np.inf:
            raise InputError(
                f"{setting('class_weight')}: the weight of {shown(name)} must be a number above "
                f"0; got {shown(number)}."
            )
    return {value: found.get(value, 1.0) for value in values.values()}


def _doubt(name: str, guess: Guess) -> str:
    """What whole numbers were taken as, and how to have it otherwise."""
    taken, other, others = "classes", "regression", "numbers"
    if guess.task == other:
        taken, other, others = "numbers", "classification", "classes"
    return (
        f"The target {shown(name)} holds {guess.n_values} different whole numbers, taken as "
        f"{taken} ({setting('task', other)} takes them as {others})."
    )


def _check_counts(name: str, values: NDArray[Any], place: Callable[[int], str]) -> None:
    """Refuse what no counts can be."""
    worst = int(np.argmin(values))
    if values[worst] < 0:
        raise InputError(
            f"The target {shown(name)} is {values[worst]:g} in {place(worst)}, and counts are 0 or "
            f"more: correct it, or take the target as numbers with {setting('task', 'regression')}."
        )
    if values.max() > MOST_COUNT:
        raise InputError(
            f"The target {shown(name)} holds a count of {values.max():g}, which is too large: "
            "divide the column by a power of ten."
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
    if task in ("classification", "counts"):
        raise InputError(
            f"{setting('task', task)} takes one target column; several are labels (multilabel) or "
            "numbers (regression)."
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


# ---------------------------------------------------------------------------------- survival times
SURVIVAL = np.dtype([("event", np.bool_), ("time", np.float64)])
# What a column of events says of itself, in lower case; "1:deceased" is read by what is before ":".
_EVENTS = {
    *("1", "yes", "y", "true", "t", "event", "dead", "died", "death", "deceased", "failed"),
    *("failure", "relapse", "relapsed", "recurrence", "recurred", "progression", "progressed"),
}
_CENSORED = {
    *("0", "no", "n", "false", "f", "none", "censored", "alive", "living", "lived", "survived"),
    *("disease-free", "diseasefree", "progression-free"),
}


def find_survival(
    time: str | None, event: str | None, columns: Sequence[str]
) -> tuple[list[str], str | None]:
    """The columns of the times and of the events, and the value that is the event, if it is named.

    >>> find_survival("months", "status=dead", ["age", "months", "status"])
    (['months', 'status'], 'dead')
    """
    value = None
    if event is not None and event not in columns and "=" in event:
        event, _, value = (part.strip() for part in event.partition("="))
    found = []
    for name, wanted in (("time", time), ("event", event)):
        one = find_columns(name, wanted, columns)
        if len(one) != 1:
            raise InputError(f"{setting(name)} names one column; got {shown(str(wanted))}.")
        found += one
    if found[0] == found[1]:
        raise InputError(f"{setting('time')} and {setting('event')} both name {shown(found[0])}.")
    return found, value


def read_survival(
    columns: dict[str, NDArray[Any]],
    value: str | None = None,
    place: Callable[[int], str] = str,
    *,
    needs_event: bool = True,
) -> TargetColumns:
    """Times and events of the rows, from a column of each, in this order.

    ``value`` is the value that is the event; all others are censored times. Without it 1, true, yes
    or dead, or the like, is the event where the others are 0, false, no or alive; and of 1 and 2
    the 2, as in R. The 1 of a column named after censoring may mean either. Rows without any event
    are refused if it ``needs_event``; ``place`` says where in the file a row is.
    """
    (time, times), (event, events) = (
        (name, complete_target(name, values)) for name, values in columns.items()
    )
    if times.dtype.kind not in "iuf":
        raise InputError(f"{setting('time')}: {shown(time)} must hold numbers.")
    if times.min() <= 0:
        worst = int(np.argmin(times))
        raise InputError(
            f"{setting('time')}: {shown(time)} is {times[worst]:g} in {place(worst)}, and times "
            "must be above 0: correct it, or leave the row out."
        )
    words = np.array(as_text(events), dtype=str)
    value = _event_value(event, np.unique(words).tolist()) if value is None else value
    happened = words == value
    if value not in words and needs_event:
        raise InputError(
            f"{setting('event')}: no row of {shown(event)} is {shown(value)}; it holds "
            f"{quoted(np.unique(words).tolist())}."
        )
    y = np.empty(times.size, dtype=SURVIVAL)
    y["event"], y["time"] = happened, times
    note = (
        f"{shown(event)} is the event where it is {shown(value)}: {int(happened.sum()):,} of "
        f"{times.size:,} rows; the times {shown(time)} of the others are censored."
    )
    return TargetColumns(y, "survival", (time, event), values=(value,), notes=(note,))


def _event_value(name: str, values: list[str]) -> str:
    """Which of the values is the event; of a column named after censoring, it has to be said."""
    is_clear = not name.casefold().startswith("cens")
    if values == ["1", "2"] and is_clear:
        return "2"
    kinds = [_kind(value) for value in values]
    if len(values) <= 2 and None not in kinds and kinds.count(True) == 1 and is_clear:
        return values[kinds.index(True)]
    if len(values) <= 2 and kinds.count(True) == 0 and None not in kinds:
        raise InputError(f"{setting('event')}: {shown(name)} has no event, only {quoted(values)}.")
    raise InputError(
        f"{setting('event')}: {shown(name)} holds {quoted(values)}: say which value is the event, "
        f"as in {setting('event', f'{name}={values[-1]}')}."
    )


def _kind(value: str) -> bool | None:
    """Whether a word means that the event happened; None if it may mean anything."""
    word = value.partition(":")[0].strip().casefold().replace(" ", "-")
    return True if word in _EVENTS else False if word in _CENSORED else None
