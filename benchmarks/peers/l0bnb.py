"""l0bnb: branch and bound for min ||y - Xb||^2 / 2 + l0 ||b||_0 + l2 ||b||^2 with |b_j| <= M."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

# Version 1.0.0 uses np.Inf, which NumPy 2 does not have, and runs once it is there.
vars(np).setdefault("Inf", np.inf)

from l0bnb import BNBTree  # noqa: E402


def prove(
    X: NDArray[np.float64],
    y: NDArray[np.float64],
    *,
    l0: float,
    l2: float,
    big_m: float,
    gap_tol: float,
    time_limit: float,
    start: NDArray[np.float64] | None = None,
) -> tuple[NDArray[Any], float, float, bool]:
    """Coefficients, objective, its gap, and whether the tree was searched to its end.

    ``start``: coefficients that it begins with, as its own path does with those of the last step.
    """
    tree = BNBTree(X, y)
    found = tree.solve(l0, l2, big_m, gap_tol=gap_tol, warm_start=start, time_limit=time_limit)
    searched = tree.bfs_queue.qsize() == 0 and tree.dfs_queue.qsize() == 0
    return np.asarray(found.beta), float(found.cost), float(found.gap), searched
