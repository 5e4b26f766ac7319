"""Cut points by minimum description length (Fayyad and Irani, 1993), all columns at once.

A segment S of N samples, sorted by value, is cut in two where the classes separate best, if

    gain > (log2(N - 1) + log2(3^q - 2) - (q H(S) - q1 H(S1) - q2 H(S2))) / N

with q, q1, q2 the numbers of classes in S and in its parts; then the parts are cut in turn. Weka
uses the number of possible cuts (places between distinct values) instead of N - 1. With
f(x) = x log2 x the entropies are sums of f of class counts, and passing one sample changes one
count on either side: a running sum over the sorted samples gives the gain of every cut, whatever
the number of classes. The segments of all columns are scanned together, one level after another.
Values of f are multiples of a power of two, so that sums are exact and equally good cuts compare
as equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rowsparse._arrays import Array, Index, Mask

__all__ = ["MOST_COUNTS", "MdlCuts", "as_codes", "mdl_cuts"]

# Blocks of columns should have at most as many entries times classes: each may be counted.
MOST_COUNTS = 1 << 21
# Bits of a float64 that sums of f may take; the others are two factors of two.
_BITS = 51


@dataclass(frozen=True)
class MdlCuts:
    """The cuts of m columns.

    Attributes
    ----------
    gain : array of shape (m,)
        Bits that all accepted cuts tell about the classes; 0 without any.
    best_gain : array of shape (m,)
        Bits that the best single cut tells, accepted or not; 0 for a constant column.
    column, value : arrays of shape (n_cuts,)
        Where the cuts are, by column and then by value; a cut is at least as large as the
        largest value below it and less than the smallest above.
    """

    gain: Array
    best_gain: Array
    column: Index
    value: Array


@dataclass(frozen=True)
class _Segments:
    """Segments of columns, one after another, as runs of samples of one value and one class.

    Of each segment: its ``column``, its number of runs and its class counts. Of each run: its
    class, its size, the samples of its class in the segment before it, whether the segment may be
    cut after it, because the next run has another value, and where.
    """

    column: Index
    length: Index
    total: Index
    label: Index
    size: Index
    before: Index
    may_cut: Mask
    cut: Array


def mdl_cuts(
    X: Array, labelings: Iterable[Index], n_classes: int, *, counts_places: bool
) -> Iterator[MdlCuts]:
    """The cuts of the columns of a dense X for one labelling of the samples after another.

    Parameters
    ----------
    X : array of shape (n, m)
        Finite values.
    labelings : iterable of arrays of int, shape (n,)
        Class numbers below ``n_classes``; not every class need occur.
    n_classes : int
    counts_places : bool
        Whether the place of a cut costs log2 of the number of places between distinct values, as
        in Weka, and not log2(N - 1), as in the paper.

    Examples
    --------
    >>> X = np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0], [6.0, 1.0], [7.0, 1.0], [9.0, 1.0]])
    >>> y = np.array([0, 0, 0, 1, 1, 1])
    >>> cuts = next(mdl_cuts(X, [y], 2, counts_places=False))
    >>> cuts.gain, cuts.value
    (array([1., 0.]), array([4.]))
    """
    rule, columns = _Rule(X.shape[0], counts_places), _RankedColumns(X)
    for labels in labelings:
        yield rule.cuts(columns.segments(labels, n_classes))


def as_codes(X: Array) -> NDArray[Any]:
    """The distinct values of every column, numbered from the least: for data that are discrete.

    >>> as_codes(np.array([[3.0, -1.0], [7.0, 0.5], [3.0, -1.0]])).tolist()
    [[0, 0], [1, 1], [0, 0]]
    """
    by_column = np.ascontiguousarray(X.T)
    order = np.argsort(by_column, axis=1)
    value = np.take_along_axis(by_column, order, axis=1)
    number = np.zeros(value.shape, dtype=np.intp)
    np.cumsum(value[:, 1:] != value[:, :-1], axis=1, out=number[:, 1:])
    codes = np.empty_like(number)
    np.put_along_axis(codes, order, number, axis=1)
    return np.ascontiguousarray(codes.T, dtype=np.min_scalar_type(int(number.max(initial=0))))


class _RankedColumns:
    """Columns as ranks of their distinct values, for any number of labelings."""

    def __init__(self, X: Array) -> None:
        codes = as_codes(X)
        self._width = int(codes.max(initial=0)) + 1
        # Few values may differ from the least one of their column: the others are inferred.
        self._row, column = np.nonzero(codes)
        self._cell = column * self._width + codes[self._row, column]
        value = np.zeros((X.shape[1], self._width))
        np.put_along_axis(value, codes.T.astype(np.intp), X.T, axis=1)
        low, high = value, np.roll(value, -1, axis=1)
        middle = low / 2 + high / 2
        # Rounded down where there is nothing between.
        self._cut = np.where((low <= middle) & (middle < high), middle, low)

    def segments(self, labels: Index, n_classes: int) -> _Segments:
        """Every column as one segment."""
        shape = (*self._cut.shape, n_classes)
        key = self._cell * n_classes + labels[self._row]
        counts = np.bincount(key, minlength=int(np.prod(shape))).reshape(shape)
        total = np.bincount(labels, minlength=n_classes)
        counts[:, 0] = total - counts[:, 1:].sum(axis=1)
        occurs = counts > 0
        column, code, label = np.nonzero(occurs)
        may_cut = np.zeros(column.size, dtype=bool)
        may_cut[:-1] = (code[1:] != code[:-1]) & (column[1:] == column[:-1])
        return _Segments(
            column=np.arange(shape[0]),
            length=np.bincount(column, minlength=shape[0]),
            total=np.tile(total, (shape[0], 1)),
            label=label,
            size=counts[occurs],
            before=(np.cumsum(counts, axis=1) - counts)[occurs],
            may_cut=may_cut,
            cut=self._cut[column, code],
        )


class _Rule:
    """The rule for cuts among n samples: the values of f, and the cost of the place of a cut."""

    def __init__(self, n: int, counts_places: bool) -> None:
        x = np.arange(n + 1, dtype=np.float64)
        f = x * np.log2(np.maximum(x, 1.0))
        unit = np.ldexp(1.0, int(np.ceil(np.log2(max(f[-1], 2.0)))) - _BITS)
        self._f = np.rint(f / unit) * unit
        self._counts_places = counts_places

    def cuts(self, level: _Segments) -> MdlCuts:
        """Cut all columns, level by level."""
        n, m = max(self._f.size - 1, 1), level.column.size
        gain, best_gain = np.zeros(m), None
        columns, values = [np.empty(0, dtype=np.intp)], [np.empty(0)]
        while level.column.size:
            gains, at = self._best_cuts(level)
            best_gain = gains if best_gain is None else best_gain
            accepted, left = self._accepted(level, gains, at)
            np.add.at(gain, level.column[accepted], gains[accepted])
            columns.append(level.column[accepted])
            values.append(level.cut[at[accepted]])
            level = self._parts(level, accepted, at, left)
        column, value = np.concatenate(columns), np.concatenate(values)
        order = np.lexsort((value, column))
        best = gain if best_gain is None else best_gain
        return MdlCuts(gain / n, best / n, column[order], value[order])

    def _best_cuts(self, level: _Segments) -> tuple[Array, Index]:
        """N times the gain of the best cut of every segment, and the run after which it is."""
        f, begin = self._f, _begins(level)
        segment = np.repeat(np.arange(level.length.size), level.length)
        n = level.total.sum(axis=1)
        count = level.total.ravel()[segment * level.total.shape[1] + level.label]
        upto = level.before + level.size
        left = np.cumsum(level.size) - (np.cumsum(n) - n)[segment]
        # The changes of a whole segment have the sum 0.
        quality = np.cumsum(f[upto] - f[level.before] - f[count - level.before] + f[count - upto])
        quality -= f[left] + f[n[segment] - left]
        quality[~level.may_cut] = -np.inf
        best = np.maximum.reduceat(quality, begin)
        where = np.flatnonzero(quality == best[segment])
        at = np.empty(begin.size, dtype=np.intp)
        at[segment[where[::-1]]] = where[::-1]
        return np.where(np.isinf(best), 0.0, best + f[n]), at

    def _accepted(self, level: _Segments, gains: Array, at: Index) -> tuple[Index, Index]:
        """The segments that are cut, and the classes on the left of their cuts."""
        begin = _begins(level)
        least = self._least_price(level.total)
        if self._counts_places:
            places = np.add.reduceat(level.may_cut, begin, dtype=np.intp)
            least += np.log2(np.maximum(places, 1))
        likely = np.flatnonzero((gains > 0) & (gains > least))
        n_classes = level.total.shape[1]
        length = at[likely] - begin[likely] + 1
        runs = _concatenated_ranges(begin[likely], length)
        key = np.repeat(np.arange(likely.size), length) * n_classes + level.label[runs]
        left = np.bincount(key, level.size[runs], minlength=likely.size * n_classes)
        left = left.astype(np.intp).reshape(likely.size, n_classes)
        price = least[likely]
        for part in (left, level.total[likely] - left):
            price += np.count_nonzero(part, axis=1) * self._entropy(part)
        pays = gains[likely] > price
        return likely[pays], left[pays]

    def _parts(self, level: _Segments, accepted: Index, at: Index, left: Index) -> _Segments:
        """The two parts of every cut segment, without those that no cut can divide."""
        n_classes = left.shape[1]
        begin = _begins(level)[accepted]
        middle, end = at[accepted] + 1, begin + level.length[accepted]
        total = np.stack([left, level.total[accepted] - left], axis=1).reshape(-1, n_classes)
        passed = np.stack([np.zeros_like(left), left], axis=1).reshape(-1, n_classes)
        start = np.stack([begin, middle], axis=1).ravel()
        length = np.stack([middle - begin, end - middle], axis=1).ravel()
        bits = total.sum(axis=1) * self._entropy(total)
        alive = np.flatnonzero((bits > 0) & (bits > self._least_price(total)) & (length > 1))
        runs = _concatenated_ranges(start[alive], length[alive])
        label = level.label[runs]
        key = np.repeat(np.arange(alive.size), length[alive]) * n_classes + label
        may_cut = level.may_cut[runs]
        may_cut[np.cumsum(length[alive]) - 1] = False  # the next run is of another segment
        return _Segments(
            column=np.repeat(level.column[accepted], 2)[alive],
            length=length[alive],
            total=total[alive],
            label=label,
            size=level.size[runs],
            before=level.before[runs] - passed[alive].ravel()[key],
            may_cut=may_cut,
            cut=level.cut[runs],
        )

    def _least_price(self, total: Index) -> Array:
        """N times the gain that a cut needs at least: as if its parts were pure.

        Without the price of the place where the number of places decides it.
        """
        q = np.count_nonzero(total, axis=1).astype(np.float64)
        # log2(3^q - 2) without a power that may overflow.
        price = q * np.log2(3.0) + np.log2(1.0 - 2.0 * 3.0**-q) - q * self._entropy(total)
        if not self._counts_places:
            price += np.log2(np.maximum(total.sum(axis=1) - 1, 1))
        return np.asarray(price)

    def _entropy(self, total: Index) -> Array:
        """H in bits of every row of class counts."""
        n = total.sum(axis=1)
        return np.asarray((self._f[n] - self._f[total].sum(axis=1)) / np.maximum(n, 1))


def _begins(level: _Segments) -> Index:
    """The first run of every segment."""
    return np.asarray(np.cumsum(level.length) - level.length)


def _concatenated_ranges(start: Index, length: Index) -> Any:
    """start[0], start[0] + 1, ... for length[0] numbers, then the same from start[1], ..."""
    offset = start - (np.cumsum(length) - length)
    return np.arange(int(length.sum())) + np.repeat(offset, length)
