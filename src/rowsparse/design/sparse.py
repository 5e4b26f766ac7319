"""Sparse X, never made dense."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rowsparse._arrays import Array, Index
from rowsparse.design.protocol import ImplicitDesign, Moments, binary_units


def canonical(X: Any, kind: type[sp.csr_array] | type[sp.csc_array]) -> Any:
    """X as a CSR or CSC array that stores each entry once; X itself is never changed."""
    stored = kind(X)
    if not stored.has_canonical_format:
        stored = stored.copy()
        stored.sum_duplicates()
    return stored


class SparseDesign(ImplicitDesign):
    """A scipy sparse X, held by columns (CSC) and never made dense."""

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
        return np.asarray(self._X[:, columns].toarray())

    def _entries(self) -> tuple[Index, Index, Array]:
        """Row, column and value of every stored entry."""
        column = np.repeat(np.arange(self.shape[1]), np.diff(self._X.indptr))
        return self._X.indices, column, self._X.data.astype(np.float64, copy=False)

    def moments(self, weights: Array | None = None) -> Moments:
        n, d = self.shape
        w = np.ones(n) if weights is None else weights
        row, column, value = self._entries()
        largest = np.zeros(d)
        np.maximum.at(largest, column, np.abs(value))
        unit = binary_units(largest)
        value = value / unit[column]
        absent = self._absent(w)
        mean = np.bincount(column, w[row] * value, minlength=d) / w.sum()
        deviation = value - mean[column]
        error = np.bincount(column, w[row] * deviation, minlength=d) - absent * mean
        square = np.bincount(column, w[row] * deviation**2, minlength=d) + absent * mean**2
        return Moments.corrected(mean, error / w.sum(), square / w.sum(), unit, largest)

    def _absent(self, weights: Array) -> Array:
        """The weight of the rows that each column does not store; exactly 0 if it stores all."""
        n, d = self.shape
        row, column, _ = self._entries()
        stored = np.bincount(column, weights[row], minlength=d)
        full = np.diff(self._X.indptr) == n
        return np.where(full, 0.0, np.maximum(weights.sum() - stored, 0.0))

    def safe_copy(
        self, mean: Array | None, rest: Array | None, inv_scale: Array, unit: Array
    ) -> SparseDesign:
        """The stored entries in float64, near 1; offsets stay on the fly unless they dwarf them.

        The mean of a column with entries that are not stored is at most sqrt(n) standard
        deviations; where it is more, all are stored, and the offset is taken from each.
        """
        copy = self._X.astype(np.float64)
        stored = np.diff(copy.indptr)
        copy.data /= np.repeat(unit, stored)
        if mean is None or rest is None:
            return SparseDesign(copy, mean=None, inv_scale=inv_scale * unit, source=self)
        offset, further = mean / unit, rest / unit
        full = stored == self.shape[0]
        copy.data -= np.repeat(np.where(full, offset, 0.0), stored)
        copy.data -= np.repeat(np.where(full, further, 0.0), stored)
        offset, further = (np.where(full, 0.0, part) for part in (offset, further))
        return SparseDesign(
            copy, mean=offset, inv_scale=inv_scale * unit, rest=further, source=self
        )

    def _doubled(self) -> Any:
        return self._X.astype(np.float64)

    def _sum_of_squares(self) -> Array:
        n, d = self.shape
        r = np.ones(n) if self.row_scale is None else self.row_scale
        row, column, value = self._entries()
        m = np.zeros(d) if self.mean is None else self.mean * self.inv_scale
        value = value * self.inv_scale[column]
        total = np.bincount(column, (r[row] * (value - m[column])) ** 2, minlength=d)
        return np.asarray(total + self._absent(r**2) * m**2)

    def outer(self, weights: Array) -> Array:
        n = self.shape[0]
        root = np.sqrt(weights) * self.inv_scale
        scaled = self._X.astype(np.float64) @ sp.diags_array(root)
        total = np.asarray((scaled @ scaled.T).toarray())
        if self.mean is not None:
            m = self.mean * root
            cross = np.asarray(scaled @ m)
            total += m @ m - cross[:, None] - cross[None, :]
        if self.row_scale is not None:
            total *= np.outer(self.row_scale, self.row_scale)
        return total.reshape(n, n)

    def gram(self, weights: Array | None = None) -> Array:
        n, d = self.shape
        r = np.ones(n) if self.row_scale is None else self.row_scale
        r = r if weights is None else r * np.sqrt(weights)
        scaled = sp.diags_array(r) @ self._X.astype(np.float64) @ sp.diags_array(self.inv_scale)
        total = np.asarray((scaled.T @ scaled).toarray())
        if self.mean is not None:
            m = self.mean * self.inv_scale
            cross = np.asarray(scaled.T @ r)
            total += (r @ r) * np.outer(m, m) - np.outer(m, cross) - np.outer(cross, m)
        return total.reshape(d, d)
