"""l2,1-penalised least squares, solved to a certified duality gap.

    min_W  P(W) = 1/2 ||Y - ZW||_F^2 + penalty * sum_j ||w_j||_2
    D(T) = <Y, T> - 1/2 ||T||_F^2   s.t. ||z_j' T|| <= penalty

scikit-learn's MultiTaskLasso with alpha = penalty / n.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rowsparse._arrays import Array
from rowsparse.design import Design
from rowsparse.rows import row_norms, shrink
from rowsparse.solvers.l21.splitting import CHECK_EVERY, RELAX, RegularisedInverse
from rowsparse.solvers.l21.working_set import BlockFit, State, WorkingSetSolver, as_solution
from rowsparse.solvers.solution import Monitor, Solution, silent

_BLOCK_ITER = 5000
# kappa as a share of the median squared column norm of the block.
_KAPPA = 0.3


@dataclass
class LeastSquaresProblem:
    """Design and targets, both centred if there is an intercept; the penalty varies."""

    design: Design
    Y: Array

    def objective(self, residual: Array, W: Array, penalty: float) -> float:
        """P from the residual and the coefficients."""
        return 0.5 * float(np.vdot(residual, residual)) + penalty * float(row_norms(W).sum())

    def dual_point(self, T: Array, penalty: float) -> tuple[Array, Array, float]:
        """The best feasible multiple of T, the scores ||z_j' T||, and the dual value."""
        scores = row_norms(self.design.rmatmul(T))
        largest = float(scores.max(initial=0.0))
        square, cross = float(np.vdot(T, T)), float(np.vdot(self.Y, T))
        multiple, value = best_multiple(square, cross, largest, penalty)
        return multiple * T, scores, value

    def null_point(self) -> tuple[Array, Array]:
        """For W = 0 the residual, and so the dual point, is Y."""
        return np.zeros(self.Y.shape[1]), self.Y

    def solve_block(self, Z: Array, penalty: float, tol: float, state: State | None) -> BlockFit:
        """ADMM with the split V = W on the columns Z."""
        squares = np.einsum("ij,ij->j", Z, Z)
        kappa = _KAPPA * float(np.median(squares)) or 1.0
        inverse = RegularisedInverse(Z, kappa)
        block = _Residual(Z, self.Y)
        zero = np.zeros_like(block.ZtY)
        V, lam = (zero, zero) if state is None else (state.V, state.Lambda / kappa)
        fit = BlockFit(V, np.zeros(self.Y.shape[1]), np.inf, self.Y, np.inf, 0, False)
        dual, dual_V, multiple = -np.inf, V, 1.0
        for iteration in range(1, _BLOCK_ITER + 1):
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
        fit.Theta = multiple * (self.Y - Z @ dual_V)
        fit.state = State(V, kappa * lam, self.Y, self.Y, 1.0)
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

    Of T are given ||T||^2, <Y, T> and its largest score max_j ||z_j' T||.
    """
    multiple = cross / square if square > 0 else 0.0
    if abs(multiple) * largest > penalty:
        multiple = float(np.sign(multiple)) * penalty / largest
    return multiple, multiple * cross - 0.5 * multiple**2 * square


def l21_least_squares(
    design: Design,
    Y: Array,
    penalty: float,
    *,
    tol: float = 1e-6,
    max_iter: int = 100,
    monitor: Monitor = silent,
) -> Solution:
    """Minimise P to a duality gap of at most ``tol * P``.

    Examples
    --------
    >>> import numpy as np
    >>> from rowsparse.design import make_design
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
    >>> design, _ = make_design(X, center=False, scale=False)
    >>> l21_least_squares(design, X[:, :1], penalty=0.5).W.round(3).ravel()
    array([0.75, 0.  ])
    """
    worker = WorkingSetSolver(LeastSquaresProblem(design, Y), max_iter=max_iter, monitor=monitor)
    fit = worker.solve(penalty, tol)
    return as_solution(fit, fit.coefficients(design.shape[1]), fit.b, fit.Theta)
