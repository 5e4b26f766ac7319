"""Dense X in host memory: a NumPy array."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dsyrk

from rowsparse._arrays import Array, Index
from rowsparse.design.protocol import ColumnMoments, ImplicitDesign, binary_units

# Entries of X that are converted, centred or multiplied at a time: 8 MB of float64.
_BLOCK_ENTRIES = 1 << 20
# Entries that stay in the cache while several things are done to them, and columns of such a tile.
_TILE_ENTRIES, _TILE_COLUMNS = 1 << 16, 1 << 12
# Magnitudes whose squares, and those of their deviations, neither overflow nor underflow.
_SAFE_MAGNITUDES = (1e-120, 1e140)
# Number of rows whose mean approximates that of all rows.
_TYPICAL_ROWS = 32


class DenseDesign(ImplicitDesign):
    """A dense X in host memory."""

    explicit_gram = True

    @property
    def shape(self) -> tuple[int, int]:
        n, d = self._X.shape
        return int(n), int(d)

    @property
    def dtype(self) -> np.dtype[Any]:
        dtype: np.dtype[Any] = self._X.dtype
        return dtype

    def _dot(self, W: Array) -> Array:
        return np.asarray(self._X @ W.astype(self.dtype, copy=False), dtype=np.float64)

    def _tdot(self, M: Array) -> Array:
        return np.asarray(self._X.T @ M.astype(self.dtype, copy=False), dtype=np.float64)

    def _take(self, columns: Index) -> NDArray[Any]:
        # np.take would first copy the whole of an X that is not held by rows.
        by_rows = self._X.flags.c_contiguous
        return np.take(self._X, columns, axis=1) if by_rows else self._X[:, columns]

    def gram_rows_in_place(self, columns: Index) -> NDArray[Any]:
        # In the precision of the data throughout: conversions would cost as much as the product.
        Z = self.columns(columns)
        if self.row_scale is not None:
            Z *= self.row_scale[:, None].astype(Z.dtype)
        rows = self._left_dot(Z.T)
        if self.mean is not None:
            rows -= np.outer(Z.sum(axis=0), self.mean).astype(Z.dtype)
        rows *= self.inv_scale.astype(Z.dtype)
        return rows

    def _left_dot(self, M: NDArray[Any]) -> NDArray[Any]:
        """M X."""
        return np.asarray(M @ self._X)

    def _row_blocks(self) -> Iterator[tuple[slice, NDArray[Any]]]:
        n, d = self.shape
        step = max(1, _BLOCK_ENTRIES // max(d, 1))
        for start in range(0, n, step):
            rows = slice(start, min(start + step, n))
            yield rows, self._X[rows]

    def _transformed_rows(self) -> Iterator[tuple[slice, NDArray[Any]]]:
        """Blocks of rows of Z, in the design's dtype."""
        for rows, block in self._row_blocks():
            Z = block - (0.0 if self.mean is None else self.mean.astype(block.dtype))
            if self._rest is not None and block.dtype == np.float64:
                Z -= self._rest
            Z *= self.inv_scale.astype(block.dtype)
            if self.row_scale is not None:
                Z *= self.row_scale[rows, None].astype(block.dtype)
            yield rows, Z

    def _tiles(self) -> Iterator[tuple[slice, slice, NDArray[Any]]]:
        """Tiles of X small enough for the cache, all rows of the same columns in succession."""
        n, d = self.shape
        by_rows = abs(self._X.strides[1]) <= abs(self._X.strides[0])
        width = min(d, _TILE_COLUMNS) if by_rows else max(1, _TILE_ENTRIES // max(n, 1))
        height = max(1, _TILE_ENTRIES // max(width, 1))
        for left in range(0, d, width):
            columns = slice(left, min(left + width, d))
            for top in range(0, n, height):
                rows = slice(top, min(top + height, n))
                yield rows, columns, self._X[rows, columns]

    def moments(self, weights: Array | None = None) -> ColumnMoments:
        n, d = self.shape
        w = np.ones(n) if weights is None else weights
        origin = self._typical_row()
        error, square, largest = self._sums(w, origin)
        low, high = _SAFE_MAGNITUDES
        tiny = np.flatnonzero(largest < low)
        # A column of zeros is as safe as any.
        if not np.all(largest <= high) or (tiny.size and np.any(self._take(tiny))):
            return self._careful_moments(w)
        if np.any(error**2 > square - error**2):
            origin = origin + error
            error, square, _ = self._sums(w, origin)
        return ColumnMoments.corrected(origin, error, square, np.ones(d), largest)

    def _typical_row(self) -> Array:
        """The mean of a few rows, with which sums of squares lose no digits to the means."""
        few = self._X[:: max(1, self.shape[0] // _TYPICAL_ROWS)][:_TYPICAL_ROWS]
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(few.mean(axis=0, dtype=np.float64))

    def _sums(self, w: Array, origin: Array) -> tuple[Array, Array, Array]:
        """Weighted means and mean squares of X - 1 origin', and a bound on |X|."""
        d = self.shape[1]
        total, square, largest = np.zeros(d), np.zeros(d), np.zeros(d)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            for rows, at, block in self._tiles():
                block = block - origin[at]
                total[at] += w[rows] @ block
                squares = np.multiply(block, block, out=block)
                square[at] += w[rows] @ squares
                np.maximum(largest[at], squares.max(axis=0), out=largest[at])
            return total / w.sum(), square / w.sum(), np.sqrt(largest) + np.abs(origin)

    def _careful_moments(self, w: Array) -> ColumnMoments:
        """The moments where squares may leave the range of floats."""
        d = self.shape[1]
        largest = np.zeros(d)
        for _, block in self._row_blocks():
            np.maximum(largest, np.abs(block).max(axis=0), out=largest)
        # Divided by their magnitude first, no square overflows or underflows.
        unit = binary_units(largest)
        mean, error, square = np.zeros(d), np.zeros(d), np.zeros(d)
        for rows, block in self._row_blocks():
            mean += w[rows] @ (block / unit)
        mean /= w.sum()
        for rows, block in self._row_blocks():
            deviation = block / unit - mean
            error += w[rows] @ deviation
            square += w[rows] @ deviation**2
        return ColumnMoments.corrected(mean, error / w.sum(), square / w.sum(), unit, largest)

    def safe_copy(
        self, mean: Array | None, rest: Array | None, inv_scale: Array, unit: Array
    ) -> DenseDesign:
        """Z itself in the dtype of X, every step of it in float64."""
        offset = 0.0 if mean is None else mean / unit
        further = 0.0 if rest is None else rest / unit
        Z = np.empty(self.shape, dtype=self.dtype)
        for rows, block in self._row_blocks():
            Z[rows] = (block / unit - offset - further) * (inv_scale * unit)
        source = self.standardized(mean, rest, inv_scale)
        return DenseDesign(Z, mean=None, inv_scale=np.ones(self.shape[1]), source=source)

    def _doubled(self) -> Any:
        return self._X.astype(np.float64)

    def _sum_of_squares(self) -> Array:
        total = np.zeros(self.shape[1])
        for _, Z in self._transformed_rows():
            total += np.einsum("ij,ij->j", Z, Z, dtype=np.float64)
        return total

    def weighted_squares(self, weights: Array) -> Array:
        """One pass over X for all columns of weights."""
        mean = np.zeros(self.shape[1]) if self.mean is None else self.mean
        w = weights if self.row_scale is None else weights * self.row_scale[:, None] ** 2
        total = np.zeros((w.shape[1], self.shape[1]))
        for rows, at, tile in self._tiles():
            Z = np.subtract(tile, mean[at], dtype=np.float64)
            if self._rest is not None:
                Z -= self._rest[at]
            Z *= self.inv_scale[at]
            Z *= Z
            total[:, at] += w[rows].T @ Z
        return total

    def outer(self, weights: Array) -> Array:
        n = self.shape[0]
        kept = np.flatnonzero(weights)
        total = np.zeros((n, n))
        step = max(1, _BLOCK_ENTRIES // max(n, 1))
        for start in range(0, kept.size, step):
            block = self.columns(kept[start : start + step])
            block *= np.sqrt(weights[kept[start : start + step]]).astype(block.dtype)
            total += block @ block.T
        return total

    def gram(self, weights: Array | None = None) -> Array:
        d = self.shape[1]
        plain = weights is None and self.row_scale is None
        if plain and self.dtype == np.float64 and self._X.size > _BLOCK_ENTRIES:
            mean = np.zeros(d) if self.mean is None else self.mean
            rest = np.zeros(d) if self._rest is None else self._rest
            blocks = (block for _, block in self._row_blocks())
            return centred_gram(blocks, mean, rest, self.inv_scale)
        total = np.zeros((d, d))
        for rows, Z in self._transformed_rows():
            if weights is not None:
                # Weights may span many decades, more than single precision can sum up.
                Z = np.sqrt(weights[rows])[:, None] * Z
            total += Z.T @ Z
        return total


# ----------------------------------------------------------------------------------------- products
# Entries of a part of a block: it stays in the cache while it is centred and multiplied.
_PART_ENTRIES = 1 << 18


def centred_gram(
    blocks: Iterable[NDArray[Any]], mean: Array, rest: Array, inv_scale: Array
) -> Array:
    """Z'Z for Z = (X - 1 (mean + rest)') diag(inv_scale), where ``rest`` is the error of the mean.

    X comes in blocks of rows. A symmetric product takes half the operations. X - 1 mean' has the
    column sums n rest, so that n rest rest' is what it has too much.

    >>> X = np.array([[1.0, 2.0], [3.0, 7.0]])
    >>> centred_gram([X], np.array([2.0, 4.0]), np.array([0.0, 0.5]), np.array([1.0, 0.2]))
    array([[2. , 1. ],
           [1. , 0.5]])
    """
    n, d = 0, mean.size
    step = max(1, _PART_ENTRIES // max(d, 1))
    total = np.zeros((d, d), order="F")
    for block in blocks:
        n += len(block)
        for start in range(0, len(block), step):
            Z = block[start : start + step] - mean
            a, trans = (Z, 1) if Z.flags.f_contiguous else (Z.T, 0)
            total = dsyrk(1.0, a, beta=1.0, c=total, trans=trans, overwrite_c=1)
    lower = np.tril_indices(d, -1)
    total[lower] = total.T[lower]
    total -= n * np.outer(rest, rest)
    total *= np.outer(inv_scale, inv_scale)
    return total
