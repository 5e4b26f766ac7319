"""The l2,1 loss on exactly k features, by exchanges that are accepted on the loss itself.

    minimise sum_i omega_i ||y_i - x_i W - b|| + gamma ||W||_21   with W zero outside k rows

What proposes the exchanges and bounds them is in :mod:`rowsparse.solvers.l21.robust_exchanges`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import chain

import numpy as np

from rowsparse._arrays import Array, Index, Mask
from rowsparse.design import Design
from rowsparse.rows import row_norms, top_rows
from rowsparse.solvers.l21.local_search import descend, entry_rates, live_columns
from rowsparse.solvers.l21.robust_exchanges import Kind, RobustExchanges, SupportPoint
from rowsparse.solvers.l21.working_set import WorkingSetSolver
from rowsparse.solvers.losses.l21 import L21Loss
from rowsparse.solvers.solution import Monitor, Solution, scores_with_closeness, silent
from rowsparse.solvers.subset.gram import machine_eps, univariate_gains
from rowsparse.solvers.subset.support import SupportState

# What proposes exchanges in turn, with eps in units of the median residual: the cheap one first,
# and small eps, which seldom add anything, only at the end.
_LADDER: tuple[tuple[Kind, float], ...] = (("gain", 1.0), ("fall", 1.0))
_LONG_LADDER = (*_LADDER, ("gain", 0.2), ("fall", 0.2))
# How many of the exchanges proposed are carried to the end.
_FINALISTS = 4
# RFS is solved to this tolerance at these shares of the penalty that leaves no row.
_RFS_SHARES, _RFS_TOL = (0.5, 0.25, 0.1, 0.05), 1e-2
# Features that each start brings into the pool from which the descents choose.
_POOL = 100
# Share of the loss of W = 0 that is rounding.
_ROUNDING = 1e-10
# Relative duality gap of the refit on the final support.
_FINAL_TOL = 1e-8


def exchange_moves(
    problem: RobustExchanges, ladder: tuple[tuple[Kind, float], ...], *, certified: bool
) -> list[Callable[[SupportPoint], list[SupportPoint]]]:
    """The moves of a descent: the best exchanges proposed by each kind of score, in turn.

    Neighbours have the bounds of their objectives, or if ``certified`` those of convex refits.
    """

    def neighbours(point: SupportPoint, kind: Kind, share: float) -> list[SupportPoint]:
        if point.objective <= problem.rounding:
            return []
        trials = problem.bounds(problem.proposals(point, kind, share), point.norms, _FINALISTS)
        if not certified:
            return trials
        trials = sorted(trials, key=lambda trial: trial.objective)[:_FINALISTS]
        return [problem.refit(trial.support) for trial in trials]

    return [partial(neighbours, kind=kind, share=share) for kind, share in ladder]


@dataclass
class RobustSearch:
    """The search on k features; ``spare`` are constant ones that may fill up to k."""

    problem: RobustExchanges
    k: int
    spare: Mask
    monitor: Monitor
    starts: list[SupportPoint] = field(default_factory=list)
    history: list[float] = field(default_factory=list)

    def note(self, value: float) -> bool:
        """Record the objective of a new incumbent."""
        self.history.append(value)
        return self.monitor(value)

    def greedy(self) -> SupportState:
        """Forward selection in the least squares problem; what adds nothing comes last."""
        problem = self.problem
        state = problem.state(np.flatnonzero(problem.fixed), problem.loss.omega)
        alone = univariate_gains(state.problem.B, state.problem.diagonal)
        while state.support.size < self.k:
            gains = np.where(problem.open, state.addition_gains(), -np.inf)
            if gains.max() <= machine_eps(problem.loss.design) * state.problem.total:
                gains = np.where(problem.open, alone, np.where(self.spare, -1.0, -np.inf))
                gains[state.support] = -np.inf
            state.add(int(np.argmax(gains)))
        return state

    def exchanged(self, state: SupportState) -> Index:
        """The support after the best exchanges in a least squares problem."""
        for _ in range(3 * self.k + 20):
            gains = state.exchange_gains()
            gains[:, ~self.problem.open] = -np.inf
            gains[self.problem.fixed[state.support]] = -np.inf
            i, p = divmod(int(np.argmax(gains)), gains.shape[1])
            if not gains[i, p] > 1e-9 * state.problem.total:
                break
            state.remove(int(state.support[i]))
            state.add(p)
        return state.support

    def supports(self, pool: set[int]) -> Iterator[Index]:
        """The supports to start from; what RFS, solved roughly, ranks high goes into the pool."""
        problem, state = self.problem, self.greedy()
        yield state.support
        yield self.exchanged(state)
        yield self.exchanged(problem.smoothed(problem.refit(state.support), 1.0))
        solver = WorkingSetSolver(problem.loss, max_iter=1)
        usable = problem.open | problem.fixed
        for share in _RFS_SHARES:
            fit = solver.solve(share * solver.penalty_max, _RFS_TOL)
            strength = scores_with_closeness(fit.coefficients(usable.size), fit.scores)
            strength[~problem.open], strength[problem.fixed] = -np.inf, np.inf
            ranked = top_rows(strength, min(self.k + _POOL, int(usable.sum())))
            pool.update(ranked.tolist())
            yield ranked[: self.k]
        # Every support refitted so far is one of these.
        self.starts += [problem.refit(fit.support) for fit in problem.refits.fits]

    def run(self, n_restarts: int, rng: np.random.Generator) -> tuple[SupportPoint, bool]:
        """The best support, and whether no exchange that was tried improves on it."""
        problem, pool = self.problem, set[int]()
        forced = self.k == problem.fixed.sum() or self.k >= (problem.open | problem.fixed).sum()
        best: SupportPoint | None = None
        for support in chain(self.supports(pool), self.descents(pool, n_restarts, rng)):
            point = problem.refit(support)
            if best is None or point.objective < best.objective:
                best = point
                if self.note(best.objective):
                    return best, False
            if forced or best.objective <= problem.rounding:
                return best, True
        assert best is not None
        start, moves = best, exchange_moves(problem, _LONG_LADDER, certified=True)
        return descend(start, moves, stop=lambda p: p is not start and self.note(p.objective))

    def descents(self, chosen: set[int], n: int, rng: np.random.Generator) -> Iterator[Index]:
        """Where descents in a pool end: from the starts, then from n changes of the best end."""
        for start in self.starts:
            height = self.problem.scores(start, *_LADDER[0]).max(axis=0)
            entering = top_rows(height, _POOL)
            chosen.update(start.support.tolist(), entering[np.isfinite(height[entering])].tolist())
        pool = np.array(sorted(chosen), dtype=np.intp)
        inner, seen, ends = self.problem.restricted(pool), set[bytes](), list[SupportPoint]()
        moves = exchange_moves(inner, _LADDER, certified=False)

        def was_seen(point: SupportPoint) -> bool:
            key, size = point.support.tobytes(), len(seen)
            seen.add(key)
            return len(seen) == size

        for at in range(len(self.starts) + n):
            if at < len(self.starts):
                start, support = self.starts[at], np.searchsorted(pool, self.starts[at].support)
            else:
                start = min(ends, key=lambda end: end.objective)
                support = perturbed(inner, start.support, rng)
            begin = inner.bounds(support[None], start.norms, 1)[0]
            ends.append(descend(begin, moves, stop=was_seen)[0])
            yield pool[ends[-1].support]


def perturbed(problem: RobustExchanges, support: Index, rng: np.random.Generator) -> Index:
    """The support with a quarter or more of its features replaced at random."""
    free = np.flatnonzero(~problem.fixed[support])
    entering = np.setdiff1d(np.flatnonzero(problem.open), support)
    size = min(int(rng.integers(-(-free.size // 4), free.size + 1)), entering.size)
    stay = np.delete(support, rng.choice(free, size, replace=False))
    return np.sort(np.append(stay, rng.choice(entering, size, replace=False)))


def robust_topk(
    design: Design,
    Y: Array,
    k: int,
    *,
    weights: Array | None = None,
    gamma: float,
    fit_intercept: bool,
    include: Iterable[int],
    exclude: Iterable[int],
    n_restarts: int,
    rng: np.random.Generator,
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
    monitor : callable
        Called with the objective of every new incumbent.

    Returns
    -------
    Solution
        Never worse than the refits of forward selection and of exchanges for the squared loss.
        ``history`` has the incumbents' objectives and ``n_iter`` is the number of refits;
        ``converged``: the last is certified (``gap_``), and no exchange tried improves on it.
    """
    d, whole = design.shape[1], L21Loss.of(design, Y, weights, fit_intercept)
    fixed, allowed = np.isin(np.arange(d), [*include]), ~np.isin(np.arange(d), [*exclude])
    least, most = int(fixed.sum()), int(allowed.sum())
    if not max(least, 1) <= k <= most or (fixed & ~allowed).any():
        raise ValueError(f"{k} features cannot be chosen: {least} are included, {most} allowed.")
    live, free, loss = live_columns(whole), allowed & ~fixed, whole.reduced()
    rounding = _ROUNDING * float(loss.omega @ row_norms(loss.Y))
    problem = RobustExchanges(loss, gamma, fixed, free & live, rounding)
    search = RobustSearch(problem, k, free & ~live, monitor)
    best, settled = search.run(n_restarts, rng)
    # Those that the coarser gap cannot tell from the best are compared at the finer one.
    close = [fit for fit in problem.refits.fits if fit.objective - abs(fit.gap) <= best.objective]
    finer = [problem.refits.at(fit.support, _FINAL_TOL) for fit in close]
    fit = min(finer, key=lambda fit: fit.objective)
    S, W = fit.support, np.zeros((d, Y.shape[1]))
    W[S], b, Theta = whole.reduction.expand(fit.W, fit.b, fit.Theta)
    scores = scores_with_closeness(W, entry_rates(design, Theta, live), S)
    attributes = {"refit_gap_": max(fit.gap, 0.0), "n_starts_": max(len(search.starts), 1)}
    done, trace = fit.converged and settled, np.array(search.history)
    return Solution(W, b, fit.objective, trace, len(problem.refits), done, scores, S, attributes)
