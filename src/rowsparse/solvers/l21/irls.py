"""Iteratively reweighted least squares for the joint l2,1 problem (Nie et al. 2010).

With p_j = ||w_j|| and r_i = ||residual_i|| of the last iterate, each step solves a weighted ridge
problem, in the n x n form when d > n and in the d x d form otherwise; neither divides by p.

In its d x d form a step needs only sums over the samples, which may come in blocks: one pass over
them gathers the sums for the next step, and the objective and the duality gap of the last one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from rowsparse._arrays import Array
from rowsparse.rows import row_norms
from rowsparse.solvers.losses.l21 import L21Loss
from rowsparse.solvers.solution import Monitor, Solution, relative_gap, silent

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


# --------------------------------------------------------------------- from sums over the samples
class Iterate(NamedTuple):
    """Coefficients (d x c) and intercepts (c)."""

    W: Array
    b: Array


@dataclass(frozen=True)
class RowSums:
    """Sums over rows z, y of weight omega; see :func:`row_sums`.

    Attributes
    ----------
    gram, cross, z_sum, y_sum, weight : arrays and float
        Weighted sums of z z', z y', z, y and 1, for the weights of the next step.
    loss : float
        The sum of omega ||y - z W - b||.
    dual_cross, dual_sum, dual_value : arrays and float
        With T the dual point of the last step: Z'T, its column sums, and <Y, T>.
    z_total, y_total, n_rows : arrays and float
        Sums of z, y and 1 without weights.
    dual_excess, omega_least : float
        The largest ||t|| / omega and the least omega.
    """

    gram: Array
    cross: Array
    z_sum: Array
    y_sum: Array
    weight: float
    loss: float
    dual_cross: Array
    dual_sum: Array
    dual_value: float
    z_total: Array
    y_total: Array
    n_rows: int
    dual_excess: float
    omega_least: float

    def __sizeof__(self) -> int:
        # Dask asks for it before it moves or spills them.
        arrays = [value for value in vars(self).values() if isinstance(value, np.ndarray)]
        return object.__sizeof__(self) + sum(array.nbytes for array in arrays)

    def merged(self, other: RowSums) -> RowSums:
        """The sums over the rows of both."""
        both = {f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(self)}
        both["dual_excess"] = max(self.dual_excess, other.dual_excess)
        both["omega_least"] = min(self.omega_least, other.omega_least)
        return RowSums(**both)


def row_sums(
    Z: Array, Y: Array, omega: Array, gamma: float, before: Iterate | None, last: Iterate | None
) -> RowSums:
    """The sums over some rows, where ``last`` came from a step with the weights of ``before``.

    None stands for the start of the iteration, where every row has the residual gamma.
    """
    weights_before = _weights(Z, Y, omega, gamma, before)
    weights = weights_before if last is None else _weights(Z, Y, omega, gamma, last)
    residual = np.zeros_like(Y) if last is None else Y - Z @ last.W - last.b
    T = weights_before[:, None] * residual
    root = np.sqrt(weights)[:, None] * Z
    return RowSums(
        gram=root.T @ root,
        cross=Z.T @ (weights[:, None] * Y),
        z_sum=weights @ Z,
        y_sum=weights @ Y,
        weight=float(weights.sum()),
        loss=float(omega @ row_norms(residual)),
        dual_cross=Z.T @ T,
        dual_sum=T.sum(axis=0),
        dual_value=float(np.vdot(Y, T)),
        z_total=Z.sum(axis=0),
        y_total=Y.sum(axis=0),
        n_rows=Z.shape[0],
        dual_excess=float((row_norms(T) / omega).max(initial=0.0)),
        omega_least=float(omega.min(initial=np.inf)),
    )


def _weights(Z: Array, Y: Array, omega: Array, gamma: float, at: Iterate | None) -> Array:
    """The weights of the rows in the step after an iterate."""
    norms = np.full(omega.size, gamma) if at is None else row_norms(Y - Z @ at.W - at.b)
    return np.asarray(1.0 / np.hypot(norms / omega, RESIDUAL_FLOOR))


def irls_from_sums(
    gather: Callable[[Iterate | None, Iterate | None], RowSums],
    gamma: float,
    *,
    fit_intercept: bool,
    tol: float,
    max_iter: int,
    monitor: Monitor = silent,
) -> Solution:
    """Run IRLS; ``gather`` gives the sums of :func:`row_sums` over all rows, in one pass.

    Each step is certified by a duality gap, and the best iterate is returned.
    """
    sums = gather(None, None)
    p = np.ones(sums.z_sum.size)
    before: Iterate | None = None
    best: tuple[float, Iterate] | None = None
    dual, converged, history = -np.inf, False, list[float]()
    while len(history) < max_iter and not converged:
        last = _step(sums, gamma, p, fit_intercept)
        sums = gather(before, last)
        p = row_norms(last.W)
        history.append(sums.loss + gamma * float(p.sum()))
        if best is None or history[-1] < best[0]:
            best = history[-1], last
        dual = max(dual, _dual_value(sums, gamma, fit_intercept))
        converged = relative_gap(best[0], best[0] - dual) <= tol
        before = last
        if monitor(history[-1]):
            break
    assert best is not None
    objective, (W, b) = best
    gap = {"gap_": objective - dual, "gamma_": gamma}
    return Solution(W, b, objective, np.array(history), len(history), converged, attributes=gap)


def _step(sums: RowSums, gamma: float, p: Array, fit_intercept: bool) -> Iterate:
    """W = diag(sqrt p) V with (A'A + gamma I) V = A'Y, A = diag(sqrt weights) Z diag(sqrt p)."""
    gram, cross, c = sums.gram, sums.cross, sums.y_sum.size
    z_mean, y_mean = np.zeros(p.size), np.zeros(c)
    if fit_intercept:
        z_mean, y_mean = sums.z_sum / sums.weight, sums.y_sum / sums.weight
        gram = gram - np.outer(sums.z_sum, z_mean)
        cross = cross - np.outer(sums.z_sum, y_mean)
    s = np.sqrt(p)
    A = s[:, None] * gram * s
    A[np.diag_indices_from(A)] += gamma
    W = s[:, None] * cho_solve(cho_factor(A), s[:, None] * cross)
    return Iterate(W, y_mean - z_mean @ W)


def _dual_value(sums: RowSums, gamma: float, fit_intercept: bool) -> float:
    """<Y, Theta> for a multiple Theta of T that satisfies every constraint of the dual.

    With an intercept the mean of T is subtracted first; the norm of a row is then at most that of
    the row of T plus that of the mean.
    """
    cross, value, excess = sums.dual_cross, sums.dual_value, sums.dual_excess
    if fit_intercept:
        mean = sums.dual_sum / sums.n_rows
        cross = cross - np.outer(sums.z_total, mean)
        value -= float(sums.y_total @ mean)
        excess += float(np.linalg.norm(mean)) / sums.omega_least
    scores = row_norms(cross) / gamma
    return value / max(1.0, excess, float(scores.max(initial=0.0)))
