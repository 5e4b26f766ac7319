"""Spectra, starts and solutions of the solvers for subspaces with few non-zero rows.

Both FSPCA and S2DFS raise tr(W'AW) over W'W = I with at most k non-zero rows, where

    A = Z' T Z + shift I,   positive semi-definite,

for T = I/n and for a difference of class scatters. Neither needs A itself: A W is two products
with Z.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from rowsparse._arrays import Array, Index
from rowsparse.design import Design, machine_eps
from rowsparse.rows import top_rows
from rowsparse.solvers.solution import Solution, scores_with_closeness

# Up to this size a few eigenvectors come from a dense matrix.
_DENSE_SIZE = 1500


def captured(G: Array, inner: Array) -> Array:
    """p_i = (G (W'AW)^+ G')_ii for G = AW and ``inner`` = W'AW.

    The part of A_ii that the columns of AW explain: A - G (W'AW)^+ G' is positive semi-definite.

    >>> captured(np.array([[2.0], [1.0]]), np.array([[2.0]]))
    array([2. , 0.5])
    """
    values, vectors = eigh((inner + inner.T) / 2.0)
    kept = values > values[-1] * values.size * np.finfo(np.float64).eps
    coordinates = G @ (vectors[:, kept] / np.sqrt(values[kept]))
    return np.asarray(np.einsum("ij,ij->i", coordinates, coordinates))


def improved_rows(
    design: Design,
    W: Array,
    k: int,
    *,
    middle: Callable[[Array], Array],
    shift: float,
    rows: Index | None = None,
) -> tuple[Array, Array, Index]:
    """One step of both methods: G = AW, p = diag(G (W'AW)^+ G'), and the k largest p.

    ``middle`` multiplies by T; ``rows`` are the non-zero rows of W where these are few.
    """
    ZW = design.matmul(W) if rows is None else design.columns(rows) @ W[rows]
    G = design.rmatmul(middle(ZW)) + shift * W
    p = np.where(design.column_norms() > 0, captured(G, W.T @ G), -1.0)
    return G, p, top_rows(p, k)


def leading_spectrum(design: Design, count: int) -> tuple[Array, Array]:
    """The largest eigenvalues of Z'Z, falling, and their eigenvectors (d x count).

    There are min(n, d) of them at most; those that are nothing but rounding error are left out.
    """
    n, d = design.shape
    size = min(n, d)
    count = min(count, size)
    if size <= _DENSE_SIZE or count >= size // 2:
        matrix = design.outer(np.ones(d)) if n <= d else design.gram()
        values, vectors = eigh(matrix, subset_by_index=(size - count, size - 1))
    else:
        values, vectors = _lanczos(_smaller_product(design), count)
    values, vectors = values[::-1], vectors[:, ::-1]
    kept = values > values[0] * max(n, d) * machine_eps(design)
    values, vectors = values[kept], vectors[:, kept]
    if n <= d:
        vectors = design.rmatmul(vectors) / np.sqrt(values)
    return values, vectors


def _smaller_product(design: Design) -> LinearOperator:
    """ZZ' or Z'Z, whichever is smaller."""
    n, d = design.shape

    def apply(v: Array) -> Array:
        M = v.reshape(-1, 1)
        if n <= d:
            return design.matmul(design.rmatmul(M)).ravel()
        return design.rmatmul(design.matmul(M)).ravel()

    return LinearOperator((min(n, d), min(n, d)), matvec=apply, dtype=np.float64)


def leading_eigenvector(matrix: LinearOperator, dense: Callable[[], Array]) -> tuple[float, Array]:
    """The largest eigenvalue and its vector; ``dense`` makes the matrix where it is small."""
    size = matrix.shape[0]
    if size > _DENSE_SIZE:
        try:
            values, vectors = _lanczos(matrix, 1)
            return float(values[0]), vectors[:, 0]
        except ArpackNoConvergence:
            pass
    values, vectors = eigh(dense(), subset_by_index=(size - 1, size - 1))
    return float(values[0]), vectors[:, 0]


def _lanczos(matrix: LinearOperator, count: int) -> tuple[Array, Array]:
    """The largest eigenvalues, rising, from a fixed start: no global random state."""
    start = np.random.default_rng(0).standard_normal(matrix.shape[0])
    values, vectors = eigsh(matrix, k=count, which="LA", v0=start, tol=1e-10)
    order = np.argsort(values)
    return values[order], vectors[:, order]


def by_variance(variances: Array, tie_break: Array, eps: float) -> Index:
    """All features by falling variance; equal ones, up to rounding, by a second number.

    >>> by_variance(np.array([1.0, 3.0, 3.0 + 1e-15]), np.array([0.0, 1.0, 2.0]), 2e-16).tolist()
    [2, 1, 0]
    """
    positive = variances > 0
    level = np.full(variances.size, -np.inf)
    level[positive] = np.round(np.log(variances[positive]) / (1e4 * eps))
    return np.asarray(np.lexsort((-tie_break, -level)))


def with_fixed_signs(W: Array) -> Array:
    """W with every column turned so that its largest entry is positive."""
    peak = W[np.abs(W).argmax(axis=0), np.arange(W.shape[1])]
    return W * np.where(peak < 0, -1.0, 1.0)


def mean_variance(design: Design) -> float:
    """The mean variance of the columns that vary: 1 where they are standardised."""
    norms = design.column_norms()
    return float((norms**2).sum() / (np.count_nonzero(norms) * design.shape[0]))


def matrix_from_rows(rows: Index, W_rows: Array, d: int) -> Array:
    """W (d x m) from its non-zero rows."""
    W = np.zeros((d, W_rows.shape[1]))
    W[rows] = W_rows
    return W


def same_set(first: Index, second: Index) -> bool:
    """Whether two arrays hold the same rows, in any order."""
    return bool(np.array_equal(np.sort(first), np.sort(second)))


def subspace_solution(
    W: Array, rows: Index, history: list[float], closeness: Array, n_iter: int, converged: bool
) -> Solution:
    """W and its rows as a solution; the other features follow by their closeness."""
    return Solution(
        W=W,
        b=np.zeros(W.shape[1]),
        objective=history[-1],
        history=np.array(history),
        n_iter=n_iter,
        converged=converged,
        scores=scores_with_closeness(W, closeness, rows),
        support=rows,
    )
