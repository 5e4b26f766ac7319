"""Exchanges of features for the l2,1 loss: which to try, and what they can gain at least.

With r_i the residuals on a support S and v_i = omega_i / sqrt(||r_i||^2 + eps^2), least squares
with the weights v majorises the (smoothed) loss, and its exact exchange gains propose
exchanges. Large weights hold on to samples that are nearly fitted; the dual points of S less one
feature do not, and propose other exchanges. Reweighted least squares on all proposals at once, eps
falling, bounds the objective of each from above, and the convex refit certifies the best.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from rowsparse._arrays import Array, Index, Mask
from rowsparse.design import DenseDesign
from rowsparse.rows import row_norms, top_rows
from rowsparse.solvers.losses.base import Refits
from rowsparse.solvers.losses.l21 import L21Loss
from rowsparse.solvers.subset.gram import GramProblem
from rowsparse.solvers.subset.support import SupportState

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
    states: dict[float, SupportState] = field(default_factory=dict)

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

    def state(self, support: Iterable[int], v: Array) -> SupportState:
        """Least squares on a support with sample weights v."""
        squared = self.loss.least_squares(v)
        return SupportState(GramProblem.of(squared.design, squared.Y), support)

    def smoothed(self, point: SupportPoint, share: float) -> SupportState:
        """That with the weights of a point, eps being a share of the median residual."""
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
