"""Sparse X, never made dense."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rowsparse._arrays import Array, Index
from rowsparse.design.protocol import ColumnMoments, ImplicitDesign, binary_units


def canonical(X: Any, kind: type[sp.csr_array] | type[sp.csc_array]) -> Any:
    """X as a CSR or CSC array that stores each entry once; X itself is never changed."""
    stored = kind(X)
    if not stored.has_canonical_format:
        stored = stored.copy()
        stored.sum_duplicates()
    return stored


# Stored entries that are looked at at a time.
_BLOCK_ENTRIES = 1 << 20
# Columns of X'X that are computed at a time.
_PANEL = 1024
# Columns that store more than this share of the rows are multiplied as dense ones: that is faster,
# and their means may be large.
_FULL_SHARE = 0.1
# Magnitudes whose squares, and those of their deviations, neither overflow nor underflow.
_SAFE_MAGNITUDES = (1e-120, 1e140)


def canonical_as_held(X: Any) -> Any:
    """X as an array that stores each entry once, by rows or by columns as it is."""
    return canonical(X, sp.csr_array if X.format == "csr" else sp.csc_array)


class SparseDesign(ImplicitDesign):
    """A scipy sparse X, by rows (CSR) or by columns (CSC) as it is; never made dense nor copied."""

    # The row scales, and the results of :meth:`_weighted_sums` for them.
    _known_sums: tuple[Array | None, Array, float] | None = None

    @property
    def shape(self) -> tuple[int, int]:
        n, d = self._X.shape
        return int(n), int(d)

    @property
    def dtype(self) -> np.dtype[Any]:
        dtype: np.dtype[Any] = self._X.dtype
        return dtype

    @property
    def n_stored(self) -> int:
        return int(self._X.nnz)

    def _dot(self, W: Array) -> Array:
        return np.asarray(self._X @ W.astype(self.dtype, copy=False), dtype=np.float64)

    def _tdot(self, M: Array) -> Array:
        return np.asarray(self._X.T @ M.astype(self.dtype, copy=False), dtype=np.float64)

    def _take(self, columns: Index) -> NDArray[Any]:
        return np.asarray(self._X[:, columns].toarray())

    def _entries(self) -> Iterator[tuple[Index, Index, Array]]:
        """Row, column and value of every stored entry, some at a time."""
        pointers = self._X.indptr
        for start in range(0, self._X.nnz, _BLOCK_ENTRIES):
            stop = min(start + _BLOCK_ENTRIES, self._X.nnz)
            first = int(np.searchsorted(pointers, start, side="right")) - 1
            last = int(np.searchsorted(pointers, stop, side="left"))
            ends = np.clip(pointers[first : last + 1], start, stop)
            major = np.repeat(np.arange(first, last), np.diff(ends))
            minor, value = self._X.indices[start:stop], self._X.data[start:stop]
            value = value.astype(np.float64, copy=False)
            yield (major, minor, value) if self._X.format == "csr" else (minor, major, value)

    def moments(self, weights: Array | None = None) -> ColumnMoments:
        d = self.shape[1]
        total = float(self.shape[0] if weights is None else weights.sum())
        largest, mean, unit = np.zeros(d), np.zeros(d), np.ones(d)
        absent = np.zeros(d)
        with np.errstate(over="ignore", invalid="ignore"):
            for row, column, value in self._entries():
                np.maximum.at(largest, column, np.abs(value))
                mean += _sums(row, column, value, weights, d)
                if weights is None:
                    absent -= np.bincount(column, minlength=d)
        absent = absent + total if weights is None else self._absent(weights)
        low, high = _SAFE_MAGNITUDES
        safe = bool(np.all((largest == 0) | ((largest > low) & (largest < high))))
        if not safe:
            unit, mean = binary_units(largest), np.zeros(d)
            for row, column, value in self._entries():
                mean += _sums(row, column, value / unit[column], weights, d)
        mean /= total
        error, square = -absent * mean, absent * mean**2
        for row, column, value in self._entries():
            deviation = (value if safe else value / unit[column]) - mean[column]
            error += _sums(row, column, deviation, weights, d)
            square += _sums(row, column, np.square(deviation, out=deviation), weights, d)
        return ColumnMoments.corrected(mean, error / total, square / total, unit, largest)

    def _absent(self, weights: Array | None) -> Array:
        """The weight of the rows that each column does not store; exactly 0 if it stores all."""
        n, d = self.shape
        count = np.zeros(d)
        for _, column, _ in self._entries():
            count += np.bincount(column, minlength=d)
        if weights is None:
            return n - count
        # A difference of rounded sums may be off by more than the weights of a few rows.
        absent, left = np.zeros(d), weights
        while left.any():
            part = _summable(left)
            left, total = left - part, np.full(d, part.sum())
            for row, column, _ in self._entries():
                total -= np.bincount(column, part[row], minlength=d)
            absent += total
        return np.where(count == n, 0.0, absent)

    def safe_copy(
        self, mean: Array | None, rest: Array | None, inv_scale: Array, unit: Array
    ) -> SparseDesign:
        """The stored entries in float64, near 1; offsets stay on the fly unless they dwarf them.

        The mean of a column with entries that are not stored is at most sqrt(n) standard
        deviations; where it is more, all are stored, and the offset is taken from each.
        """
        copy = sp.csc_array(self._X.astype(np.float64))
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
        d = self.shape[1]
        weights = None if self.row_scale is None else self.row_scale**2
        m = np.zeros(d) if self.mean is None else self.mean * self.inv_scale
        total = self._absent(weights) * m**2
        for row, column, value in self._entries():
            deviation = value * self.inv_scale[column] - m[column]
            total += _sums(row, column, np.square(deviation, out=deviation), weights, d)
        return np.asarray(total)

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

    def gram_columns(self, columns: Index) -> Array:
        """Z' Z[:, columns] from the rows that these columns store: far fewer than all.

        With w the squares of the row scales, (X - 1 m')' diag(w) (X_S - 1 m_S') is

            X' diag(w) X_S - X'w m_S' - m (X_S'w - m_S sum(w))'.
        """
        right = self._X[:, columns]
        stored = np.bincount(right.nonzero()[1], minlength=columns.size)
        if stored.max(initial=0) > _FULL_SHARE * self.shape[0]:
            return super().gram_columns(columns)
        if self.row_scale is not None:
            right = sp.diags_array((self.row_scale**2).astype(self.dtype)) @ right
        total = (self._X.T @ right).toarray().astype(np.float64, copy=False)
        if self.mean is not None:
            m_S, (sums, weight) = self.mean[columns], self._weighted_sums()
            total -= np.outer(sums, m_S)
            own = np.asarray(right.sum(axis=0), dtype=np.float64)
            total -= np.outer(self.mean, own - weight * m_S)
        total *= self.inv_scale[:, None]
        total *= self.inv_scale[columns]
        return np.asarray(total)

    def _weighted_sums(self) -> tuple[Array, float]:
        """X'w and sum(w), for w the squares of the row scales."""
        if self._known_sums is None or self._known_sums[0] is not self.row_scale:
            n = self.shape[0]
            w = np.ones(n) if self.row_scale is None else self.row_scale**2
            self._known_sums = self.row_scale, self._tdot(w[:, None])[:, 0], float(w.sum())
        return self._known_sums[1:]

    def gram(self, weights: Array | None = None) -> Array:
        n, d = self.shape
        r = np.ones(n) if self.row_scale is None else self.row_scale
        r = r if weights is None else r * np.sqrt(weights)
        right = sp.csc_array(self._X.astype(np.float64, copy=False))
        left = right.T
        if not np.all(r == 1.0):
            left = left @ sp.diags_array(r**2)
        total = np.empty((d, d))
        for start in range(0, d, _PANEL):
            rows = slice(start, min(start + _PANEL, d))
            total[rows, start:] = (left[rows] @ right[:, start:]).toarray()
            total[start:, rows] = total[rows, start:].T
        if self.mean is not None:
            cross = np.asarray(left @ np.ones(n))
            total -= np.outer(self.mean, cross) + np.outer(cross, self.mean)
            total += (r @ r) * np.outer(self.mean, self.mean)
        total *= self.inv_scale[:, None]
        total *= self.inv_scale
        return total


def _sums(row: Index, column: Index, value: Array, weights: Array | None, d: int) -> Array:
    """Weighted sums of entries by column."""
    weighted = value if weights is None else weights[row] * value
    return np.bincount(column, weighted, minlength=d)


def _summable(weights: Array) -> Array:
    """The leading digits of non-negative numbers, so few that any sum of them is exact."""
    exponent = int(np.frexp(weights.max())[1]) + int(weights.size).bit_length()
    quantum = np.ldexp(1.0, max(exponent - 53, -1074))
    return np.asarray(np.floor(weights / quantum) * quantum)
