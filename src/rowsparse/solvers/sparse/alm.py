"""The augmented Lagrangian of the l2,1 loss under a limit on the number of rows.

    minimise sum_i omega_i ||y_i - x_i W - b||_2   subject to   ||W||_20 <= k

Split E = X W + 1b' - Y and V = W, with multipliers Sigma and Lambda and a penalty mu that grows
by the factor rho. Rows are scaled by sqrt(omega_i) throughout, so that a weight of two is the
same as a sample given twice; ``root`` holds these square roots and multiplies b too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from rowsparse._arrays import Array, Index
from rowsparse.design import Design
from rowsparse.rows import row_norms, shrink, top_rows
from rowsparse.solvers.losses.l21 import L21Loss
from rowsparse.solvers.solution import Monitor

# The support must have stood still for so many iterations before a run may stop.
_STILL = 10


class RidgeStep:
    """The step W = (Z'Z + I)^-1 (Q + Z'T), factored once; mu cancels from it.

    For d > n, with K = ZZ' and N = (I + K)^-1 (ZQ + KT), Woodbury's identity gives
    W = Q + Z'(T - N), and then ZW = N without a product.
    """

    def __init__(self, Z: Design) -> None:
        n, d = Z.shape
        self._Z = Z
        self._wide = d > n
        self._K = Z.outer(np.ones(d)) if self._wide else Z.gram()
        self._factor = cho_factor(self._K + np.eye(self._K.shape[0]))

    def solve(self, Q: Array, ZQ: Array, T: Array) -> tuple[Array, Array]:
        """W - Q and ZW."""
        if self._wide:
            N = np.asarray(cho_solve(self._factor, ZQ + self._K @ T))
            return self._Z.rmatmul(T - N), N
        W = np.asarray(cho_solve(self._factor, Q + self._Z.rmatmul(T)))
        return W - Q, self._Z.matmul(W)


@dataclass
class Scaled:
    """The problem in rows scaled by ``root``; Z is centred if W and b are solved for jointly."""

    Z: Design
    Y: Array
    root: Array
    fit_intercept: bool
    joint: bool

    @classmethod
    def of(cls, loss: L21Loss, *, joint: bool) -> Scaled:
        root, center = np.sqrt(loss.omega), joint and loss.fit_intercept
        plain = not center and bool(np.all(loss.omega == 1.0))
        Z = loss.design if plain else loss.design.weighted(loss.omega, center=center)[0]
        return cls(Z, root[:, None] * loss.Y, root, loss.fit_intercept, joint)

    def mean(self, M: Array) -> Array:
        """The b for which root b' is nearest to M; 0 without an intercept."""
        if not self.fit_intercept:
            return np.zeros(M.shape[1])
        return np.asarray(self.root @ M / (self.root @ self.root))

    def loss(self, fitted: Array) -> float:
        """sum_i omega_i ||y_i - fitted_i||, with ``fitted`` in scaled rows."""
        return float(self.root @ row_norms(self.Y - fitted))


@dataclass
class AlmRun:
    """Where the ALM ended: W, (V, b), P of which V has the strongest rows, the loss on the way."""

    W: Array
    V: Array
    b: Array
    P: Array
    rows: Index
    history: list[float]
    converged: bool

    @property
    def strength(self) -> Array:
        """Row norms of P: off the support, of the multipliers of W_j = 0."""
        return np.asarray(row_norms(self.P), dtype=np.float64)


def strongest(P: Array, k: int, norm: Literal["l2", "l1"]) -> Index:
    """The k rows that the projection keeps (l2), or the published ranking (l1); none of zeros."""
    scores = row_norms(P) if norm == "l2" else np.abs(P).sum(axis=1)
    rows = top_rows(scores, k)
    return np.sort(rows[scores[rows] > 0])


@dataclass(frozen=True)
class AlmOptions:
    """How the ALM runs; ``may_stop`` before ``max_iter``, once it has converged."""

    mu: float
    rho: float
    max_iter: int
    norm: Literal["l2", "l1"]
    tol: float
    may_stop: bool


def alm(
    problem: Scaled, step: RidgeStep, W: Array, k: int, options: AlmOptions, monitor: Monitor
) -> AlmRun:
    """The iteration from V = W and E = 0.

    The multipliers are kept divided by mu (L = Lambda/mu, S = Sigma/mu), so nothing overflows,
    and ZP, ZV and ZL are updated along with P, V and L: an iteration takes one product with Z'
    and k columns of Z (and for d <= n one product with Z). It has converged when W = V and
    E = XW + 1b' - Y hold to a relative ``tol`` on a support that has stood still.
    """
    Y, root = problem.Y, problem.root[:, None]
    mu, rho, tol = options.mu, options.rho, options.tol
    V, L, S, E = W, np.zeros_like(W), np.zeros_like(Y), np.zeros_like(Y)
    ZV = ZW = problem.Z.matmul(W)
    ZL = np.zeros_like(Y)
    rows, Z_rows, still = np.empty(0, dtype=np.intp), np.empty((Y.shape[0], 0)), 0
    history: list[float] = []
    converged = False
    while len(history) < options.max_iter and not (converged and options.may_stop):
        T = Y + E - S
        b = problem.mean(T if problem.joint else T - ZW)
        change, ZW = step.solve(V - L, ZV - ZL, T if problem.joint else T - root * b)
        P, ZP = V + change, ZL + ZW
        W = P - L
        kept = strongest(P, k, options.norm)
        still = still + 1 if np.array_equal(kept, rows) else 0
        if still == 0:
            rows, Z_rows = kept, problem.Z.columns(kept)
        V = np.zeros_like(P)
        V[rows] = P[rows]
        ZV = Z_rows @ V[rows]
        misfit = ZW + root * b - Y
        G = misfit + S
        E = np.asarray(shrink(G, problem.root / mu), dtype=np.float64)
        converged = still >= _STILL and _small(W - V, tol, W) and _small(misfit - E, tol, Y)
        L, ZL, S, mu = (P - V) / rho, (ZP - ZV) / rho, (G - E) / rho, mu * rho
        history.append(problem.loss(ZV + root * b))
        if monitor(history[-1]):
            break
    return AlmRun(W, V, b, P, rows, history, converged)


def _small(difference: Array, tol: float, whole: Array) -> bool:
    return bool(np.linalg.norm(difference) <= tol * np.linalg.norm(whole))
