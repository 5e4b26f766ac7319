"""A small sum of norms by a primal-dual Newton method: what a splitting crawls to.

    minimise  sum_a t_a ||T_a - A_a V||_2   over V

Every norm is smoothed to s_a = sqrt(||r_a||^2 + eps_a^2) and eps falls. The unknowns are V and
the directions U_a, with s_a U_a = r_a and A' diag(t) U = 0: linearised in both, as Chan, Golub and
Mulet (1999) do, the steps stay long where those of Newton's method in V alone would not. The
steps do not depend on the units of the columns of A, so that a column, or a sample, many orders
of magnitude larger than the others costs no iterations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import LinAlgError, qr, solve_triangular

from rowsparse._arrays import Array
from rowsparse.rows import row_norms
from rowsparse.solvers.blocks.admm import JointBlock, centred
from rowsparse.solvers.blocks.fit import BlockFit

# The least eps in units of a typical residual and of the rounding of a row, and how it falls: once
# the gap is within a few times what the smoothing makes of it, or after so many steps.
_LEAST, _ROUNDING, _FALL, _CLOSE, _PATIENCE = 1e-11, 1e-14, 0.2, 3.0, 5
_MAX_ITER, _HALVINGS = 60, 30
# Diagonal of a triangular factor, of columns of norm 1, below which columns are dependent.
_DEPENDENT = 1e-14


def newton_l21(
    Z: Array, Y: Array, gamma: float, *, omega: Array, fit_intercept: bool, tol: float
) -> BlockFit:
    """The joint l2,1 problem of :mod:`rowsparse.solvers.blocks.admm` on a small block of columns.

    Parameters are those of :func:`rowsparse.solvers.blocks.admm.admm_l21`.
    """
    n, m = Z.shape
    Zc = centred(Z, fit_intercept)
    block = JointBlock(Zc, Y, np.full(m, gamma), omega, fit_intercept, tol)
    A = np.vstack([Zc, np.eye(m)])
    if fit_intercept:
        A = np.column_stack([A, np.repeat([1.0, 0.0], [n, m])])
    T = np.vstack([Y, np.zeros((m, Y.shape[1]))])
    typical = float(row_norms(centred(Y, fit_intercept)).mean()) or 1.0
    # A median, because one sample far off must not decide how large a coefficient is.
    spread = np.median(np.abs(Zc), axis=0)
    spread = np.where(spread > 0, spread, np.abs(Zc).max(axis=0, initial=0.0))
    coefficient = typical / np.where(spread > 0, spread, 1.0)
    problem = NormSum(
        A, T, np.append(omega, block.gamma), np.append(np.full(n, typical), coefficient)
    )

    def check(V: Array, L: Array) -> bool:
        stacked = T - A @ V
        stacked[n:] = V[:m]
        return block.check(stacked, L)

    n_iter, converged = sum_of_norms(problem, np.zeros((A.shape[1], Y.shape[1])), check=check)
    fit = replace(block.best, n_iter=n_iter, converged=converged)
    if fit_intercept:
        fit.b = fit.b - Z.mean(axis=0) @ fit.W
    return fit


@dataclass
class NormSum:
    """The rows A_a, T_a and weights t_a, and the size of a typical residual in each row."""

    A: Array
    T: Array
    t: Array
    unit: Array

    def smoothed(self, V: Array, eps: Array) -> float:
        """sum_a t_a sqrt(||r_a||^2 + eps_a^2)."""
        return float(self.t @ np.hypot(row_norms(self.T - self.A @ V), eps))

    def gap(self, V: Array, dual: Array) -> float:
        """How far V can be from the least sum, by a dual point with A' dual = 0."""
        excess = max(1.0, float((row_norms(dual) / self.t).max()))
        least = float(np.vdot(self.T, dual)) / excess
        return float(self.t @ row_norms(self.T - self.A @ V)) - least


def sum_of_norms(
    problem: NormSum, V: Array, *, check: Callable[[Array, Array], bool]
) -> tuple[int, bool]:
    """Minimise from V; ``check``, given V and t_a U_a after each step, ends it with True.

    Returns the number of iterations and whether ``check`` ended it.
    """
    # In units in which every column has norm 1.
    scale = np.sqrt(np.einsum("aj,aj->j", problem.A, problem.A))
    scale = np.where(scale > 0, scale, 1.0)[:, None]
    inner = NormSum(problem.A / scale.T, problem.T, problem.t, problem.unit)
    V, U = V * scale, np.zeros_like(problem.T)
    Q = qr(inner.A, mode="economic", check_finite=False)[0]
    eps, waited = problem.unit, 0
    for iteration in range(1, _MAX_ITER + 1):
        try:
            V, U = _step(inner, V, U, eps)
        except LinAlgError:
            return iteration, False
        dual = problem.t[:, None] * U
        # A' diag(t) U = 0 to the last digit: a row of A far above the others would amplify them.
        dual -= Q @ (Q.T @ dual)
        dual -= Q @ (Q.T @ dual)
        if check(V / scale, dual):
            return iteration, True
        waited += 1
        if inner.gap(V, dual) <= _CLOSE * float(problem.t @ eps) or waited >= _PATIENCE:
            rounding = row_norms(inner.T) + np.abs(inner.A) @ row_norms(V)
            floor = np.maximum(_LEAST * problem.unit, _ROUNDING * rounding)
            eps, waited = np.maximum(_FALL * eps, floor), 0
    return _MAX_ITER, False


def _step(problem: NormSum, V: Array, U: Array, eps: Array) -> tuple[Array, Array]:
    """One Newton step in V and U."""
    r = problem.T - problem.A @ V
    s = np.hypot(row_norms(r), eps)
    dV = _direction(problem, r, s, U)
    dr = -(problem.A @ dV)
    along = np.einsum("ac,ac->a", r, dr) / s
    dU = (dr + r - along[:, None] * U) / s[:, None] - U
    before, step = problem.smoothed(V, eps), 1.0
    while problem.smoothed(V + step * dV, eps) > before and step > 0.5**_HALVINGS:
        step *= 0.5
    U = U + dU
    return V + step * dV, U / np.maximum(row_norms(U), 1.0)[:, None]


def _direction(problem: NormSum, r: Array, s: Array, U: Array) -> Array:
    """The step in V, from a factor of the matrix and not the matrix itself."""
    m, c = problem.A.shape[1], r.shape[1]
    mixed = np.einsum("ab,ac->abc", U, r / s[:, None])
    curvature = np.eye(c) - 0.5 * (mixed + mixed.transpose(0, 2, 1))
    values, vectors = np.linalg.eigh(curvature)
    weight = problem.t / s
    roots = np.sqrt(np.maximum(values, 0.0) * weight[:, None])
    # Row (a, e), column (j, c) of the factor: A_aj times root e of the curvature of row a.
    halves = roots[:, :, None] * vectors.transpose(0, 2, 1)
    B = np.einsum("aj,aec->aejc", problem.A, halves).reshape(-1, m * c)
    size = np.sqrt(np.einsum("ij,ij->j", B, B))
    size = np.where(size > 0, size, 1.0)
    R = qr(B / size, mode="r", check_finite=False)[0][: m * c]
    # Dependent columns: a step along what they share is as good as any other.
    diagonal = np.diag(R)
    least = np.copysign(np.maximum(np.abs(diagonal), _DEPENDENT), diagonal)
    R[np.diag_indices(m * c)] = least
    gradient = (problem.A.T @ (weight[:, None] * r)).ravel() / size
    solved = solve_triangular(R, solve_triangular(R, gradient, trans="T"))
    return np.asarray(solved / size).reshape(m, c)
