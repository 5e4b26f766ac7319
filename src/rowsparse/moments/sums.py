"""Sums over the rows of a block, dense or sparse, and the rounding error of such sums."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from rowsparse._arrays import Array

__all__ = ["chunks", "joint_range", "scatter", "sparse_moments", "sum_error"]

# Entries of X that are centred and multiplied at a time, and the least number of rows of them:
# with fewer, adding to the products takes longer than computing them.
_CHUNK_ENTRIES, _CHUNK_ROWS = 1 << 20, 512
_EPS = float(np.finfo(np.float64).eps)


def sum_error(n: int) -> float:
    """Bound on the error of a sum of n products, relative to the lengths of its factors.

    It is that of their means, too, and of the few operations on each of them.
    """
    return 2.0 * (n + 16) * _EPS


def chunks(n: int, d: int) -> Iterator[slice]:
    """Slices of the rows that are centred and multiplied at a time."""
    step = max(_CHUNK_ROWS, _CHUNK_ENTRIES // max(d, 1))
    return (slice(start, min(start + step, n)) for start in range(0, n, step))


def scatter(Z: Array, w: Array) -> Array:
    """Weighted sums of squared deviations of the columns from their means; changes Z."""
    if w.size == 0:
        return np.zeros(Z.shape[1])
    Z -= w @ Z / w.sum()
    error = w @ Z
    np.square(Z, out=Z)
    return np.maximum(w @ Z - error**2 / w.sum(), 0.0)


def sparse_moments(X: Any, w: Array) -> tuple[Array, Array]:
    """Means, and sums of squared deviations from them, of sparse columns."""
    n, d = X.shape
    total = float(w.sum())

    def sums(data: Array) -> Array:
        return np.asarray(sp.csr_array((data, X.indices, X.indptr), shape=(n, d)).T @ w)

    full = np.bincount(X.indices, minlength=d) == n
    absent = np.where(full, 0.0, np.maximum(total - sums(np.ones(X.nnz)), 0.0))
    mean = sums(X.data) / total
    deviation = X.data - mean[X.indices]
    error = (sums(deviation) - absent * mean) / total
    np.square(deviation, out=deviation)
    square = sums(deviation) + absent * mean**2 - total * error**2
    return mean + error, np.maximum(square, 0.0)


def joint_range(
    low: Array, high: Array, other_low: Array, other_high: Array
) -> tuple[Array, Array]:
    """The least and the largest values of both."""
    return np.minimum(low, other_low), np.maximum(high, other_high)
