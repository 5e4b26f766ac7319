"""Columns of a table: features, or why not; targets; and how their cells become numbers."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rowsparse._arrays import Array, Index, Mask
from rowsparse._text import counted, joined
from rowsparse.targets import FEW, MOST_COUNT, NUMERIC_TASKS, Guess, guess_task
from rowsparse.workflow.messages import (
    InputError,
    holding,
    quoted,
    setting,
    shown,
    split_names,
)
from rowsparse.workflow.text_files import looks_numeric

DATES_ADVICE = "write it as a number, as in days since a fixed date"
# Why a column is no feature: the end of a sentence that names it, and the note on all of them.
LEFT_OUT = {
    "other": (
        "was left out: it holds neither numbers nor text",
        "Left out: {which} neither numbers nor text.",
    ),
    "empty": ("was left out: it is empty", "Left out, being empty: {names}."),
    "identifier": (
        "was left out as an identifier of the rows",
        "Left out as identifiers of the rows: {names}.",
    ),
    "constant": (
        "was left out: it is the same in every row",
        "Left out, being the same in every row: {names}.",
    ),
    "prose": (
        "was left out: it holds text with many different values",
        "Left out: {which} text with many different values.",
    ),
    "dates": (
        f"was left out as it holds dates: {DATES_ADVICE}",
        f"Left out: {{which}} dates; to use such a column, {DATES_ADVICE}.",
    ),
}


# ------------------------------------------------------------------------------------- cells
def missing_in(values: NDArray[Any]) -> Mask:
    """Which values are missing: None or NaN."""
    if values.dtype.kind == "O":
        return np.array([value is None or value != value for value in values], dtype=bool)
    return np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), dtype=bool)


def as_numbers(name: str, values: NDArray[Any]) -> Array:
    """A column as numbers, NaN where they are missing; text and infinity are refused."""
    if values.dtype.kind not in "biuf":
        text = [value for value in values.tolist() if isinstance(value, str)]
        try:
            if text or values.dtype.kind != "O":
                raise TypeError
            # Python objects, as in a column of booleans with missing values.
            values = np.where(missing_in(values), np.nan, values).astype(np.float64)
        except (TypeError, ValueError):
            example = f"text such as {shown(text[0])}" if text else "other values"
            raise InputError(
                f"Column {shown(name)} holds {example}; the model needs numbers."
            ) from None
    numbers = values.astype(np.float64)
    if np.isinf(numbers).any():
        raise InputError(f"Column {shown(name)} holds infinity: clip it first.")
    return numbers


def as_text(values: NDArray[Any]) -> NDArray[Any]:
    """A column as text, None where it is missing; whole numbers without a decimal point."""
    # Categories such as 1, 2 and "x" are read as numbers where no "x" is among them.
    return np.array([_word(value) for value in values.tolist()], dtype=object)


def _word(value: Any) -> str | None:
    if value is None or value != value:
        return None
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


# ------------------------------------------------------------------ columns that become numbers
@dataclass(frozen=True)
class Column:
    """How a column becomes features: found where a table is read, and kept in the saved model.

    Attributes
    ----------
    name : str
    values : tuple of str or None
        The values of a column of categories; None for numbers.
    fill : float, str or None
        What replaces a missing value; None if missing values are refused.
    log : bool
        Whether the feature is log2(1 + x).
    ordered : bool
        Whether the feature is the place of the value among ``values``, counted from 0.

    Examples
    --------
    >>> colour = Column("colour", ("blue", "green", "red"))
    >>> colour.features(np.array(["red", None], dtype=object))
    array([[ 0.,  0.,  1.],
           [nan, nan, nan]])
    """

    name: str
    values: tuple[str, ...] | None = None
    fill: float | str | None = None
    log: bool = False
    ordered: bool = False

    @property
    def parts(self) -> tuple[str | None, ...]:
        """The values that have a feature of 0 and 1; for numbers None, of a single feature."""
        if self.values is None or self.ordered:
            return (None,)
        # One column of 0 and 1 is enough for two values.
        return self.values if len(self.values) > 2 else self.values[-1:]

    @property
    def names(self) -> list[str]:
        """Names of the features, as in "colour=red"."""
        return [self.name if part is None else f"{self.name}={part}" for part in self.parts]

    def unknown(self, words: NDArray[Any]) -> list[str]:
        """Those of some words that are none of the categories."""
        return sorted({*words.tolist()} - {None, *(self.values or ())})

    def features(self, values: NDArray[Any]) -> Array:
        """The features of a column, of shape (n, n_parts); NaN where a value is missing."""
        if self.values is None:
            numbers = as_numbers(self.name, values)
            if self.log and (numbers < 0).any():
                raise InputError(
                    f"Column {shown(self.name)} holds negative values, and the model takes its "
                    "logarithm."
                )
            return (np.log2(1 + numbers) if self.log else numbers)[:, None]
        words = as_text(values)
        unknown = self.unknown(words)
        if unknown:
            raise InputError(
                f"Column {shown(self.name)} holds {quoted(unknown)}, which the model does not "
                f"know: it was made from {quoted(self.values)}."
            )
        if self.ordered:
            place = {value: float(at) for at, value in enumerate(self.values)}
            return np.array([[place.get(word, np.nan)] for word in words.tolist()])
        found = (words[:, None] == np.array(self.parts, dtype=object)).astype(np.float64)
        found[missing_in(words)] = np.nan
        return np.asarray(found)

    def filled_by(self, known: Array, impute: str) -> Column:
        """The column with what fills its gaps, from the features of rows without any.

        >>> known = np.array([[1.0], [1.0], [4.0], [6.0]])
        >>> fills = ("median", "mean", "most_frequent")
        >>> [Column("x").filled_by(known, impute).fill for impute in fills]
        [2.5, 3.0, 1.0]
        """
        if self.values is not None and not self.ordered:
            counts = known.sum(axis=0)
            if counts.size == 1:
                counts = np.array([len(known) - counts[0], counts[0]])[-len(self.values) :]
            return replace(self, fill=self.values[int(np.argmax(counts))])
        if not known.size:
            return replace(self, fill=0.0)
        if impute == "most_frequent":
            values, counts = np.unique(known, return_counts=True)
            return replace(self, fill=float(values[counts.argmax()]))
        return replace(self, fill=float((np.median if impute == "median" else np.mean)(known)))

    def filled(self, features: Array) -> Array:
        """The features without gaps; refused if nothing fills them."""
        gap = np.isnan(features[:, 0])
        if gap.any():
            if self.fill is None:
                raise InputError(
                    f"Column {shown(self.name)} has {counted(int(gap.sum()), 'missing value')}: "
                    f"fill them first, or select again with {setting('impute', 'median')}."
                )
            features = features.copy()
            features[gap] = [self.fill if it is None else it == self.fill for it in self.parts]
        return features


# ------------------------------------------------------------------------------ gaps in numbers
def find_gaps(
    X: Any, origins: Sequence[str], impute: str | None, n_columns: int
) -> dict[str, Index]:
    """The rows in which columns have no value; refused if there are any and ``impute`` is None.

    ``origins`` has the column of the file that each column of X was made from; ``n_columns`` is the
    number of columns that the file has.
    """
    values = X.data if sp.issparse(X) else X
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum(dtype=np.float64)):
            return {}
    infinite, missing = (_per_column(X, test) for test in (np.isinf, np.isnan))
    names = list(dict.fromkeys(origins[j] for j in np.flatnonzero(infinite).tolist()))
    gaps = {origins[j]: int(missing[j]) for j in np.flatnonzero(missing).tolist()}
    wrong = [f"{holding(names)} infinity: clip or {setting('drop')}."] if names else []
    if gaps and impute is None:
        worst = sorted(gaps.items(), key=lambda item: -item[1])[:3]
        most = joined([f"{shown(name)} ({count:,})" for name, count in worst])
        wrong.append(
            f"The table has {counted(sum(gaps.values()), 'missing value')} in {len(gaps):,} of "
            f"{counted(n_columns, 'column')}, most in {most}: fill them with "
            f"{setting('impute', 'median')}, or leave columns out with {setting('drop')}."
        )
    elif gaps and sp.issparse(X):
        wrong.append("Missing values in a sparse matrix cannot be imputed: fill them first.")
    if wrong:
        raise InputError(*wrong)
    at = dict(zip(origins, range(len(origins)), strict=True))
    return {name: np.flatnonzero(np.isnan(X[:, at[name]])) for name in gaps}


def _per_column(X: Any, test: Callable[[Any], Any]) -> Index:
    """How many values of each column pass a test."""
    if sp.issparse(X):
        X = sp.csc_array((test(X.tocsc().data), X.tocsc().indices, X.tocsc().indptr), X.shape)
        return np.asarray(X.sum(axis=0))
    return np.asarray(test(X).sum(axis=0))


# -------------------------------------------------------------------------------------- identifiers
# Names of columns that identify the rows.
_ID_NAME = re.compile(
    r"^((?i:id|ids|idx|index|uuid|guid|row|rownames?|row_?(id|number|num|nr|no)|column 1"
    r"|(sample|patient|subject|participant|case|record|user)id|.*[ _.-](id|idx|uuid|guid))"
    r"|[A-Za-z]+ID|[A-Za-z]*[a-z]Id)$"
)
# Names of the index of a data frame that was written with it: a column without a name among them.
_INDEX_NAME = re.compile(r"column 1|Unnamed: 0(\.\d+)?|__index_level_\d+__")
# Whole numbers that rise from row to row are identifiers if there are at least this many rows.
_COUNTING_ROWS = 10
# Whole numbers with at least this number of digits, all of one length, are identifiers.
_LONG_DIGITS = 10


def is_id_name(name: str) -> bool:
    """Whether a column has the name of an identifier.

    >>> is_id_name("patient_id"), is_id_name("plasmid")
    (True, False)
    """
    return _ID_NAME.match(name) is not None


def is_index_name(name: str) -> bool:
    """Whether a column has the name of a data frame's index, which may repeat itself."""
    return _INDEX_NAME.fullmatch(name) is not None


def find_identifiers(X: Any, names: list[str]) -> Mask:
    """Columns of whole numbers that identify the rows.

    They are the index of a data frame, or distinct and have the name of an identifier, or they
    rise from row to row, or they are long, all of one length, and more than half of them are
    distinct.
    """
    found = np.zeros(len(names), dtype=bool)
    if sp.issparse(X) or X.shape[0] < 2:
        return found
    head = X[:_COUNTING_ROWS]
    with np.errstate(invalid="ignore"):
        rises = (np.diff(head, axis=0) > 0).all(axis=0) if len(X) >= _COUNTING_ROWS else found
        whole = (head == np.floor(head)).all(axis=0)
        long = (head >= 10.0 ** (_LONG_DIGITS - 1)).all(axis=0)
    for j in np.flatnonzero(whole).tolist():
        named, is_index = is_id_name(names[j]), is_index_name(names[j])
        if not (is_index or rises[j] or named or long[j]):
            continue
        column = X[:, j]
        if not np.all(column == np.floor(column)):
            continue
        n_distinct = np.unique(column).size
        found[j] = (
            is_index
            or (named and n_distinct == len(X))
            or (rises[j] and bool(np.all(np.diff(column) > 0)))
            or (long[j] and len(X) >= _COUNTING_ROWS and _is_long(column, n_distinct))
        )
    return found


def _is_long(column: Array, n_distinct: int) -> bool:
    """Whether whole numbers are long and all of one length, as numbers of accounts are."""
    n_digits = np.floor(np.log10(np.maximum(column, 1.0))) + 1
    one_length = n_digits.min() == n_digits.max() >= _LONG_DIGITS
    # Floats do not tell all whole numbers from 2**53 on apart.
    return bool(one_length and (2 * n_distinct > column.size or column.min() >= 2.0**53))


# --------------------------------------------------------------------------------------------- text
# More different values than this are no categories.
_MOST_VALUES = 50
# A column is of numbers if more than this share of its values are: of few different values, which
# may be categories, and of many, which would be left out.
_MOSTLY_OF_FEW, _MOSTLY_OF_MANY = 0.8, 0.5
# A column with at least this number of different numbers and at most this number of different words
# is one of numbers in any case.
_MANY_NUMBERS, _FEW_WORDS = 10, 3
# Longer words are not repeated as the value of a setting.
_LONGEST_WORD = 20

_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_DAY, _NUMBER = r"(0?[1-9]|[12]\d|3[01])", r"(0?[1-9]|1[0-2])"
_YEAR = r"(1[5-9]\d\d|20\d\d)"
_TIME = r"([ T]+\d{1,2}:\d\d(:\d\d(\.\d+)?)?( ?[ap]m)?( ?Z| ?[+-]\d\d:?\d\d| [A-Z]{3,4})?)?"
_DATE = re.compile(
    rf"({_YEAR}([-/.]){_NUMBER}\3{_DAY}"
    rf"|({_DAY}[-/.]{_NUMBER}|{_NUMBER}[-/.]{_DAY})[-/.]{_YEAR}"
    rf"|({_DAY}/{_NUMBER}|{_NUMBER}/{_DAY})/\d\d"
    rf"|{_DAY}[- .]*{_MONTH}[-, .]*(\d\d)?\d\d"
    rf"|{_MONTH}[ .]*{_DAY},? *{_YEAR}){_TIME}",
    re.IGNORECASE,
)


def hold_dates(values: Iterable[str]) -> bool:
    """Whether more than half of the values are dates.

    >>> hold_dates(["2024-01-31", "2024-02-01 12:30", "unknown"]), hold_dates(["1.2.3", "2.0.1"])
    (True, False)
    """
    are = [_DATE.fullmatch(value) is not None for value in values]
    return 2 * sum(are) > len(are)


def judge_text(
    name: str, values: NDArray[Any], place: Callable[[int], str]
) -> tuple[str | None, tuple[str, ...]]:
    """Why a column of text is no feature, by a key of `LEFT_OUT`, and its different values.

    None stands for a column of categories. Numbers with a few words among them are refused; what
    ``place`` says of a row, counted from 0, is where it is in the file.
    """
    cells = values.tolist()
    counts, n = Counter(cell for cell in cells if cell is not None), len(cells)
    is_many = len(counts) > _MOST_VALUES or len(counts) > max(2, n // 2)
    known = tuple(sorted(counts))
    if hold_dates(counts):
        return "dates", known
    if len(counts) < n or not is_id_name(name):
        n_words = sum(not looks_numeric(value) for value in counts)
        mostly = _MOSTLY_OF_MANY if is_many else _MOSTLY_OF_FEW
        if n_words <= _FEW_WORDS and len(counts) - n_words >= _MANY_NUMBERS:
            mostly = 0.0
        otherwise = f"leave the column out with {setting('drop')}"
        refuse_mixed(name, values, place, mostly=mostly, otherwise=otherwise)
    if not counts:
        return "empty", known
    if len(counts) == n or is_index_name(name):
        return "identifier", known
    if is_many:
        return "prose", known
    return ("constant" if len(counts) == 1 and counts[known[0]] == n else None), known


def refuse_mixed(
    name: str, values: NDArray[Any], place: Callable[[int], str], *, mostly: float, otherwise: str
) -> None:
    """Refuse a column of text if more than a share ``mostly`` of its values are numbers.

    ``place`` says where in the file a row, counted from 0, is; ``otherwise`` what else can be done,
    as the end of the sentence.
    """
    present = [(row, value) for row, value in enumerate(values.tolist()) if value is not None]
    words = [(row, value) for row, value in present if not looks_numeric(value)]
    if not words or len(present) - len(words) <= mostly * len(present):
        return
    row, word = words[0]
    usable = len(word) <= _LONGEST_WORD and "," not in word
    shared = word[:1] if {other[:1] for _, other in words} in ({"<"}, {">"}) else ""
    cell = f"{shared}*" if shared and len(words) > 1 else word
    missing = setting("na_values", cell) if usable else setting("na_values")
    more = f" and other text in {counted(len(words) - 1, 'more row')}" if len(words) > 1 else ""
    raise InputError(
        f"Column {shown(name)} holds numbers, but {shown(word)} in {place(row)}{more}: correct the "
        f"file, say with {missing} that it is a missing value, or {otherwise}."
    )


# ------------------------------------------------------------------------------------------ targets
# A target of text is of numbers if more than this share of its values are.
_MOSTLY = 0.5
# Among more names than this, no similar one is searched for.
_MOST_NAMES = 5000


@dataclass(frozen=True)
class TargetColumns:
    """What is to be predicted.

    ``y`` has classes, 0/1 labels, numbers, or is a structured array with the events and the times.
    ``names`` are those of the columns; of survival that of the times, then that of the events.
    ``classes`` are names of classes or labels, in the order of their values or columns, and
    ``counts`` how many samples each has. ``values`` are the classes as they are in the file, if
    ``y`` has their places in another order; of survival the one that is the event, as text.
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
