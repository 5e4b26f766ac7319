"""SLAP: similarities and a row-sparse projection, learnt in turn (after Chen et al. 2018).

    min  sum_ij s_ij ||W'(z_i - z_j)||^2 + sum_i alpha_i sum_j s_ij^2 + gamma ||W||_21
    over W'Z'ZW = I_m and similarities s_ij >= 0 that sum to 1 over the others of i's class

For given S the penalty is majorised and W holds generalised eigenvectors; for given W the rows
of S have closed forms.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cholesky, eigh, solve_triangular

from rowsparse._arrays import Array, Index
from rowsparse.design import Design, machine_eps
from rowsparse.rows import row_norms
from rowsparse.solvers.solution import Monitor, Solution, silent
from rowsparse.solvers.subspace.subspace import mean_variance, with_fixed_signs

# Distances that are held at a time: 1 MB, which stays in the cache.
_BLOCK_ENTRIES = 1 << 17
# Smooths ||w_j|| to sqrt(||w_j||^2 + this^2), for columns of unit variance.
_SMOOTHING = 1e-4


class _Space(Protocol):
    """The eigenproblem in the smaller of its two dimensions, n or d."""

    rank: int

    def coordinates(self) -> Array:
        """The samples, in any orthonormal basis."""

    def projection(self, L: Any, penalty: Array, m: int) -> tuple[Array, Array]:
        """W of least tr(W'(2Z'LZ + diag(penalty))W) over W'Z'ZW = I, and ZW."""


def slap(
    design: Design,
    Y: Array,
    m: int,
    *,
    gamma: float,
    n_neighbors: int,
    similarity_weight: float | None,
    max_iter: int,
    tol: float,
    monitor: Monitor = silent,
) -> Solution:
    """Learn similarities within classes and a projection of few features that keeps them.

    Parameters
    ----------
    design : Design
        Centred.
    Y : array of shape (n, c)
        One-hot classes.
    m : int
        Dimension of the projection; no more than the rank of Z is used.
    gamma : float
        Weight of the penalty, > 0, for columns of unit variance; else it is multiplied by the
        root of their mean variance, so that units do not matter.
    n_neighbors : int
        Number of similar samples of each one, which chooses its alpha_i in every round.
    similarity_weight : float or None
        The same alpha_i for all samples and rounds instead; then the objective never rises.
    max_iter, tol : int, float
        Limit on the rounds, and the relative change of the row norms, taken together, at which
        they stop.
    monitor : Monitor
        Told of the objective after each round.

    Returns
    -------
    Solution
        Scores are the row norms of W.
    """
    n, d = design.shape
    space: _Space = _Tall(design) if d <= n else _Wide(design)
    groups = [np.flatnonzero(column) for column in Y.T if column.sum() > 1]
    m = min(m, space.rank)
    unit = np.sqrt(mean_variance(design))
    gamma *= unit
    S, alphas = similarities(space.coordinates(), groups, n_neighbors, similarity_weight)
    # A penalty below the rounding error of Z'LZ would leave M singular.
    least = 1e-13 * float(np.sum(design.column_norms() ** 2))
    weights, norms = np.full(d, unit), np.zeros(d)
    history: list[float] = []
    for _ in range(max_iter):
        W, ZW = space.projection(laplacian(S), np.maximum(gamma * weights, least), m)
        last, norms = norms, row_norms(W)
        smooth = np.hypot(norms, _SMOOTHING / unit)
        weights = 0.5 / smooth
        S, alphas = similarities(ZW, groups, n_neighbors, similarity_weight)
        apart = 2.0 * float(np.sum(ZW * (laplacian(S) @ ZW)))
        spread = float(alphas @ np.asarray(S.power(2).sum(axis=1)).ravel())
        history.append(apart + spread + gamma * float(smooth.sum()))
        converged = bool(np.linalg.norm(norms - last) <= tol * np.linalg.norm(norms))
        if converged or monitor(history[-1]):
            break
    return Solution(
        W=with_fixed_signs(W),
        b=np.zeros(W.shape[1]),
        objective=history[-1],
        history=np.array(history),
        n_iter=len(history),
        converged=converged,
        scores=norms,
    )


def laplacian(S: Any) -> Any:
    """D - (S + S')/2: sum_ij s_ij ||u_i - u_j||^2 = 2 tr(U'LU)."""
    half = (S + S.T) / 2.0
    return sp.csr_array(sp.diags_array(np.asarray(half.sum(axis=1)).ravel()) - half)


# ----------------------------------------------------------------------------- similarities
def similarities(
    coordinates: Array, groups: list[Index], n_neighbors: int, similarity_weight: float | None
) -> tuple[Any, Array]:
    """S (n x n, sparse) and the alpha_i of each sample, from the coordinates of all samples."""
    n = coordinates.shape[0]
    rows, columns, values = [np.empty(0, np.intp)], [np.empty(0, np.intp)], [np.empty(0)]
    alphas = np.zeros(n)
    for group in groups:
        for part, distance in _distances(coordinates[group]):
            samples = group[part]
            if similarity_weight is None:
                near, weight, alphas[samples] = nearest(distance, min(n_neighbors, group.size - 2))
            else:
                near = np.broadcast_to(np.arange(group.size), distance.shape)
                weight = simplex_rows(-distance / (2.0 * similarity_weight))
                alphas[samples] = similarity_weight
            row, place = np.nonzero(weight)
            rows.append(samples[row])
            columns.append(group[near[row, place]])
            values.append(weight[row, place])
    entries = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
    return sp.csr_array(entries, shape=(n, n)), alphas


def _distances(points: Array) -> Iterator[tuple[slice, Array]]:
    """Squared distances of some points at a time to all, infinite to themselves."""
    count = points.shape[0]
    square = np.einsum("ij,ij->i", points, points)
    step = max(1, _BLOCK_ENTRIES // count)
    for start in range(0, count, step):
        part = slice(start, min(start + step, count))
        distance = points[part] @ points.T
        distance *= -2.0
        distance += square
        distance += square[part, None]
        np.maximum(distance, 0.0, out=distance)
        np.fill_diagonal(distance[:, start:], np.inf)
        yield part, distance


def nearest(distance: Array, K: int) -> tuple[Index, Array, Array]:
    """The K nearest of each row, their similarities, and the alpha_i that gives K of them.

    s_ij = (d_(K+1) - d_ij) / (K d_(K+1) - sum_{h <= K} d_(h)), or 1/K where all these distances
    are equal. For K < 1, in a class of two samples, the other sample has similarity 1.
    """
    if K < 1:
        return (
            distance.argmin(axis=1)[:, None],
            np.ones((len(distance), 1)),
            np.zeros(len(distance)),
        )
    near = np.argpartition(distance, K, axis=1)[:, : K + 1]
    near = np.take_along_axis(
        near, np.argsort(np.take_along_axis(distance, near, 1), axis=1, kind="stable"), 1
    )
    ordered = np.take_along_axis(distance, near, 1)
    room = ordered[:, K:] - ordered[:, :K]
    total = room.sum(axis=1)
    usable = total > 1e-14 * ordered[:, K]
    weight = np.where(usable[:, None], room / np.where(usable, total, 1.0)[:, None], 1.0 / K)
    return near[:, :K], weight, np.where(usable, total / 2.0, 0.0)


def simplex_rows(V: Array) -> Array:
    """Project every row on the probability simplex; entries of -inf become 0.

    >>> simplex_rows(np.array([[-np.inf, 1.0, 0.5]]))
    array([[0.  , 0.75, 0.25]])
    """
    ordered = -np.sort(-V, axis=1)
    finite = np.isfinite(ordered)
    excess = np.cumsum(np.where(finite, ordered, 0.0), axis=1) - 1.0
    count = np.arange(1, V.shape[1] + 1)
    last = (finite & (np.where(finite, ordered, 0.0) * count > excess)).sum(axis=1) - 1
    level = excess[np.arange(V.shape[0]), last] / (last + 1)
    return np.asarray(np.maximum(V - level[:, None], 0.0))


# ------------------------------------------------------------------------------- projections
class _Tall:
    """n >= d: the d x d problem (Z'Z, 2Z'LZ + diag(penalty))."""

    def __init__(self, design: Design) -> None:
        self._Z = design.columns(np.arange(design.shape[1])).astype(np.float64, copy=False)
        self._total = self._Z.T @ self._Z
        self.rank = _rank(eigh(self._total, eigvals_only=True), design)

    def coordinates(self) -> Array:
        return self._Z

    def projection(self, L: Any, penalty: Array, m: int) -> tuple[Array, Array]:
        d = penalty.size
        M = 2.0 * (self._Z.T @ (L @ self._Z))
        M[np.diag_indices(d)] += penalty
        W = _generalised(self._total, M, m)
        return W, self._Z @ W


class _Wide:
    """n < d: the n x n problem in the row space of Z diag(penalty)^-1/2 = U diag(root) V'.

    The best W is diag(penalty)^-1/2 V C, where C solves the problem with diag(root^2) in place of
    Z'Z and I + 2R'LR, R = U diag(root), in place of M.
    """

    def __init__(self, design: Design) -> None:
        self._design = design
        values, vectors = eigh(design.outer(np.ones(design.shape[1])))
        self.rank = _rank(values, design)
        self._coordinates = vectors * np.sqrt(np.maximum(values, 0.0))

    def coordinates(self) -> Array:
        return self._coordinates

    def projection(self, L: Any, penalty: Array, m: int) -> tuple[Array, Array]:
        values, vectors = eigh(self._design.outer(1.0 / penalty))
        kept = values > values[-1] * values.size * np.finfo(np.float64).eps
        root, U = np.sqrt(values[kept]), vectors[:, kept]
        R = U * root
        inner = 2.0 * (R.T @ (L @ R))
        inner[np.diag_indices_from(inner)] += 1.0
        C = _generalised(np.diag(values[kept]), inner, m)
        return self._design.rmatmul(U @ (C / root[:, None])) / penalty[:, None], R @ C


def _generalised(A: Array, M: Array, m: int) -> Array:
    """C of least tr(C'MC) over C'AC = I_m."""
    T = cholesky(M, lower=True)
    half = solve_triangular(T, A, lower=True)
    reduced = solve_triangular(T, half.T, lower=True)
    size = M.shape[0]
    theta, vectors = eigh((reduced + reduced.T) / 2.0, subset_by_index=(max(size - m, 0), size - 1))
    # Directions in which A is only rounding error cannot be scaled to unit length.
    kept = theta > theta[-1] * size * np.finfo(np.float64).eps
    theta, vectors = theta[kept][::-1], vectors[:, kept][:, ::-1]
    return np.asarray(solve_triangular(T, vectors, lower=True, trans="T") / np.sqrt(theta))


def _rank(values: Array, design: Design) -> int:
    """Number of eigenvalues of Z'Z or ZZ' (ascending) that are not rounding error."""
    return int(np.sum(values > values[-1] * max(design.shape) * machine_eps(design)))
