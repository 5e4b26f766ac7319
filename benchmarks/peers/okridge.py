"""OKRidge: branch and bound for min ||y - Xb||^2 + ridge ||b||^2 with at most k non-zeros.

Version 0.1.1 needs at least as many samples as features, and its objective lacks ||y||^2.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from okridge.tree import BNBTree


def prove(
    X: NDArray[np.float64],
    y: NDArray[np.float64],
    k: int,
    *,
    ridge: float,
    gap_tol: float,
    time_limit: float,
) -> tuple[NDArray[Any], float, float]:
    """Coefficients, the lower bound of its objective and the gap that it claims."""
    tree = BNBTree(X=X, y=y, lambda2=ridge)
    _, coef, gap, bound, _ = tree.solve(k, gap_tol=gap_tol, time_limit=time_limit)
    return np.asarray(coef), float(bound), float(gap)
