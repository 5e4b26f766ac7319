"""IRLS for the joint l2,1 problem from sums over the rows: for samples that come in blocks.

A step of :mod:`rowsparse.solvers.l21.irls` in its d x d form needs nothing of the samples but sums,
and the weight of a row follows from the last iterate. One pass over the rows has what the next step
needs, the objective of the last one, and its dual point as far as the duality gap depends on it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from rowsparse._arrays import Array
from rowsparse.rows import row_norms
from rowsparse.solvers.l21.irls import RESIDUAL_FLOOR
from rowsparse.solvers.solution import Monitor, Solution, relative_gap, silent

__all__ = ["Iterate", "RowSums", "irls_from_sums", "row_sums"]


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

    With an intercept the mean of T is taken off first, and rows of what is left are at most as long
    as those of T and the mean together.
    """
    cross, value, excess = sums.dual_cross, sums.dual_value, sums.dual_excess
    if fit_intercept:
        mean = sums.dual_sum / sums.n_rows
        cross = cross - np.outer(sums.z_total, mean)
        value -= float(sums.y_total @ mean)
        excess += float(np.linalg.norm(mean)) / sums.omega_least
    scores = row_norms(cross) / gamma
    return value / max(1.0, excess, float(scores.max(initial=0.0)))
