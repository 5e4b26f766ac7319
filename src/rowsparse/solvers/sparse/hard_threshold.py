"""Gradient steps that keep the strongest rows, for the squared loss.

    minimise ||Y - XW||_F^2   subject to   ||W||_20 <= k

repeats W <- keep(W - step X'(XW - Y)), where ``keep`` leaves the k rows of largest norm. With step
1/L, L = ||X||_2^2, that is the exact minimum of a quadratic above the loss, which therefore never
rises.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rowsparse._arrays import Array, Index
from rowsparse.rows import row_norms, top_rows
from rowsparse.solvers.losses.squared import SquaredLoss
from rowsparse.solvers.proximal import Descent
from rowsparse.solvers.search.gram import GramProblem
from rowsparse.solvers.solution import Monitor, Solution, scores_with_closeness, silent

# The steps have diverged once the loss is this many times that of the start and that of W = 0.
_DIVERGED = 1e3
# A loss below this share of ||Y||^2 is rounding error.
_PERFECT = 1e-20


class RowsInUse:
    """||Y - XW||_F^2 and half its gradient X'(XW - Y), by the non-zero rows of W.

    The columns of these rows and their Gram matrix are kept until other rows are in use, which is
    seldom.
    """

    def __init__(self, loss: SquaredLoss) -> None:
        self.loss, self.gram = loss, GramProblem.from_design(loss.design, loss.Y)
        self._support: Index | None = None

    def at(self, W: Array) -> tuple[float, Array]:
        """The loss and half its gradient."""
        design = self.loss.design
        S = np.flatnonzero(W.any(axis=1))
        if self._support is None or not np.array_equal(S, self._support):
            self._support = S
            self._columns = design.columns(S).astype(np.float64, copy=False)
            self._gram_rows: Array | None = self.gram.gram(S) if S.size <= design.shape[0] else None
        residual = self.loss.gradient(self._columns @ W[S])
        value = float(np.vdot(residual, residual))
        if self._gram_rows is None:
            return value, design.rmatmul(residual)
        return value, self._gram_rows.T @ W[S] - self.gram.B


@dataclass
class Thresholded(Descent):
    """Where the steps ended, and whether they diverged."""

    diverged: bool = False


def thresholded_descent(
    rows: RowsInUse,
    W: Array,
    keep: Callable[[Array], Array],
    *,
    step: float,
    tol: float,
    max_iter: int,
    charge: float = 0.0,
    reference: float = 0.0,
    monitor: Monitor = silent,
) -> Thresholded:
    """Repeat W <- keep(W - step X'(XW - Y)); the best W seen is returned, the first included.

    Ends when ||Y - XW||_F^2 + ``charge`` ||W||_20 changes by no more than ``tol`` times itself
    or ``reference``, whichever is larger, or when it has diverged.
    """
    smallest = _PERFECT * rows.gram.total

    def evaluate(W: Array) -> tuple[float, Array]:
        value, gradient = rows.at(W)
        return value + charge * int(np.count_nonzero(W.any(axis=1))), gradient

    value, gradient = evaluate(W)
    run = Thresholded(W, value)
    limit = _DIVERGED * max(value, rows.gram.total)
    while run.n_iter < max_iter and not (run.converged or run.stopped or run.diverged):
        W = keep(W - step * gradient)
        before = value
        with np.errstate(over="ignore", invalid="ignore"):
            value, gradient = evaluate(W)
        run.diverged = not value <= limit
        if run.diverged:
            break
        run.history.append(value)
        if value <= run.objective:
            run.W, run.objective = W, value
        run.converged = abs(before - value) <= tol * max(value, reference, smallest)
        run.stopped = monitor(value)
    if not run.history:
        run.history.append(run.objective)
    return run


def thresholded_solution(
    rows: RowsInUse, run: Thresholded, *, k: int | None, charge: float = 0.0
) -> Solution:
    """The best W with its objective, and the rows outside ranked by how close they came."""
    gradient = rows.at(run.W)[1]
    active = np.flatnonzero(run.W.any(axis=1))
    refit = rows.loss.refit(active, penalty=0.0, tol=0.0)
    scores = scores_with_closeness(run.W, row_norms(gradient))
    return Solution(
        run.W,
        np.zeros(run.W.shape[1]),
        run.objective,
        np.asarray(run.history),
        run.n_iter,
        run.converged,
        scores,
        support=None if k is None else top_rows(scores, k),
        attributes={"refitted_objective_": 2.0 * refit.objective + charge * active.size},
    )
