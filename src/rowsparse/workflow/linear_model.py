"""The linear model of a selection: what follows from its coefficients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from rowsparse._arrays import Array

__all__ = ["LinearModel"]

_RULES = ("sign", "largest", "pairs", "labels", "values")


@dataclass(frozen=True)
class LinearModel:
    """Coefficients of the features, and how a prediction follows from what they give.

    Attributes
    ----------
    name : str
        Such as "linear SVM".
    rule : {"sign", "largest", "pairs", "labels", "values"}
        Of Z @ coefficients.T + intercept: "sign": the second class if it is positive, otherwise
        the first; "largest": the class with the largest value; "pairs": each value is a vote for
        one of two classes, the first if it is positive, and the class with most votes wins;
        "labels": each label is 1 if its value is positive; "values": the values themselves.
    coefficients : array of shape (n_outputs, n_features)
    intercept : array of shape (n_outputs,)
    """

    name: str
    rule: str
    coefficients: Array
    intercept: Array

    def decisions(self, Z: Array) -> Array:
        """The values that the rule is applied to, for standardised features."""
        return np.asarray(Z @ self.coefficients.T + self.intercept)

    def predict(self, Z: Array, n_classes: int) -> NDArray[Any]:
        """Indices of classes, 0/1 labels or numbers, for standardised features."""
        found = self.decisions(Z)
        if self.rule == "sign":
            return (found[:, 0] > 0).astype(np.intp)
        if self.rule == "largest":
            return np.argmax(found, axis=1)
        if self.rule == "labels":
            return (found > 0).astype(np.int64)
        if self.rule == "values":
            return found
        return np.argmax(_votes(found, n_classes)[0], axis=1)

    @property
    def has_probabilities(self) -> bool:
        """Whether the values of the classes are probabilities."""
        return self.name == "logistic regression" and self.rule != "labels"

    def class_values(self, Z: Array, n_classes: int) -> Array:
        """A value for each class or label, as :class:`rowsparse.evaluation.Predictions` has them.

        Of pairs, these are the votes for each class, and less than half a vote for how clear the
        pairs with it are, as in scikit-learn.
        """
        found = self.decisions(Z)
        if self.rule == "pairs":
            votes, clear = _votes(found, n_classes)
            return np.asarray(votes + clear / (3 * (np.abs(clear) + 1)))
        if self.rule == "sign":
            found = np.column_stack([-found[:, 0], found[:, 0]])
            found = found / 2 if self.has_probabilities else found
        return np.asarray(softmax(found, axis=1)) if self.has_probabilities else found

    @classmethod
    def from_record(cls, record: dict[str, Any], n_features: int) -> LinearModel:
        """Read a model of so many features from its JSON."""
        coefficients = np.array(record["coefficients"], dtype=np.float64)
        intercept = np.array(record["intercept"], dtype=np.float64)
        if coefficients.shape != (intercept.size, n_features) or record["rule"] not in _RULES:
            raise ValueError
        return cls(record["name"], record["rule"], coefficients, intercept)


def _votes(decisions: Array, n_classes: int) -> tuple[Array, Array]:
    """The votes for each class, and the sums of the decisions for it, from pairs of classes."""
    votes = np.zeros((len(decisions), n_classes))
    clear = np.zeros_like(votes)
    first, second = np.triu_indices(n_classes, 1)
    for value, i, j in zip(decisions.T, first.tolist(), second.tolist(), strict=True):
        votes[:, i] += value > 0
        votes[:, j] += value <= 0
        clear[:, i] += value
        clear[:, j] -= value
    return votes, clear
