"""Squared loss with the l_{p,inf} penalty (Kong and Ding 2014).

    min_W  F(W) = 1/2 ||Y - XW||_F^2 + gamma * sum_j ( max_k |w_jk| )^p ,    0 <= p <= 1

There is no intercept here: centre X and Y for a free one. The descents work on sets of rows that
grow; the printed method is plain FISTA with the printed prox.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from rowsparse._arrays import Array, Index
from rowsparse.design import Design
from rowsparse.rows import lpinf_penalty, prox_lpinf, prox_lpinf_published, row_norms, top_rows
from rowsparse.solvers.convex.lasso import best_multiple
from rowsparse.solvers.l21.penalty_search import search_penalty
from rowsparse.solvers.losses.squared import SquaredLoss
from rowsparse.solvers.proximal import Composite, Descent, monotone_apg, settled
from rowsparse.solvers.ridge import ridge_coefficients
from rowsparse.solvers.solution import Monitor, Solution, Variant, scores_with_closeness, silent

Init = Literal["best", "ridge", "continuation", "zero"]

# Values of two starts closer than this, relatively, are equal.
_TIE = 1e-9


def lpinf(
    design: Design,
    Y: Array,
    k: int,
    *,
    p: float,
    gamma: float | None,
    init: Init,
    variant: Variant,
    n_samples: float,
    tol: float,
    max_iter: int,
    monitor: Monitor = silent,
) -> Solution:
    """Minimise 1/2||Y - XW||_F^2 + gamma * sum_j (max_k |w_jk|)^p.

    Parameters
    ----------
    design, Y : Design and array of shape (n, c)
        The data, centred already if an intercept is wanted.
    k : int
        Number of rows to leave with ``gamma=None``.
    p : float
        From 0 (the number of rows is penalised) to 1 (convex).
    gamma : float or None
        None looks for the penalty that leaves k rows. For p < 1 the count jumps, so that the
        weakest few of a solution with slightly more rows may have to be cut.
    init : {"best", "ridge", "continuation", "zero"}
        Where the descent for p < 1 begins. "continuation" solves roughly for p = 1, 0.75, 0.5,
        ... down to p; "best" keeps the better of it and of "ridge", by the objective or, with
        ``gamma=None``, by the least-squares residual refitted on the k strongest rows.
    variant : {"corrected", "published"}
        "published" is plain FISTA with the printed prox, which gives NaN for many rows that
        should vanish. The iteration cannot go on from NaN, so such rows become zero; nothing
        else is changed.
    n_samples : float
        The number of samples; where rows carry the square roots of weights, their sum.
    tol : float
        p = 1: relative duality gap. p < 1: relative change of W in a proximal gradient step.
    max_iter : int
        Most iterations of one descent.

    Returns
    -------
    Solution
        ``scores`` are the l2 norms of the rows and, below all of these, how close zero rows are
        to entering; with "published" the max norms that the paper penalises. ``attributes``
        has ``gamma_`` and, for the corrected p = 1, ``gap_`` and ``dual_coef_``.
    """
    kind = PrintedDescents if variant == "published" else LpInfDescents
    descents = kind(SquaredLoss(design, Y), n_samples, tol, max_iter, monitor)
    starts: tuple[str, ...] = ("continuation", "ridge") if init == "best" else (init,)
    if p == 1 and variant == "corrected":
        starts = ("zero",)  # convex: one answer
    trials: list[Trial] = []
    for start in starts:
        if gamma is None:
            trials.append(descents.k_rows(start, p, k, trials[0].gamma if trials else None))
        else:
            trials.append(Trial(gamma, descents.path(start, p)(gamma)))
    best = trials[0]
    for trial in trials[1:]:
        if gamma is None:
            supports = [top_rows(row_norms(t.run.W), k) for t in (best, trial)]
            refits = [descents.loss.refit(S, penalty=0.0, tol=0.0) for S in supports]
            values = [fit.objective for fit in refits]
        else:
            values = [t.run.objective for t in (best, trial)]
        if values[1] < values[0] - _TIE * abs(values[0]):
            best = trial
    return descents.solution(best, p)


# ----------------------------------------------------------------------------------------- descents
Prox = Callable[[Array, float, float], Array]

# Relative change of F between two checks that counts as none, as a share of the tolerance.
STILL = 0.1
# Tolerance of a working set that is still growing, and those at which rows are counted, for p < 1
# (stationarity) and for p = 1 (gap).
_ROUGH, _COUNT_TOL, _COUNT_GAP = 1e-2, 1e-3, 1e-4
# Step by which the continuation lowers p from 1, and the number of iterations for each p.
_CONTINUATION_STEP, _CONTINUATION_ITER = 0.25, 100
# Factor of the walk to smaller penalties, and most solves of the walk and of the bisection: where
# p < 1 the number of rows jumps, so that a longer bisection would close in on nothing.
_WALK, _MAX_SOLVES = 0.2, 8
# Most solves where it does not jump.
_MORE_SOLVES = 20
_TINY = float(np.finfo(np.float64).tiny)


@dataclass
class Trial:
    """A descent at one penalty; up to ``slack`` rows above k are counted as k."""

    gamma: float
    run: Descent
    k: int = 0
    slack: int = 0

    @property
    def n_rows(self) -> int:
        count = int(np.count_nonzero(self.run.W.any(axis=1)))
        return self.k if self.k <= count <= self.k + self.slack else count


def gamma_max(loss: SquaredLoss, p: float) -> float:
    """The penalty from which on W = 0 is a global minimum.

    If F(W) < F(0) then m_j^p <= F(0)/gamma for m_j = max_k|w_jk|, and some row has
    gamma < ||x_j'Y||_1 m_j^(1-p). Both cannot be once
    gamma >= ( max_j ||x_j'Y||_1 )^p F(0)^(1-p), which for p = 1 is the known lambda_max.
    """
    peak = float(np.abs(loss.correlations).sum(axis=1).max(initial=0.0))
    return max(float(peak**p * loss.at_zero ** (1.0 - p)), _TINY)


@dataclass
class LpInfDescents:
    """Descents for one data set, on working sets of rows."""

    loss: SquaredLoss
    n_samples: float
    tol: float
    max_iter: int
    monitor: Monitor

    def problem(self, active: Index, gamma: float, p: float, prox: Prox) -> Composite:
        """F on the rows ``active``."""
        return self.loss.composite(
            active, lambda W: gamma * lpinf_penalty(W, p), lambda U, step: prox(U, gamma * step, p)
        )

    def descend(self, W: Array, gamma: float, p: float, *, grow: bool = True) -> Descent:
        """The minimum for p = 1, else a stationary point reached from W without F rising.

        With p < 1 and ``grow=False`` no zero row enters.
        """
        W = W.copy()
        total = Descent(W, np.inf)
        entering = np.zeros(0, dtype=np.intp)
        inner_tol = max(self.tol, _ROUGH)
        while True:
            active = np.union1d(np.flatnonzero(W.any(axis=1)), entering)
            run = self._on_rows(active, W[active], gamma, p, inner_tol, total.n_iter)
            W[active] = run.W
            total.history += run.history
            total.objective, total.stopped = run.objective, run.stopped
            ended = run.stopped or total.n_iter >= self.max_iter
            if not ended and self._has_thinned(run.W):
                continue
            if p == 1:
                gap, entering = self._violators(W, run.objective, gamma)
                relative = gap / max(run.objective, _TINY)
                total.converged = relative <= self.tol
                inner_tol = max(min(inner_tol, relative) / 10, self.tol / 4)
            elif not ended:
                if grow and run.objective > self.loss.at_zero:
                    W[:] = 0.0
                entering = self._newcomer(W, gamma, p) if grow else entering
                total.converged = run.converged and entering.size == 0 and inner_tol <= self.tol
                inner_tol = self.tol if entering.size == 0 else max(self.tol, _ROUGH)
            if ended or total.converged:
                return total

    def _on_rows(
        self, active: Index, V: Array, gamma: float, p: float, tol: float, spent: int
    ) -> Descent:
        if active.size == 0:
            return Descent(V, self.loss.at_zero, converged=True)
        problem = self.problem(active, gamma, p, prox_lpinf)

        def done(V: Array, P: Array, history: list[float]) -> bool:
            if self._has_thinned(V):
                return True
            if p == 1:
                return self._gap(V, P, problem, active, gamma) <= tol * max(history[-1], _TINY)
            quiet = tol > self.tol or settled(history, STILL * self.tol)
            return quiet and problem.residual(V, P) <= tol

        left = self.max_iter - spent
        return monotone_apg(problem, V, done=done, max_iter=left, monitor=self.monitor)

    def _has_thinned(self, V: Array) -> bool:
        """Whether enough rows have vanished for the others to be better solved on their own."""
        return len(V) > max(self.loss.gram_rows, 2 * int(np.count_nonzero(V.any(axis=1))))

    def _gap(self, V: Array, P: Array, problem: Composite, active: Index, gamma: float) -> float:
        """The duality gap of p = 1 on the rows ``active``."""
        value = problem.value(V, P)
        score = float(np.abs(problem.gradient(V, P)).sum(axis=1).max(initial=0.0))
        fitted = 2.0 * self.loss.at_zero - float(np.vdot(self.loss.correlations[active], V))
        return value + problem.penalty(V) - best_multiple(2.0 * value, fitted, score, gamma)[1]

    def _violators(self, W: Array, F: float, gamma: float) -> tuple[float, Index]:
        """The duality gap of p = 1, and the zero rows that have to enter."""
        _, scores, dual, _ = self._dual(W, gamma)
        zero = ~W.any(axis=1)
        room = max(10, 2 * int(np.count_nonzero(~zero)))
        outside = np.flatnonzero(zero & (scores > gamma))
        return F - dual, outside[top_rows(scores[outside], min(room, outside.size))]

    def _dual(self, W: Array, gamma: float) -> tuple[Array, Array, float, float]:
        """Residual R, scores ||x_j'R||_1, the dual value of the best feasible s R, and s."""
        R = self.loss.residual(W)
        scores = np.abs(self.loss.design.rmatmul(R)).sum(axis=1)
        fitted, peak = float(np.vdot(self.loss.Y, R)), float(scores.max(initial=0.0))
        s, dual = best_multiple(float(np.sum(R**2)), fitted, peak, gamma)
        return R, scores, dual, s

    def _newcomer(self, W: Array, gamma: float, p: float) -> Index:
        """Set the zero row that lowers F most, when it alone moves, to its best value.

        The step of a row is 1/||x_j||^2, not 1/L: where no row enters, W is stationary for the
        longest step that any row can take.
        """
        curvature = self.loss.design.column_norms() ** 2
        free = np.flatnonzero(~W.any(axis=1) & (curvature > 0))
        A = self.loss.design.rmatmul(self.loss.residual(W))[free] / curvature[free, None]
        U = prox_lpinf(A, gamma / curvature[free], p)
        moved = np.flatnonzero(U.any(axis=1))
        if moved.size == 0:
            return moved
        free, A, U = free[moved], A[moved], U[moved]
        drop = 0.5 * curvature[free] * (row_norms(A) ** 2 - row_norms(A - U) ** 2)
        best = int(np.argmax(drop - gamma * np.abs(U).max(axis=1) ** p))
        W[free[best]] = U[best]
        return free[[best]]

    def _ridge_start(self) -> Array:
        """Ridge regression, with parameter 1 for columns of norm sqrt(n)."""
        design = self.loss.design
        weight = max(float(np.mean(design.column_norms() ** 2)) / self.n_samples, _TINY)
        return ridge_coefficients(design, self.loss.Y, weight)

    def path(self, start: str, p: float) -> Callable[[float], Descent]:
        """The solver of one start, "zero", "ridge" or "continuation", for any penalty."""
        fixed = self._ridge_start() if start == "ridge" else np.zeros_like(self.loss.correlations)
        rough = replace(self, tol=max(self.tol, _ROUGH), max_iter=_CONTINUATION_ITER)
        convex = fixed

        def solve(gamma: float) -> Descent:
            nonlocal convex
            if p == 1:
                run = self.descend(convex, gamma, p)
                convex = run.W
                return run
            W = fixed
            if start == "continuation":
                W = convex = rough.descend(convex, gamma, 1.0).W
                for q in np.arange(1.0 - _CONTINUATION_STEP, p, -_CONTINUATION_STEP):
                    W = rough.descend(W, gamma, float(q), grow=False).W
            return self.descend(W, gamma, p)

        return solve

    def k_rows(self, start: str, p: float, k: int, guess: float | None) -> Trial:
        """The trial with k rows, looked for near the penalty ``guess`` if there is one."""
        upper, step = gamma_max(self.loss, p), _WALK
        if p == 1:
            return self._k_rows_convex(k, upper)
        solve = replace(self, tol=max(self.tol, _COUNT_TOL)).path(start, p)

        def near(gamma: float) -> Trial:
            return Trial(gamma, solve(gamma), k, slack=max(2, k // 5))

        if guess is not None:
            while 1.5 * guess < upper and near(1.5 * guess).n_rows > k:
                guess *= 4.0
            upper, step = min(1.5 * guess, upper), 0.6
        found = search_penalty(near, upper, k, step=step, max_solves=_MAX_SOLVES)[1]
        return self._cut(found, p, k)

    def _k_rows_convex(self, k: int, upper: float) -> Trial:
        """The same for p = 1: rows are counted at a moderate gap, and again at the tolerance."""
        for tol in (max(self.tol, _COUNT_GAP), self.tol):
            solve = replace(self, tol=tol).path("zero", 1.0)
            found = trial_with_rows(solve, upper, k)
            exact = Trial(found.gamma, self.descend(found.run.W, found.gamma, 1.0))
            exact.run.history = found.run.history + exact.run.history
            if exact.n_rows == found.n_rows:
                break
        return exact if exact.n_rows <= k else self._cut(exact, 1.0, k)

    def _cut(self, trial: Trial, p: float, k: int) -> Trial:
        """Keep the k strongest rows and descend with them, at a penalty that leaves them all."""
        kept = top_rows(row_norms(trial.run.W), k)
        W = np.zeros_like(trial.run.W)
        W[kept] = trial.run.W[kept]
        wanted, gamma = int(np.count_nonzero(W.any(axis=1))), trial.gamma
        for _ in range(_MAX_SOLVES):
            run = self.descend(W, gamma, p, grow=False)
            if np.count_nonzero(run.W.any(axis=1)) >= wanted:
                break
            gamma *= 0.8
        if p < 1:
            problem = self.problem(np.arange(W.shape[0]), gamma, p, prox_lpinf)
            run.converged &= problem.residual(run.W, problem.product(run.W)) <= self.tol
        return Trial(gamma, run)

    def solution(self, trial: Trial, p: float) -> Solution:
        """The trial as a Solution, with F recomputed and for p = 1 the certificate."""
        run, gamma = trial.run, trial.gamma
        R, scores, dual, s = self._dual(run.W, gamma)
        F = 0.5 * float(np.sum(R**2)) + gamma * lpinf_penalty(run.W, p)
        attributes: dict[str, Any] = {"gamma_": gamma}
        if p == 1:
            run.converged = F - dual <= self.tol * max(F, _TINY)
            attributes |= {"gap_": F - dual, "dual_coef_": s * R}
        b, history = np.zeros(run.W.shape[1]), np.asarray(run.history)
        ranks = scores_with_closeness(run.W, scores)
        return Solution(
            run.W, b, F, history, run.n_iter, run.converged, ranks, attributes=attributes
        )


def trial_with_rows(solve: Callable[[float], Descent], upper: float, k: int) -> Trial:
    """The trial with k rows, by bisection down from the penalty ``upper``."""
    return search_penalty(lambda t: Trial(t, solve(t)), upper, k, max_solves=_MORE_SOLVES)[1]


# ------------------------------------------------------------------------------- the printed method
# The iteration need not converge: it ends once F has been above its least value by more than this
# share for this number of iterations.
_STUCK_BY, _STUCK_AFTER = 0.01, 100


def prox_printed(A: Array, t: float, p: float) -> Array:
    """The printed prox, with its NaN rows set to zero."""
    W = prox_lpinf_published(A, t, p)
    W[~np.isfinite(W).all(axis=1)] = 0.0
    return W


@dataclass
class PrintedDescents(LpInfDescents):
    """Plain FISTA on all rows with the printed prox."""

    def descend(self, W: Array, gamma: float, p: float, *, grow: bool = True) -> Descent:
        problem = self.problem(np.arange(W.shape[0]), gamma, p, prox_printed)

        def done(V: Array, P: Array, history: list[float]) -> bool:
            return _is_stuck(history) or settled(history, STILL * self.tol)

        run = monotone_apg(
            problem, W, done=done, max_iter=self.max_iter, monitor=self.monitor, monotone=False
        )
        run.converged &= not _is_stuck(run.history)
        return run

    def k_rows(self, start: str, p: float, k: int, guess: float | None) -> Trial:
        if p == 1:
            # No row of the printed method is ever zero: take the penalty of the exact one.
            exact = LpInfDescents(self.loss, self.n_samples, self.tol, self.max_iter, self.monitor)
            gamma = exact.k_rows(start, p, k, guess).gamma
            return Trial(gamma, self.path(start, p)(gamma))
        return trial_with_rows(self.path(start, p), gamma_max(self.loss, p), k)

    def solution(self, trial: Trial, p: float) -> Solution:
        answer = super().solution(trial, p)
        answer.scores = np.abs(trial.run.W).max(axis=1)
        return answer


def _is_stuck(history: list[float]) -> bool:
    """Whether F is no number any more, or has long been above its least value."""
    earlier, latest = history[:-_STUCK_AFTER], history[-_STUCK_AFTER:]
    above = bool(earlier) and min(earlier) < min(latest) * (1.0 - _STUCK_BY)
    return above or not np.isfinite(history[-1])
