"""Moments: weighted counts, means and products of X and y that add up over blocks of rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_array
from sklearn.utils.validation import column_or_1d

from rowsparse._arrays import Array, Index
from rowsparse._files import UnreadableFileError, write_whole
from rowsparse._npz import read_npz
from rowsparse._validation import (
    check_choice,
    check_finite_columns,
    check_numeric_columns,
    column_label,
    one_sentence,
)
from rowsparse.moments.statistics import Statistics
from rowsparse.targets import (
    FEW,
    MANY,
    TASKS,
    Guess,
    as_numbers,
    check_sample_weight,
    declared_task,
    guess_from_counts,
    guess_task,
    target_array,
)

__all__ = ["GrowingTargets", "Moments", "checked_block"]

# Larger values have squares that overflow when they are summed up.
_LARGEST = 1e140


class Moments:
    """Statistics of samples from which many selectors can be fitted, gathered block by block.

    They are the weighted count, the means of X and of the targets Y, and the sums of products of
    deviations from these: X'X, X'Y and Y'Y; for classes and labels also the scatter of X within
    each. All are float64, and each block is centred at its own mean first, so that large means
    cost no digits. Their size is that of X'X, whatever the number of samples. The ``fit_moments``
    of a selector selects from them as its ``fit`` does from all samples at once, to rounding.

    Parameters
    ----------
    task : {"auto", "classification", "multilabel", "regression"}, default="auto"
        What y holds; "auto" decides by the first block, as ``TopK`` does by all samples, but takes
        up to 20 different whole numbers as classes however often each is seen; a later block
        that does not fit is refused. Classes may appear in any block.
    products : bool, default=True
        Whether X'X is kept. Without it there is enough for the filters (:class:`FStatistic`,
        :class:`FisherScore`, :class:`TTest`), at any number of features.

    Attributes
    ----------
    n_samples, n_features : int
        Numbers of samples (of weight above 0) and of features; 0 before the first block.
    weight : float
        The sum of the sample weights.
    task : str
        The task; "auto" before the first block.
    classes : array or None
        The classes so far, for classification.
    feature_names : array of str or None
        The names of the columns, if the blocks have them.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rowsparse import Moments, TopK
    >>> X, y = load_iris(return_X_y=True)
    >>> moments = Moments()
    >>> for start in range(0, 150, 50):
    ...     moments = moments.update(X[start : start + 50], y[start : start + 50])
    >>> moments
    Moments(150 samples, 4 features, classification)
    >>> TopK(2, random_state=0).fit_moments(moments).get_support(indices=True)
    array([1, 3])
    """

    def __init__(self, task: str = "auto", *, products: bool = True) -> None:
        check_choice("task", task, TASKS)
        self._task = task
        self._products = bool(products)
        self._targets: GrowingTargets | None = None
        self._statistics: Statistics | None = None
        self.feature_names: NDArray[Any] | None = None

    def __repr__(self) -> str:
        return f"Moments({self.n_samples} samples, {self.n_features} features, {self.task})"

    def __sizeof__(self) -> int:
        # Dask asks for it before it moves or spills them.
        return object.__sizeof__(self) + (self._statistics.nbytes if self._statistics else 0)

    @property
    def task(self) -> str:
        return self._task if self._targets is None else self._targets.task

    @property
    def classes(self) -> NDArray[Any] | None:
        return None if self._targets is None else self._targets.classes

    @property
    def n_samples(self) -> int:
        return 0 if self._statistics is None else self._statistics.n_rows

    @property
    def n_features(self) -> int:
        return 0 if self._statistics is None else int(self._statistics.x_origin.size)

    @property
    def weight(self) -> float:
        return 0.0 if self._statistics is None else self._statistics.weight

    @property
    def has_products(self) -> bool:
        """Whether X'X is kept."""
        return self._products

    @property
    def statistics(self) -> Statistics:
        """The numbers themselves."""
        if self._statistics is None:
            raise ValueError("The Moments are of no samples: update them first.")
        return self._statistics

    @property
    def targets(self) -> GrowingTargets:
        """The kind of targets."""
        if self._targets is None:
            raise ValueError("The Moments are of no samples: update them first.")
        return self._targets

    def update(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        feature_names: Any = None,
        classes: Any = None,
    ) -> Self:
        """Add a block of samples; one of no rows adds nothing.

        Parameters
        ----------
        X : {array-like, sparse matrix or array, dataframe} of shape (n_samples, n_features)
            The samples. Sparse blocks are not made dense unless they are nearly so.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Class labels, 0/1 label indicators, or numbers.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each sample; an integer weight equals repeating the sample.
        feature_names : array of str of shape (n_features,), optional
            The names of the columns, where X is no dataframe.
        classes : array-like, optional
            Classes that y may have, whether or not this block has samples of them.

        Returns
        -------
        self
        """
        values, names = checked_block(X, feature_names)
        self._check_columns(values.shape[1], names)
        if values.shape[0] == 0:
            return self
        task = declared_task(y, self._task)
        y = target_array(y, values.shape[0])
        weights = check_sample_weight(sample_weight, values.shape[0])
        if weights is not None and np.any(weights == 0):
            kept = np.flatnonzero(weights)
            values, y, weights = values[kept], y[kept], weights[kept]
        targets = (
            GrowingTargets.from_first_block(y, task) if self._targets is None else self._targets
        )
        if classes is not None:
            targets = targets.with_classes(target_array(classes, len(classes)))
        self._add(values, y, weights, names, targets)
        return self

    def update_as(
        self, X: Any, y: NDArray[Any], weights: Array | None, names: Any, whole: Moments
    ) -> None:
        """Add checked samples that are among those of ``whole``, which knows their task."""
        targets = whole.targets if self._targets is None else self._targets
        self._add(X, y, weights, names, targets.united(whole.targets))

    def _add(
        self, X: Any, y: Any, weights: Array | None, names: Any, targets: GrowingTargets
    ) -> None:
        targets, Y = targets.encoded(y)
        if np.abs(Y).max() > _LARGEST:
            raise ValueError("y is too large for Moments: divide it by a power of ten.")
        # From here on nothing can be refused: a block counts as a whole or not at all.
        if self._statistics is None:
            self._statistics = Statistics.empty(
                X.shape[1], targets.width, products=self._products, grouped=targets.grouped
            )
        else:
            self._widen(targets)
        self._targets = targets
        self.feature_names = names if self.feature_names is None else self.feature_names
        self._statistics.add_rows(X, Y, weights)

    def merge(self, other: Moments) -> Self:
        """Add the statistics of other samples; the order of merging matters to rounding only.

        Parameters
        ----------
        other : Moments
            Not changed.

        Returns
        -------
        self
        """
        if other._statistics is None:
            return self
        self._check_alike(other)
        if self._statistics is None:
            self._statistics, self._targets = other._statistics.copy(), other._targets
        else:
            self._widen(self.targets.united(other.targets))
            self._statistics.merge(other._statistics_for(self.targets))
        if self.feature_names is None:
            self.feature_names = other.feature_names
        return self

    def subtract(self, part: Moments) -> Self:
        """Take away the statistics of some of the samples.

        For a column that varies almost only in ``part`` the difference has few correct digits:
        where that matters, merge the other parts instead.

        Parameters
        ----------
        part : Moments
            Of samples that are among those of this one; not changed.

        Returns
        -------
        self
        """
        if part._statistics is None:
            return self
        self._check_alike(part)
        targets = self.targets.united(part.targets)
        if targets.width > self.targets.width or part.n_samples >= self.n_samples:
            raise ValueError(
                "subtract takes away some of the samples of these Moments, but those given are of "
                f"{part.n_samples} samples, not all of them among the {self.n_samples} here."
            )
        self.statistics.subtract(part._statistics_for(targets))
        return self

    def copy(self) -> Moments:
        """A copy that can be updated independently."""
        twin = Moments(self._task, products=self._products)
        twin._targets, twin.feature_names = self._targets, self.feature_names
        twin._statistics = None if self._statistics is None else self._statistics.copy()
        return twin

    def with_classes_of(self, other: Moments) -> Moments:
        """These Moments with all classes of the others too, even those without samples here."""
        wider = Moments(self._task, products=self._products)
        wider._targets = self.targets.united(other.targets)
        wider._statistics = self._statistics_for(wider._targets)
        wider.feature_names = self.feature_names
        return wider

    def only(self, columns: Index) -> Moments:
        """The Moments of some columns of X, given by their sorted indices."""
        part = Moments(self._task, products=self._products)
        part._targets, part._statistics = self._targets, self.statistics.with_columns(columns)
        part.feature_names = None if self.feature_names is None else self.feature_names[columns]
        return part

    # ------------------------------------------------------------------------- files
    def save(self, path: str | Path) -> None:
        """Write the statistics to an NPZ file, without pickle, whole or not at all.

        Parameters
        ----------
        path : str or Path
            The file.
        """
        stored = Stored(self._task, self.targets, self.statistics, self.feature_names)
        write_moments_file(Path(path), stored)

    @classmethod
    def load(cls, path: str | Path) -> Moments:
        """Read a file of :meth:`save`.

        Parameters
        ----------
        path : str or Path
            The file.

        Returns
        -------
        Moments
        """
        task, targets, statistics, names = read_moments_file(Path(path))
        moments = cls(task, products=statistics.xx is not None)
        moments._targets, moments._statistics = targets, statistics
        moments.feature_names = names
        return moments

    # ------------------------------------------------------------------------- checks
    def _widen(self, targets: GrowingTargets) -> None:
        """Make room for the targets of new blocks."""
        self._statistics = self._statistics_for(targets)
        self._targets = targets

    def _statistics_for(self, targets: GrowingTargets) -> Statistics:
        if targets.width == self.targets.width:
            return self.statistics
        return self.statistics.with_targets(self.targets.positions(targets), targets.width)

    def _check_columns(self, d: int, names: NDArray[Any] | None) -> None:
        if self._statistics is not None and d != self.n_features:
            raise ValueError(
                f"X has {d} columns, but that of earlier blocks had {self.n_features}."
            )
        known = self.feature_names
        if known is not None and names is not None and not np.array_equal(known, names):
            j = int(np.flatnonzero(known != names)[0])
            raise ValueError(
                f"X has {names[j]!r} in column {j}, where earlier blocks had {known[j]!r}: bring "
                "the columns into one order."
            )

    def _check_alike(self, other: Moments) -> None:
        if self._products != other._products:
            raise ValueError("Moments with products=True and products=False cannot be combined.")
        if self._statistics is not None:
            self._check_columns(other.n_features, other.feature_names)


def checked_block(X: Any, feature_names: Any = None) -> tuple[Any, NDArray[Any] | None]:
    """X as a finite float array or sparse matrix, and the names of its columns."""
    check_numeric_columns(X)
    try:
        values = check_array(
            X,
            accept_sparse=("csr", "csc"),
            dtype=[np.float64, np.float32],
            ensure_all_finite=False,
            ensure_min_samples=0,
            input_name="X",
        )
    except (TypeError, ValueError) as error:
        raise one_sentence("X", error) from None
    names = getattr(X, "columns", feature_names)
    if names is None or not all(isinstance(name, str) for name in names):
        names = None
    elif len(names) != values.shape[1]:
        raise ValueError(f"X has {values.shape[1]} columns, but there are {len(names)} names.")
    else:
        names = np.asarray(names, dtype=object)
    label = SimpleNamespace(columns=names)
    check_finite_columns(values, label)
    if values.dtype == np.float64:
        _check_magnitude(values, label)
    return values, names


def _check_magnitude(values: Any, X: Any) -> None:
    data = values.data if sp.issparse(values) else values
    if data.size and max(float(data.max()), -float(data.min())) > _LARGEST:
        largest = abs(values).max(axis=0)
        largest = largest.toarray().ravel() if sp.issparse(largest) else largest
        j = int(np.argmax(largest))
        raise ValueError(
            f"X has values in {column_label(X, j)} too large for Moments: divide it by a power of "
            "ten."
        )


# -------------------------------------------------------------------------------------------- files
# The version of the files that are written.
_FORMAT = 2
_NUMBERS = (
    "x_origin",
    "y_origin",
    "x_shift",
    "y_shift",
    "x_square",
    "x_error",
    "y_error",
    "xy",
    "yy",
    "x_low",
    "x_high",
    "y_low",
    "y_high",
    "group_scatter",
)
_NEEDED = (*_NUMBERS, "format", "counts", "task", "flags")
_OPTIONAL = ("xx", "classes", "names")
_PLAIN_KINDS = "biufUS"


class Stored(NamedTuple):
    """The contents of a file: the task as it was asked for, and the rest of Moments."""

    task: str
    targets: GrowingTargets
    statistics: Statistics
    names: NDArray[Any] | None


def write_moments_file(path: Path, stored: Stored) -> None:
    """Write an NPZ file, whole or not at all."""
    found, targets = stored.statistics, stored.targets
    arrays: dict[str, Any] = {name: getattr(found, name) for name in _NUMBERS}
    arrays |= {
        "format": np.array(_FORMAT),
        "counts": np.array([found.n_rows, found.weight, targets.n_numbers], dtype=np.float64),
        "task": np.array([stored.task, targets.task]),
        "flags": np.array([targets.single_output, targets.guessed]),
    }
    if found.xx is not None:
        arrays["xx"] = found.xx
    if targets.classes is not None:
        arrays["classes"] = _plain(targets.classes)
    if stored.names is not None:
        arrays["names"] = stored.names.astype(str)

    def write(to: Path) -> None:
        with to.open("wb") as file:
            np.savez(file, **arrays)

    write_whole(path, write)


def read_moments_file(path: Path) -> Stored:
    """Read a file; every promise of it is checked."""
    try:
        return _read(read_npz(path, (*_NEEDED, *_OPTIONAL))[0])
    except UnreadableFileError as error:
        raise UnreadableFileError(f"{path} {error}") from None


def _read(arrays: dict[str, NDArray[Any]]) -> Stored:
    if not arrays.keys() >= set(_NEEDED):
        raise UnreadableFileError("holds no Moments: write it with Moments.save.")
    if int(arrays["format"]) != _FORMAT:
        raise UnreadableFileError("was written by another version: gather the Moments again.")
    asked, task = arrays["task"].tolist()
    counts, flags = arrays["counts"].tolist(), arrays["flags"].tolist()
    targets = GrowingTargets(task, arrays.get("classes"), int(counts[2]), *flags)
    d, c = arrays["x_origin"].size, targets.width
    statistics = Statistics.empty(d, c, products="xx" in arrays, grouped=targets.grouped)
    statistics.n_rows, statistics.weight = int(counts[0]), counts[1]
    for name in (*_NUMBERS, "xx"):
        if name not in arrays:
            continue
        if arrays[name].shape != getattr(statistics, name).shape:
            raise UnreadableFileError(f"is damaged: its {name!r} has the wrong shape.")
        setattr(statistics, name, np.array(arrays[name], order="F" if name == "xx" else "C"))
    names = arrays["names"].astype(object) if "names" in arrays else None
    return Stored(asked, targets, statistics, names)


def _plain(classes: NDArray[Any]) -> NDArray[Any]:
    """Labels as text or numbers, which need no pickle."""
    plain = classes if classes.dtype.kind in _PLAIN_KINDS else np.array(classes.tolist())
    if plain.ndim != 1 or plain.dtype.kind not in _PLAIN_KINDS:
        raise ValueError("Moments can be saved if the classes are text or numbers only.")
    return plain


# ------------------------------------------------------------------------------ targets in blocks
_NO_CLASSES = (
    "y holds numbers that are no classes, but the y of earlier blocks was taken for classes: pass "
    "task='regression', or task='classification' if all of them are classes."
)


@dataclass(frozen=True)
class GrowingTargets:
    """The task and the columns that go with it.

    Attributes
    ----------
    task : {"classification", "multilabel", "regression"}
        What the columns mean.
    classes : array or None
        The classes so far, sorted, for classification.
    n_numbers : int
        The number of labels or numbers a row, 0 for classification.
    single_output : bool
        Whether y is one-dimensional and holds numbers.
    guessed : bool
        Whether the task was guessed from the first block.
    """

    task: str
    classes: NDArray[Any] | None
    n_numbers: int
    single_output: bool
    guessed: bool

    @classmethod
    def from_first_block(cls, y: NDArray[Any], task: str) -> GrowingTargets:
        """From the first block; ``task`` may be "auto"."""
        guessed = task == "auto"
        guess = guess_task(y) if guessed else Guess(task)
        if guess.task == "survival":
            raise ValueError(
                "y holds events and times of survival: they need all samples at once, with "
                "TopK.fit and loss='cox'."
            )
        # Later blocks may hold the same values again.
        found = "classification" if 0 < guess.n_values <= FEW else guess.task
        if found == "classification":
            return cls(found, _unique(y)[0], 0, False, guessed)
        width = 1 if y.ndim == 1 else y.shape[1]
        return cls(found, None, width, found == "regression" and y.ndim == 1, guessed)

    @property
    def width(self) -> int:
        """The number of columns."""
        return self.n_numbers if self.classes is None else int(self.classes.size)

    def doubt(self, counts: Array) -> str | None:
        """A sentence for a warning, if the classes, seen so often, were a close guess or worse."""
        if not self.guessed or self.classes is None or _kind(self.classes) != "number":
            return None
        guess = guess_from_counts(counts)
        if guess.task == "classification":
            return guess.doubt
        return Guess("classification", close=True, n_values=guess.n_values).doubt

    @property
    def grouped(self) -> bool:
        """Whether the columns hold zeros and ones."""
        return self.task != "regression"

    def encoded(self, y: NDArray[Any]) -> tuple[GrowingTargets, Array]:
        """The columns with the classes of a block added, and the block as a target matrix."""
        if self.classes is not None:
            guess = guess_task(y) if self.guessed else Guess(self.task)
            if guess.task != "classification" and not guess.n_values:
                raise ValueError(_NO_CLASSES)
            labels, code = _unique(y)
            wider = self.with_classes(labels)
            assert wider.classes is not None
            at = np.searchsorted(wider.classes, labels)
            return wider, np.eye(wider.width)[at[code]]
        numbers = as_numbers(y)
        if numbers.shape[1] != self.n_numbers:
            raise ValueError(
                f"y has {numbers.shape[1]} columns, but that of earlier blocks had "
                f"{self.n_numbers}."
            )
        if self.task == "multilabel" and not np.isin(numbers, (0.0, 1.0)).all():
            raise ValueError("y must hold only 0 and 1 for task='multilabel'.")
        return self, numbers

    def united(self, other: GrowingTargets) -> GrowingTargets:
        """The columns of both; refused if they are not for the same kind of targets."""
        if self.task != other.task and self.guessed and other.guessed:
            raise ValueError(
                f"y was taken for {self.task} in some blocks and for {other.task} in others: pass "
                "task, such as task='regression'."
            )
        if self.task != other.task or self.n_numbers != other.n_numbers:
            raise ValueError(
                f"Moments for {self.task} with {self.width} targets and for {other.task} with "
                f"{other.width} cannot be combined: gather all with the same task and y."
            )
        return self if other.classes is None else self.with_classes(other.classes)

    def positions(self, wider: GrowingTargets) -> Index:
        """Where these columns are among those of ``wider``."""
        if self.classes is None or wider.classes is None:
            return np.arange(self.width)
        return np.searchsorted(wider.classes, self.classes)

    def with_classes(self, labels: NDArray[Any]) -> GrowingTargets:
        """The columns with further classes."""
        if self.classes is None:
            raise ValueError(f"classes are for classification, and y is for {self.task}.")
        if _kind(labels) != _kind(self.classes):
            raise ValueError(
                f"y has the class {labels.tolist()[0]!r} and earlier blocks have "
                f"{self.classes.tolist()[0]!r}: classes must be of one kind, all text or all "
                "numbers."
            )
        joined = np.unique(np.concatenate([self.classes, labels]))
        if self.guessed and _kind(joined) == "number" and joined.size > MANY:
            raise ValueError(_NO_CLASSES)
        return self if joined.size == self.classes.size else replace(self, classes=joined)


def _unique(y: NDArray[Any]) -> tuple[NDArray[Any], Index]:
    try:
        classes, code = np.unique(column_or_1d(y, warn=True), return_inverse=True)
    except TypeError:
        raise ValueError("y must hold class labels of one kind, all text or all numbers.") from None
    return classes, code


def _kind(labels: NDArray[Any]) -> str:
    """Whether labels are text or numbers."""
    if labels.dtype.kind == "O":
        return "text" if isinstance(labels.tolist()[0], str) else "other"
    return "text" if labels.dtype.kind in "UST" else "number"
