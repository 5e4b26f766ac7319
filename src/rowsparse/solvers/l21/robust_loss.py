"""The l2,1 loss on a support: its refit, its bounds, and the exchanges that it proposes.

With r_i the residuals on a support S and v_i = omega_i / sqrt(||r_i||^2 + eps^2), least squares
with the weights v majorises the (smoothed) loss, and its exact exchange gains propose
exchanges. They hold on to samples that are nearly fitted; the dual points of S less one feature
do not, and propose others by the pull they exert. Reweighted least squares on all proposals at
once, eps falling, bounds the loss of each from above, and the convex refit certifies the best.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from rowsparse._arrays import Array, Index, Mask
from rowsparse.design import DenseDesign, Design
from rowsparse.rows import row_norms, top_rows
from rowsparse.solvers.l21.refit import refit_l21
from rowsparse.solvers.l21.working_set import BlockFit
from rowsparse.solvers.subset.gram import GramProblem
from rowsparse.solvers.subset.support import SupportState

Kind = Literal["gain", "fall"]
# Reweighting steps that bound a loss (or give a dual point), how eps falls in each, and the steps
# after which only the better half of the proposals goes on.
_STEPS, _PULL_STEPS, _FALL, _HALVE_AFTER = 10, 6, 0.4, (1, 3)
# Exchanges proposed by a score.
_PROPOSALS = 10
# Relative gap at which supports are compared.
_COMPARE_TOL = 1e-5
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
        return SupportState(GramProblem.of(view, target), support)

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
