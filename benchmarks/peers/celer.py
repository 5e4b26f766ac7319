"""The multi-task lasso of celer.

The estimator of version 0.7.4 calls a private method that scikit-learn 1.9 no longer has; the
function that it calls with the data is used here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from celer.homotopy import mtl_path
from numpy.typing import NDArray


def warm_up(X: NDArray[np.float64], Y: NDArray[np.float64]) -> None:
    """Nothing is compiled on first use."""


def fit_multitask_lasso(
    X: NDArray[np.float64], Y: NDArray[np.float64], alpha: float, tol: float
) -> NDArray[Any]:
    """W (d x c); ``tol`` is a duality gap relative to ||Y||_F^2 / n."""
    _, coefs, _ = mtl_path(X, Y, alphas=[alpha], tol=tol)
    return np.asarray(coefs[..., 0].T)
