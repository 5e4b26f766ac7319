"""The joint l2,1 problem on a dense block of columns, stopped on the duality gap.

    min_{W,b}  P(W,b) = sum_i omega_i ||y_i - z_i W - b||_2 + gamma sum_j ||w_j||_2

is a sum of row norms of the stacked (E, V), E = Y - ZW - 1b' and V = W, over a graph: the
splitting of :mod:`rowsparse.solvers.convex.splitting` solves it, and V is exactly sparse.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rowsparse._arrays import Array
from rowsparse.rows import row_norms
from rowsparse.solvers.convex.fit import BlockFit, BlockState, JointProblem
from rowsparse.solvers.convex.splitting import GraphProjection, Iterates, split


def feasible_dual(Theta: Array, scores: Array, omega: Array, gamma: Array | float) -> Array:
    """The multiple of Theta that satisfies every constraint of the dual.

    ``scores`` are the norms ||z_j' Theta||; Theta must already have zero column sums if the
    problem has an intercept.
    """
    excess = max(1.0, float((row_norms(Theta) / omega).max(initial=0.0)))
    with np.errstate(over="ignore"):  # at a penalty next to nothing, 0 is the multiple
        return Theta / max(excess, float((scores / gamma).max(initial=0.0)))


def first_step(residual: Array) -> float:
    """The step rho at which a typical residual is of the size of a threshold."""
    total = float(row_norms(residual).sum())
    return residual.shape[0] / total if total > 0 else 1.0


def admm_l21(problem: JointProblem, *, max_iter: int, state: BlockState | None = None) -> BlockFit:
    """Minimise P to a duality gap of at most ``tol * P``, for a positive gamma.

    ``state`` is where to start from.
    """
    n, Y = problem.Y.shape[0], problem.Y
    Zc = problem.centred(problem.Z)
    # In units in which every column has norm 1 the preconditioner of W = V is 1.
    norms = np.sqrt(np.einsum("ij,ij->j", Zc, Zc))
    root = np.where(norms > 0, norms, 1.0)[:, None]
    block = JointBlock(problem, Zc / root.T, problem.gamma / root[:, 0])
    start = block.start()
    if state is not None:
        S = np.concatenate([state.E, state.V * root])
        start = Iterates(S, np.concatenate([state.Theta, state.Lambda / root]), state.rho)
    end, n_iter, converged = split(
        GraphProjection(block.Z, Y, problem.fit_intercept),
        np.concatenate([problem.omega, block.gamma]),
        start,
        check=block.check,
        scale=lambda P: float(np.linalg.norm(Y - P[:n])),
        max_iter=max_iter,
    )
    W = block.best.W / root
    fit = replace(block.best, n_iter=n_iter, converged=converged, W=W)
    fit.b = problem.intercept(fit.b, W)
    fit.state = BlockState(end.S[n:] / root, end.L[n:] * root, end.S[:n], end.L[:n], end.rho)
    return fit


class JointBlock:
    """A problem with centred columns Z, each with a penalty, and the best pair so far."""

    def __init__(self, problem: JointProblem, Z: Array, gamma: Array) -> None:
        self.problem, self.Z, self.gamma = problem, Z, gamma
        self.dual, Y = -np.inf, problem.Y
        zero = np.zeros((Z.shape[1], Y.shape[1]))
        self.best = BlockFit(zero, np.zeros(Y.shape[1]), np.inf, np.zeros_like(Y), np.inf, 0, False)

    def start(self) -> Iterates:
        residual = self.problem.centred(self.problem.Y)
        S = np.concatenate([residual, self.best.W])
        return Iterates(S, np.zeros_like(S), first_step(residual))

    def check(self, S: Array, L: Array) -> bool:
        """Keep the better primal and the better dual point; whether their gap is closed."""
        Y, omega = self.problem.Y, self.problem.omega
        n = Y.shape[0]
        V = S[n:]
        residual = Y - self.Z @ V
        # The intercept that the split itself is converging to.
        b = (residual - S[:n]).mean(axis=0) if self.problem.fit_intercept else self.best.b
        residual -= b
        objective = float(omega @ row_norms(residual) + self.gamma @ row_norms(V))
        if objective < self.best.objective:
            self.best.objective, self.best.W, self.best.b = objective, V, b
        Theta = self.problem.centred(L[:n])
        Theta = feasible_dual(Theta, row_norms(self.Z.T @ Theta), omega, self.gamma)
        value = float(np.vdot(Y, Theta))
        if value > self.dual:
            self.dual, self.best.Theta = value, Theta
        self.best.gap = self.best.objective - self.dual
        return self.best.gap <= self.problem.tol * self.best.objective
