"""What a fitted model says of samples: its answers, and what it says for each class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rowsparse._arrays import Array

__all__ = ["Predictions", "predict"]


@dataclass(frozen=True)
class Predictions:
    """Predictions of a model.

    Attributes
    ----------
    answers : array
        Classes, 0/1 labels or numbers.
    values : array of shape (n_samples, n_classes) or None
        Probabilities or decision values of each class, or of each label; None for numbers.
    classes : array or None
        The classes in the order of the columns of ``values``; None for labels and numbers.
    are_probabilities : bool
        Whether the values are probabilities.
    """

    answers: Any
    values: Array | None = None
    classes: Any = None
    are_probabilities: bool = False


def predict(model: Any, X: Any, task: str) -> Predictions:
    """The predictions of a fitted model, with probabilities if it has them.

    Parameters
    ----------
    model : estimator
        Of scikit-learn.
    X : array of shape (n_samples, n_features)
    task : {"classification", "multilabel", "regression"}

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
    if task == "regression":
        return Predictions(answers)
    classes = model.classes_ if task == "classification" else None
    has_probabilities = hasattr(model, "predict_proba")
    values = model.predict_proba(X) if has_probabilities else model.decision_function(X)
    values = np.asarray(values, dtype=np.float64)
    if values.ndim == 1:
        # Of two classes, a positive decision value speaks for the second.
        values = np.column_stack([-values, values])
    return Predictions(answers, values, classes, has_probabilities)
