"""What models say of held-out samples: their answers, and what they say for each class."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rowsparse._arrays import Array, Index
from rowsparse.targets import NUMERIC_TASKS

__all__ = ["Predictions", "predict"]


@dataclass(frozen=True)
class Predictions:
    """Predictions of a model.

    Attributes
    ----------
    answers : array
        Classes, 0/1 labels or numbers.
    values : array of shape (n_samples, n_classes) or None
        Probabilities or decision values of each class, or of each label; None for numbers, and
        of models that have neither.
    classes : array or None
        The classes in the order of the columns of ``values``; None for labels and numbers.
    are_probabilities : bool
        Whether the values are probabilities.
    """

    answers: Any
    values: Array | None = None
    classes: Any = None
    are_probabilities: bool = False

    def of(self, rows: Index) -> Predictions:
        """The predictions of some samples."""
        values = None if self.values is None else self.values[rows]
        return replace(self, answers=np.asarray(self.answers)[rows], values=values)


def predict(model: Any, X: Any, task: str) -> Predictions:
    """The predictions of a fitted model, with probabilities if it has them.

    Parameters
    ----------
    model : estimator
        Of scikit-learn.
    X : array of shape (n_samples, n_features)
    task : {"classification", "multilabel", "regression", "counts", "survival"}

    Returns
    -------
    Predictions

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> X, y = load_iris(return_X_y=True)
    >>> predict(SVC(kernel="linear").fit(X, y), X, "classification").values.shape
    (150, 3)
    """
    answers = model.predict(X)
    has_values = hasattr(model, "predict_proba") or hasattr(model, "decision_function")
    if task in NUMERIC_TASKS or not has_values:
        return Predictions(answers)
    classes = model.classes_ if task == "classification" else None
    has_probabilities = hasattr(model, "predict_proba")
    values = model.predict_proba(X) if has_probabilities else model.decision_function(X)
    values = np.asarray(values, dtype=np.float64)
    if values.ndim == 1:
        # Of two classes, a positive decision value speaks for the second.
        values = np.column_stack([-values, values])
    return Predictions(answers, values, classes, has_probabilities)
