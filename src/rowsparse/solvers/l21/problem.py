"""The joint l2,1 problem: its data, its objective, its dual, and its reduction.

P(W,b) = sum_i omega_i ||y_i - z_i W - b||_2 + gamma sum_j ||w_j||_2
D(Theta) = <Y, Theta>  s.t. ||theta_i|| <= omega_i, ||z_j' Theta|| <= gamma, [1'Theta = 0]
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rowsparse._arrays import Array
from rowsparse.design import Design
from rowsparse.rows import row_norms
from rowsparse.solvers.l21.admm import admm_l21, centred, feasible_dual
from rowsparse.solvers.l21.lp import lp_l21
from rowsparse.solvers.l21.working_set import BlockFit, State

_RANK_TOL = 1e-10
_BLOCK_ITER = 3000


@dataclass
class L21Problem:
    """Design, targets, weights and whether b is free; gamma varies."""

    design: Design
    Y: Array
    omega: Array
    fit_intercept: bool
    linear_programme: bool = False

    @classmethod
    def build(
        cls,
        design: Design,
        Y: Array,
        weights: Array | None,
        fit_intercept: bool,
        linear_programme: bool = False,
    ) -> L21Problem:
        """The problem with unit weights unless they are given."""
        omega = np.ones(Y.shape[0]) if weights is None else weights
        return cls(design, Y, omega, fit_intercept, linear_programme)

    def objective(self, residual: Array, W: Array, gamma: float) -> float:
        """P from the residual and the coefficients."""
        return float(self.omega @ row_norms(residual) + gamma * row_norms(W).sum())

    def dual_point(self, Theta: Array, gamma: float) -> tuple[Array, Array, float]:
        """A feasible point from any Theta, the scores ||z_j' Theta||, and <Y, feasible>."""
        Theta = centred(Theta, self.fit_intercept)
        scores = row_norms(self.design.rmatmul(Theta))
        feasible = feasible_dual(Theta, scores, self.omega, gamma)
        return feasible, scores, float(np.vdot(self.Y, feasible))

    def solve_block(self, Z: Array, gamma: float, tol: float, state: State | None) -> BlockFit:
        """The problem on the columns Z: by linear programming, or by ADMM."""
        if self.linear_programme:
            return lp_l21(
                Z, self.Y, gamma, omega=self.omega, fit_intercept=self.fit_intercept, tol=tol
            )
        return admm_l21(
            Z,
            self.Y,
            gamma,
            omega=self.omega,
            fit_intercept=self.fit_intercept,
            tol=tol,
            max_iter=_BLOCK_ITER,
            state=state,
        )

    def null_point(self) -> tuple[Array, Array]:
        """The best b for W = 0 and its dual point T.

        Without an intercept T_i = omega_i y_i / ||y_i||. With one, b is the weighted geometric
        median of the rows of Y; where it hits data points their T_i are free within the ball and
        share what makes the columns of T sum to zero.
        """
        b = np.zeros(self.Y.shape[1])
        if self.fit_intercept:
            b = geometric_median(self.Y, self.omega)
        residual = self.Y - b
        norms = row_norms(residual)
        hit = norms <= 1e-9 * max(float(norms.max(initial=0.0)), 1e-300)
        T = residual * (self.omega / np.where(hit, 1.0, norms))[:, None]
        T[hit] = 0.0
        if self.fit_intercept:
            if hit.any():
                T[hit] = -np.outer(self.omega[hit], T.sum(axis=0)) / self.omega[hit].sum()
            T = centred(T, True)
        return b, T


def geometric_median(Y: Array, weights: Array, max_iter: int = 500) -> Array:
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
            pull = (mass / np.where(distance > 0, distance, np.inf)) @ difference
            if np.sqrt(pull @ pull) <= mass[j]:
                return np.asarray(points[j])
    scale = float(row_norms(points - centre).max(initial=0.0))
    for _ in range(max_iter):
        distance = np.maximum(row_norms(points - centre), 1e-15 * max(scale, 1e-300))
        pull = mass / distance
        moved = pull @ points / pull.sum()
        step = np.abs(moved - centre).max()
        centre = moved
        if step <= 1e-13 * scale:
            break
    return np.asarray(centre)


@dataclass
class Reduction:
    """Y = offset + Y_r basis', with as few columns in Y_r as its rank allows.

    Both norms are invariant to rotations, so W = W_r basis' solves the problem for Y whenever
    W_r solves it for Y_r. One-hot labels lose one column to the intercept; two classes become
    one target, hence a linear programme.
    """

    offset: Array
    basis: Array
    reduced: Array

    @classmethod
    def of(cls, Y: Array, fit_intercept: bool) -> Reduction:
        offset = Y.mean(axis=0) if fit_intercept else np.zeros(Y.shape[1])
        centred_Y = Y - offset
        if Y.shape[1] == 1:
            return cls(offset, np.eye(1), centred_Y)
        covariance = centred_Y.T @ centred_Y
        values, vectors = np.linalg.eigh(covariance)
        keep = values > _RANK_TOL * max(float(values[-1]), 1e-300)
        if keep.all() or not keep.any():
            return cls(offset, np.eye(Y.shape[1]), centred_Y)
        basis = vectors[:, keep]
        return cls(offset, basis, centred_Y @ basis)

    def expand(self, W: Array, b: Array, Theta: Array) -> tuple[Array, Array, Array]:
        """(W, b, Theta) of the reduced problem for the targets as given."""
        return W @ self.basis.T, b @ self.basis.T + self.offset, Theta @ self.basis.T
