"""The l2,1 loss on exactly k features, by exchanges that are accepted on the loss itself.

    minimise sum_i omega_i ||y_i - x_i W - b|| + gamma ||W||_21   with W zero outside k rows

With r_i the residuals on a support S and v_i = omega_i / sqrt(||r_i||^2 + eps^2), least squares
with the weights v majorises the (smoothed) loss, and its exact exchange gains propose
exchanges. Large weights hold on to samples that are nearly fitted; the dual points of S less one
feature do not, and propose other exchanges. Reweighted least squares on all proposals at once, eps
falling, bounds the objective of each from above, and the convex refit certifies the best.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Literal, Protocol, TypeVar

import numpy as np

from rowsparse._arrays import Array, Index, Mask
from rowsparse.design import DenseDesign, Design, machine_eps
from rowsparse.rows import row_norms, top_rows
from rowsparse.solvers.l21.working_set import WorkingSetSolver
from rowsparse.solvers.losses.base import Refits
from rowsparse.solvers.losses.l21 import L21Loss
from rowsparse.solvers.search.gram import GramProblem, univariate_gains
from rowsparse.solvers.search.gram_state import GramState
from rowsparse.solvers.solution import Monitor, Solution, scores_with_closeness, silent

# ---------------------------------------------------------------------------------------- exchanges
Kind = Literal["gain", "fall"]
# Reweighting steps that bound a loss (or give a dual point), how eps falls in each, and the steps
# after which only the better half of the proposals goes on.
_STEPS, _REMOVAL_STEPS, _FALL, _HALVE_AFTER = 10, 6, 0.4, (1, 3)
# Exchanges proposed by a score.
_PROPOSALS = 10
# Relative gap at which supports are compared.
_COMPARE_TOL = 1e-5
# Entries of the stacked blocks of a batch of supports.
_BATCH_ENTRIES = 1 << 23
_TINY = float(np.finfo(np.float64).tiny)


@dataclass
class SupportPoint:
    """A support with coefficients on it: their objective, residual and dual point.

    ``removals`` and ``states`` keep what was computed at the point, see
    :meth:`RobustExchanges.removals` and :meth:`RobustExchanges.smoothed`.
    """

    support: Index
    objective: float
    residual: Array
    Theta: Array
    removals: tuple[Array, Array] | None = None
    states: dict[float, GramState] = field(default_factory=dict)

    @property
    def norms(self) -> Array:
        """||r_i||."""
        return np.asarray(row_norms(self.residual), dtype=np.float64)


def median_residual(norms: Array) -> float:
    """The median of the residuals that are not nearly zero."""
    return float(np.median(norms[norms > 1e-6 * norms.max()])) if norms.any() else 1.0


@dataclass
class RobustExchanges:
    """The problem on the columns of a design: ``fixed`` ones stay, ``open`` ones may enter.

    An objective up to ``rounding`` is rounding error.
    """

    loss: L21Loss
    gamma: float
    fixed: Mask
    open: Mask
    rounding: float
    refits: Refits = field(init=False)

    def __post_init__(self) -> None:
        self.refits = Refits(self.loss, self.gamma, _COMPARE_TOL)

    def restricted(self, pool: Index) -> RobustExchanges:
        """The same on the columns of the pool only."""
        block = self.loss.design.columns(pool).astype(np.float64, copy=False)
        view = DenseDesign(block, mean=None, inv_scale=np.ones(pool.size))
        loss = replace(self.loss, design=view)
        return replace(self, loss=loss, fixed=self.fixed[pool], open=self.open[pool])

    def refit(self, support: Index, tol: float | None = None) -> SupportPoint:
        """The convex refit as a point."""
        fit = self.refits.at(support, tol)
        columns = self.loss.design.columns(fit.support).astype(np.float64)
        residual = self.loss.Y - columns @ fit.W - fit.b
        return SupportPoint(fit.support, fit.objective, residual, fit.Theta)

    def bounds(
        self, supports: Index, norms: Array, keep: int, steps: int = _STEPS
    ) -> list[SupportPoint]:
        """At least ``keep`` of the best supports (B x k), reweighting from the residuals given."""
        size = max(keep, _BATCH_ENTRIES // (self.loss.Y.shape[0] * (supports.shape[1] + 1)))
        parts = (supports[at : at + size] for at in range(0, supports.shape[0], size))
        return [point for part in parts for point in self._batch(part, norms, keep, steps)]

    def _batch(self, supports: Index, norms: Array, keep: int, steps: int) -> list[SupportPoint]:
        (B, k), Y, omega = supports.shape, self.loss.Y, self.loss.omega
        columns, where = np.unique(supports, return_inverse=True)
        block = self.loss.design.columns(columns).astype(np.float64, copy=False)
        Z = np.ascontiguousarray(block[:, where.reshape(B, k)].transpose(1, 0, 2))
        if self.loss.fit_intercept:
            Z = np.concatenate([Z, np.ones((B, Z.shape[1], 1))], axis=2)
        r, ridge, eps = np.tile(norms, (B, 1)), np.zeros((B, k)), median_residual(norms)
        ends = [SupportPoint(S, np.inf, Y, Y) for S in supports]
        for step in range(steps):
            v = self.loss.majorising_weights(r, eps)
            V, E = _weighted_fits(Z, Y, v, ridge)
            r, p = (np.sqrt(np.einsum("bij,bij->bi", A, A)) for A in (E, V[:, :k]))
            objectives = r @ omega + self.gamma * p.sum(axis=1)
            for end, objective, residual, weight in zip(ends, objectives, E, v, strict=True):
                if objective < end.objective:
                    end.objective, end.residual = float(objective), residual
                    end.Theta = weight[:, None] * residual
            ridge = self.gamma / np.maximum(p, 1e-3 * p.max(axis=1, keepdims=True, initial=_TINY))
            eps *= _FALL
            if step in _HALVE_AFTER and len(ends) > keep:
                kept = np.sort(np.argsort([e.objective for e in ends])[: max(keep, len(ends) // 2)])
                ends, Z, r, ridge = [ends[at] for at in kept], Z[kept], r[kept], ridge[kept]
        return ends

    def state(self, support: Iterable[int], v: Array) -> GramState:
        """Least squares on a support with sample weights v."""
        squared = self.loss.least_squares(v)
        return GramState(GramProblem.from_design(squared.design, squared.Y), support)

    def smoothed(self, point: SupportPoint, share: float) -> GramState:
        """Least squares with the weights of a point, eps being a share of the median residual."""
        if share not in point.states:
            eps = share * median_residual(point.norms)
            v = self.loss.majorising_weights(point.norms, eps)
            point.states[share] = self.state(point.support, v)
        return point.states[share]

    def removals(self, point: SupportPoint) -> tuple[Array, Array]:
        """The objectives without each of the features, and ||x_p'Theta|| there (k x d)."""
        if point.removals is None:
            k = point.support.size
            others = np.array([np.delete(point.support, i) for i in range(k)]).reshape(k, k - 1)
            ends = self.bounds(others, point.norms, k, _REMOVAL_STEPS)
            products = self.loss.design.rmatmul(np.concatenate([end.Theta for end in ends], axis=1))
            products = products.reshape(-1, k, self.loss.Y.shape[1])
            scores = np.sqrt(np.einsum("pic,pic->ip", products, products))
            point.removals = np.array([end.objective for end in ends]), scores
        return point.removals

    def scores(self, point: SupportPoint, kind: Kind, share: float) -> Array:
        """A score of all exchanges (k x d), the features that leave in the state's order.

        "gain" is the gain in the weighted problem. "fall" is minus the objective after the
        exchange: that without the feature that leaves, less what the feature that enters takes
        off it to second order.
        """
        state = self.smoothed(point, share)
        if kind == "gain":
            scores = state.exchange_gains()
        else:
            order = np.searchsorted(point.support, state.support)
            objectives, dual_scores = (part[order] for part in self.removals(point))
            left = np.tile(state.s, (order.size, 1))
            left[: len(state.basis)] += state.T**2 / np.diag(state.M)[:, None]
            squares = np.maximum(dual_scores - self.gamma, 0.0) ** 2
            some = left > state.problem.negligible
            scores = np.divide(squares, 2 * left, out=np.zeros_like(left), where=some)
            scores -= objectives[:, None]
        scores[:, ~self.open] = -np.inf
        scores[:, point.support] = -np.inf
        scores[self.fixed[state.support]] = -np.inf
        return scores

    def proposals(self, point: SupportPoint, kind: Kind, share: float) -> Index:
        """The supports after the exchanges with the best scores."""
        scores = self.scores(point, kind, share)
        leaving = self.smoothed(point, share).support
        moves = []
        for at in top_rows(scores.ravel(), _PROPOSALS).tolist():
            i, p = divmod(at, scores.shape[1])
            if np.isfinite(scores[i, p]):
                moves.append(np.sort(np.append(point.support[point.support != leaving[i]], p)))
        return np.array(moves, dtype=np.intp).reshape(len(moves), point.support.size)


def _weighted_fits(Z: Array, Y: Array, v: Array, ridge: Array) -> tuple[Array, Array]:
    """Coefficients and residuals of B least squares problems."""
    At = (Z * v[:, :, None]).transpose(0, 2, 1)
    G = At @ Z
    m, k = np.arange(G.shape[1]), np.arange(ridge.shape[1])
    G[:, m, m] = G[:, m, m] * (1.0 + 1e-10) + _TINY
    G[:, k, k] += ridge
    V = np.linalg.solve(G, At @ Y)
    return V, Y - Z @ V


# --------------------------------------------------------------------------------------- the search
# Scores that propose exchanges in turn, eps in units of the median residual: the cheap one first,
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

    def greedy(self) -> GramState:
        """Forward selection in the least squares problem; features without a gain come last."""
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

    def exchanged(self, state: GramState) -> Index:
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
        """The supports to start from; the first features of a rough RFS go into the pool."""
        problem, state = self.problem, self.greedy()
        yield state.support
        yield self.exchanged(state)
        yield self.exchanged(problem.smoothed(problem.refit(state.support), 1.0))
        solver = WorkingSetSolver(problem.loss, max_iter=1)
        usable = problem.open | problem.fixed
        for share in _RFS_SHARES:
            fit = solver.solve(share * solver.penalty_max, _RFS_TOL)
            scores = scores_with_closeness(fit.coefficients(usable.size), fit.scores)
            scores[~problem.open], scores[problem.fixed] = -np.inf, np.inf
            ranked = top_rows(scores, min(self.k + _POOL, int(usable.sum())))
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
    d, whole = design.shape[1], L21Loss.from_targets(design, Y, weights, fit_intercept)
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


# --------------------------------------------------------------------- descent, columns and scores
# The share by which a move must lower the objective.
_LEAST_GAIN = 1e-6
# A column is constant if its norm after centring is at most this number of rounding errors.
_CONSTANT = 100.0


class HasObjective(Protocol):
    """A point of a search."""

    @property
    def objective(self) -> float: ...


P = TypeVar("P", bound=HasObjective)


def descend(
    point: P, moves: Sequence[Callable[[P], list[P]]], *, stop: Callable[[P], bool]
) -> tuple[P, bool]:
    """Go to the best of the neighbours while that lowers the objective.

    Parameters
    ----------
    point : object with an ``objective``
        Where to begin.
    moves : sequence of callables
        Each gives neighbours of a point; a later one is asked only where none of the neighbours
        from the earlier ones is better.
    stop : callable
        Asked at the start and after every move; True ends the search.

    Returns
    -------
    point, whether none of its neighbours is better
    """
    level = 0
    while level < len(moves):
        if level == 0 and stop(point):
            return point, False
        trial = min(moves[level](point), key=lambda trial: trial.objective, default=point)
        if trial.objective < point.objective * (1.0 - _LEAST_GAIN):
            point, level = trial, 0
        else:
            level += 1
    return point, True


def live_columns(loss: L21Loss) -> Mask:
    """The columns that are not constant, or without an intercept not zero.

    What centring leaves of a constant column is rounding error, which could correlate with Y.
    """
    whole, _ = loss.design.weighted(loss.omega, center=False)
    centred, _ = loss.design.weighted(loss.omega, center=loss.fit_intercept)
    noise = _CONSTANT * machine_eps(loss.design) * whole.column_norms()
    return np.asarray(centred.column_norms() > noise)


def entry_rates(design: Design, Theta: Array, live: Mask) -> Array:
    """||x_j' Theta|| / ||x_j||, with Theta the dual point of a fit: zero on its support.

    It is the rate at which the loss falls when feature j, scaled to unit norm, enters.
    """
    scores = np.where(live, row_norms(design.rmatmul(Theta)), 0.0)
    return np.asarray(scores / np.where(live, design.column_norms(), 1.0))
