"""What the columns of the target matrix mean, as blocks of y come in one after another."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import column_or_1d

from rowsparse._arrays import Array, Index
from rowsparse.targets import FEW, MANY, Guess, as_numbers, guess_from_counts, guess_task

__all__ = ["GrowingTargets"]

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
    def of(cls, y: NDArray[Any], task: str) -> GrowingTargets:
        """From the first block; ``task`` may be "auto"."""
        guessed = task == "auto"
        guess = guess_task(y) if guessed else Guess(task)
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
