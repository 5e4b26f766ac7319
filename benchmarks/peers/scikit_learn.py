"""MultiTaskLasso and mutual information of scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_selection import mutual_info_classif
from sklearn.linear_model import MultiTaskLasso

_MAX_ITER = 10_000


def warm_up(X: NDArray[np.float64], Y: NDArray[np.float64]) -> None:
    """Nothing is compiled on first use."""


def fit_multitask_lasso(
    X: NDArray[np.float64], Y: NDArray[np.float64], alpha: float, tol: float
) -> NDArray[Any]:
    """W (d x c); ``tol`` is a duality gap relative to ||Y||_F^2."""
    model = MultiTaskLasso(alpha=alpha, tol=tol, fit_intercept=False, max_iter=_MAX_ITER)
    return np.asarray(model.fit(X, Y).coef_.T)


def mutual_information(
    X: NDArray[Any], y: NDArray[np.intp], seed: int | None = 0
) -> NDArray[np.float64]:
    """Of every feature with the classes, by nearest neighbours."""
    return np.asarray(mutual_info_classif(X, y, random_state=seed))
