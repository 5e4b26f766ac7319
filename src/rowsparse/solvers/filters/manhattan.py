"""Samples with columns scaled to [0, 1], their Manhattan distances and nearest neighbours.

All pairs cost n^2 d operations, so they are computed with 16-bit integers first: every column is
rounded to ``LEVELS`` steps and |a - b| = a + b - 2 min(a, b) is summed exactly. The rounding error
of each sample is known; all samples that could be among the nearest within that margin are kept,
and only those are compared by their distances in double precision. The neighbours are those of the
exact distances, whatever the order of the columns and the number of threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rowsparse._arrays import Array, Index, Mask
from rowsparse.design.protocol import binary_units

__all__ = ["Neighbourhood", "Scratch", "UnitSamples", "neighbourhoods", "row_blocks"]

# Sixteen values of at most LEVELS fit into 16 bits. Columns of whole numbers with a range that
# divides it, 255 among others, are not rounded at all.
LEVELS = 4080
_COLUMNS_AT_ONCE = 16
# Pairs of samples at a time: they fit into the L2 cache and outweigh the cost of the calls.
_PAIRS_AT_ONCE = 4096
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
        self._columns = sp.csc_array(X) if self._sparse else None
        self._codes: dict[int, NDArray[Any]] = {}
        self._parts = _column_parts(categorical)
        n = self.shape[0]
        # 2 * d * LEVELS has to fit; intermediate sums may wrap around, the final ones do not.
        self._integer = np.uint32 if self.shape[1] < 1_000_000 else np.uint64
        self._code_sums = np.zeros(n, dtype=self._integer)
        self._fine_sums = np.zeros(n)
        self._rounding = np.zeros(n)
        for number, part in enumerate(self._parts):
            self._measure(number, part)

    def _scaled(self, X: Any, columns: Index | slice = slice(None)) -> Array:
        Z = np.divide(X, self._unit[columns], dtype=np.float64, order="C")
        Z -= self._low[columns]
        Z /= self._spread[columns]
        return Z

    def _measure(self, number: int, part: Index) -> None:
        """Sums of the codes of a part, and how far they are from the numbers they stand for."""
        codes, categorical = self._coded(number), self._categorical[part[0]]
        if not self._sparse:
            self._codes[number] = codes
        if categorical:
            self._code_sums += self._integer(part.size * LEVELS // 2)
            self._fine_sums += 0.5 * part.size
            return
        values = self._values(part)
        self._code_sums += codes.sum(axis=0, dtype=self._integer)
        self._fine_sums += values.sum(axis=0)
        self._rounding += np.abs(values * LEVELS - codes).sum(axis=0)

    def _values(self, part: Index) -> Array:
        """Columns of the scaled X, as rows."""
        if self._columns is None:
            return np.ascontiguousarray(self._rows[:, part].T)
        return np.ascontiguousarray(self._scaled(self._columns[:, part].toarray(), part).T)

    def _coded(self, number: int) -> NDArray[Any]:
        if number in self._codes:
            return self._codes[number]
        part = self._parts[number]
        values = self._values(part)
        if not self._categorical[part[0]]:
            return np.rint(values * LEVELS).astype(np.uint16)
        return np.array([np.unique(v, return_inverse=True)[1] for v in values], dtype=np.uint32)

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

    def coarse_distances(self, rows: slice, first: int = 0) -> NDArray[Any]:
        """Distances of some samples to all from ``first`` on, in steps of 1/LEVELS.

        See :meth:`margin`.
        """
        total = np.zeros((rows.stop - rows.start, self.shape[0] - first), dtype=self._integer)
        for number, part in enumerate(self._parts):
            codes, categorical = self._coded(number), self._categorical[part[0]]
            _add_overlap(codes, rows, first, categorical, self._integer(LEVELS // 2), total)
        total *= self._integer(2)
        np.subtract(self._code_sums[first:], total, out=total)
        total += self._code_sums[rows, None]
        return total

    def margin(self, rows: slice) -> Array:
        """How much two coarse distances of a sample can differ, where the true ones tie."""
        off = self._rounding[rows] + self._rounding.max()
        # One step more covers the rounding errors of both sums.
        return np.where(off > 0, np.ceil(2 * off) + 1, 0).astype(self._integer)

    def distances(self, rows: slice) -> Array:
        """Distances of some samples to all in double precision, as :func:`comparable` numbers."""
        total = np.zeros((rows.stop - rows.start, self.shape[0]))
        for part in self._parts:
            categorical = self._categorical[part[0]]
            _add_overlap(self._values(part), rows, 0, categorical, np.float64(0.5), total)
        total *= -2.0
        total += self._fine_sums
        total += self._fine_sums[rows, None]
        return comparable(total)


def comparable(distances: Array) -> Array:
    """Integers that are equal where distances are equal up to rounding error."""
    return np.rint(distances * _TIE)


def _column_ranges(X: Any) -> tuple[Array, Array, Array]:
    """The value that becomes 0, the signed range, and the power of two both are divided by.

    0 is the end of the range that more samples have, because pairs with a 0 are skipped. The spread
    is negative where that is the upper end, and infinite for a constant column.
    """
    low, high = X.min(axis=0), X.max(axis=0)
    if sp.issparse(X):
        low, high = low.toarray().ravel(), high.toarray().ravel()
        turned = high == 0
    else:
        turned = (high == X).sum(axis=0) > (low == X).sum(axis=0)
    low, high = low.astype(np.float64), high.astype(np.float64)
    largest = np.maximum(np.abs(low), np.abs(high))
    unit = binary_units(largest)
    low, high = low / unit, high / unit
    spread = np.where(high - low > _NO_SPREAD * largest / unit, high - low, np.inf)
    return np.where(turned, high, low), np.where(turned, -spread, spread), unit


def _column_parts(categorical: Mask) -> list[Index]:
    """The columns in parts that are summed at once, all numeric or all categorical."""
    parts = []
    for kind in (False, True):
        columns = np.flatnonzero(categorical == kind)
        parts += [columns[s : s + _COLUMNS_AT_ONCE] for s in range(0, columns.size, 16)]
    return parts


def _add_overlap(
    codes: NDArray[Any],
    rows: slice,
    origin: int,
    categorical: bool,
    agreement: Any,
    total: NDArray[Any],
) -> None:
    """Add sum_f min(a_f, b_f), or ``agreement`` for each column with a_f = b_f, to every pair.

    Pairs are samples of ``rows`` with those from ``origin`` on.
    """
    n = codes.shape[1]
    exact = total.dtype == np.float64
    narrow: Any = np.float64 if exact else np.uint16
    width = min(n, _PAIRS_AT_ONCE // 4 if exact else _PAIRS_AT_ONCE)
    height = max(1, _PAIRS_AT_ONCE // width)
    operation = np.equal if categorical else np.minimum
    # min(0, b) = 0: samples that are all zero here are skipped.
    mine = codes[:, rows]
    own = np.flatnonzero(mine.any(axis=0) | categorical)
    for start in range(origin, n, width):
        tile = np.ascontiguousarray(codes[:, start : start + width])[:, None, :]
        shape = (codes.shape[0], height, tile.shape[2])
        buffer = np.empty(shape, dtype=bool if categorical else codes.dtype)
        for first in range(0, own.size, height):
            some = own[first : first + height]
            pairs = buffer[:, : some.size]
            operation(tile, mine[:, some, None], out=pairs)
            sums = np.add.reduce(pairs, axis=0, dtype=narrow)
            if categorical:
                sums = sums * agreement
            consecutive = some[-1] - some[0] == some.size - 1
            place = slice(some[0], some[-1] + 1) if consecutive else some
            total[place, start - origin : start - origin + width] += sums


def row_blocks(n: int) -> list[slice]:
    """Slices of rows whose distances to all n samples fit into a few megabytes."""
    step = max(1, min(_ROWS_IN_BLOCK, _ENTRIES_IN_BLOCK // n))
    return [slice(start, min(start + step, n)) for start in range(0, n, step)]


# -------------------------------------------------------------------------- neighbours
@dataclass(frozen=True)
class Neighbourhood:
    """Sample ``i`` and samples around it.

    ``ranks`` are their places among those of their group, 0 for the nearest, ties to the
    lowest index; some may be beyond the number that was asked for. ``differences`` last until
    the next neighbourhood comes.
    """

    i: int
    others: Index
    ranks: Index
    differences: Array


def neighbourhoods(
    samples: UnitSamples, rows: slice, coarse: NDArray[Any], groups: Index, count: int
) -> Iterator[Neighbourhood]:
    """For each sample of the block the ``count`` nearest others of every group, or all it has.

    ``coarse`` are the coarse distances of the block; those of samples to themselves are changed.
    """
    margin, scratch = samples.margin(rows), Scratch(samples.shape[1])
    own = np.arange(rows.start, rows.stop)
    coarse[own - rows.start, own] = np.iinfo(coarse.dtype).max
    near = _candidates(coarse, margin, groups, count)
    near[own - rows.start, own] = False
    for r, i in enumerate(own.tolist()):
        others = np.flatnonzero(near[r])
        if margin[r] == 0:
            ranks = _ranks_within_groups(groups[others], coarse[r, others])
            others, ranks = others[ranks < count], ranks[ranks < count]
            yield Neighbourhood(i, others, ranks, samples.differences(i, others, scratch))
            continue
        differences = samples.differences(i, others, scratch)
        ranks = _ranks_within_groups(groups[others], comparable(differences.sum(axis=1)))
        yield Neighbourhood(i, others, ranks, differences)


def _candidates(coarse: NDArray[Any], margin: Array, groups: Index, count: int) -> Mask:
    """Samples that may be among the ``count`` nearest of their group, given the margin."""
    near = np.ones(coarse.shape, dtype=bool)
    for group in range(int(groups.max()) + 1):
        members = np.flatnonzero(groups == group)
        if members.size <= count:
            continue
        distances = coarse[:, members]
        bound = np.partition(distances, count - 1, axis=1)[:, count - 1]
        near[:, members] = distances <= (bound + margin)[:, None]
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
