"""A loss with an l2,1 penalty, solved on a growing set of columns and certified on all of them.

    P(W, b) = f(XW + 1b') + penalty * sum_j ||w_j||_2

Each round solves the problem on the working set, scores *all* features by the dual point (one
pass over the data), and stops when the duality gap of the whole problem is small enough.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from rowsparse._arrays import Array, Index
from rowsparse.rows import row_norms, top_rows
from rowsparse.solvers.convex.fit import BlockFit, BlockState
from rowsparse.solvers.losses.base import BlockLoss
from rowsparse.solvers.solution import (
    Monitor,
    Solution,
    relative_gap,
    scores_with_closeness,
    silent,
)

# Share of the penalty above which the score of a zero row keeps it in the working set.
_KEEP_SCORE = 0.95
_MIN_COLUMNS = 10
# Size of the first working set, as a number of columns and as a multiple of the samples.
_FIRST_COLUMNS, _FIRST_SHARE = 100, 2
_FIRST_TOL = 1e-2
# Linear programmes take long on many columns: the first working set, and the least to add.
_PROGRAMME_COLUMNS = 100


@dataclass
class WorkingSetFit:
    """A solution of the whole problem: W = V on ``columns``, zero elsewhere."""

    penalty: float
    columns: Index
    V: Array
    b: Array
    objective: float
    Theta: Array
    dual: float
    scores: Array
    converged: bool = False
    block: BlockFit | None = None
    history: list[float] = field(default_factory=list)
    n_iter: int = 0

    @property
    def gap(self) -> float:
        """Objective less dual value."""
        return self.objective - self.dual

    @property
    def relative_gap(self) -> float:
        """The gap as a share of the objective."""
        return relative_gap(self.objective, self.gap)

    @property
    def n_rows(self) -> int:
        """The number of rows that are not zero."""
        return int(np.count_nonzero(row_norms(self.V)))

    def coefficients(self, d: int) -> Array:
        """W, d x c."""
        W = np.zeros((d, self.V.shape[1]))
        W[self.columns] = self.V
        return W


class WorkingSetSolver:
    """Minimises P for one penalty after another, each from where the last one ended.

    Once the monitor has asked to stop, further calls return what there is.
    """

    def __init__(self, loss: BlockLoss, *, max_iter: int, monitor: Monitor = silent) -> None:
        self.loss = loss
        self.max_iter = max_iter
        self.monitor = monitor
        self._null = loss.null_point()
        self.null_scores = row_norms(loss.design.rmatmul(self._null[1]))
        self.penalty_max = float(self.null_scores.max(initial=0.0))
        self._last: WorkingSetFit | None = None
        self._stopped = False

    def solve(self, penalty: float, tol: float) -> WorkingSetFit:
        """The solution at ``penalty`` to a relative gap of ``tol``."""
        if self._stopped and self._last is not None:
            return self._last
        if penalty >= self.penalty_max:
            return self._null_fit(penalty, tol)
        best, columns, state = self._start(penalty)
        inner_tol = _FIRST_TOL if best is None else min(_FIRST_TOL, best.relative_gap / 10)
        history: list[float] = []
        spent = 0
        for _ in range(self.max_iter):
            inner_tol = max(inner_tol, tol / 2)
            Z = self.loss.design.columns(columns).astype(np.float64, copy=False)
            block = self.loss.solve_block(Z, penalty, inner_tol, state)
            spent += block.n_iter
            best = self._certify(columns, block, penalty, best)
            history.append(best.objective)
            best.converged = best.relative_gap <= tol
            self._stopped = self.monitor(best.objective)
            if best.converged or self._stopped:
                break
            # The dual point of a linear programme is a vertex that jumps: columns dropped for it
            # would come back.
            drop = not self.loss.linear_programme
            grown, state = self._next_set(columns, block, best.scores, penalty, drop=drop)
            stuck = np.array_equal(grown, columns) and not block.converged
            if stuck and inner_tol <= tol / 2:
                break
            columns = grown
            inner_tol = min(inner_tol, best.relative_gap) / 10
        assert best is not None
        best.history, best.n_iter = history, spent
        self._last = best
        return best

    def _null_fit(self, penalty: float, tol: float) -> WorkingSetFit:
        """W = 0, which is optimal at this penalty."""
        b, Theta = self._null
        columns, V = np.zeros(0, dtype=np.intp), np.zeros((0, b.size))
        objective = self.loss.value(np.broadcast_to(b, self.loss.Y.shape))
        Theta, scores, dual = self.loss.dual_point(Theta, penalty)
        fit = WorkingSetFit(penalty, columns, V, b, objective, Theta, dual, scores)
        fit.converged = fit.relative_gap <= tol
        fit.history = [objective]
        return fit

    def _start(self, penalty: float) -> tuple[WorkingSetFit | None, Index, BlockState | None]:
        """The last solution as a feasible pair for this penalty, with its working set."""
        n, d = self.loss.design.shape
        last = self._last
        if last is None:
            size = max(_FIRST_COLUMNS, _FIRST_SHARE * n)
            size = min(d, _PROGRAMME_COLUMNS if self.loss.linear_programme else size)
            return None, top_rows(self.null_scores, size), None
        P = self.loss.design.columns(last.columns) @ last.V + last.b
        objective = self.loss.value(P) + penalty * float(row_norms(last.V).sum())
        Theta, scores, dual = self.loss.dual_point(last.Theta, penalty)
        best = WorkingSetFit(penalty, last.columns, last.V, last.b, objective, Theta, dual, scores)
        if last.block is None or last.block.W.shape[0] != last.columns.size:
            return best, np.union1d(last.columns, top_rows(scores, min(d, 2 * n))), None
        columns, state = self._next_set(last.columns, last.block, scores, penalty, drop=True)
        return best, columns, state

    def _certify(
        self, columns: Index, block: BlockFit, penalty: float, best: WorkingSetFit | None
    ) -> WorkingSetFit:
        """The block's fit as one of the whole problem, with the best dual point so far."""
        Theta, scores, dual = self.loss.dual_point(block.Theta, penalty)
        fit = WorkingSetFit(
            penalty, columns, block.W, block.b, block.objective, Theta, dual, scores, block=block
        )
        if best is not None and best.dual > dual:
            fit = replace(fit, Theta=best.Theta, dual=best.dual)
        if best is not None and best.objective < fit.objective:
            fit = replace(
                fit,
                columns=best.columns,
                V=best.V,
                b=best.b,
                objective=best.objective,
                block=best.block,
            )
        return fit

    def _next_set(
        self, columns: Index, block: BlockFit, scores: Array, penalty: float, *, drop: bool
    ) -> tuple[Index, BlockState | None]:
        """Drop rows that seem to be zero, add the worst violators, and carry the iterates over."""
        V = block.W if block.state is None else block.state.V
        norms = row_norms(V)
        keep = (norms > 0) | (scores[columns] > _KEEP_SCORE * penalty) | (not drop)
        if np.count_nonzero(keep) < _MIN_COLUMNS:
            closest = top_rows(scores[columns], min(_MIN_COLUMNS, columns.size))
            keep[closest] = True
        outside = scores > penalty
        outside[columns] = False
        violators = np.flatnonzero(outside)
        kept = int(np.count_nonzero(keep))
        room = max(self.loss.Y.shape[0], 2 * kept)
        room = max(_PROGRAMME_COLUMNS, kept // 2) if self.loss.linear_programme else room
        violators = violators[top_rows(scores[violators], min(room, violators.size))]
        grown = np.concatenate([columns[keep], violators])
        if block.state is None:
            return grown, None
        entering = np.zeros((0, V.shape[1]))
        if violators.size:
            entering = self.loss.design.columns(violators).T @ block.Theta
        return grown, block.state.moved_to(keep, entering)


def as_solution(fit: WorkingSetFit, W: Array, b: Array, Theta: Array) -> Solution:
    """A Solution for (W, b, Theta), which are those of the fit in the user's targets.

    Rows that are zero are ranked by how close they are to entering, below all others.
    """
    return Solution(
        W,
        b,
        fit.objective,
        np.asarray(fit.history),
        fit.n_iter,
        fit.converged,
        scores_with_closeness(W, fit.scores),
        attributes={"gap_": fit.gap, "dual_coef_": Theta},
    )
