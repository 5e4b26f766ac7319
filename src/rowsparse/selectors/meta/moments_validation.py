"""Scores of folds from their Moments."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.base import clone

from rowsparse._arrays import Array, Index
from rowsparse.moments import Moments
from rowsparse.moments.parts import merged
from rowsparse.moments.statistics import Statistics
from rowsparse.selectors.topk.path_problem import moments_path_problem
from rowsparse.selectors.topk.topk import TopK

__all__ = ["r2_score", "score_moments"]


def score_moments(
    selector: TopK, folds: Sequence[Moments], test: int, alphas: Array, k_max: int, seed: int
) -> Array:
    """Scores of one fold, of shape (n_alphas, n_ks): one path for each alpha."""
    training = merged([fold for i, fold in enumerate(folds) if i != test])
    held_out = folds[test].with_classes_of(training)
    prepared = moments_path_problem(clone(selector), training.with_classes_of(held_out))
    scores = []
    for alpha in alphas.tolist():
        for point in prepared.solve(alpha, k_max, n_restarts=0, seed=seed):
            coef, intercept = prepared.model(point)
            scores.append(r2_score(held_out.statistics, coef, intercept, point.support))
    return np.array(scores).reshape(alphas.size, -1)


def r2_score(found: Statistics, coef: Array, intercept: Array, support: Index) -> float:
    """R^2 of a linear model on the samples of statistics, as scikit-learn has it.

    The mean over the targets of 1 - sum of squared residuals / scatter; of a target without
    scatter, 1 or 0.

    Parameters
    ----------
    found : Statistics
        Of the test samples.
    coef, intercept : arrays of shape (c, k) and (c,)
        The model.
    support : array of int of shape (k,)
        The columns it is of.
    """
    part = found.with_columns(support)
    offset = part.y_mean - intercept - coef @ part.x_mean
    residual = np.diag(part.yy) - 2.0 * np.einsum("cj,jc->c", coef, part.xy)
    residual += np.einsum("ci,ij,cj->c", coef, part.full_xx(), coef)
    residual = np.maximum(residual, 0.0) + part.weight * offset**2
    scatter = np.where(part.y_low < part.y_high, np.diag(part.yy), 0.0)
    flat = scatter <= 0
    scores = 1.0 - residual / np.where(flat, 1.0, scatter)
    return float(np.mean(np.where(flat, (residual == 0).astype(float), scores)))
