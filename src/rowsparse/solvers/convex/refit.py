"""Refits of the l2,1 loss on the columns of a fixed support, to a given duality gap.

By a linear programme for one target, else by a splitting, and where that converges slowly and the
problem is small by a primal-dual Newton method for sums of norms.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from scipy.linalg import LinAlgError, qr, solve_triangular
from scipy.optimize import linprog

from rowsparse._arrays import Array
from rowsparse.rows import row_norms
from rowsparse.solvers.convex.admm import JointBlock, admm_l21, feasible_dual, first_step
from rowsparse.solvers.convex.fit import BlockFit, JointProblem
from rowsparse.solvers.convex.splitting import Iterates, split

_MAX_ITER = 20000
# Iterations after which ADMM is given up for Newton steps, and the most unknowns of these.
_PATIENCE, _SMALL = 500, 300
_RANK_TOL = 1e-10


def refit_l21(problem: JointProblem) -> BlockFit:
    """Solve the problem on the columns of a support; ``gap`` is a certified duality gap."""
    if problem.Y.shape[1] == 1:
        return lp_l21(problem)
    return _penalised(problem) if problem.gamma > 0 else _unpenalised(problem)


def _penalised(problem: JointProblem) -> BlockFit:
    """gamma > 0: by ADMM, and where that is slow and the problem small by Newton steps."""
    small = (problem.Z.shape[1] + 1) * problem.Y.shape[1] <= _SMALL
    fit = admm_l21(problem, max_iter=_PATIENCE if small else _MAX_ITER)
    if fit.converged or not small:
        return fit
    exact = newton_l21(problem)
    better = exact if exact.objective <= fit.objective else fit
    # Each lower bound holds for both.
    bound = max(exact.objective - exact.gap, fit.objective - fit.gap)
    tight = exact if bound == exact.objective - exact.gap else fit
    gap = better.objective - bound
    converged = bool(gap <= problem.tol * better.objective)
    return replace(better, Theta=tight.Theta, gap=gap, converged=converged)


def _unpenalised(problem: JointProblem) -> BlockFit:
    """gamma = 0: the residual alone is split, and its set is Y less the range of [Z, 1].

    A dual point is feasible if it is orthogonal to that range; the projection makes it so.
    """
    Y, omega = problem.Y, problem.omega
    basis = _Range(problem.centred(problem.Z), problem.fit_intercept)
    origin = basis.reject(Y)
    block = _Residuals(basis, Y, omega, problem.tol)
    n_iter, converged = 0, block.check(origin, np.zeros_like(Y))
    columns = basis.columns()
    small = columns.shape[1] * Y.shape[1] <= _SMALL
    if not converged:
        _, n_iter, converged = split(
            lambda E: origin + basis.project(E),
            omega,
            Iterates(origin, np.zeros_like(Y), first_step(origin)),
            check=block.check,
            scale=lambda E: float(np.linalg.norm(Y - E)),
            max_iter=_PATIENCE if small else _MAX_ITER,
        )
    if not converged and small:
        unit = np.full(Y.shape[0], float(row_norms(origin).mean()))
        start = columns.T @ (Y - block.residual)
        n_iter, converged = sum_of_norms(
            NormSum(columns, Y, omega, unit),
            start,
            check=lambda V, L: block.check(Y - columns @ V, L),
        )
    W, b = basis.coefficients(Y - block.residual)
    b, gap = problem.intercept(b, W), block.objective - block.dual
    return BlockFit(W, b, block.objective, block.Theta, gap, n_iter, converged)


class _Residuals:
    """The best residual and the best dual point seen."""

    def __init__(self, basis: _Range, Y: Array, omega: Array, tol: float) -> None:
        self.basis, self.Y, self.omega, self.tol = basis, Y, omega, tol
        # Below this an objective is rounding error: the fit is perfect.
        self.rounding = 100 * np.finfo(np.float64).eps * float(omega @ row_norms(Y))
        self.objective, self.residual = np.inf, Y
        self.dual, self.Theta = 0.0, np.zeros_like(Y)

    def check(self, E: Array, L: Array) -> bool:
        """Keep the better of each; whether their gap is closed."""
        residual = self.Y - self.basis.project(self.Y - E)
        objective = float(self.omega @ row_norms(residual))
        if objective < self.objective:
            self.objective, self.residual = objective, residual
        Theta = self.basis.reject(L)
        Theta = Theta / max(1.0, float((row_norms(Theta) / self.omega).max()))
        if float(np.vdot(self.Y, Theta)) > self.dual:
            self.dual, self.Theta = float(np.vdot(self.Y, Theta)), Theta
        return bool(self.objective - self.dual <= self.tol * self.objective + self.rounding)


class _Range:
    """The range of the columns of Z, and of 1 if there is an intercept; Z is centred then."""

    def __init__(self, Z: Array, fit_intercept: bool) -> None:
        self._shape, self._fit_intercept = Z.shape, fit_intercept
        if Z.shape[1] == 0:
            self._Q, self._R = np.zeros((Z.shape[0], 0)), np.zeros((0, 0))
            self._pivots = np.zeros(0, dtype=np.intp)
            return
        Q, R, pivots = qr(Z, mode="economic", pivoting=True)
        size = np.abs(np.diag(R))
        rank = int(np.count_nonzero(size > _RANK_TOL * max(float(size.max(initial=0.0)), 1e-300)))
        self._Q, self._R, self._pivots = Q[:, :rank], R[:rank, :rank], pivots[:rank]

    def columns(self) -> Array:
        """An orthonormal basis."""
        if not self._fit_intercept:
            return self._Q
        n = self._shape[0]
        return np.column_stack([self._Q, np.full(n, 1.0 / np.sqrt(n))])

    def project(self, A: Array) -> Array:
        """The part of A within the range."""
        inside = self._Q @ (self._Q.T @ A)
        return inside + A.mean(axis=0) if self._fit_intercept else inside

    def reject(self, A: Array) -> Array:
        """The part of A orthogonal to it."""
        return A - self.project(A)

    def coefficients(self, fitted: Array) -> tuple[Array, Array]:
        """W and b with Z W + 1b' = fitted."""
        W = np.zeros((self._shape[1], fitted.shape[1]))
        b = fitted.mean(axis=0) if self._fit_intercept else np.zeros(fitted.shape[1])
        if self._pivots.size:
            W[self._pivots] = solve_triangular(self._R, self._Q.T @ fitted)
        return W, b


# ----------------------------------------------------------------- one target: a linear programme
def lp_l21(problem: JointProblem) -> BlockFit:
    """Minimise sum_i omega_i |y_i - z_i w - b| + gamma ||w||_1 exactly, for Y of one column.

    The variables are w = w+ - w-, the residual e+ - e- and b; the multipliers of the equations
    are the dual point. ``gamma = 0`` is least absolute deviations.
    """
    Z, Y, gamma, omega = problem.Z, problem.Y, problem.gamma, problem.omega
    n, m = Z.shape
    cost = np.concatenate([np.full(2 * m, gamma), omega, omega, [0.0]])
    intercept = np.ones((n, 1)) if problem.fit_intercept else np.zeros((n, 1))
    identity = sp.eye_array(n)
    equations = sp.hstack(
        [sp.csc_array(np.hstack([Z, -Z])), identity, -identity, sp.csc_array(intercept)],
        format="csc",
    )
    bounds = [(0.0, None)] * (2 * m + 2 * n) + [(None, None)]
    # The solver's tolerances are absolute: give it numbers near 1.
    unit = float(np.abs(Y).max()) or 1.0
    result = linprog(cost, A_eq=equations, b_eq=Y[:, 0] / unit, bounds=bounds, method="highs")
    if result.x is None:
        zero = np.zeros((m, 1))
        objective = float(omega @ np.abs(Y[:, 0]))
        return BlockFit(zero, np.zeros(1), objective, np.zeros_like(Y), objective, 0, False)
    W = ((result.x[:m] - result.x[m : 2 * m]) * unit)[:, None]
    b = np.array([result.x[-1] * unit])
    Theta = problem.centred(result.eqlin.marginals[:, None])
    objective = float(omega @ row_norms(Y - Z @ W - b) + gamma * np.abs(W).sum())
    if gamma > 0:
        Theta = feasible_dual(Theta, row_norms(Z.T @ Theta), omega, gamma)
    gap = objective - float(np.vdot(Y, Theta))
    # Below this an objective is rounding error: the fit is perfect.
    rounding = 1e-12 * float(omega @ np.abs(Y[:, 0]))
    converged = gap <= problem.tol * objective + rounding
    return BlockFit(W, b, objective, Theta, gap, int(result.nit), converged)


# ---------------------------------------------------------------------------------- sums of norms
#
#     minimise  sum_a t_a ||T_a - A_a V||_2   over V
#
# Every norm is smoothed to s_a = sqrt(||r_a||^2 + eps_a^2) and eps falls. The unknowns are V and
# the directions U_a, with s_a U_a = r_a and A' diag(t) U = 0: linearised in both, as Chan, Golub
# and Mulet (1999) do, the steps stay long where those of Newton's method in V alone would not. The
# steps do not depend on the units of the columns of A, so that a column, or a sample, many orders
# of magnitude larger than the others costs no iterations.
# The least eps in units of a typical residual and of the rounding of a row, and the factor by which
# it falls: once the gap is within this multiple of the part that the smoothing causes, or after
# this number of steps.
_LEAST, _ROUNDING, _FALL, _CLOSE, _MOST_STEPS = 1e-11, 1e-14, 0.2, 3.0, 5
_MOST_IN_ALL, _HALVINGS = 60, 30
# Diagonal of a triangular factor, of columns of norm 1, below which columns are dependent.
_DEPENDENT = 1e-14


def newton_l21(problem: JointProblem) -> BlockFit:
    """The joint l2,1 problem on a small block of columns."""
    (n, m), Y = problem.Z.shape, problem.Y
    Zc = problem.centred(problem.Z)
    block = JointBlock(problem, Zc, np.full(m, problem.gamma))
    A = np.vstack([Zc, np.eye(m)])
    if problem.fit_intercept:
        A = np.column_stack([A, np.repeat([1.0, 0.0], [n, m])])
    T = np.vstack([Y, np.zeros((m, Y.shape[1]))])
    unit = float(row_norms(problem.centred(Y)).mean()) or 1.0
    # A median, because one sample far off must not decide how large a coefficient is.
    spread = np.median(np.abs(Zc), axis=0)
    spread = np.where(spread > 0, spread, np.abs(Zc).max(axis=0, initial=0.0))
    coefficient = unit / np.where(spread > 0, spread, 1.0)
    weights = np.append(problem.omega, block.gamma)
    norms = NormSum(A, T, weights, np.append(np.full(n, unit), coefficient))

    def check(V: Array, L: Array) -> bool:
        stacked = T - A @ V
        stacked[n:] = V[:m]
        return block.check(stacked, L)

    n_iter, converged = sum_of_norms(norms, np.zeros((A.shape[1], Y.shape[1])), check=check)
    b = problem.intercept(block.best.b, block.best.W)
    return replace(block.best, n_iter=n_iter, converged=converged, b=b)


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
        """Bound on the excess of the sum at V over the least, by a dual point with A' dual = 0."""
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
    for iteration in range(1, _MOST_IN_ALL + 1):
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
        if inner.gap(V, dual) <= _CLOSE * float(problem.t @ eps) or waited >= _MOST_STEPS:
            rounding = row_norms(inner.T) + np.abs(inner.A) @ row_norms(V)
            floor = np.maximum(_LEAST * problem.unit, _ROUNDING * rounding)
            eps, waited = np.maximum(_FALL * eps, floor), 0
    return _MOST_IN_ALL, False


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
