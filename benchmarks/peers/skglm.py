"""MultiTaskLasso of skglm, which compiles itself on the first fit."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from skglm import MultiTaskLasso


def warm_up(X: NDArray[np.float64], Y: NDArray[np.float64]) -> None:
    """Fit a corner of the data, so that nothing is left to compile for arrays of this kind."""
    corner = np.asfortranarray(X[:, :50])
    largest = float(np.linalg.norm(corner.T @ Y, axis=1).max())
    fit_multitask_lasso(corner, Y, 0.3 * largest / len(X), 1e-3)


def fit_multitask_lasso(
    X: NDArray[np.float64], Y: NDArray[np.float64], alpha: float, tol: float
) -> NDArray[Any]:
    """W (d x c); ``tol`` is the largest violation of the optimality conditions, times 1/n."""
    model = MultiTaskLasso(alpha=alpha, tol=tol, fit_intercept=False)
    return np.asarray(model.fit(X, Y).coef_.T)
