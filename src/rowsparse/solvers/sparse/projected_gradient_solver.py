"""Projected gradient descent onto k rows (Pang et al. 2019).

Hard thresholding from the least squares fit on the k features with the largest ratio of scatters,
or from random starts.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from rowsparse._arrays import Array
from rowsparse.design import Design
from rowsparse.rows import project_l20, top_rows
from rowsparse.solvers.losses.squared import SquaredLoss
from rowsparse.solvers.search.gram import univariate_gains
from rowsparse.solvers.solution import Monitor, Solution, silent
from rowsparse.solvers.sparse.hard_threshold import (
    RowsInUse,
    Thresholded,
    thresholded_descent,
    thresholded_solution,
)

Init = Literal["pang", "random"]


def projected_gradient(
    design: Design,
    Y: Array,
    k: int,
    *,
    init: Init,
    step: float | None,
    n_restarts: int,
    tol: float,
    max_iter: int,
    rng: np.random.Generator,
    monitor: Monitor = silent,
) -> Solution:
    """Projected gradient descent onto the matrices with k non-zero rows.

    Parameters
    ----------
    design, Y : Design and array of shape (n, c)
        The data, centred already if an intercept is wanted.
    k : int
        Number of rows.
    init : {"pang", "random"}
        Least squares on the k features with the largest ||x_j'Y||^2 / ||x_j||^2, or
        ``n_restarts + 1`` times uniform random numbers, the k rows of largest norm kept.
    step : float or None
        Length of a step along X'(XW - Y); None is 1/||X||_2^2.
    tol : float
        Relative change of the objective that ends the steps.
    max_iter : int
        Limit on the steps from one start.
    monitor : callable
        Called once a step; no further step nor start follows when it returns True.

    Returns
    -------
    Solution
        Of the start with the lowest objective. ``attributes``: ``step_``, ``diverged_``,
        ``objectives_`` of all starts and ``refitted_objective_`` of the best.
    """
    rows = RowsInUse(SquaredLoss(design, Y))
    if step is None:
        step = 1.0 / max(design.spectral_norm() ** 2, np.finfo(np.float64).tiny)
    runs: list[Thresholded] = []
    for _ in range(n_restarts + 1 if init == "random" else 1):
        if init == "random":
            start = project_l20(rng.uniform(size=(design.shape[1], Y.shape[1])), k)
        else:
            start = scatter_ratio_start(rows.loss, k)
        runs.append(
            thresholded_descent(
                rows,
                start,
                lambda V: project_l20(V, k),
                step=step,
                tol=tol,
                max_iter=max_iter,
                monitor=monitor,
            )
        )
        if runs[-1].stopped:
            break
    best = min(runs, key=lambda run: run.objective)
    solution = thresholded_solution(rows, best, k=k)
    solution.attributes |= {
        "step_": step,
        "diverged_": best.diverged,
        "objectives_": np.array([run.objective for run in runs]),
    }
    return solution


def scatter_ratio_start(loss: SquaredLoss, k: int) -> Array:
    """Least squares on the k features with the largest ||x_j'Y||^2 / ||x_j||^2.

    For targets with Y'Y = I before centring, one column a class, that is the ratio of the
    scatter between the classes to the total scatter, and ranks as the F-statistic does.
    """
    ratio = univariate_gains(loss.correlations, loss.design.column_norms() ** 2)
    support = top_rows(ratio, k)
    W = np.zeros_like(loss.correlations)
    W[support] = loss.refit(support, penalty=0.0, tol=0.0).W
    return W
