"""The data of a proof: the user's X and y, standardised and centred in plain NumPy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rowsparse._arrays import Array
from rowsparse.certificate.proof import ProofProblem

_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Data:
    """Z, Y and the ridge of the problem min ||Y - Z W||^2 + ridge ||W||^2 over k rows.

    The rows of Z and Y are multiplied by the square roots of the ``weights`` of the samples.
    ``labels`` are the targets before that and before any centring, for the logistic loss the
    binary labels it is the sum of. ``X`` holds the columns as the user stores them, or clipped.
    """

    Z: Array
    Y: Array
    ridge: float
    X: Array
    labels: Array
    weights: Array
    fit_intercept: bool

    @classmethod
    def of(cls, X: Any, y: Any, problem: ProofProblem, sample_weight: Any) -> Data:
        """The data of a problem; X is made dense."""
        # Imported here, because the workers of a proof import this package but not scikit-learn.
        from rowsparse.targets import encode_targets, target_array

        X = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
        if X.ndim != 2 or X.shape[1] != problem.n_features:
            raise ValueError(
                f"X has the shape {X.shape}, but the proof is about {problem.n_features} columns."
            )
        weights = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight, float)
        kept = weights > 0
        labels = encode_targets(target_array(y, len(X))[kept], problem.task).Y
        X, weights = X[kept] / problem.x_unit, weights[kept]
        if labels.shape[1] != problem.n_targets:
            raise ValueError(
                f"y has {labels.shape[1]} targets, but the proof is about {problem.n_targets}."
            )
        if problem.class_weight is not None:
            weights = weights * (labels @ _per_class(problem.class_weight, weights @ labels))
        if problem.task == "regression":
            labels = np.reshape(target_array(y, kept.size), (kept.size, -1))[kept].astype(float)
            labels = labels / problem.y_unit
        return cls._weighted(X, labels, weights, problem)

    @classmethod
    def _weighted(cls, X: Array, Y: Array, weights: Array, problem: ProofProblem) -> Data:
        share = weights / weights.sum()
        if problem.clip is not None:
            X = np.clip(_centred_and_scaled(X, share, scale=True), -problem.clip, problem.clip)
        stored = X
        labels = _binary(Y, problem) if problem.loss == "logistic" else Y
        constant = np.all(Y[:1] == Y, axis=0)
        for _ in range(2 if problem.fit_intercept else 0):
            Y = np.where(constant, 0.0, Y - share @ Y)
        if problem.standardize or problem.fit_intercept:
            X = _centred_and_scaled(X, share, scale=problem.standardize)
        root = np.sqrt(weights)[:, None]
        ridge = problem.alpha * float(weights.sum()) / problem.x_unit / problem.x_unit
        return cls(root * X, root * Y, ridge, stored, labels, weights, problem.fit_intercept)


def _centred_and_scaled(X: Array, share: Array, *, scale: bool) -> Array:
    """X centred, and scaled if asked; constant columns become zero."""
    largest = np.abs(X).max(axis=0)
    # Twice, because with large means the rounding error of the first pass is not negligible.
    for _ in range(2):
        X = X - share @ X
    spread = np.sqrt(share @ X**2)
    varies = spread > np.maximum(10 * _EPS * largest, np.finfo(np.float64).tiny)
    return np.asarray(X / np.where(varies, spread if scale else 1.0, np.inf))


def _per_class(class_weight: Any, counts: Array) -> Array:
    if isinstance(class_weight, str):
        return np.asarray(counts.sum() / (counts.size * counts))
    return np.asarray(class_weight, dtype=np.float64)


def _binary(labels: Array, problem: ProofProblem) -> Array:
    """Of two classes the second; with an intercept, no label that all samples share."""
    if problem.task == "classification" and labels.shape[1] == 2:
        labels = labels[:, 1:]
    constant = np.all(labels[:1] == labels, axis=0) & problem.fit_intercept
    return labels[:, ~constant]
