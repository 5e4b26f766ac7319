"""MTFS: least squares with an l2,1 penalty (Argyriou et al. 2007; Obozinski et al. 2010).

    penalty="l21"          P(W) = 1/2 ||Y - ZW||_F^2 + gamma ||W||_21
    penalty="l21_squared"  P(W) = 1/2 ||Y - ZW||_F^2 + gamma/2 ||W||_21^2

The second is half of Argyriou's form with the rotation fixed. Both have the same path: the
solution of the second at gamma is that of the first at gamma ||W||_21.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from rowsparse._arrays import Array
from rowsparse.design import Design
from rowsparse.rows import row_norms
from rowsparse.solvers.l21.penalty_search import search_penalty
from rowsparse.solvers.l21.working_set import WorkingSetFit, WorkingSetSolver, as_solution
from rowsparse.solvers.losses.base import BlockLoss, Reduction
from rowsparse.solvers.losses.squared import SquaredLoss
from rowsparse.solvers.solution import Monitor, Solution, silent
from rowsparse.solvers.sparse.rfs_solver import penalty_for

Penalty = Literal["l21", "l21_squared"]

# Factor by which the penalty is raised, and how often, until no more than k rows are left.
_RAISE, _MAX_RAISES = 1.05, 60
# Most solves of the search for the penalty that the squared norm asks for, and how much more
# exact than the answer each of them is.
_MAX_SOLVES, _FINER = 100, 0.1


def mtfs(
    design: Design,
    Y: Array,
    *,
    gamma: float | None,
    k: int,
    penalty: Penalty,
    tol: float,
    max_iter: int,
    monitor: Monitor = silent,
) -> Solution:
    """Minimise P to a duality gap of at most ``tol * P``.

    Parameters
    ----------
    design, Y : Design and array of shape (n, c)
        The data, centred already if an intercept is wanted.
    gamma : float or None
        None takes the penalty that leaves exactly k rows, or where there is none (rows may
        enter together) the one with the fewest rows above k.
    k : int
        Number of rows to leave with ``gamma=None``.
    penalty : {"l21", "l21_squared"}
        The norm, or half its square.
    tol : float
        Duality gap to reach, relative to the objective.
    max_iter : int
        Limit on the rounds of the working set.
    monitor : callable
        Called once a round with the objective of the l2,1 problem being solved.

    Returns
    -------
    Solution
        ``attributes``: ``gamma_``, ``n_active_`` (non-zero rows), ``gap_`` and ``dual_coef_``.
    """
    reduction = Reduction.from_targets(Y, False)
    loss = SquaredLoss(design, reduction.reduced)
    worker = WorkingSetSolver(loss, max_iter=max_iter, monitor=monitor)
    if gamma is None:
        fit = fit_with_rows(worker, k, tol)
    elif penalty == "l21":
        fit = worker.solve(gamma, tol)
    else:
        fit = _fit_squared_norm(worker, gamma, tol)
    norm = float(row_norms(fit.V).sum())
    if penalty == "l21_squared":
        if gamma is None:
            gamma = fit.penalty / norm if norm > 0 else 0.0
            fit = _certified(fit, loss, gamma, tol)
    else:
        gamma = fit.penalty
    solution = as_solution(
        fit, *reduction.expand(fit.coefficients(design.shape[1]), fit.b, fit.Theta)
    )
    solution.attributes |= {"gamma_": gamma, "n_active_": fit.n_rows}
    return solution


def fit_with_rows(worker: WorkingSetSolver, k: int, tol: float) -> WorkingSetFit:
    """The solution with exactly k rows, or with the fewest above k where rows enter together.

    Rows are first counted in rough solutions; where the exact one has more, they are counted
    again in exact ones, at penalties a little higher.
    """
    penalty = penalty_for(worker, k, tol)
    fit = worker.solve(penalty, tol)
    for _ in range(_MAX_RAISES):
        if fit.n_rows <= k:
            return fit
        above = worker.solve(fit.penalty * _RAISE, tol)
        if above.n_rows < k:
            break
        fit = above
    upper = fit.penalty * _RAISE
    return search_penalty(lambda gamma: worker.solve(gamma, tol), upper, k, step=1 / _RAISE)[1]


def _fit_squared_norm(worker: WorkingSetSolver, gamma: float, tol: float) -> WorkingSetFit:
    """The solution of the squared form: the fixed point t = gamma ||W(t)||_21 of the path.

    ||W(t)|| falls as t grows, so that each solution bounds the fixed point from both sides: it
    lies between t and gamma ||W(t)||.
    """
    low, high = 0.0, worker.penalty_max
    t = 0.5 * high
    best: WorkingSetFit | None = None
    history: list[float] = []
    spent = 0
    for _ in range(_MAX_SOLVES):
        inner = worker.solve(t, _FINER * tol)
        wanted = gamma * float(row_norms(inner.V).sum())
        fit = _certified(inner, worker.loss, gamma, tol)
        spent += inner.n_iter
        history.append(fit.objective)
        if best is None or fit.relative_gap < best.relative_gap:
            best = fit
        low, high = max(low, min(t, wanted)), min(high, max(t, wanted))
        if best.converged or not low < high:
            break
        t = float(np.sqrt(low * high)) if low > 0 else 0.1 * high
    assert best is not None
    best.history, best.n_iter = history, spent
    return best


def _certified(fit: WorkingSetFit, loss: BlockLoss, gamma: float, tol: float) -> WorkingSetFit:
    """A solution of the l2,1 problem as one of the squared form, with the gap of that form.

    Its dual is <Y, T> - 1/2 ||T||_F^2 - max_j ||z_j' T||^2 / (2 gamma); T is the best multiple of
    the residual.
    """
    Y, norm = loss.Y, float(row_norms(fit.V).sum())
    R = np.asarray(Y - loss.design.columns(fit.columns) @ fit.V, dtype=np.float64)
    scores = row_norms(loss.design.rmatmul(R))
    square, cross = float(np.vdot(R, R)), float(np.vdot(Y, R))
    peak = float(scores.max(initial=0.0))
    steep = square + (peak * peak / gamma if peak > 0 else 0.0)
    multiple = cross / steep if steep > 0 else 0.0
    certified = replace(
        fit,
        objective=0.5 * square + 0.5 * gamma * norm * norm,
        Theta=multiple * R,
        dual=0.5 * multiple * cross,
        scores=scores,
    )
    certified.converged = certified.relative_gap <= tol
    return certified
