"""Sets of choices of columns, or of groups of them, as the steps of a proof divide them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, islice

import numpy as np

from rowsparse._arrays import Array, Index, Mask
from rowsparse.certificate.proof import does_not_hold


@dataclass(frozen=True)
class Listing:
    """Choices that a bound is not about, whatever copies of their units they have.

    Attributes
    ----------
    kinds : array of int
        A number for each unit, the same for copies of each other.
    rows : array of shape (N, k)
        The kinds of the units of each choice, sorted.
    """

    kinds: Index
    rows: Index

    def rest(self, chosen: Index) -> Index:
        """The kinds that the units of a choice listed have besides some units: a row each."""
        rows = self.rows
        for kind in self.kinds[chosen]:
            rows = rows[(rows == kind).any(axis=1)]
            others = np.ones(rows.shape, dtype=bool)
            others[np.arange(len(rows)), np.argmax(rows == kind, axis=1)] = False
            rows = rows[others].reshape(len(rows), rows.shape[1] - 1)
        return rows


@dataclass(frozen=True)
class Choices:
    """All choices of the units ``chosen`` and ``count`` more of those ``allowed``.

    A unit is a column, or with ``groups`` one of them, each some columns. Those of a ``listing``
    are not tried.
    """

    chosen: Index
    allowed: Mask
    count: int
    groups: tuple[Index, ...] | None = None
    listing: Listing | None = None

    @cached_property
    def k(self) -> int:
        """The most columns that one of them has."""
        sizes = (
            np.ones(self.allowed.size)
            if self.groups is None
            else np.array([*map(len, self.groups)])
        )
        most = np.sort(sizes[self.allowed])[::-1][: self.count]
        return int(sizes[self.chosen].sum() + most.sum())

    @property
    def is_empty(self) -> bool:
        """Whether there are none."""
        return self.count < 0 or self.count > int(self.allowed.sum())

    def without(self, out: Index, fixed: Index) -> Choices:
        """The choices without the columns ``out`` and with the columns ``fixed``."""
        both = np.append(out, fixed)
        if not self.allowed[both].all() or np.unique(both).size < both.size:
            raise does_not_hold("it screens or splits on what is not allowed")
        allowed = self.allowed.copy()
        allowed[both] = False
        chosen = np.append(self.chosen, fixed)
        return replace(self, chosen=chosen, allowed=allowed, count=self.count - fixed.size)

    def columns(self, units: Index) -> Index:
        """The columns of some units."""
        if self.groups is None:
            return units
        return np.concatenate([units[:0], *(self.groups[g] for g in units)])

    def sums(self, q: Array) -> Array:
        """Scores of columns, added up in each unit."""
        return q if self.groups is None else np.array([q[group].sum() for group in self.groups])

    def largest(self, q: Array) -> float:
        """The largest sum of scores of columns of a choice."""
        q = self.sums(q)
        largest = np.sort(q[self.allowed])[::-1][: self.count]
        return float(q[self.chosen].sum() + largest.sum())

    def batches(self, size: int) -> Iterator[Index]:
        """The columns of all of them, at most that many at a time, one a row."""
        free = combinations(np.flatnonzero(self.allowed).tolist(), self.count)
        known = {*map(bytes, self.listing.rest(self.chosen))} if self.listing else ()
        while batch := list(islice(free, size)):
            rest = np.array(batch, dtype=np.intp).reshape(len(batch), self.count)
            if self.listing and known:
                kinds = np.sort(self.listing.kinds[rest], axis=1)
                rest = rest[[bytes(row) not in known for row in kinds]]
            sets = np.hstack([np.tile(self.chosen, (len(rest), 1)), rest])
            if self.groups is None and len(sets):
                yield sets
            else:
                yield from stacked([self.columns(units) for units in sets], size)

    @property
    def listed_rest(self) -> tuple[Index, Index]:
        """The kinds that choices listed have besides those chosen, and those of all allowed."""
        if self.listing is None:
            return np.zeros((0, self.count), dtype=np.intp), np.zeros(0, dtype=np.intp)
        return self.listing.rest(self.chosen), self.listing.kinds[self.allowed]


def stacked(sets: Sequence[Index], size: int) -> Iterator[Index]:
    """Sets of columns, a row each: those of equal sizes together, at most ``size`` of them."""
    for width in sorted({*map(len, sets)}):
        same = [one for one in sets if len(one) == width]
        for start in range(0, len(same), size):
            yield np.array(same[start : start + size])
