"""The l2,1 loss on the columns of a fixed support: a small convex problem, solved to a gap."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.linalg import qr, solve_triangular

from rowsparse._arrays import Array
from rowsparse.rows import row_norms
from rowsparse.solvers.blocks.admm import admm_l21, centred, first_step
from rowsparse.solvers.blocks.fit import BlockFit
from rowsparse.solvers.blocks.lp import lp_l21
from rowsparse.solvers.blocks.splitting import Iterates, split
from rowsparse.solvers.blocks.sum_of_norms import NormSum, newton_l21, sum_of_norms

_MAX_ITER = 20000
# Iterations after which ADMM is given up for Newton steps, and the most unknowns of these.
_PATIENCE, _SMALL = 500, 300
_RANK_TOL = 1e-10


def refit_l21(
    Z: Array, Y: Array, gamma: float, *, omega: Array, fit_intercept: bool, tol: float
) -> BlockFit:
    """Minimise sum_i omega_i ||y_i - z_i W - b|| + gamma ||W||_21 on the columns of a support.

    Parameters are those of :func:`rowsparse.solvers.blocks.admm.admm_l21`, but ``gamma`` may be
    zero. ``gap`` of the answer is a certified duality gap.
    """
    if Y.shape[1] == 1:
        return lp_l21(Z, Y, gamma, omega=omega, fit_intercept=fit_intercept, tol=tol)
    if gamma > 0:
        return _penalised(Z, Y, gamma, omega, fit_intercept, tol)
    return _unpenalised(Z, Y, omega, fit_intercept, tol)


def _penalised(
    Z: Array, Y: Array, gamma: float, omega: Array, fit_intercept: bool, tol: float
) -> BlockFit:
    """gamma > 0: by ADMM, and where that crawls and the problem is small by Newton steps."""
    options: dict[str, Any] = {"omega": omega, "fit_intercept": fit_intercept, "tol": tol}
    small = (Z.shape[1] + 1) * Y.shape[1] <= _SMALL
    fit = admm_l21(Z, Y, gamma, max_iter=_PATIENCE if small else _MAX_ITER, **options)
    if fit.converged or not small:
        return fit
    exact = newton_l21(Z, Y, gamma, **options)
    better = exact if exact.objective <= fit.objective else fit
    # Each lower bound holds for both.
    bound = max(exact.objective - exact.gap, fit.objective - fit.gap)
    tight = exact if bound == exact.objective - exact.gap else fit
    gap = better.objective - bound
    return replace(
        better, Theta=tight.Theta, gap=gap, converged=bool(gap <= tol * better.objective)
    )


def _unpenalised(Z: Array, Y: Array, omega: Array, fit_intercept: bool, tol: float) -> BlockFit:
    """gamma = 0: the residual alone is split, and its set is Y less the range of [Z, 1].

    A dual point is feasible if it is orthogonal to that range; the projection makes it so.
    """
    basis = _Range(centred(Z, fit_intercept), fit_intercept)
    origin = basis.reject(Y)
    block = _Residuals(basis, Y, omega, tol)
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
        typical = np.full(Y.shape[0], float(row_norms(origin).mean()))
        start = columns.T @ (Y - block.residual)
        n_iter, converged = sum_of_norms(
            NormSum(columns, Y, omega, typical),
            start,
            check=lambda V, L: block.check(Y - columns @ V, L),
        )
    W, b = basis.coefficients(Y - block.residual)
    if fit_intercept:
        b = b - Z.mean(axis=0) @ W
    gap = block.objective - block.dual
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
