"""Size, mean and scatter of groups of samples, for all columns, in one pass over X.

Dense data are processed in tiles that fit into the cache; of sparse data only the stored entries
are read; data on a device are summed there. Sums are in float64 and of deviations from the mean of
the first samples of the group, so that columns with a large offset lose no digits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from array_api_compat import array_namespace
from numpy.typing import NDArray

from rowsparse._arrays import Array, Index, on_device, to_device, to_host, wide_dtype
from rowsparse.design.protocol import binary_units
from rowsparse.design.sparse import canonical

__all__ = [
    "GroupStatistics",
    "column_tiles",
    "device_columns",
    "device_moments",
    "device_products",
    "group_statistics",
    "held_by_rows",
    "members",
    "rescaled_device_columns",
    "row_chunks",
]

# Entries that are converted, shifted and squared at a time: they fit into a usual L2 cache.
_CHUNK_ENTRIES = 1 << 15
# Columns of a tile of row-major data: long enough runs of contiguous memory.
_TILE_COLUMNS = 1 << 11
# Number of samples whose mean is subtracted before the sums are taken.
_SHIFT_ROWS = 16
# Columns with a mean square outside of this range are rescaled first.
_ORDINARY = (1e-200, 1e200)
# Deviations below this share of the root mean square are rounding errors.
_ROUNDING = 10.0 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class GroupStatistics:
    """Statistics of G groups of samples, which may overlap.

    Attributes
    ----------
    weight : array of shape (G,)
        Sums of the sample weights.
    mean, scatter : arrays of shape (G, d)
        Means, and weighted sums of squared deviations from them, of X / ``unit``.
    unit : array of shape (d,)
        1, or for columns of an extreme magnitude a power of two.
    """

    weight: Array
    mean: Array
    scatter: Array
    unit: Array

    @property
    def noise(self) -> Array:
        """Mean squared deviations up to this are rounding errors, for each column."""
        return np.asarray(_ROUNDING**2 * _mean_squares(self.weight, self.mean, self.scatter))

    def take(self, groups: Any) -> GroupStatistics:
        """Some of the groups."""
        return GroupStatistics(
            self.weight[groups], self.mean[groups], self.scatter[groups], self.unit
        )


def members(Y: Array) -> list[Index]:
    """The samples of each column of a 0/1 matrix.

    >>> members(np.array([[1.0, 0.0], [1.0, 1.0]]))
    [array([0, 1]), array([1])]
    """
    return [np.flatnonzero(column) for column in Y.T]


def group_statistics(X: Any, groups: list[Index], weights: Array | None) -> GroupStatistics:
    """Size, mean and scatter of groups of samples, for all columns of X.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        In host memory, or an array on a device.
    groups : list of arrays of int
        The samples of each group, none of them empty.
    weights : array of shape (n,) or None
        Weights of the samples; an integer weight is the number of times a sample counts.

    Examples
    --------
    >>> found = group_statistics(np.array([[1.0], [3.0], [8.0]]), [np.array([0, 1])], None)
    >>> found.weight, found.mean, found.scatter
    (array([2.]), array([[2.]]), array([[2.]]))
    """
    w = np.ones(X.shape[0]) if weights is None else weights
    weight = np.array([w[group].sum() for group in groups])
    unit = np.ones(X.shape[1])
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        mean, scatter = _moments(X, groups, weights)
        squares = _mean_squares(weight, mean, scatter)
    extreme = np.flatnonzero(~((squares >= _ORDINARY[0]) & (squares <= _ORDINARY[1])))
    if extreme.size:
        rescaled, unit[extreme] = _rescaled_columns(X, extreme)
        if rescaled is not None:
            mean[:, extreme], scatter[:, extreme] = _moments(rescaled, groups, weights)
    return GroupStatistics(weight, mean, scatter, unit)


def _mean_squares(weight: Array, mean: Array, scatter: Array) -> Array:
    """The largest mean square of a group, for each column."""
    return np.asarray((mean**2 + scatter / weight[:, None]).max(axis=0))


def _rescaled_columns(X: Any, columns: Index) -> tuple[Any, Array]:
    """A copy of some columns, each divided by a power of two; None if they are all zero."""
    if on_device(X):
        return rescaled_device_columns(X, columns)
    block = sp.csc_array(X)[:, columns] if sp.issparse(X) else X[:, columns]
    block = block.astype(np.float64)
    largest = abs(block).max(axis=0)
    largest = largest.toarray().ravel() if sp.issparse(largest) else largest
    unit = binary_units(largest)
    if not largest.any():
        return None, unit
    return (block @ sp.diags_array(1.0 / unit) if sp.issparse(block) else block / unit), unit


def _moments(X: Any, groups: list[Index], weights: Array | None) -> tuple[Array, Array]:
    d = X.shape[1]
    mean, scatter = np.zeros((len(groups), d)), np.zeros((len(groups), d))
    parts = [None if weights is None else weights[group] for group in groups]
    if sp.issparse(X):
        by_rows = canonical(X, sp.csr_array)
        for g, (group, w) in enumerate(zip(groups, parts, strict=True)):
            mean[g], scatter[g] = _sparse_moments(by_rows[group], w)
        return mean, scatter
    if on_device(X):
        for g, (group, w) in enumerate(zip(groups, parts, strict=True)):
            mean[g], scatter[g] = device_moments(X, group, w)
        return mean, scatter
    moments = _moments_by_rows if held_by_rows(X) else _moments_by_columns
    for columns in column_tiles(X):
        for g, (group, w) in enumerate(zip(groups, parts, strict=True)):
            mean[g, columns], scatter[g, columns] = moments(X[:, columns], group, w)
    return mean, scatter


# ---------------------------------------------------------------------------- dense data
def held_by_rows(X: NDArray[Any]) -> bool:
    """Whether X is row-major."""
    return bool(X.strides[1] <= X.strides[0])


def column_tiles(X: NDArray[Any]) -> Iterator[slice]:
    """Slices of consecutive columns: as wide as row-major data need, else as fit into the cache."""
    n, d = X.shape
    step = _TILE_COLUMNS if held_by_rows(X) else max(1, 8 * _CHUNK_ENTRIES // max(n, 1))
    return (slice(start, min(start + step, d)) for start in range(0, d, step))


def row_chunks(n: int, width: int) -> Iterator[slice]:
    """Slices of range(n), so short that rows of this width fit into the cache."""
    step = max(1, _CHUNK_ENTRIES // max(width, 1))
    return (slice(start, min(start + step, n)) for start in range(0, n, step))


def _moments_by_rows(
    tile: NDArray[Any], group: Index, weights: Array | None
) -> tuple[Array, Array]:
    total = float(group.size) if weights is None else float(weights.sum())
    shift: Any = None
    first, second = np.zeros(tile.shape[1]), np.zeros(tile.shape[1])
    for chunk in row_chunks(group.size, tile.shape[1]):
        rows = tile[group[chunk]].astype(np.float64, copy=False)  # a copy already
        w = None if weights is None else weights[chunk]
        if shift is None:
            shift = rows.mean(axis=0)
        rows -= shift
        first += rows.sum(axis=0) if w is None else w @ rows
        np.square(rows, out=rows)
        second += rows.sum(axis=0) if w is None else w @ rows
    error = first / total
    return shift + error, np.maximum(second - error * first, 0.0)


def _moments_by_columns(
    tile: NDArray[Any], group: Index, weights: Array | None
) -> tuple[Array, Array]:
    total = float(group.size) if weights is None else float(weights.sum())
    columns = np.take(tile.T, group, axis=1).astype(np.float64, copy=False)
    shift = columns[:, :_SHIFT_ROWS].mean(axis=1)
    columns -= shift[:, None]
    first = columns.sum(axis=1) if weights is None else columns @ weights
    np.square(columns, out=columns)
    second = columns.sum(axis=1) if weights is None else columns @ weights
    error = first / total
    return shift + error, np.maximum(second - error * first, 0.0)


# --------------------------------------------------------------------------- sparse data
def _sparse_moments(rows: Any, weights: Array | None) -> tuple[Array, Array]:
    n, d = rows.shape
    w = np.ones(n) if weights is None else weights
    total = float(w.sum())

    def sums(data: Array) -> Array:
        return np.asarray(sp.csr_array((data, rows.indices, rows.indptr), shape=(n, d)).T @ w)

    count = np.bincount(rows.indices, minlength=d)
    # The weight of the rows that a column does not store; exactly 0 if it stores all rows.
    stored = count if weights is None else sums(np.ones(rows.nnz))
    absent = np.where(count == n, 0.0, np.maximum(total - stored, 0.0))
    value = rows.data.astype(np.float64)
    mean = sums(value) / total
    value -= mean[rows.indices]
    error = (sums(value) - absent * mean) / total
    np.square(value, out=value)
    scatter = sums(value) + absent * mean**2 - total * error**2
    return mean + error, np.maximum(scatter, 0.0)


# ------------------------------------------------------------------------------------ on a device
# Entries of X that are converted to the widest type at a time.
_BLOCK_ENTRIES = 1 << 24


def _wide_rows(X: Any, rows: Index) -> Iterator[tuple[slice, Any]]:
    """Rows of X by index, some at a time, in the widest type, as new arrays."""
    xp = array_namespace(X)
    wide, step = getattr(xp, wide_dtype(X).name), max(1, _BLOCK_ENTRIES // max(X.shape[1], 1))
    for start in range(0, rows.size, step):
        chunk = slice(start, min(start + step, rows.size))
        taken = xp.take(X, to_device(rows[chunk], X), axis=0)
        yield chunk, xp.astype(taken, wide, copy=False)


def device_moments(X: Any, group: Index, weights: Array | None) -> tuple[Array, Array]:
    """Means and scatters of all columns over some rows."""
    xp = array_namespace(X)
    shift: Any = None
    first: Any = 0.0
    second: Any = 0.0
    for chunk, rows in _wide_rows(X, group):
        if shift is None:
            shift = xp.mean(rows, axis=0)
        rows -= shift
        part = rows if weights is None else rows * to_device(weights[chunk], X)[:, None]
        first += xp.sum(part, axis=0)
        second += xp.sum(part * rows, axis=0)
    mean, first, second = to_host(xp.stack([shift, first, second])).astype(np.float64)
    error = first / (float(group.size) if weights is None else float(weights.sum()))
    return mean + error, np.maximum(second - error * first, 0.0)


def device_products(X: Any, unit: Array, mean: Array, V: Array) -> Array:
    """V' (X / unit - mean), t x d."""
    units, means = to_device(unit, X), to_device(mean, X)
    product: Any = 0.0
    for chunk, rows in _wide_rows(X, np.arange(X.shape[0])):
        rows /= units
        rows -= means
        product += to_device(V[chunk], X).T @ rows
    return np.asarray(to_host(product), dtype=np.float64)


def device_columns(X: Any, columns: Index) -> Array:
    """Some columns of X as a NumPy array."""
    taken = array_namespace(X).take(X, to_device(columns, X), axis=1)
    return np.asarray(to_host(taken))


def rescaled_device_columns(X: Any, columns: Index) -> tuple[Any, Array]:
    """Some columns on the device, each divided by a power of two; None if they are all zero."""
    xp = array_namespace(X)
    block = xp.take(X, to_device(columns, X), axis=1)
    largest = np.asarray(to_host(xp.max(xp.abs(block), axis=0)), dtype=np.float64)
    unit = binary_units(largest)
    if not largest.any():
        return None, unit
    return xp.astype(block, getattr(xp, wide_dtype(X).name)) / to_device(unit, X), unit
