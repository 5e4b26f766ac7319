"""The splitting iteration (ADMM) that the convex solvers here share.

A problem min sum_i t_i ||s_i|| over the rows s_i of S, with S in an affine set, alternates
between the projection onto the set and the shrinkage of the rows. The multipliers that it
carries along become a dual point.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from rowsparse._arrays import Array
from rowsparse.rows import shrink_ordinary

RELAX = 1.7
CHECK_EVERY = 10
_BALANCE_EVERY = 50
_BALANCE_RATIO = 5.0
# An explicit inverse costs 2nm + m^2 an iteration, Woodbury's identity 3nm + n^2.
_WOODBURY_RATIO = 1.62
# Up to this many rows and columns the projection is one dense matrix.
_DENSE_PROJECTION = 700


@dataclass
class Iterates:
    """Rows S, their multipliers L and the step rho between the two."""

    S: Array
    L: Array
    rho: float


def split(
    project: Callable[[Array], Array],
    t: Array,
    start: Iterates,
    *,
    check: Callable[[Array, Array], bool],
    scale: Callable[[Array], float],
    max_iter: int,
) -> tuple[Iterates, int, bool]:
    """Minimise sum_i t_i ||s_i|| over an affine set.

    Parameters
    ----------
    project : callable
        Projection onto the set.
    t : array
        Positive weights of the rows.
    start : Iterates
        Where to begin.
    check : callable
        Given S and L every few iterations; True ends the run.
    scale : callable
        Given a point of the set, the size by which the primal residual is judged small.
    max_iter : int
        Limit on the iterations.

    Returns
    -------
    iterates, number of iterations, whether ``check`` ended it
    """
    S, rho = start.S, start.rho
    u, thresholds = start.L / rho, t / rho
    for iteration in range(1, max_iter + 1):
        P = project(S - u)
        A = RELAX * P
        A += (1 - RELAX) * S
        A += u
        S_old, S = S, shrink_ordinary(A, thresholds)
        u = A - S
        if (iteration % CHECK_EVERY == 0 or iteration == max_iter) and check(S, rho * u):
            return Iterates(S, rho * u, rho), iteration, True
        if iteration % _BALANCE_EVERY == 0 and 2 * iteration <= max_iter:
            primal = _norm(P - S) / max(_norm(S), scale(P), 1e-300)
            factor = _balance(primal, _norm(S - S_old) / max(_norm(u), 1e-300))
            rho, u, thresholds = rho * factor, u / factor, thresholds / factor
    return Iterates(S, rho * u, rho), max_iter, False


def _balance(primal: float, dual: float) -> float:
    """The factor on rho that brings the relative primal and dual residuals closer together."""
    if primal > _BALANCE_RATIO * dual:
        return 2.0
    return 0.5 if dual > _BALANCE_RATIO * primal else 1.0


def _norm(A: Array) -> float:
    return float(np.sqrt(np.vdot(A, A)))


class RegularisedInverse:
    """W(B) = (Z'Z + kappa I)^{-1} B, for a fixed block Z."""

    def __init__(self, Z: Array, kappa: float = 1.0) -> None:
        n, m = Z.shape
        self._Z, self._kappa = Z, kappa
        self.woodbury = m > _WOODBURY_RATIO * n
        K = Z @ Z.T if self.woodbury else Z.T @ Z
        K[np.diag_indices_from(K)] += kappa
        factor = cho_factor(K, lower=True, overwrite_a=True, check_finite=False)
        self.inverse = cho_solve(factor, np.eye(K.shape[0]), overwrite_b=True, check_finite=False)

    def solve(self, B: Array) -> Array:
        """W(B)."""
        if not self.woodbury:
            return self.inverse @ B
        return (B - self._Z.T @ (self.inverse @ (self._Z @ B))) / self._kappa

    def matrix(self) -> Array:
        """The inverse itself, m x m."""
        if not self.woodbury:
            return self.inverse
        dense = self._Z.T @ (self.inverse @ self._Z)
        np.negative(dense, out=dense)
        dense[np.diag_indices_from(dense)] += 1.0
        return dense / self._kappa


class GraphProjection:
    """Projection onto the pairs (E, W) with E = Y - ZW - 1b', stacked.

    Z has zero column means if there is an intercept. The nearest pair to (E, V) is that of
    W = (Z'Z + I)^{-1} (Z'(Y - E) + V) and b = mean(Y - E).
    """

    def __init__(self, Z: Array, Y: Array, fit_intercept: bool) -> None:
        n, m = Z.shape
        self._Z, self._Y, self._fit_intercept = Z, Y, fit_intercept
        self._inverse = RegularisedInverse(Z)
        self._matrix: Array | None = None
        if n + m <= _DENSE_PROJECTION:
            self._matrix = self._dense(n, m)
            self._origin = self._factored(np.zeros((n + m, Y.shape[1])))

    def __call__(self, stacked: Array) -> Array:
        if self._matrix is None:
            return self._factored(stacked)
        product: Array = self._matrix @ stacked
        product += self._origin
        return product

    def _factored(self, stacked: Array) -> Array:
        n = self._Y.shape[0]
        T = self._Y - stacked[:n]
        b = T.mean(axis=0) if self._fit_intercept else 0.0
        W = self._inverse.solve(self._Z.T @ (T - b) + stacked[n:])
        return np.concatenate([self._Y - self._Z @ W - b, W])

    def _dense(self, n: int, m: int) -> Array:
        """The linear part, [[ZHZ' (+ 11'/n), -ZH], [-HZ', H]] with H = (Z'Z + I)^{-1}."""
        H = self._inverse.matrix()
        ZH = self._Z @ H
        matrix = np.empty((n + m, n + m))
        matrix[:n, :n] = ZH @ self._Z.T
        if self._fit_intercept:
            matrix[:n, :n] += 1.0 / n
        matrix[:n, n:] = -ZH
        matrix[n:, :n] = -ZH.T
        matrix[n:, n:] = H
        return matrix
