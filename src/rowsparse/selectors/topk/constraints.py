"""Columns that must be selected, must not be, or come and go together."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rowsparse._arrays import Index


@dataclass(frozen=True)
class Constraints:
    """What a choice of columns has to satisfy, by index; build it with :meth:`of`."""

    include: list[int]
    exclude: list[int]
    groups: list[Index] | None
    n_columns: int

    @classmethod
    def of(
        cls, include: Any, exclude: Any, groups: Any, d: int, names: NDArray[Any] | None
    ) -> Constraints:
        """From what the user gave, for d columns that may have names."""
        return cls(
            resolve_columns("include", include, d, names),
            resolve_columns("exclude", exclude, d, names),
            None if groups is None else resolve_groups(groups, d, names),
            d,
        )

    @property
    def noun(self) -> str:
        """What is counted."""
        return "columns" if self.groups is None else "groups"

    @property
    def n_units(self) -> int:
        """How many of them there are."""
        return self.n_columns if self.groups is None else len(self.groups)

    @property
    def fixed(self) -> Index:
        """Those that must be selected."""
        return np.unique(self._owner[self.include])

    @property
    def barred(self) -> Index:
        """Those that must not be."""
        return np.unique(self._owner[self.exclude])

    @property
    def n_left(self) -> int:
        """How many may be selected."""
        return self.n_units - self.barred.size

    @property
    def _owner(self) -> Index:
        """The unit of each column."""
        owner = np.arange(self.n_columns)
        for g, group in enumerate(self.groups or ()):
            owner[group] = g
        return owner

    def check_overlap(self) -> None:
        """Refuse what must be selected and must not be."""
        both = np.intersect1d(self.fixed, self.barred).tolist()
        if both:
            where = f"column {both[0]}"
            if self.groups is not None:
                where = f"the group of columns {self.groups[both[0]].tolist()}"
            raise ValueError(f"include and exclude overlap in {where}.")

    def check(self, k: int) -> None:
        """Refuse what no choice of k columns, or groups, can satisfy."""
        self.check_overlap()
        if self.fixed.size > k:
            raise ValueError(
                f"include has {self.fixed.size} {self.noun}, more than n_features_to_select={k}."
            )
        if self.n_left < k:
            raise ValueError(
                f"exclude leaves {self.n_left} {self.noun}, fewer than n_features_to_select={k}."
            )


def resolve_columns(what: str, value: Any, d: int, names: NDArray[Any] | None) -> list[int]:
    """Columns given by index or name, as sorted indices.

    >>> resolve_columns("include", ["b", 0], 3, np.array(["a", "b", "c"]))
    [0, 1]
    """
    if value is None:
        return []
    if isinstance(value, np.ndarray):
        value = np.atleast_1d(value).tolist()
    if isinstance(value, str) or not isinstance(value, Iterable):
        value = [value]
    known = {} if names is None else {name: j for j, name in enumerate(names.tolist())}
    return sorted({_resolve_column(what, column, d, known) for column in value})


def _resolve_column(what: str, column: Any, d: int, known: dict[str, int]) -> int:
    if isinstance(column, str):
        if not known:
            raise ValueError(
                f"{what} has the name {column!r}, but X came without column names: give indices."
            )
        if column not in known:
            raise ValueError(f"{what} has {column!r}, which is not a column of X.")
        return known[column]
    is_bool = isinstance(column, (bool, np.bool_))
    if is_bool or not isinstance(column, numbers.Integral):
        raise TypeError(f"{what} must hold indices or names of columns; got {column!r}.")
    if not 0 <= int(column) < d:
        raise ValueError(f"{what} has the index {column}, but X has the columns 0 to {d - 1}.")
    return int(column)


def resolve_groups(groups: Any, d: int, names: NDArray[Any] | None) -> list[Index]:
    """Groups of columns, given by lists or by labels, as arrays of indices.

    A column that is in none of the lists is a group of its own.

    >>> [group.tolist() for group in resolve_groups([[2, 0]], 4, None)]
    [[0, 2], [1], [3]]
    >>> [group.tolist() for group in resolve_groups(["a", "b", "a", "b"], 4, None)]
    [[0, 2], [1, 3]]
    """
    if isinstance(groups, (str, dict)) or np.ndim(np.asarray(groups, dtype=object)) == 0:
        raise TypeError(
            "feature_groups must be lists of columns, or one label for each column; got "
            f"{groups!r}."
        )
    if any(isinstance(g, (Sequence, np.ndarray, set)) and not isinstance(g, str) for g in groups):
        return _listed_groups(groups, d, names)
    labels = np.asarray(groups)
    if labels.shape != (d,):
        raise ValueError(f"feature_groups has {labels.size} labels, but X has {d} columns.")
    missing = [j for j, label in enumerate(labels.tolist()) if label is None or label != label]
    if missing:
        raise ValueError(
            f"feature_groups has no label for column {missing[0]}: give every column one."
        )
    try:
        code = np.unique(labels, return_inverse=True)[1]
    except TypeError:
        raise TypeError(
            "feature_groups must hold labels of one kind, all text or all numbers."
        ) from None
    order = np.argsort(code, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(code[order])) + 1)
    return sorted(parts, key=lambda part: int(part[0]))


def _listed_groups(groups: Any, d: int, names: NDArray[Any] | None) -> list[Index]:
    parts = [resolve_columns("feature_groups", group, d, names) for group in groups]
    times = np.bincount([j for part in parts for j in part], minlength=d)
    if times.max(initial=0) > 1:
        raise ValueError(
            f"feature_groups have column {times.argmax()} twice: a column is in one only."
        )
    parts = [part for part in parts if part] + [[j] for j in np.flatnonzero(times == 0).tolist()]
    return [np.array(part, dtype=np.intp) for part in sorted(parts)]
