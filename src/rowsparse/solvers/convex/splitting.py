"""The splitting iteration (ADMM) of the convex solvers in this package.

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

RELAX = 1.8
CHECK_EVERY = 10
_BALANCE_EVERY = 50
_BALANCE_RATIO = 5.0
# An explicit inverse costs 2nm + m^2 an iteration, Woodbury's identity 3nm + n^2.
_WOODBURY_RATIO = 1.62


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
        self._woodbury = m > _WOODBURY_RATIO * n
        K = Z @ Z.T if self._woodbury else Z.T @ Z
        K[np.diag_indices_from(K)] += kappa
        factor = cho_factor(K, lower=True, overwrite_a=True, check_finite=False)
        self._inverse = cho_solve(factor, np.eye(K.shape[0]), overwrite_b=True, check_finite=False)

    def solve(self, B: Array) -> Array:
        """W(B)."""
        if not self._woodbury:
            return self._inverse @ B
        return (B - self._Z.T @ (self._inverse @ (self._Z @ B))) / self._kappa

    def solve_and_apply(self, B: Array) -> tuple[Array, Array]:
        """W(B) and Z W(B)."""
        if not self._woodbury:
            W = self._inverse @ B
            return W, self._Z @ W
        # Z (Z'Z + kappa I)^{-1} B = (ZZ' + kappa I)^{-1} Z B
        P = self._inverse @ (self._Z @ B)
        return (B - self._Z.T @ P) / self._kappa, P


class GraphProjection:
    """Projection onto the pairs (E, W) with E = Y - ZW - 1b', stacked.

    Z has zero column means if there is an intercept. The nearest pair to (E, V) is that of
    W = (Z'Z + I)^{-1} (Z'(Y - E) + V) and b = mean(Y - E).
    """

    def __init__(self, Z: Array, Y: Array, fit_intercept: bool) -> None:
        self._Z, self._Y, self._fit_intercept = Z, Y, fit_intercept
        self._inverse = RegularisedInverse(Z)

    def __call__(self, stacked: Array) -> Array:
        n = self._Y.shape[0]
        T = self._Y - stacked[:n]
        if self._fit_intercept:
            T -= T.mean(axis=0)
        W, ZW = self._inverse.solve_and_apply(self._Z.T @ T + stacked[n:])
        # Y - ZW - 1b' = E + (T - ZW), because T has lost its mean b.
        T -= ZW
        T += stacked[:n]
        return np.concatenate([T, W])
