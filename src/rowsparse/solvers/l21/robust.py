"""The l2,1 loss on exactly k features, by exchanges that are accepted on the loss itself.

    minimise sum_i omega_i ||y_i - x_i W - b|| + gamma ||W||_21   with W zero outside k rows

What proposes the exchanges and bounds them is in :mod:`rowsparse.solvers.l21.robust_loss`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from rowsparse._arrays import Array, Index, Mask
from rowsparse.design import Design
from rowsparse.rows import row_norms, top_rows
from rowsparse.solvers.l21.problem import L21Problem, Reduction
from rowsparse.solvers.l21.robust_loss import Kind, Point, RobustLoss
from rowsparse.solvers.l21.working_set import WorkingSetSolver
from rowsparse.solvers.solution import Monitor, Solution, scores_with_closeness, silent
from rowsparse.solvers.subset.gram import machine_eps, univariate_gains
from rowsparse.solvers.subset.support import SupportState

# What proposes exchanges in turn, with eps in units of the median residual: the cheap one first,
# and small eps, which seldom add anything, only at the end.
_LADDER: tuple[tuple[Kind, float], ...] = (("gain", 1.0), ("fall", 1.0))
_LONG_LADDER = (*_LADDER, ("gain", 0.2), ("fall", 0.2))
# How many of the exchanges proposed are carried to the end, and the share they must gain.
_FINALISTS, _LEAST_GAIN = 4, 1e-6
# RFS is solved to this tolerance at these shares of the penalty that leaves no row.
_RFS_SHARES, _RFS_TOL = (0.5, 0.25, 0.1, 0.05), 1e-2
# Features that each start brings into the pool from which the descents choose.
_POOL = 100
# Share of the loss of W = 0 that is rounding; rounding errors that centring leaves of a constant
# column.
_ROUNDING, _CONSTANT = 1e-10, 100.0


def descend(
    loss: RobustLoss,
    point: Point,
    seen: set[bytes],
    certified: Callable[[float], bool] | None = None,
) -> tuple[Point, bool]:
    """Exchanges while the loss (its bound, or as certified) falls, or to a support ``seen``.

    The second value says whether no exchange that was tried improves on the point.
    """
    ladder = _LONG_LADDER if certified else _LADDER
    level = 0
    while level < len(ladder) and point.loss > loss.rounding:
        if level == 0 and point.support.tobytes() in seen:
            break
        seen.add(point.support.tobytes())
        trials = loss.bounds(loss.proposals(point, *ladder[level]), point.norms, _FINALISTS)
        if certified:
            trials = sorted(trials, key=lambda trial: trial.loss)[:_FINALISTS]
            trials = [loss.refit(trial.support) for trial in trials]
        trial = min(trials, key=lambda trial: trial.loss, default=point)
        if trial.loss < point.loss * (1.0 - _LEAST_GAIN):
            point, level = trial, 0
            if certified and certified(point.loss):
                return point, False
        else:
            level += 1
    return point, True


@dataclass
class Search:
    """The supports to start from; ``spare`` are constant features that may fill up to k."""

    loss: RobustLoss
    k: int
    spare: Mask
    monitor: Monitor
    starts: list[Point] = field(default_factory=list)
    history: list[float] = field(default_factory=list)

    def note(self, value: float) -> bool:
        """Record the objective of a new incumbent."""
        self.history.append(value)
        return self.monitor(value)

    def greedy(self) -> SupportState:
        """Forward selection in the least squares problem; what adds nothing comes last."""
        loss = self.loss
        state = loss.state(np.flatnonzero(loss.fixed), loss.omega)
        alone = univariate_gains(state.problem.B, state.problem.diagonal)
        while state.support.size < self.k:
            gains = np.where(loss.open, state.addition_gains(), -np.inf)
            if gains.max() <= machine_eps(loss.design) * state.problem.total:
                gains = np.where(loss.open, alone, np.where(self.spare, -1.0, -np.inf))
                gains[state.support] = -np.inf
            state.add(int(np.argmax(gains)))
        return state

    def exchanged(self, state: SupportState) -> Index:
        """The support after the best exchanges in a least squares problem."""
        for _ in range(3 * self.k + 20):
            gains = state.exchange_gains()
            gains[:, ~self.loss.open] = -np.inf
            gains[self.loss.fixed[state.support]] = -np.inf
            i, p = divmod(int(np.argmax(gains)), gains.shape[1])
            if not gains[i, p] > 1e-9 * state.problem.total:
                break
            state.remove(int(state.support[i]))
            state.add(p)
        return state.support

    def supports(self, pool: set[int]) -> Iterator[Index]:
        """The supports to start from; what RFS, solved roughly, ranks high goes into the pool."""
        loss, state = self.loss, self.greedy()
        yield state.support
        yield self.exchanged(state)
        yield self.exchanged(loss.smoothed(loss.refit(state.support), 1.0))
        problem = L21Problem.build(loss.design, loss.Y, loss.omega, loss.fit_intercept)
        solver = WorkingSetSolver(problem, max_iter=1)
        for share in _RFS_SHARES:
            fit = solver.solve(share * solver.penalty_max, _RFS_TOL)
            strength = scores_with_closeness(fit.coefficients(loss.open.size), fit.scores)
            strength[~loss.open], strength[loss.fixed] = -np.inf, np.inf
            ranked = top_rows(strength, min(self.k + _POOL, int((loss.open | loss.fixed).sum())))
            pool.update(ranked.tolist())
            yield ranked[: self.k]
        # Every support refitted so far is one of these.
        self.starts += [loss.refit(np.array(S, dtype=np.intp)) for S in loss.refits]

    def run(self, n_restarts: int, rng: np.random.Generator) -> tuple[Point, bool]:
        """The best support, and whether no exchange that was tried improves on it."""
        loss, pool = self.loss, set[int]()
        forced = self.k == loss.fixed.sum() or self.k >= (loss.open | loss.fixed).sum()
        best: Point | None = None
        for support in chain(self.supports(pool), self.descents(pool, n_restarts, rng)):
            point = loss.refit(support)
            if best is None or point.loss < best.loss:
                best = point
                if self.note(best.loss):
                    return best, False
            if forced or best.loss <= loss.rounding:
                return best, True
        assert best is not None
        return descend(loss, best, set(), certified=self.note)

    def descents(self, chosen: set[int], n: int, rng: np.random.Generator) -> Iterator[Index]:
        """Where descents in a pool end: from the starts, then from n changes of the best end."""
        for start in self.starts:
            height = self.loss.scores(start, *_LADDER[0]).max(axis=0)
            entering = top_rows(height, _POOL)
            chosen.update(start.support.tolist(), entering[np.isfinite(height[entering])].tolist())
        pool = np.array(sorted(chosen), dtype=np.intp)
        inner, seen, ends = self.loss.restricted(pool), set[bytes](), list[Point]()
        for at in range(len(self.starts) + n):
            if at < len(self.starts):
                start, support = self.starts[at], np.searchsorted(pool, self.starts[at].support)
            else:
                start = min(ends, key=lambda end: end.loss)
                support = kicked(inner, start.support, rng)
            ends.append(descend(inner, inner.bounds(support[None], start.norms, 1)[0], seen)[0])
            yield pool[ends[-1].support]


def kicked(loss: RobustLoss, support: Index, rng: np.random.Generator) -> Index:
    """The support with a quarter or more of its features replaced at random."""
    free = np.flatnonzero(~loss.fixed[support])
    entering = np.setdiff1d(np.flatnonzero(loss.open), support)
    size = min(int(rng.integers(-(-free.size // 4), free.size + 1)), entering.size)
    stay = np.delete(support, rng.choice(free, size, replace=False))
    return np.sort(np.append(stay, rng.choice(entering, size, replace=False)))


def robust_topk(
    design: Design,
    Y: Array,
    k: int,
    *,
    weights: Array | None = None,
    gamma: float = 0.0,
    fit_intercept: bool = True,
    include: Iterable[int] = (),
    exclude: Iterable[int] = (),
    n_restarts: int = 4,
    rng: np.random.Generator,
    tol: float = 1e-8,
    monitor: Monitor = silent,
) -> Solution:
    """Minimise sum_i omega_i ||y_i - x_i W - b|| + gamma ||W||_21 over supports of k features.

    Parameters
    ----------
    weights : array of shape (n,), optional
        The omega_i; ones by default.
    include, exclude : iterable of int
        Features that are always and never chosen.
    n_restarts, rng : int, numpy.random.Generator
        Descents from random changes of the best support, after those from the ``n_starts_``.
    tol : float
        Relative duality gap of the refit on the final support.
    monitor : callable
        Called with the objective of every new incumbent.

    Returns
    -------
    Solution
        Never worse than the refits of forward selection and of exchanges for the squared loss.
        ``history`` has the incumbents' objectives and ``n_iter`` is the number of refits;
        ``converged``: the last is certified (``gap_``), and no exchange tried improves on it.
    """
    d, omega = design.shape[1], np.ones(Y.shape[0]) if weights is None else weights
    fixed, allowed = np.isin(np.arange(d), [*include]), ~np.isin(np.arange(d), [*exclude])
    least, most = int(fixed.sum()), int(allowed.sum())
    if not max(least, 1) <= k <= most or (fixed & ~allowed).any():
        raise ValueError(f"{k} features cannot be chosen: {least} are included, {most} allowed.")
    # What centring leaves of a constant column is rounding, and would correlate with Y.
    noise = _CONSTANT * machine_eps(design) * design.weighted(omega, center=False)[0].column_norms()
    live = design.weighted(omega, center=fit_intercept)[0].column_norms() > noise
    free, reduction = allowed & ~fixed, Reduction.of(Y, fit_intercept)
    rounding, masks = _ROUNDING * float(omega @ row_norms(reduction.reduced)), (fixed, free & live)
    loss = RobustLoss(design, reduction.reduced, omega, gamma, fit_intercept, *masks, rounding)
    search = Search(loss, k, free & ~live, monitor)
    best, settled = search.run(n_restarts, rng)
    # Those that the coarser gap cannot tell from the best are compared at the finer one.
    close = [S for S, fit in loss.refits.items() if fit.objective - abs(fit.gap) <= best.loss]
    S = min((loss.refit(np.array(S), tol) for S in close), key=lambda point: point.loss).support
    fit = loss.refits[tuple(S.tolist())]
    W = np.zeros((d, Y.shape[1]))
    W[S], b, Theta = reduction.expand(fit.W, fit.b, fit.Theta)
    pull = np.where(live, row_norms(design.rmatmul(Theta)), 0.0)
    scores = scores_with_closeness(W, pull / np.where(live, design.column_norms(), 1.0), S)
    attributes = {"refit_gap_": max(fit.gap, 0.0), "n_starts_": max(len(search.starts), 1)}
    done, trace = fit.converged and settled, np.array(search.history)
    return Solution(W, b, fit.objective, trace, len(loss.refits), done, scores, S, attributes)
