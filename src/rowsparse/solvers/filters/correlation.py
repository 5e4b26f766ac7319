"""Squared correlations of all columns with targets, in two passes over X."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from rowsparse._arrays import Array, Index, on_device
from rowsparse.design.sparse import canonical
from rowsparse.solvers.filters.class_statistics import (
    GroupStatistics,
    column_tiles,
    device_columns,
    device_products,
    group_statistics,
    held_by_rows,
    row_chunks,
)
from rowsparse.solvers.filters.discretize import column_blocks
from rowsparse.solvers.filters.group_comparisons import varying

__all__ = ["explained_ratio", "varying_targets"]

# 1 - r^2 below this is computed again from the residuals, which loses no digits.
_CLOSE = 1e-4


def varying_targets(Y: Array, weights: Array | None) -> Index:
    """The numbers of the columns of Y that are not constant."""
    return np.flatnonzero(varying(group_statistics(Y, [np.arange(Y.shape[0])], weights)))


def explained_ratio(X: Any, Y: Array, weights: Array | None) -> tuple[Array, GroupStatistics]:
    """r^2 / (1 - r^2) of every column with every target; +inf where one is linear in the other.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    Y : array of shape (n, t)
        Targets, none of them constant.
    weights : array of shape (n,) or None

    Returns
    -------
    ratio : array of shape (t, d)
        0 for constant columns.
    columns : GroupStatistics
        All samples as one group.
    """
    everyone = [np.arange(X.shape[0])]
    x, y = group_statistics(X, everyone, weights), group_statistics(Y, everyone, weights)
    w = np.ones(X.shape[0]) if weights is None else weights
    deviation = (Y / y.unit - y.mean[0]) / np.sqrt(y.scatter[0])
    usable = varying(x)
    scale = np.where(usable, 1.0 / np.sqrt(np.where(usable, x.scatter[0], 1.0)), 0.0)
    r = np.clip(_products(X, x, w[:, None] * deviation) * scale, -1.0, 1.0)
    missing = 1.0 - r**2
    close = np.flatnonzero(usable & (missing < _CLOSE).any(axis=0))
    for start, Z in column_blocks(_columns(X, close)):
        columns = close[start]
        Z = (Z / x.unit[columns] - x.mean[0, columns]) * scale[columns]
        for t in range(r.shape[0]):
            missing[t, columns] = w @ (Z - np.outer(deviation[:, t], r[t, columns])) ** 2
    noise = w.sum() * (x.noise * scale**2 + (y.noise / y.scatter[0])[:, None])
    linear = missing <= noise
    ratio = r**2 / np.where(linear, 1.0, missing)
    return np.where(linear & usable, np.inf, ratio), x


def _columns(X: Any, columns: Index) -> Any:
    if columns.size == 0:
        return np.empty((1, 0))
    return device_columns(X, columns) if on_device(X) else X[:, columns]


def _products(X: Any, x: GroupStatistics, V: Array) -> Array:
    """V' (X / unit - mean), t x d, without forming X / unit - mean."""
    if sp.issparse(X):
        product = np.asarray((canonical(X, sp.csr_array).astype(np.float64).T @ V).T) / x.unit
        return np.asarray(product - np.outer(V.sum(axis=0), x.mean[0]))
    if on_device(X):
        return device_products(X, x.unit, x.mean[0], V)
    n = X.shape[0]
    product = np.zeros((V.shape[1], X.shape[1]))
    for columns in column_tiles(X):
        width = columns.stop - columns.start if held_by_rows(X) else 1
        for rows in row_chunks(n, width):
            block = X[rows, columns] / x.unit[columns]
            block -= x.mean[0, columns]
            product[:, columns] += V[rows].T @ block
    return product
