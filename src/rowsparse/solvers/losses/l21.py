"""The l2,1 loss, sum_i omega_i ||y_i - p_i||_2, and its smoothing.

With the penalty gamma ||W||_21 and predictions P = ZW + 1b' its dual problem is

    D(Theta) = <Y, Theta>  s.t. ||theta_i|| <= omega_i, ||z_j' Theta|| <= gamma, [1'Theta = 0]

with the last constraint only if there is an intercept b.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from rowsparse._arrays import Array, Index
from rowsparse.design import Design
from rowsparse.rows import huber_rows, row_norms, unit_ball_rows
from rowsparse.solvers.convex.admm import admm_l21, feasible_dual
from rowsparse.solvers.convex.fit import BlockFit, BlockState, JointProblem
from rowsparse.solvers.convex.refit import lp_l21, refit_l21
from rowsparse.solvers.losses.base import Reduction, SupportFit
from rowsparse.solvers.losses.squared import SquaredLoss

_BLOCK_ITER = 3000
# Most steps of the geometric median.
_MEDIAN_ITER = 500
# A residual below this share of the largest is zero.
_FITTED = 1e-9


@dataclass(frozen=True)
class L21Loss:
    """Design, targets, weights of the samples and whether b is free.

    ``linear_programme`` solves blocks of a working set by linear programming instead of ADMM; it
    needs a single target.
    """

    design: Design
    Y: Array
    omega: Array
    fit_intercept: bool
    linear_programme: bool = False

    @classmethod
    def from_targets(
        cls, design: Design, Y: Array, weights: Array | None, fit_intercept: bool
    ) -> L21Loss:
        """The loss with unit weights unless they are given."""
        return cls(design, Y, np.ones(Y.shape[0]) if weights is None else weights, fit_intercept)

    @cached_property
    def reduction(self) -> Reduction:
        """The targets in as few columns as their rank."""
        return Reduction.from_targets(self.Y, self.fit_intercept)

    def reduced(self) -> L21Loss:
        """The loss for these targets."""
        return replace(self, Y=self.reduction.reduced)

    def value(self, P: Array) -> float:
        return float(self.omega @ row_norms(P - self.Y))

    def gradient(self, P: Array) -> Array:
        """A subgradient: zero in the rows that are fitted."""
        R = P - self.Y
        norms = row_norms(R)
        fitted = norms <= _FITTED * max(float(norms.max(initial=0.0)), 1e-300)
        R *= (self.omega / np.where(fitted, 1.0, norms))[:, None]
        R[fitted] = 0.0
        return R

    def curvature(self, P: Array) -> Array:
        """Infinite in the rows that are fitted."""
        with np.errstate(divide="ignore"):
            return self.majorising_weights(row_norms(P - self.Y), 0.0)[:, None]

    def majorising_weights(self, norms: Array, eps: float) -> Array:
        """omega_i / sqrt(r_i^2 + eps^2), for the norms r_i of residuals.

        Least squares with these weights, plus a constant, majorises
        sum_i omega_i sqrt(||y_i - p_i||^2 + eps^2) and equals it at these residuals.
        """
        return np.asarray(self.omega / np.sqrt(norms**2 + eps**2))

    def least_squares(self, weights: Array) -> SquaredLoss:
        """The squared loss with these weights of the samples, W alone left as unknown."""
        view, _ = self.design.weighted(weights, center=self.fit_intercept)
        mean = weights @ self.Y / weights.sum() if self.fit_intercept else 0.0
        return SquaredLoss(view, np.sqrt(weights)[:, None] * (self.Y - mean))

    def smoothed(self, mu: float) -> SmoothedL21Loss:
        """The loss with every norm replaced by its Huber function."""
        return SmoothedL21Loss(self, mu)

    def dual_value(self, Theta: Array) -> float:
        """<Y, Theta>, for ||theta_i|| <= omega_i."""
        return float(np.vdot(self.Y, Theta))

    def dual_point(self, Theta: Array, penalty: float) -> tuple[Array, Array, float]:
        if self.fit_intercept:
            Theta = Theta - Theta.mean(axis=0)
        scores = row_norms(self.design.rmatmul(Theta))
        feasible = feasible_dual(Theta, scores, self.omega, penalty)
        return feasible, scores, self.dual_value(feasible)

    def null_point(self) -> tuple[Array, Array]:
        """The best b for W = 0 and its dual point T.

        Without an intercept T_i = omega_i y_i / ||y_i||. With one, b is the weighted geometric
        median of the rows of Y; where it equals rows of Y their T_i are free within the ball, and
        are chosen to make the columns of T sum to zero.
        """
        b = np.zeros(self.Y.shape[1])
        if self.fit_intercept:
            b = geometric_median(self.Y, self.omega)
        T = -self.gradient(np.broadcast_to(b, self.Y.shape))
        if self.fit_intercept:
            hit = ~T.any(axis=1)
            if hit.any():
                T[hit] = -np.outer(self.omega[hit], T.sum(axis=0)) / self.omega[hit].sum()
            T -= T.mean(axis=0)
        return b, T

    def solve_block(
        self, Z: Array, penalty: float, tol: float, state: BlockState | None
    ) -> BlockFit:
        problem = JointProblem(Z, self.Y, penalty, self.omega, self.fit_intercept, tol)
        if self.linear_programme:
            return lp_l21(problem)
        return admm_l21(problem, max_iter=_BLOCK_ITER, state=state)

    def refit(self, support: Index, *, penalty: float, tol: float) -> SupportFit:
        """Minimise f + penalty ||W||_21 on a support to a relative duality gap of tol."""
        Z = self.design.columns(support).astype(np.float64, copy=False)
        Y, omega = self.reduction.reduced, self.omega
        fit = refit_l21(JointProblem(Z, Y, penalty, omega, self.fit_intercept, tol))
        W, b, Theta = self.reduction.expand(fit.W, fit.b, fit.Theta)
        return SupportFit(support, W, b, fit.objective, Theta, fit.gap, fit.converged)


@dataclass(frozen=True)
class SmoothedL21Loss:
    """sum_i omega_i h_mu(||y_i - p_i||), between f - mu/2 sum_i omega_i and f.

    Its gradient has the Lipschitz constants omega_i / mu in the rows of P.
    """

    loss: L21Loss
    mu: float

    def value(self, P: Array) -> float:
        return float(self.loss.omega @ huber_rows(row_norms(P - self.loss.Y), self.mu))

    def gradient(self, P: Array) -> Array:
        return self.loss.omega[:, None] * unit_ball_rows((P - self.loss.Y) / self.mu)


def geometric_median(Y: Array, weights: Array) -> Array:
    """The point with the least weighted sum of distances to the rows of Y (Weiszfeld-Newton).

    Distinct rows are merged first, which for class labels leaves a handful; whether the optimum
    sits on one of them is decided by its optimality condition, not by iterating towards it.
    """
    points, which = np.unique(Y, axis=0, return_inverse=True)
    mass = np.bincount(which.ravel(), weights)
    centre = mass @ points / mass.sum()
    if points.shape[0] <= 1000:
        for j in np.argsort(-mass)[:50]:
            difference = points - points[j]
            distance = row_norms(difference)
            slope = (mass / np.where(distance > 0, distance, np.inf)) @ difference
            if np.sqrt(slope @ slope) <= mass[j]:
                return np.asarray(points[j])
    scale = float(row_norms(points - centre).max(initial=0.0))
    for _ in range(_MEDIAN_ITER):
        distance = np.maximum(row_norms(points - centre), 1e-15 * max(scale, 1e-300))
        weight = mass / distance
        moved = weight @ points / weight.sum()
        step = np.abs(moved - centre).max()
        centre = moved
        if step <= 1e-13 * scale:
            break
    return np.asarray(centre)
