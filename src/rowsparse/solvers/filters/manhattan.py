"""Samples with columns scaled to [0, 1], their Manhattan distances and nearest neighbours.

SciPy computes the distances, a few columns at a time. They are rounded, so that neighbours do not
depend on the order of the columns: sums of the same numbers are equal.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from rowsparse._arrays import Array, Index, Mask
from rowsparse.design.protocol import binary_units

__all__ = ["Neighbourhood", "Scratch", "UnitSamples", "neighbourhoods", "row_blocks"]

# Columns and samples that cdist compares at a time: they fit into the L2 cache.
_COLUMNS_AT_ONCE, _OTHERS_AT_ONCE = 64, 2048
_ROWS_IN_BLOCK = 256
_ENTRIES_IN_BLOCK = 1 << 22
# Distances that differ by less than 1/_TIE are equal: sums of the same numbers in another order.
_TIE = 2.0**30
# A spread below this share of the magnitude is rounding error.
_NO_SPREAD = 20 * float(np.finfo(np.float64).eps)


class Scratch:
    """Memory that is reused, because allocating it each time costs more than the sums in it."""

    def __init__(self, d: int) -> None:
        self._memory = np.empty((0, d))

    def rows(self, m: int) -> Array:
        """An uninitialised array of shape (m, d)."""
        if m > self._memory.shape[0]:
            self._memory = np.empty((m + m // 4, self._memory.shape[1]))
        return self._memory[:m]


class UnitSamples:
    """The rows of X, every column shifted and scaled to [0, 1].

    The difference of two samples in a column is |a - b|, or in a categorical column 1 where they
    differ and 0 where they agree; their distance is the sum of the differences. A sparse X is
    made dense a few columns or rows at a time.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    categorical : array of bool, shape (d,)

    Attributes
    ----------
    varies : array of bool, shape (d,)
        False for constant columns, which count as zero.
    """

    def __init__(self, X: Any, categorical: Mask) -> None:
        self.shape: tuple[int, int] = X.shape
        self._categorical = categorical
        self._low, self._spread, self._unit = _column_ranges(X)
        self.varies: Mask = np.isfinite(self._spread)
        self._sparse = sp.issparse(X)
        self._rows = sp.csr_array(X) if self._sparse else self._scaled(X)
        self._columns = sp.csc_array(X) if self._sparse else self._rows
        self._parts = _column_parts(categorical)

    def _scaled(self, X: Any, columns: Index | slice = slice(None)) -> Array:
        Z = np.divide(X, self._unit[columns], dtype=np.float64, order="C")
        Z -= self._low[columns]
        Z /= self._spread[columns]
        return Z

    def _values(self, columns: Index, first: int) -> Array:
        """Columns of the scaled X, of the samples from ``first`` on."""
        values: Any = self._columns[:, columns][first:]
        if self._sparse:
            return self._scaled(values.toarray(), columns)
        return np.ascontiguousarray(values)  # cdist is slow on others

    # -------------------------------------------------------------------------- distances
    def differences(self, i: int, others: Index, scratch: Scratch) -> Array:
        """The differences of sample i to others, column by column: (len(others), d).

        The result is stored in ``scratch``; the next call overwrites it.
        """
        if self._sparse:
            block = self._scaled(self._rows[np.append(others, i)].toarray())
            block, own = block[:-1], block[-1]
        else:
            block, own = scratch.rows(others.size), self._rows[i]
            np.take(self._rows, others, axis=0, out=block, mode="clip")
        block -= own
        np.abs(block, out=block)
        if self._categorical.any():
            block[:, self._categorical] = block[:, self._categorical] > 0
        return block

    def distances(self, rows: slice, first: int = 0) -> Array:
        """Distances of some samples to all from ``first`` on, in steps of 1/_TIE.

        ``first`` is at most the first of the samples.
        """
        total = np.zeros((rows.stop - rows.start, self.shape[0] - first))
        for columns in self._parts:
            categorical = self._categorical[columns[0]]
            metric, scale = ("hamming", columns.size) if categorical else ("cityblock", 1)
            values = self._values(columns, first)
            own = values[rows.start - first : rows.stop - first]
            for start in range(0, total.shape[1], _OTHERS_AT_ONCE):
                others = slice(start, start + _OTHERS_AT_ONCE)
                total[:, others] += scale * cdist(own, values[others], metric)
        total *= _TIE
        return np.rint(total, out=total)


def _column_ranges(X: Any) -> tuple[Array, Array, Array]:
    """The value that becomes 0, the range, and the power of two both are divided by.

    The range of a constant column is infinite.
    """
    low, high = X.min(axis=0), X.max(axis=0)
    if sp.issparse(X):
        low, high = low.toarray().ravel(), high.toarray().ravel()
    low, high = low.astype(np.float64), high.astype(np.float64)
    largest = np.maximum(np.abs(low), np.abs(high))
    unit = binary_units(largest)
    low, high = low / unit, high / unit
    varies = high - low > _NO_SPREAD * largest / unit
    return low, np.where(varies, high - low, np.inf), unit


def _column_parts(categorical: Mask) -> list[Index]:
    """The columns in parts that are summed at once, all numeric or all categorical."""
    kinds = (np.flatnonzero(~categorical), np.flatnonzero(categorical))
    return [
        columns[start : start + _COLUMNS_AT_ONCE]
        for columns in kinds
        for start in range(0, columns.size, _COLUMNS_AT_ONCE)
    ]


def row_blocks(n: int) -> list[slice]:
    """Slices of rows whose distances to all n samples fit into a few megabytes."""
    step = max(1, min(_ROWS_IN_BLOCK, _ENTRIES_IN_BLOCK // n))
    return [slice(start, min(start + step, n)) for start in range(0, n, step)]


# -------------------------------------------------------------------------- neighbours
@dataclass(frozen=True)
class Neighbourhood:
    """Sample ``i`` and the samples nearest to it.

    ``ranks`` are their places among those of their group, 0 for the nearest, ties to the
    lowest index. ``differences`` last until the next neighbourhood comes.
    """

    i: int
    others: Index
    ranks: Index
    differences: Array


def neighbourhoods(
    samples: UnitSamples, rows: slice, distances: Array, groups: Index, count: int
) -> Iterator[Neighbourhood]:
    """For each sample of the block the ``count`` nearest others of every group, or all it has.

    ``distances`` are those of the block; those of samples to themselves are changed.
    """
    scratch = Scratch(samples.shape[1])
    own = np.arange(rows.start, rows.stop)
    distances[own - rows.start, own] = np.inf
    near = _nearest_and_ties(distances, groups, count)
    near[own - rows.start, own] = False
    at, others = np.nonzero(near)
    ranks = _ranks_within_groups(at * (groups.max() + 1) + groups[others], distances[near])
    kept = ranks < count
    ends = np.cumsum(np.bincount(at[kept], minlength=own.size))[:-1]
    parts = (np.split(part[kept], ends) for part in (others, ranks))
    for i, some, of_some in zip(own.tolist(), *parts, strict=True):
        yield Neighbourhood(i, some, of_some, samples.differences(i, some, scratch))


def _nearest_and_ties(distances: Array, groups: Index, count: int) -> Mask:
    """The ``count`` nearest samples of every group, and those that tie with the last of them."""
    near = np.ones(distances.shape, dtype=bool)
    for group in range(int(groups.max()) + 1):
        members = np.flatnonzero(groups == group)
        if members.size > count:
            mine = distances[:, members]
            near[:, members] = mine <= np.partition(mine, count - 1, axis=1)[:, [count - 1]]
    return near


def _ranks_within_groups(groups: Index, distances: Array) -> Index:
    """The place of each within its group by distance, ties in the order given."""
    order = np.lexsort((distances, groups))
    ordered = groups[order]
    first = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    place = np.arange(order.size) - np.repeat(first, np.diff(np.append(first, order.size)))
    ranks = np.empty_like(place)
    ranks[order] = place
    return ranks
