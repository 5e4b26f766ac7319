"""Ridge regression on all features, by the smaller of its two systems."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from rowsparse._arrays import Array
from rowsparse.design import Design
from rowsparse.solvers.solution import Monitor, Solution, silent

__all__ = ["ridge_coefficients", "ridge_ranking"]


def ridge_coefficients(design: Design, Y: Array, ridge: float) -> Array:
    """argmin ||Y - XW||_F^2 + ridge ||W||_F^2 for ridge > 0.

    W = X'(XX' + ridge I)^-1 Y where d >= n, W = (X'X + ridge I)^-1 X'Y otherwise.
    """
    n, d = design.shape
    if n <= d:
        kernel = design.outer(np.ones(d))
        kernel[np.diag_indices(n)] += ridge
        return design.rmatmul(cho_solve(cho_factor(kernel), Y))
    kernel = design.gram()
    kernel[np.diag_indices(d)] += ridge
    return np.asarray(cho_solve(cho_factor(kernel), design.rmatmul(Y)))


def ridge_ranking(design: Design, Y: Array, *, ridge: float, monitor: Monitor = silent) -> Solution:
    """Features by the row norms of the ridge regression on all of them.

    Parameters
    ----------
    design, Y : Design and array of shape (n, c)
        Centred if there is an intercept.
    ridge : float
        Positive.
    monitor : Monitor
        Told of the one step that it takes.
    """
    W = ridge_coefficients(design, Y, ridge)
    residual = Y - design.matmul(W)
    objective = float(np.vdot(residual, residual) + ridge * np.vdot(W, W))
    monitor(objective)
    return Solution(W, np.zeros(Y.shape[1]), objective, np.array([objective]), 1, True)
