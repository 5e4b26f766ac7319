"""The target matrix Y from y: one-hot classes, label indicators, numbers, or survival times."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import date, time, timedelta
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import column_or_1d

from rowsparse._arrays import Array, to_host
from rowsparse._validation import (
    check_choice,
    check_not_lazy,
    check_not_masked,
    one_sentence,
)
from rowsparse.design import power_of_two_unit

TASKS = ("auto", "classification", "multilabel", "regression")
# What y is taken for only where it is asked for; times of survival also if y is a structured array.
ASKED_TASKS = ("counts", "survival")
# Targets that are numbers, and predicted as such.
NUMERIC_TASKS = ("regression", "counts")
# Whole numbers of at most FEW different values may be classes, more of them, up to MANY, only if
# all are about equally frequent.
FEW, MANY = 20, 50
# Shares of values seen once: up to the first, few whole numbers are classes; up to the second, it
# is a close call.
_SEEN_ONCE = (1 / 3, 1 / 2)
# Of more than a few classes, each is seen at least this share of the mean count.
_EVEN = 1 / 3

# Sample weights that sum to less than this, or to more than its inverse, are refused.
_LEAST_TOTAL = 1e-100
# The largest count: larger ones are no whole numbers of floats.
MOST_COUNT = 2.0**53
_UNKNOWN_LABELS = (
    "Unknown label type: y must hold class labels of one kind, a 0/1 indicator matrix, or numbers."
)


@dataclass(frozen=True)
class Targets:
    """The target matrix and what its columns mean.

    Attributes
    ----------
    Y : array of shape (n, c)
        One-hot classes, 0/1 labels, counts, the numbers divided by ``unit``, or for survival a
        column of events and one of times.
    task : {"classification", "multilabel", "regression", "counts", "survival"}
        What the columns mean.
    classes : array or None
        The class of each column, for classification.
    unit : float
        1, or the power of two by which numbers of an extreme magnitude were divided.
    single_output : bool
        Whether y was one-dimensional and holds numbers, or is for survival.
    doubt : str or None
        A sentence for a warning, where the task was guessed and it was a close call.
    """

    Y: Array
    task: str
    classes: NDArray[Any] | None
    unit: float
    single_output: bool = False
    doubt: str | None = None


@dataclass(frozen=True)
class Guess:
    """What y holds by the look of it.

    Attributes
    ----------
    task : {"classification", "multilabel", "regression", "survival"}
        What it is taken for.
    close : bool
        Whether another task is nearly as likely.
    n_values : int
        How many different whole numbers it holds, 0 for anything else than one column of them.
    """

    task: str
    close: bool = False
    n_values: int = 0

    @property
    def doubt(self) -> str | None:
        """A sentence for a warning, in a close call."""
        if not self.close:
            return None
        taken = "classes" if self.task == "classification" else "numbers"
        what = f"{self.n_values} different whole numbers" if self.n_values else "whole numbers"
        return (
            f"y holds {what}, taken as {taken}: pass task='classification' or task='regression' "
            "to say what they are."
        )


def encode_targets(y: NDArray[Any], task: str, possible: Collection[str] = TASKS[1:]) -> Targets:
    """Turn y into a target matrix.

    Parameters
    ----------
    y : array of shape (n,) or (n, c)
        Class labels of any kind, 0/1 label indicators, numbers, or events and times.
    task : {"auto", "classification", "multilabel", "regression", "counts", "survival"}
        What y is; "auto" takes what :func:`guess_task` says.
    possible : collection of str
        The tasks that "auto" may stand for.

    Examples
    --------
    >>> encode_targets(np.array(["b", "a", "b"]), "auto").Y
    array([[0., 1.],
           [1., 0.],
           [0., 1.]])
    """
    check_choice("task", task, (*TASKS, *ASKED_TASKS))
    guess = guess_task(y, possible) if task == "auto" else Guess(task)
    return replace(_encoded(y, guess.task), doubt=guess.doubt)


def _encoded(y: NDArray[Any], task: str) -> Targets:
    if y.dtype.names is not None and task != "survival":
        raise ValueError(
            f"y is a structured array, of events and times of survival, but task={task!r}: take "
            "loss='cox', or one of its fields."
        )
    if task == "classification":
        labels = column_or_1d(y, warn=True)
        try:
            classes, code = np.unique(labels, return_inverse=True)
        except TypeError:
            raise ValueError(_UNKNOWN_LABELS) from None
        if classes.size < 2:
            raise ValueError(
                f"y has only one class, {classes.tolist()[0]!r}: at least two are needed for "
                "classification."
            )
        return Targets(np.eye(classes.size)[code], task, classes, 1.0)
    if task == "survival":
        survival = survival_times(y)
        if not survival[:, 0].any():
            raise ValueError("y has no event: loss='cox' needs at least one.")
        return Targets(survival, task, None, 1.0, single_output=True)
    numbers = as_numbers(y)
    if task == "multilabel":
        if not np.isin(numbers, (0.0, 1.0)).all():
            raise ValueError("y must hold only 0 and 1 for task='multilabel'.")
        return Targets(numbers, task, None, 1.0)
    if task == "counts":
        _check_counts(numbers)
        return Targets(numbers, task, None, 1.0, single_output=np.ndim(y) == 1)
    unit = power_of_two_unit(float(np.abs(numbers).max()))
    return Targets(numbers / unit, task, None, unit, single_output=np.ndim(y) == 1)


def _check_counts(numbers: Array) -> None:
    """Refuse what no counts of events can be."""
    if numbers.min() < 0:
        raise ValueError(
            f"y must hold counts of at least 0 for loss='poisson'; its least is {numbers.min():g}."
        )
    if numbers.max() > MOST_COUNT:
        raise ValueError(
            f"y holds a count of {numbers.max():g}, too large for loss='poisson': divide y by a "
            "power of ten."
        )


def survival_times(y: NDArray[Any]) -> Array:
    """A column of events, 1 or 0 where observation ended before, and one of times.

    Parameters
    ----------
    y : array of shape (n,) or (n, 2)
        Structured, with a field of events and one of times, or with these two columns.
    """
    names = y.dtype.names
    if names is not None:
        if len(names) != 2 or any(y.dtype[name].kind not in "biuf" for name in names):
            raise ValueError(
                "y must have two fields for loss='cox', the event (True or False) and the time of "
                f"each sample; it has {', '.join(names)}."
            )
        numbers = np.column_stack([y[name].astype(np.float64) for name in names])
    else:
        numbers = as_numbers(y)
    if numbers.shape[1] != 2:
        raise ValueError(
            "y must have two columns for loss='cox', the event (1 or 0) and the time of each "
            f"sample, or be a structured array with these fields; it has {numbers.shape[1]}."
        )
    events, times = numbers.T
    if not np.isfinite(numbers).all():
        raise ValueError("y contains NaN or infinity (inf): drop those samples first.")
    others = events[(events != 0.0) & (events != 1.0)]
    if others.size:
        raise ValueError(
            "y must hold the event of each sample before its time, 1 (True) or 0 (False), for "
            f"loss='cox'; it holds {others[0]:g} there."
        )
    if times.min() <= 0.0:
        raise ValueError(
            f"y must hold times greater than 0 for loss='cox'; the least is {times.min():g}."
        )
    return numbers


def target_array(y: Any, n: int) -> NDArray[Any]:
    """y as a dense array of n samples, without missing values."""
    check_not_masked("y", y)
    check_not_lazy("y", y)
    y = to_host(y)
    if sp.issparse(y):
        y = sp.csr_array(y).toarray()
    elif hasattr(y, "to_numpy"):
        y = y.to_numpy()
    try:
        y = np.asarray(y)
    except ValueError as error:
        raise one_sentence("y", error) from None
    if y.ndim not in (1, 2) or 0 in y.shape[1:]:
        raise ValueError(
            "y must have one dimension, or two with at least one column; got an array of shape "
            f"{y.shape}."
        )
    if y.shape[0] != n:
        raise ValueError(f"y has {y.shape[0]} samples but X has {n}: they must be of one length.")
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise ValueError("y contains NaN or infinity (inf): drop those samples first.")
    if y.dtype.kind == "S" or (y.dtype.kind == "O" and any(type(v) is bytes for v in y.ravel())):
        raise ValueError("y holds bytes: decode them first, as in np.char.decode(y.astype('S')).")
    if y.dtype.kind == "c":
        raise ValueError("Complex data not supported: y must hold labels or real numbers.")
    if y.dtype.kind in "Mm" or (y.dtype.kind == "O" and any(_is_time(v) for v in y.ravel())):
        raise ValueError("y holds dates or times: convert them to numbers or labels first.")
    if y.dtype.kind == "O":
        if any(_is_missing(v) for v in y.ravel()):
            raise ValueError("y contains missing values (None or NaN): drop those samples first.")
        y = _plain(y)
    return y


def _plain(y: NDArray[Any]) -> NDArray[Any]:
    """Numbers held as Python objects, as numbers; anything else as it is."""
    try:
        plain = np.array(y.tolist())
    except ValueError:
        return y
    return plain if plain.dtype.kind in "biuf" and plain.shape == y.shape else y


def _is_time(value: Any) -> bool:
    return isinstance(value, (date, time, timedelta, np.datetime64, np.timedelta64)) or hasattr(
        value, "to_timestamp"
    )


def _is_missing(value: Any) -> bool:
    try:
        return bool(value is None or value != value)
    except TypeError:  # pandas.NA has no truth value
        return True


def declared_task(y: Any, task: str) -> str:
    """The task; "auto" is "classification" if y, as the user gave it, is of a categorical type."""
    if task != "auto":
        return task
    kinds = [y.dtype] if hasattr(y, "dtype") else list(getattr(y, "dtypes", ()))
    categorical = any(getattr(kind, "categories", None) is not None for kind in kinds)
    return "classification" if categorical else task


def guess_task(y: NDArray[Any], possible: Collection[str] = TASKS[1:]) -> Guess:
    """What y holds: one rule for all of the library.

    Text and booleans are classes. Whole numbers, integers or floats, are classes if that is
    plausible: there are two different ones; or at most 20, with at most a third of them seen
    only once; or at most 50, each of them seen twice or more and no less than a third of the mean
    count. All other numbers are numbers. Several columns are labels if they hold nothing but 0
    and 1, and numbers otherwise. A structured array holds events and times of survival.

    Parameters
    ----------
    y : array of shape (n,) or (n, c)
        Without missing values.
    possible : collection of str
        The tasks in question: whole numbers are classes, or numbers, if they cannot be the other.

    Examples
    --------
    >>> guess_task(np.array([0.0, 1.0, 2.0, 0.0, 1.0, 2.0])).task
    'classification'
    >>> guess_task(np.arange(100)).task
    'regression'
    """
    if y.dtype.names is not None:
        return Guess("survival")
    if y.ndim == 2 and y.shape[1] > 1:
        return _guess_columns(y)
    values = y.ravel()
    if values.dtype.kind not in "iuf":
        if values.dtype.kind == "O" and not all(isinstance(v, str) for v in values):
            raise ValueError(_UNKNOWN_LABELS)
        return Guess("classification")
    if not _are_whole(values):
        return Guess("regression")
    guess = guess_from_counts(np.unique(values, return_counts=True)[1])
    if len({"classification", "regression"} & set(possible)) == 1:
        task = "classification" if "classification" in possible else "regression"
        return Guess(task, n_values=guess.n_values)
    return guess


def guess_from_counts(counts: NDArray[Any]) -> Guess:
    """Whether whole numbers are classes, from how often each of them is seen."""
    different = counts.size
    if different <= 2:
        return Guess("classification", n_values=different)
    if different <= FEW:
        once = float(np.mean(counts <= 1))
        classes, close = once <= _SEEN_ONCE[0], 0 < once <= _SEEN_ONCE[1]
    else:
        close = bool(different <= MANY and counts.min() >= 2)
        classes = bool(close and counts.min() >= _EVEN * counts.mean())
    return Guess("classification" if classes else "regression", close, different)


def _guess_columns(y: NDArray[Any]) -> Guess:
    if y.dtype.kind not in "biuf":
        raise ValueError(
            f"y has {y.shape[1]} columns of text: fit one column of classes at a time, or pass 0/1 "
            "label indicators."
        )
    if np.isin(y, (0, 1)).all():
        return Guess("multilabel")
    columns = [guess_task(column) for column in y.T]
    return Guess("regression", close=all(guess.task == "classification" for guess in columns))


def _are_whole(values: NDArray[Any]) -> bool:
    return values.dtype.kind != "f" or bool(np.all(values == np.floor(values)))


def as_numbers(y: NDArray[Any]) -> Array:
    """y as a float matrix with a row for each sample."""
    try:
        numbers = y.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"Unknown label type: y must hold numbers for this task; it is of dtype {y.dtype}."
        ) from None
    return numbers[:, None] if numbers.ndim == 1 else numbers


def combine_weights(
    targets: Targets, sample_weight: Array | None, class_weight: Any
) -> Array | None:
    """Sample weights times class weights; None if all are 1."""
    weights = sample_weight
    if class_weight is not None:
        code = targets.Y.argmax(axis=1)
        counts = np.bincount(code, weights, minlength=targets.Y.shape[1])
        per_class = weights_of_classes(targets.task, targets.classes, counts, class_weight)
        weights = per_class[code] * (1.0 if weights is None else weights)
    if weights is None or np.all(weights == 1.0):
        return None
    return np.asarray(weights, dtype=np.float64)


def weights_of_classes(
    task: str, classes: NDArray[Any] | None, counts: Array, class_weight: Any
) -> Array:
    """The weight of each class; ``counts`` are the sums of the sample weights in each.

    Examples
    --------
    >>> classes, counts = np.array(["a", "b"]), np.array([1.0, 3.0])
    >>> weights_of_classes("classification", classes, counts, {"b": 2.0})
    array([1., 2.])
    >>> weights_of_classes("classification", classes, counts, "balanced").tolist()
    [2.0, 0.6666666666666666]
    """
    if task != "classification" or classes is None:
        raise ValueError(
            f"class_weight is for classification and y is {task}: pass class_weight=None and use "
            "sample_weight."
        )
    if isinstance(class_weight, str):
        # Balanced on the weighted counts, so that a weight equals repeating a row.
        per_class = counts.sum() / (counts.size * counts)
    else:
        try:
            per_class = compute_class_weight(class_weight, classes=classes, y=classes)
        except (TypeError, ValueError) as error:
            raise one_sentence("class_weight", error) from None
    if not np.all(per_class > 0) or not np.isfinite(per_class).all():
        raise ValueError("class_weight must hold positive, finite weights.")
    return np.asarray(per_class)


def check_sample_weight(sample_weight: Any, n: int) -> Array | None:
    """One finite weight of at least 0 a sample, not all of them 0."""
    if sample_weight is None:
        return None
    check_not_masked("sample_weight", sample_weight)
    weights = np.asarray(to_host(sample_weight))
    if weights.ndim == 0:
        weights = np.full(n, weights)
    if weights.ndim != 1:
        raise ValueError(f"sample_weight must have one dimension; got shape {weights.shape}.")
    if weights.size != n:
        raise ValueError(f"sample_weight has {weights.size} entries but X has {n} samples.")
    if weights.dtype.kind not in "biufO":
        raise TypeError(f"sample_weight must hold numbers; it is of dtype {weights.dtype}.")
    try:
        weights = weights.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise one_sentence("sample_weight", error) from None
    if not np.isfinite(weights).all():
        raise ValueError("sample_weight contains NaN or infinity (inf).")
    if np.any(weights < 0):
        raise ValueError(f"sample_weight must not be negative; its least entry is {weights.min()}.")
    if not np.any(weights > 0):
        raise ValueError("sample_weight is zero for every sample: at least one must count.")
    with np.errstate(over="ignore"):
        total = float(weights.sum())
    if not _LEAST_TOTAL <= total <= 1.0 / _LEAST_TOTAL:
        raise ValueError(f"sample_weight sums to {total:g}: rescale it to nearer 1 a sample.")
    _check_no_giant(weights)
    return weights


def _check_no_giant(weights: Array) -> None:
    """Refuse a weight so large that the sum of all others is rounding error."""
    giant = int(np.argmax(weights))
    others = float(np.delete(weights, giant).sum())
    if 0.0 < others <= np.finfo(np.float64).eps * weights[giant]:
        raise ValueError(
            f"sample_weight of sample {giant}, {weights[giant]:g}, leaves nothing of all the "
            "others: bring the weights within 15 powers of ten."
        )
