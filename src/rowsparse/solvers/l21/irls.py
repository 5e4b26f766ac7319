"""Iteratively reweighted least squares for the joint l2,1 problem (Nie et al. 2010).

With p_j = ||w_j|| and r_i = ||residual_i|| of the last iterate, each step solves a weighted ridge
problem, in the n x n form when d > n and in the d x d form otherwise; neither divides by p.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from rowsparse._arrays import Array
from rowsparse.rows import row_norms
from rowsparse.solvers.losses.l21 import L21Loss
from rowsparse.solvers.solution import Monitor, silent

# Relative ridge on the n x n system: without it fitted samples (r_i = 0) make it singular.
_RIDGE = 1e-10
# Floor of the residual norms in the d x d form.
RESIDUAL_FLOOR = 1e-8
_CHECK_GAP_EVERY = 20


@dataclass
class IrlsResult:
    """The best iterate, its dual point, and the objectives on the way."""

    W: Array
    b: Array
    objective: float
    Theta: Array
    gap: float
    history: list[float]
    converged: bool


def irls(
    loss: L21Loss,
    gamma: float,
    *,
    tol: float,
    max_iter: int,
    published: bool,
    monitor: Monitor = silent,
) -> IrlsResult:
    """Run IRLS from D = I.

    The corrected form puts a small ridge on the n x n system, recomputes the residual, keeps the
    best iterate and stops on the certified gap; the published one takes the printed steps and
    stops when the objective changes by less than ``tol``, relatively.
    """
    n, d = loss.design.shape
    p = np.ones(d)
    r = np.full(n, gamma) / loss.omega
    ridge = 0.0 if published else _RIDGE
    best: tuple[float, Array, Array] | None = None
    dual, Theta = -np.inf, np.zeros_like(loss.Y)
    history: list[float] = []
    converged = False
    for iteration in range(1, max_iter + 1):
        W, b, T = weighted_ridge(loss, gamma, p, r, ridge)
        P = loss.design.matmul(W) + b
        p = row_norms(W)
        history.append(loss.value(P) + gamma * float(p.sum()))
        # A sample of weight omega_i counts as one whose residual is omega_i times as long.
        r = row_norms(loss.Y - P) / loss.omega
        if best is None or published or history[-1] < best[0]:
            best = history[-1], W, b
        if not published and (iteration % _CHECK_GAP_EVERY == 0 or iteration == max_iter):
            point, _, value = loss.dual_point(T, gamma)
            if value > dual:
                dual, Theta = value, point
            converged = best[0] - dual <= tol * best[0]
        elif published and iteration > 1:
            converged = abs(history[-2] - history[-1]) <= tol * history[-1]
        if converged or monitor(history[-1]):
            break
    assert best is not None
    if published:
        Theta, _, dual = loss.dual_point(T, gamma)
    return IrlsResult(best[1], best[2], best[0], Theta, best[0] - dual, history, converged)


def weighted_ridge(
    loss: L21Loss, gamma: float, p: Array, r: Array, ridge: float
) -> tuple[Array, Array, Array]:
    """Minimise sum_i ||y_i - z_i W - b||^2 / r_i + gamma sum_j ||w_j||^2 / p_j.

    In the n x n form when d > n, in the d x d form otherwise. Returns W, b and the dual point
    diag(1/r) (Y - ZW - 1b').
    """
    n, d = loss.design.shape
    return (_step_n if d > n else _step_d)(loss, gamma, p, r, ridge)


def _step_n(
    loss: L21Loss, gamma: float, p: Array, r: Array, ridge: float
) -> tuple[Array, Array, Array]:
    """M = Z diag(p) Z' + gamma diag(r), W = diag(p) Z' M^{-1} (Y - 1b')."""
    M = loss.design.outer(p)
    M[np.diag_indices_from(M)] += gamma * r
    M[np.diag_indices_from(M)] += max(ridge, 1e-15) * np.trace(M) / M.shape[0]
    c = loss.Y.shape[1]
    solved = cho_solve(cho_factor(M), np.column_stack([loss.Y, np.ones(M.shape[0])]))
    multipliers, ones = solved[:, :c], solved[:, c]
    b = np.zeros(c)
    if loss.fit_intercept:
        b = multipliers.sum(axis=0) / ones.sum()
        multipliers = multipliers - np.outer(ones, b)
    W = p[:, None] * loss.design.rmatmul(multipliers)
    return W, b, gamma * multipliers


def _step_d(
    loss: L21Loss, gamma: float, p: Array, r: Array, ridge: float
) -> tuple[Array, Array, Array]:
    """W = diag(sqrt p) V with (A'A + gamma I) V = A' diag(r)^{-1/2} Y.

    Here A = diag(r)^{-1/2} Z diag(sqrt p).
    """
    weights = 1.0 / np.hypot(r, RESIDUAL_FLOOR)
    design, Y, shift = loss.design, loss.Y, np.zeros(p.size)
    y_mean = np.zeros(Y.shape[1])
    if loss.fit_intercept:
        design, shift = design.weighted(weights, center=True)
        weights_root = np.sqrt(weights)[:, None]
        y_mean = weights @ Y / weights.sum()
        gram, cross = design.gram(), design.rmatmul(weights_root * (Y - y_mean))
    else:
        gram, cross = design.gram(weights), design.rmatmul(weights[:, None] * Y)
    s = np.sqrt(p)
    A = s[:, None] * gram * s
    A[np.diag_indices_from(A)] += gamma
    W = s[:, None] * cho_solve(cho_factor(A), s[:, None] * cross)
    b = y_mean - shift @ W
    residual = Y - loss.design.matmul(W) - b
    return W, b, weights[:, None] * residual
