"""The l2,1 loss on exactly k features, by exchanges that are accepted on the loss itself.

    minimise sum_i omega_i ||y_i - x_i W - b|| + gamma ||W||_21   with W zero outside k rows

With r_i the residuals on a support S and v_i = omega_i / sqrt(||r_i||^2 + eps^2), least squares
with the weights v majorises the (smoothed) loss, and its exact exchange gains propose
exchanges. They hold on to samples that are nearly fitted; the dual points of S less one feature
do not, and propose others by the pull they exert. Reweighted least squares on all proposals at
once, eps falling, bounds the loss of each from above, and the convex refit certifies the best.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Literal

import numpy as np

from rowsparse._arrays import Array, Index, Mask
from rowsparse.design import DenseDesign, Design
from rowsparse.rows import row_norms, top_rows
from rowsparse.solvers.exchange import LeastSquares, SupportState, machine_eps, univariate_gains
from rowsparse.solvers.problem import L21Problem, Reduction
from rowsparse.solvers.refit import refit_l21
from rowsparse.solvers.solution import Monitor, Solution, scores_with_closeness, silent
from rowsparse.solvers.working_set import BlockFit, WorkingSetSolver

Kind = Literal["gain", "fall"]
# What proposes exchanges in turn, with eps in units of the median residual: the cheap one first,
# and small eps, which seldom add anything, only at the end.
_LADDER: tuple[tuple[Kind, float], ...] = (("gain", 1.0), ("fall", 1.0))
_LONG_LADDER = (*_LADDER, ("gain", 0.2), ("fall", 0.2))
# Reweighting steps that bound a loss (or give a dual point), how eps falls in each, and the steps
# after which only the better half of the proposals goes on.
_STEPS, _PULL_STEPS, _FALL, _HALVE_AFTER = 10, 6, 0.4, (1, 3)
# Exchanges proposed by a score, how many are carried to the end, and the share they must gain.
_PROPOSALS, _FINALISTS, _LEAST_GAIN = 10, 4, 1e-6
# RFS is solved to this tolerance at these shares of the penalty that leaves no row.
_RFS_SHARES, _RFS_TOL = (0.5, 0.25, 0.1, 0.05), 1e-2
# Features that each start brings into the pool from which the descents choose.
_POOL = 100
# Relative gap at which supports are compared; share of the loss of W = 0 that is rounding; and
# rounding errors that centring leaves of a constant column.
_COMPARE_TOL, _ROUNDING, _CONSTANT = 1e-5, 1e-10, 100.0
# Entries of the stacked blocks of a batch of supports.
_BATCH_ENTRIES = 1 << 23
_TINY = float(np.finfo(np.float64).tiny)


@dataclass
class Point:
    """A support with coefficients on it: their loss, residual and dual point."""

    support: Index
    loss: float
    residual: Array
    Theta: Array
    pulls: tuple[Array, Array] | None = None
    states: dict[float, SupportState] = field(default_factory=dict)

    @property
    def norms(self) -> Array:
        """||r_i||."""
        return np.asarray(row_norms(self.residual), dtype=np.float64)


def typical(norms: Array) -> float:
    """The median of the residuals that are not nearly zero."""
    return float(np.median(norms[norms > 1e-6 * norms.max()])) if norms.any() else 1.0


@dataclass
class RobustLoss:
    """The problem on the columns of a design: ``fixed`` ones stay, ``open`` ones may come in."""

    design: Design
    Y: Array
    omega: Array
    gamma: float
    fit_intercept: bool
    fixed: Mask
    open: Mask
    rounding: float
    refits: dict[tuple[int, ...], BlockFit] = field(default_factory=dict)

    def restricted(self, pool: Index) -> RobustLoss:
        """The same on the columns of the pool only."""
        block = self.design.columns(pool).astype(np.float64, copy=False)
        view = DenseDesign(block, mean=None, inv_scale=np.ones(pool.size))
        return replace(self, design=view, fixed=self.fixed[pool], open=self.open[pool], refits={})

    def refit(self, support: Index, tol: float = _COMPARE_TOL) -> Point:
        """The convex fit to a relative gap, remembered."""
        S = np.sort(support)
        key = tuple(S.tolist())
        if key not in self.refits or tol < _COMPARE_TOL:
            options: dict[str, Any] = {"gamma": self.gamma, "fit_intercept": self.fit_intercept}
            options |= {"weights": self.omega, "tol": tol}
            self.refits[key] = refit_l21(self.design, self.Y, S, **options)
        fit = self.refits[key]
        residual = self.Y - self.design.columns(S).astype(np.float64) @ fit.W - fit.b
        return Point(S, fit.objective, residual, fit.Theta)

    def bounds(self, supports: Index, norms: Array, keep: int, steps: int = _STEPS) -> list[Point]:
        """At least ``keep`` of the best supports (B x k), reweighting from the residuals given."""
        size = max(keep, _BATCH_ENTRIES // (self.Y.shape[0] * (supports.shape[1] + 1)))
        parts = (supports[at : at + size] for at in range(0, supports.shape[0], size))
        return [point for part in parts for point in self._batch(part, norms, keep, steps)]

    def _batch(self, supports: Index, norms: Array, keep: int, steps: int) -> list[Point]:
        B, k = supports.shape
        columns, where = np.unique(supports, return_inverse=True)
        block = self.design.columns(columns).astype(np.float64, copy=False)
        Z = np.ascontiguousarray(block[:, where.reshape(B, k)].transpose(1, 0, 2))
        if self.fit_intercept:
            Z = np.concatenate([Z, np.ones((B, Z.shape[1], 1))], axis=2)
        r, ridge, eps = np.tile(norms, (B, 1)), np.zeros((B, k)), typical(norms)
        ends = [Point(S, np.inf, self.Y, self.Y) for S in supports]
        for step in range(steps):
            v = self.omega / np.sqrt(r**2 + eps**2)
            V, E = self._weighted_fits(Z, v, ridge)
            r, p = (np.sqrt(np.einsum("bij,bij->bi", A, A)) for A in (E, V[:, :k]))
            losses = r @ self.omega + self.gamma * p.sum(axis=1)
            for end, loss, residual, weight in zip(ends, losses, E, v, strict=True):
                if loss < end.loss:
                    end.loss, end.residual = float(loss), residual
                    end.Theta = weight[:, None] * residual
            ridge = self.gamma / np.maximum(p, 1e-3 * p.max(axis=1, keepdims=True, initial=_TINY))
            eps *= _FALL
            if step in _HALVE_AFTER and len(ends) > keep:
                kept = np.sort(np.argsort([e.loss for e in ends])[: max(keep, len(ends) // 2)])
                ends, Z, r, ridge = [ends[at] for at in kept], Z[kept], r[kept], ridge[kept]
        return ends

    def _weighted_fits(self, Z: Array, v: Array, ridge: Array) -> tuple[Array, Array]:
        """Coefficients and residuals of B least squares problems."""
        At = (Z * v[:, :, None]).transpose(0, 2, 1)
        G = At @ Z
        m, k = np.arange(G.shape[1]), np.arange(ridge.shape[1])
        G[:, m, m] = G[:, m, m] * (1.0 + 1e-10) + _TINY
        G[:, k, k] += ridge
        V = np.linalg.solve(G, At @ self.Y)
        return V, self.Y - Z @ V

    def state(self, support: Iterable[int], v: Array) -> SupportState:
        """Least squares on a support with sample weights v."""
        view, _ = self.design.weighted(v, center=self.fit_intercept)
        mean = v @ self.Y / v.sum() if self.fit_intercept else 0.0
        target = np.sqrt(v)[:, None] * (self.Y - mean)
        return SupportState(LeastSquares.of(view, target), support)

    def smoothed(self, point: Point, share: float) -> SupportState:
        """That with the weights of a point, eps a share of the typical residual."""
        if share not in point.states:
            eps = share * typical(point.norms)
            v = self.omega / np.sqrt(point.norms**2 + eps**2)
            point.states[share] = self.state(point.support, v)
        return point.states[share]

    def pulls(self, point: Point) -> tuple[Array, Array]:
        """The losses without each of the features, and ||x_p'Theta|| there (k x d)."""
        if point.pulls is None:
            k = point.support.size
            others = np.array([np.delete(point.support, i) for i in range(k)]).reshape(k, k - 1)
            ends = self.bounds(others, point.norms, k, _PULL_STEPS)
            products = self.design.rmatmul(np.concatenate([end.Theta for end in ends], axis=1))
            products = products.reshape(-1, k, self.Y.shape[1])
            pulls = np.sqrt(np.einsum("pic,pic->ip", products, products))
            point.pulls = np.array([end.loss for end in ends]), pulls
        return point.pulls

    def scores(self, point: Point, kind: Kind, share: float) -> Array:
        """A score of all exchanges (k x d), the features that leave in the state's order.

        "gain" is that in the weighted problem. "fall" is what the feature that enters takes off
        the loss without the one that leaves, to second order, less that loss.
        """
        state = self.smoothed(point, share)
        if kind == "gain":
            scores = state.exchange_gains()
        else:
            order = np.searchsorted(point.support, state.support)
            losses, pulls = (part[order] for part in self.pulls(point))
            left = np.tile(state.s, (order.size, 1))
            left[: len(state.basis)] += state.T**2 / np.diag(state.M)[:, None]
            squares = np.maximum(pulls - self.gamma, 0.0) ** 2
            some = left > state.problem.negligible
            scores = np.divide(squares, 2 * left, out=np.zeros_like(left), where=some)
            scores -= losses[:, None]
        scores[:, ~self.open] = -np.inf
        scores[:, point.support] = -np.inf
        scores[self.fixed[state.support]] = -np.inf
        return scores

    def proposals(self, point: Point, kind: Kind, share: float) -> Index:
        """The supports after the exchanges with the best scores."""
        scores = self.scores(point, kind, share)
        leaving = self.smoothed(point, share).support
        moves = []
        for at in top_rows(scores.ravel(), _PROPOSALS).tolist():
            i, p = divmod(at, scores.shape[1])
            if np.isfinite(scores[i, p]):
                moves.append(np.sort(np.append(point.support[point.support != leaving[i]], p)))
        return np.array(moves, dtype=np.intp).reshape(len(moves), point.support.size)


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
    attributes = {"gap_": max(fit.gap, 0.0), "n_starts_": max(len(search.starts), 1)}
    done, trace = fit.converged and settled, np.array(search.history)
    return Solution(W, b, fit.objective, trace, len(loss.refits), done, scores, S, attributes)
