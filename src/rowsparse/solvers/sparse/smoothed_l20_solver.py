"""SFS, the smoothed l2,0 method of Luo et al. (2010).

Hard thresholding with steps of length 1/L, started at the l2,1 solution with k rows.
"""

from __future__ import annotations

import numpy as np

from rowsparse._arrays import Array
from rowsparse.design import Design
from rowsparse.rows import project_l20, row_norms
from rowsparse.solvers.losses.squared import SquaredLoss
from rowsparse.solvers.solution import Monitor, Solution, silent
from rowsparse.solvers.sparse.hard_threshold import (
    RowsInUse,
    thresholded_descent,
    thresholded_solution,
)
from rowsparse.solvers.sparse.mtfs_solver import mtfs

# Gap to which the l2,1 problem of the start is solved, and the most rounds of its working set.
_START_TOL, _START_ITER = 1e-6, 100


def smoothed_l20(
    design: Design,
    Y: Array,
    k: int,
    *,
    gamma: float | None,
    tol: float,
    max_iter: int,
    monitor: Monitor = silent,
) -> Solution:
    """SFS: thresholded steps of length 1/L from the l2,1 solution with k rows.

    Parameters
    ----------
    design, Y : Design and array of shape (n, c)
        The data, centred already if an intercept is wanted.
    k : int
        Number of rows of the start and, with ``gamma=None``, of the answer.
    gamma : float or None
        Minimise ||Y - XW||_F^2 + 2 gamma ||W||_20 instead: a step keeps the rows with
        ||v_j||^2 > 2 gamma / L.
    tol : float
        Change of the objective, as a share of its value at the start, that ends the steps.
    max_iter : int
        Limit on the steps.

    Returns
    -------
    Solution
        ``attributes``: ``refitted_objective_``, with the coefficients refitted on the support.
    """
    rows = RowsInUse(SquaredLoss(design, Y))
    L = max(design.spectral_norm() ** 2, np.finfo(np.float64).tiny)
    convex = mtfs(design, Y, gamma=None, k=k, penalty="l21", tol=_START_TOL, max_iter=_START_ITER)
    start = project_l20(convex.W, k)

    def keep(V: Array) -> Array:
        if gamma is None:
            return project_l20(V, k)
        return np.where((row_norms(V) > np.sqrt(2.0 * gamma / L))[:, None], V, 0.0)

    charge = 0.0 if gamma is None else 2.0 * gamma
    first = rows.at(start)[0] + charge * int(np.count_nonzero(start.any(axis=1)))
    run = thresholded_descent(
        rows,
        start,
        keep,
        step=1.0 / L,
        tol=tol,
        max_iter=max_iter,
        charge=charge,
        reference=first,
        monitor=monitor,
    )
    return thresholded_solution(rows, run, k=k if gamma is None else None, charge=charge)
