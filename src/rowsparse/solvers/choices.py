"""Which sets of columns may be chosen: k units, a unit being a column or a group of columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np

from rowsparse._arrays import Array, Index, Mask


class Largest(NamedTuple):
    """The largest sum of scores over the choices of a node, with the numbers for screening.

    Attributes
    ----------
    total : float
        The sum.
    last_in, first_out : float
        With r units left to choose, the r-th and the (r+1)-th largest score of the allowed ones.
    """

    total: float
    last_in: float
    first_out: float


@dataclass(frozen=True, eq=False)
class Choices:
    """All sets of k units that contain those fixed and none of those barred.

    Build it with :meth:`from_columns`.

    Attributes
    ----------
    n_columns : int
        Number of columns.
    k : int
        Number of units to choose, the fixed ones among them.
    groups : tuple of arrays of int, or None
        The columns of each unit, sorted; None where every column is a unit.
    fixed, barred : arrays of int
        Units that must and that must not be chosen, sorted.
    copies : array of int or None
        A number for each unit, the same for copies of each other, between which no objective
        tells; None where that does not matter.
    """

    n_columns: int
    k: int
    groups: tuple[Index, ...] | None
    fixed: Index
    barred: Index
    copies: Index | None = None

    @classmethod
    def from_columns(
        cls,
        n_columns: int,
        k: int,
        *,
        include: Sequence[int] | Index = (),
        exclude: Sequence[int] | Index = (),
        groups: Sequence[Index] | None = None,
    ) -> Self:
        """The choices in which columns stand for their units.

        Groups are disjoint; a column in none of them is never chosen. Groups of one column each
        are columns.

        >>> Choices.from_columns(4, 1, include=[2], groups=[np.array([0, 2]), np.array([1])]).fixed
        array([0])
        """
        excluded = np.asarray(exclude, dtype=np.intp)
        included = np.asarray(include, dtype=np.intp)
        if groups is not None and all(len(group) == 1 for group in groups):
            outside = np.setdiff1d(np.arange(n_columns), np.concatenate([*groups, excluded[:0]]))
            excluded, groups = np.union1d(excluded, outside), None
        if groups is None:
            return cls(n_columns, k, None, np.unique(included), np.unique(excluded))
        parts = tuple(np.sort(np.asarray(group, dtype=np.intp)) for group in groups)
        owner = _owners(parts, n_columns)
        fixed, barred = (np.unique(owner[columns]) for columns in (included, excluded))
        return cls(n_columns, k, parts, fixed[fixed >= 0], barred[barred >= 0])

    @property
    def n_units(self) -> int:
        """Number of units."""
        return self.n_columns if self.groups is None else len(self.groups)

    @property
    def n_free(self) -> int:
        """Number of units to choose besides the fixed ones."""
        return self.k - self.fixed.size

    @cached_property
    def owner(self) -> Index:
        """The unit of each column; -1 for a column in none."""
        return _owners(self.groups, self.n_columns)

    @cached_property
    def sizes(self) -> Index:
        """The number of columns of each unit."""
        groups = [1] * self.n_columns if self.groups is None else [g.size for g in self.groups]
        return np.array(groups, dtype=np.intp)

    @cached_property
    def most_columns(self) -> int:
        """The most columns that k units have."""
        return self.k if self.groups is None else int(largest(self.sizes, self.k).sum())

    def among(self, units: Index) -> Self:
        """These units alone, in this order; their columns are numbered from 0 on, too."""
        n_columns, groups = units.size, None
        if self.groups is not None:
            ends = np.cumsum([0, *self.sizes[units]])
            n_columns = int(ends[-1])
            groups = tuple(map(np.arange, ends[:-1], ends[1:]))
        fixed, barred = (np.flatnonzero(np.isin(units, own)) for own in (self.fixed, self.barred))
        copies = None if self.copies is None else self.copies[units]
        return type(self)(n_columns, self.k, groups, fixed, barred, copies)

    def owner_among(self, units: Index) -> Index | None:
        """For each of the columns of some units, the position of its unit; None if it is its own.

        >>> groups = [np.array([0, 2]), np.array([1])]
        >>> Choices.from_columns(3, 1, groups=groups).owner_among(np.array([1, 0]))
        array([0, 1, 1])
        """
        if self.groups is None:
            return None
        return np.repeat(np.arange(units.size), self.sizes[units])

    def with_k(self, k: int) -> Self:
        """The same units, with k of them to choose."""
        return replace(self, k=k)

    def columns(self, units: Sequence[int] | Index) -> Index:
        """The columns of some units, one unit after the other."""
        if self.groups is None:
            return np.asarray(units, dtype=np.intp)
        return np.concatenate([np.empty(0, dtype=np.intp), *(self.groups[g] for g in units)])

    def bounds(self, units: Sequence[int]) -> list[int]:
        """Where each unit begins in :meth:`columns`, and where the last of them ends."""
        if self.groups is None:
            return list(range(len(units) + 1))
        bounds: list[int] = np.cumsum([0, *(self.groups[g].size for g in units)]).tolist()
        return bounds

    def sums(self, q: Array) -> Array:
        """Non-negative scores of columns, summed over each unit."""
        if self.groups is None:
            return q
        inside = self.owner >= 0
        return np.bincount(self.owner[inside], q[inside], minlength=self.n_units)

    def allowed(self, live: Mask) -> Mask:
        """The units that may enter: neither fixed nor barred, and with a column that is live."""
        allowed: Mask = np.asarray(self.sums(live) > 0)
        allowed[self.fixed] = False
        allowed[self.barred] = False
        return allowed

    def largest(self, scores: Array, chosen: Index, allowed: Mask) -> Largest:
        """The largest sum of the scores of k units: those chosen, and others that are allowed.

        >>> scores, allowed = np.array([1.0, 5.0, 3.0]), np.array([False, True, True])
        >>> Choices.from_columns(3, 2).largest(scores, np.array([0]), allowed)
        Largest(total=6.0, last_in=5.0, first_out=3.0)
        """
        count = self.k - chosen.size
        top = np.sort(largest(scores[allowed], count + 1))[::-1]
        first_out = float(top[count]) if top.size > count else 0.0
        last_in = float(top[count - 1]) if count else np.inf
        return Largest(float(scores[chosen].sum() + top[:count].sum()), last_in, first_out)

    # ------------------------------------------------------------------------- copies
    def copies_of(self, unit: int) -> Mask:
        """The other units that are copies of one."""
        if self.copies is None:
            return np.zeros(self.n_units, dtype=bool)
        copies: Mask = self.copies == self.copies[unit]
        copies[unit] = False
        return copies

    def distinct(self, units: Index, count: int) -> Index:
        """Some units, of copies of each other no more than the first ``count``."""
        if self.copies is None:
            return units
        order = np.argsort(self.copies[units], kind="stable")
        ordered = self.copies[units[order]]
        earlier = np.arange(units.size) - np.searchsorted(ordered, ordered)
        return units[np.sort(order[earlier < count])]

    def canonical(self, units: Index) -> Index:
        """A choice with the first copies of its units: fixed ones, then in their order; sorted.

        >>> copies = np.array([0, 1, 1, 3, 1])
        >>> choices = Choices(5, 2, None, np.array([4]), np.array([], dtype=int), copies)
        >>> choices.canonical(np.array([2, 4]))
        array([1, 4])
        """
        if self.copies is None:
            return np.sort(units)
        members, numbers = self._members, np.unique(self.copies[units], return_counts=True)
        taken = [
            members.get(number, units[:0])[:count]
            for number, count in zip(*map(np.ndarray.tolist, numbers), strict=True)
        ]
        return np.sort(np.concatenate([units[:0], *taken]))

    @cached_property
    def _members(self) -> dict[int, Index]:
        """The units with each number of ``copies`` that may be chosen, fixed ones first."""
        assert self.copies is not None
        pool = np.setdiff1d(np.arange(self.n_units), self.barred)
        order = np.lexsort((pool, ~np.isin(pool, self.fixed), self.copies[pool]))
        numbers, starts = np.unique(self.copies[pool[order]], return_index=True)
        members = np.split(pool[order], starts[1:])
        return dict(zip(numbers.tolist(), members, strict=True))

    def filled(self, chosen: Sequence[int], scores: Array, allowed: Mask) -> Index:
        """Exactly k units: those chosen, then the allowed ones by their scores, then others."""
        scores = scores.copy()
        scores[self.barred] = -np.inf
        return filled(chosen, scores, allowed, self.k)


def filled(chosen: Sequence[int], scores: Array, allowed: Mask, k: int) -> Index:
    """The first k of those chosen and then of the others by their scores, those not allowed last.

    >>> filled([2], np.array([1.0, 5.0, 3.0, 4.0]), np.array([True, False, True, True]), 3)
    array([2, 3, 0])
    """
    order = np.lexsort((-scores, ~allowed))
    others = order[~np.isin(order, chosen)]
    return np.concatenate([np.array(chosen, dtype=np.intp), others])[:k]


def largest(values: Array, k: int) -> Array:
    """The k largest entries, in any order."""
    if k >= values.size:
        return values
    return np.partition(values, values.size - k)[values.size - k :]


def _owners(groups: Sequence[Index] | None, n_columns: int) -> Index:
    if groups is None:
        return np.arange(n_columns)
    owner = np.full(n_columns, -1, dtype=np.intp)
    for unit, group in enumerate(groups):
        owner[group] = unit
    return owner
