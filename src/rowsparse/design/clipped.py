"""Designs over X with the values of each column limited to an interval."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from array_api_compat import array_namespace, is_numpy_array
from numpy.typing import NDArray

from rowsparse._arrays import Array, Index, to_device
from rowsparse.design.dense import DenseDesign
from rowsparse.design.protocol import ColumnMoments, ImplicitDesign


class ClippedDesign(DenseDesign):
    """A NumPy X whose values are limited on the fly, a tile at a time: X is not copied.

    Parameters
    ----------
    X : array of shape (n, d)
    limits : array of shape (2, d)
        The least and the largest value of each column.
    **parts
        As in :class:`ImplicitDesign`.
    """

    def __init__(self, X: NDArray[Any], *, limits: Array, **parts: Any) -> None:
        super().__init__(X, **parts)
        self._exact_limits = limits
        # In the precision of X, for products.
        self._limits = limits.astype(X.dtype)

    def _take(self, columns: Index) -> NDArray[Any]:
        return np.asarray(np.clip(super()._take(columns), *self._limits[:, columns]))

    def _take_double(self, columns: Index) -> Array:
        block = super()._take(columns).astype(np.float64, copy=False)
        return np.clip(block, *self._exact_limits[:, columns], out=block)

    def in_double(self) -> ImplicitDesign:
        return self._view(_X=self._doubled(), _limits=self._exact_limits)

    def moments(self, weights: Array | None = None) -> ColumnMoments:
        # Clipping by limits in double precision makes blocks of double precision.
        exact = self._view(_limits=self._exact_limits)
        return super(ClippedDesign, exact).moments(weights)

    def stored_columns(self, columns: Index) -> Array:
        return super()._take(columns).astype(np.float64, copy=False)

    def _row_blocks(self) -> Iterator[tuple[slice, NDArray[Any]]]:
        for rows, block in super()._row_blocks():
            yield rows, np.clip(block, *self._limits)

    def _tiles(self) -> Iterator[tuple[slice, slice, NDArray[Any]]]:
        for rows, columns, tile in super()._tiles():
            yield rows, columns, np.clip(tile, *self._limits[:, columns])

    def _dot(self, W: Array) -> Array:
        W = W.astype(self.dtype, copy=False)
        product = np.zeros((self.shape[0], W.shape[1]))
        for rows, columns, tile in self._tiles():
            product[rows] += tile @ W[columns]
        return product

    def _tdot(self, M: Array) -> Array:
        M = M.astype(self.dtype, copy=False)
        product = np.zeros((self.shape[1], M.shape[1]))
        for rows, columns, tile in self._tiles():
            product[columns] += tile.T @ M[rows]
        return product

    def _left_dot(self, M: NDArray[Any]) -> NDArray[Any]:
        product = np.zeros((M.shape[0], self.shape[1]), dtype=self.dtype)
        for rows, columns, tile in self._tiles():
            product[:, columns] += M[:, rows] @ tile
        return product


def clip_limits(moments: ColumnMoments, clip: float) -> Array:
    """Mean -/+ clip standard deviations, (2, d); infinite for constant columns.

    Limits beyond the range of floats are infinite: no value is beyond them either.
    """
    with np.errstate(over="ignore"):
        reach = np.where(moments.constant, np.inf, clip * moments.sd)
        return np.stack([moments.mean - reach, moments.mean + reach])


def clipped_design(
    X: Any, limits: Array, kind: type[ImplicitDesign]
) -> tuple[ImplicitDesign, Array]:
    """A design, neither centred nor scaled, over X (of a ``kind``) within the limits.

    Returns that design and the offsets of its columns: X within the limits is what it holds plus
    the offsets. A sparse X stays sparse, because all values that it does not store become one
    number, which is the offset of the column. Other arrays than NumPy's are copied, where they
    are.
    """
    d = X.shape[1]
    parts: dict[str, Any] = {"mean": None, "inv_scale": np.ones(d)}
    if sp.issparse(X):
        X = sp.csc_array(X)
        stored = np.diff(X.indptr)
        offset = np.where(stored == X.shape[0], 0.0, np.clip(0.0, *limits))
        low, high, shift = (np.repeat(part, stored) for part in (*limits, offset))
        # In double precision: the limits would be rounded otherwise.
        clipped = sp.csc_array((np.clip(X.data, low, high) - shift, X.indices, X.indptr), X.shape)
        return kind(clipped, source=kind(X, **parts), **parts), offset
    if is_numpy_array(X):
        return ClippedDesign(X, limits=limits, **parts), np.zeros(d)
    xp = array_namespace(X)
    low, high = (xp.astype(to_device(part, X), X.dtype) for part in limits)
    design = kind(xp.clip(X, low, high), **parts)
    design.has_stored_columns = False
    return design, np.zeros(d)
