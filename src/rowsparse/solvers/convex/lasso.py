"""l2,1-penalised least squares on a dense block of columns, stopped on the duality gap.

    min_W  P(W) = 1/2 ||Y - ZW||_F^2 + penalty * sum_j ||w_j||_2
    D(T) = <Y, T> - 1/2 ||T||_F^2   s.t. ||z_j' T|| <= penalty

scikit-learn's MultiTaskLasso with alpha = penalty / n.
"""

from __future__ import annotations

import numpy as np

from rowsparse._arrays import Array
from rowsparse.rows import row_norms, shrink
from rowsparse.solvers.convex.fit import BlockFit, BlockState
from rowsparse.solvers.convex.splitting import CHECK_EVERY, RELAX, RegularisedInverse

_MAX_ITER = 5000
# kappa as a share of the median squared column norm of the block.
_KAPPA = 0.3


def admm_lasso(
    Z: Array, Y: Array, penalty: float, *, tol: float, state: BlockState | None
) -> BlockFit:
    """Minimise P over the columns of Z to a duality gap of ``tol * P``; ADMM with V = W."""
    squares = np.einsum("ij,ij->j", Z, Z)
    kappa = _KAPPA * float(np.median(squares)) or 1.0
    inverse = RegularisedInverse(Z, kappa)
    block = _Residual(Z, Y)
    zero = np.zeros_like(block.ZtY)
    V, lam = (zero, zero) if state is None else (state.V, state.Lambda / kappa)
    fit = BlockFit(V, np.zeros(Y.shape[1]), np.inf, Y, np.inf, 0, False)
    dual, dual_V, multiple = -np.inf, V, 1.0
    for iteration in range(1, _MAX_ITER + 1):
        W = inverse.solve(block.ZtY + kappa * (V - lam))
        A = RELAX * W + (1 - RELAX) * V + lam
        V = shrink(A, penalty / kappa)
        lam = A - V
        if iteration % CHECK_EVERY == 0:
            square, cross, largest = block.summary(V)
            objective = 0.5 * square + penalty * float(row_norms(V).sum())
            trial, value = best_multiple(square, cross, largest, penalty)
            if objective < fit.objective:
                fit.objective, fit.W = objective, V
            if value > dual:
                dual, dual_V, multiple = value, V, trial
            fit.n_iter = iteration
            fit.converged = fit.objective - dual <= tol * fit.objective
            if fit.converged:
                break
    fit.gap = fit.objective - dual
    fit.Theta = multiple * (Y - Z @ dual_V)
    fit.state = BlockState(V, kappa * lam, Y, Y, 1.0)
    return fit


class _Residual:
    """R = Y - ZV by the numbers that the gap needs; through Z'Z where that is the smaller."""

    def __init__(self, Z: Array, Y: Array) -> None:
        self.Z, self.Y = Z, Y
        self.ZtY = Z.T @ Y
        self.gram = Z.T @ Z if Z.shape[0] > Z.shape[1] else None
        self.square = float(np.vdot(Y, Y))

    def summary(self, V: Array) -> tuple[float, float, float]:
        """||R||^2, <Y, R> and max_j ||z_j' R||."""
        if self.gram is None:
            R = self.Y - self.Z @ V
            scores = row_norms(self.Z.T @ R)
            return float(np.vdot(R, R)), float(np.vdot(self.Y, R)), float(scores.max(initial=0.0))
        ZtR = self.ZtY - self.gram @ V
        cross = self.square - float(np.vdot(V, self.ZtY))
        square = max(cross - float(np.vdot(V, ZtR)), 0.0)
        return square, cross, float(row_norms(ZtR).max(initial=0.0))


def best_multiple(
    square: float, cross: float, largest: float, penalty: float
) -> tuple[float, float]:
    """The multiple of T that is feasible and has the largest dual value, and that value.

    Given are ||T||^2, <Y, T> and the largest score of T, its norm in the dual of the penalty:
    max_j ||z_j' T|| for the l2,1 norm.
    """
    multiple = cross / square if square > 0 else 0.0
    if abs(multiple) * largest > penalty:
        multiple = float(np.sign(multiple)) * penalty / largest
    return multiple, multiple * cross - 0.5 * multiple**2 * square
