"""Cut points by minimum description length (Fayyad and Irani, 1993), all columns at once.

A segment S of N samples, sorted by value, is cut in two where the classes separate best, if

    gain > (log2(N - 1) + log2(3^q - 2) - (q H(S) - q1 H(S1) - q2 H(S2))) / N

with q, q1, q2 the numbers of classes in S and in its parts; then the parts are cut in turn. Weka
uses the number of possible cuts (places between distinct values) instead of N - 1. With
f(x) = x log2 x the entropies are sums of f of class counts, and passing one sample changes one
count on either side: a running sum over the sorted samples gives the gain of every cut, whatever
the number of classes. The segments of all columns are scanned together, one level after another.
Values of f are integer multiples of a power of two, so that sums are exact and equally good cuts
compare as equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rowsparse._arrays import Array, Index, Mask

__all__ = ["MdlCuts", "mdl_cuts"]

Integers = NDArray[np.int64]

# Bits after the binary point of f, and bits in all: many samples leave fewer for the fraction.
_FRACTION_BITS, _ALL_BITS = 40, 60
_NO_CUT = np.iinfo(np.int64).min
# Labelings are cut together until they have so many runs.
_BATCH_RUNS = 1 << 16


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
class _Runs:
    """Columns, one after another, as runs of samples of one value and one class.

    ``before`` counts the samples of the same class in the runs before, ``may_cut`` says that the
    next run of the column has another value. ``size`` None means runs of one sample.
    """

    length: Index
    value: Array
    label: Index
    before: Index
    may_cut: Mask
    size: Index | None


@dataclass(frozen=True)
class _Segments:
    """The segments that may still be cut: runs as in :class:`_Runs`, ``total`` their classes."""

    column: Index
    length: Index
    total: Index
    run: Index
    label: Index
    before: Index
    may_cut: Mask
    size: Index | None


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
    n = X.shape[0]
    cutter = _Cutter.of(n, counts_places)
    columns = _CountedColumns.of(X, n // n_classes) or _SortedColumns(X)
    batch: list[tuple[_Runs, Index]] = []
    n_runs = 0
    for labels in labelings:
        totals = np.bincount(labels, minlength=n_classes)
        batch.append((columns.runs(labels, totals), totals))
        n_runs += batch[-1][0].label.size
        if n_runs >= _BATCH_RUNS:
            yield from _cut_together(batch, cutter)
            batch, n_runs = [], 0
    yield from _cut_together(batch, cutter)


def _cut_together(batch: list[tuple[_Runs, Index]], cutter: _Cutter) -> Iterator[MdlCuts]:
    """The cuts of each labelling, found for all labelings at once to save calls."""
    if not batch:
        return
    m = batch[0][0].length.size
    totals = np.repeat([totals for _, totals in batch], m, axis=0)
    runs = batch[0][0] if len(batch) == 1 else _joined_runs([runs for runs, _ in batch])
    cuts = cutter.cut(runs, totals)
    for i in range(len(batch)):
        own = slice(i * m, (i + 1) * m)
        mine = slice(*np.searchsorted(cuts.column, [own.start, own.stop]))
        column = cuts.column[mine] - own.start
        yield MdlCuts(cuts.gain[own], cuts.best_gain[own], column, cuts.value[mine])


# ----------------------------------------------------------------------- columns as runs
def _joined_runs(parts: list[_Runs]) -> _Runs:
    def field(name: str) -> Any:
        return np.concatenate([getattr(part, name) for part in parts])

    return _Runs(
        field("length"),
        field("value"),
        field("label"),
        field("before"),
        field("may_cut"),
        None if parts[0].size is None else field("size"),
    )


class _SortedColumns:
    """Columns sorted once, for any number of labelings."""

    def __init__(self, X: Array) -> None:
        by_column = np.ascontiguousarray(X.T)
        self._order = np.argsort(by_column, axis=1)
        self._value = np.take_along_axis(by_column, self._order, axis=1)
        self._may_cut = np.zeros(by_column.shape, dtype=bool)
        np.not_equal(self._value[:, 1:], self._value[:, :-1], out=self._may_cut[:, :-1])

    def runs(self, labels: Index, totals: Index) -> _Runs:
        m, n = self._order.shape
        # Small integers are sorted by counting.
        label = labels.astype(np.min_scalar_type(totals.size))[self._order]
        by_class = np.argsort(label, axis=1, kind="stable")
        rank = np.arange(n) - np.repeat(np.cumsum(totals) - totals, totals)
        before = np.empty((m, n), dtype=np.intp)
        np.put_along_axis(before, by_class, np.broadcast_to(rank, (m, n)), axis=1)
        return _Runs(
            np.full(m, n),
            self._value.ravel(),
            label.ravel().astype(np.intp),
            before.ravel(),
            self._may_cut.ravel(),
            None,
        )


class _CountedColumns:
    """Columns of few distinct integers: counted, not sorted; the least value is inferred."""

    def __init__(self, X: Array, least: Array, width: int) -> None:
        self._least, self._width = least, width
        self._row, column = np.nonzero(least != X)
        above = X[self._row, column] - least[column]
        self._cell = column * width + above.astype(np.intp)

    @classmethod
    def of(cls, X: Array, widest: int) -> _CountedColumns | None:
        """The columns, if they hold integers and none has more than ``widest`` in its range."""
        if widest < 2 or not np.array_equal(X[:2], np.rint(X[:2])):
            return None
        least, largest = X.min(axis=0), X.max(axis=0)
        with np.errstate(over="ignore"):
            width = float((largest - least).max(initial=0.0)) + 1.0
        if width > widest or not np.array_equal(X, np.rint(X)):
            return None
        return cls(X, least, int(width))

    def runs(self, labels: Index, totals: Index) -> _Runs:
        shape = (self._least.size, self._width, totals.size)
        key = self._cell * totals.size + labels[self._row]
        counts = np.bincount(key, minlength=int(np.prod(shape))).reshape(shape)
        counts[:, 0] = totals - counts[:, 1:].sum(axis=1)
        before = np.cumsum(counts, axis=1) - counts
        occurs = counts > 0
        column, value, label = np.nonzero(occurs)
        may_cut = np.zeros(column.size, dtype=bool)
        may_cut[:-1] = (value[1:] != value[:-1]) & (column[1:] == column[:-1])
        return _Runs(
            np.bincount(column, minlength=shape[0]),
            value + self._least[column],
            label,
            before[occurs],
            may_cut,
            counts[occurs],
        )


# ------------------------------------------------------------------------------ the cuts
@dataclass(frozen=True)
class _Cutter:
    """The rule of the cuts: f(0), ..., f(n) in units of 1 / ``scale``, and what a place costs."""

    f: Integers
    scale: float
    counts_places: bool

    @classmethod
    def of(cls, n: int, counts_places: bool) -> _Cutter:
        x = np.arange(n + 1, dtype=np.float64)
        f = x * np.log2(np.maximum(x, 1.0))
        bits = min(_FRACTION_BITS, _ALL_BITS - int(np.ceil(np.log2(max(f[-1], 2.0)))))
        return cls(np.rint(np.ldexp(f, bits)).astype(np.int64), 2.0**bits, counts_places)

    def cut(self, runs: _Runs, totals: Index) -> MdlCuts:
        """Cut all columns, level by level; ``totals`` has the classes of each."""
        level = _whole(runs, totals)
        n = int(totals[:1].sum())
        m = runs.length.size
        gain, best_gain = np.zeros(m, dtype=np.int64), None
        columns, places = [np.empty(0, dtype=np.intp)], [np.empty(0, dtype=np.intp)]
        while level.column.size:
            gains, at = self._best_cuts(level)
            best_gain = gains if best_gain is None else best_gain
            accepted, left = self._accepted(level, gains, at)
            np.add.at(gain, level.column[accepted], gains[accepted])
            columns.append(level.column[accepted])
            places.append(level.run[at[accepted]])
            level = self._parts(level, accepted, at, left)
        column, place = np.sort(np.concatenate(columns)), np.sort(np.concatenate(places))
        unit = self.scale * max(n, 1)
        best = np.zeros(m) if best_gain is None else best_gain / unit
        return MdlCuts(gain / unit, best, column, _between(runs.value, place))

    def _best_cuts(self, level: _Segments) -> tuple[Integers, Index]:
        """N times the gain of the best cut of every segment, and the run after which it is."""
        f, length, total = self.f, level.length, level.total
        begin = np.cumsum(length) - length
        segment = np.repeat(np.arange(length.size), length)
        count = total.ravel()[segment * total.shape[1] + level.label]
        if level.size is None:
            step = np.diff(f)
            change = step[level.before] - step[count - 1 - level.before]
            left = np.arange(1, segment.size + 1) - begin[segment]
        else:
            upto = level.before + level.size
            change = f[upto] - f[level.before] - f[count - level.before] + f[count - upto]
            left = np.cumsum(level.size)
            left -= (left[begin] - level.size[begin])[segment]
        quality = np.cumsum(change)
        quality -= (quality[begin] - change[begin])[segment]
        n = total.sum(axis=1)
        quality -= f[left]
        quality -= f[n[segment] - left]
        quality[~level.may_cut] = _NO_CUT
        best = np.maximum.reduceat(quality, begin)
        where = np.flatnonzero(quality == best[segment])
        at = np.empty(length.size, dtype=np.intp)
        at[segment[where[::-1]]] = where[::-1]
        return np.where(best == _NO_CUT, 0, best + f[n]), at

    def _accepted(self, level: _Segments, gains: Integers, at: Index) -> tuple[Index, Index]:
        """The segments that are cut, and the classes on the left of their cuts."""
        begin = np.cumsum(level.length) - level.length
        least = self._least_price(level.total)
        if self.counts_places:
            places = np.add.reduceat(level.may_cut, begin, dtype=np.intp)
            least += np.log2(np.maximum(places, 1))
        likely = np.flatnonzero((gains > 0) & (gains / self.scale > least))
        n_classes = level.total.shape[1]
        size = at[likely] - begin[likely] + 1
        runs = _concatenated_ranges(begin[likely], size)
        key = np.repeat(np.arange(likely.size), size) * n_classes + level.label[runs]
        weights = None if level.size is None else level.size[runs]
        left = np.bincount(key, weights, minlength=likely.size * n_classes).astype(np.intp)
        left = left.reshape(likely.size, n_classes)
        right = level.total[likely] - left
        price = least[likely]
        for part in (left, right):
            price += np.count_nonzero(part, axis=1) * self._entropy(part)
        pays = gains[likely] / self.scale > price
        return likely[pays], left[pays]

    def _parts(self, level: _Segments, accepted: Index, at: Index, left: Index) -> _Segments:
        """The two parts of every cut segment, without those that no cut can divide."""
        n_classes = left.shape[1]
        begin = (np.cumsum(level.length) - level.length)[accepted]
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
        may_cut[np.cumsum(length[alive]) - 1] = False  # what follows is another segment
        return _Segments(
            np.repeat(level.column[accepted], 2)[alive],
            length[alive],
            total[alive],
            level.run[runs],
            label,
            level.before[runs] - passed[alive].ravel()[key],
            may_cut,
            None if level.size is None else level.size[runs],
        )

    def _least_price(self, total: Index) -> Array:
        """N times what a cut has to gain at least: as if its parts were pure.

        Without the price of the place where the number of places decides it.
        """
        q = np.count_nonzero(total, axis=1).astype(np.float64)
        # log2(3^q - 2) without a power that may overflow.
        price = q * np.log2(3.0) + np.log2(1.0 - 2.0 * 3.0**-q) - q * self._entropy(total)
        if not self.counts_places:
            price += np.log2(np.maximum(total.sum(axis=1) - 1, 1))
        return np.asarray(price)

    def _entropy(self, total: Index) -> Array:
        """H in bits of every row of class counts."""
        n = total.sum(axis=1)
        return (self.f[n] - self.f[total].sum(axis=1)) / (self.scale * np.maximum(n, 1))


def _whole(runs: _Runs, totals: Index) -> _Segments:
    """One segment for each column."""
    m = runs.length.size
    return _Segments(
        np.arange(m),
        runs.length,
        totals,
        np.arange(runs.label.size),
        runs.label,
        runs.before,
        runs.may_cut,
        runs.size,
    )


def _between(value: Array, place: Index) -> Array:
    """The mid-points of neighbouring values, rounded down where there is nothing between."""
    low = value[place].astype(np.float64)
    high = value[np.minimum(place + 1, value.size - 1)].astype(np.float64)
    middle = low / 2 + high / 2
    return np.where((low <= middle) & (middle < high), middle, low)


def _concatenated_ranges(start: Index, length: Index) -> Any:
    """start[0], start[0] + 1, ... for length[0] numbers, then the same from start[1], ..."""
    offset = start - (np.cumsum(length) - length)
    return np.arange(int(length.sum())) + np.repeat(offset, length)
