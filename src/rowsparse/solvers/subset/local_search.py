"""What searches over supports ask of a local search, over features or over groups of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from rowsparse._arrays import Index
from rowsparse.solvers.subset.support import SupportState


@dataclass(frozen=True)
class LocalOptimum:
    """A selection that no exchange improves.

    Attributes
    ----------
    objective : float
        Its objective.
    units : tuple of int
        The features or groups selected, without those that must be selected.
    """

    objective: float
    units: tuple[int, ...]

    def in_order(self) -> LocalOptimum:
        """The same with the units sorted."""
        return replace(self, units=tuple(sorted(self.units)))


class LocalSearch(Protocol):
    """Selections of units, each improved by exchanges until none gains.

    Units are features or groups of features; sizes count them without those that must be
    selected.
    """

    @property
    def n_fixed(self) -> int:
        """How many units must be selected."""

    @property
    def size(self) -> int:
        """How many units are to be chosen besides these."""

    @property
    def units(self) -> Index:
        """The units to choose from."""

    @property
    def total(self) -> float:
        """The objective of selecting nothing."""

    def run(self, kept: Sequence[int], removed: Sequence[int], exchange_every: int) -> LocalOptimum:
        """Grow ``kept`` to the full size, then exchange; the units come back sorted.

        The first unit added is none of ``removed``. With ``exchange_every`` > 0 there are also
        exchanges whenever the size is a multiple of it.
        """

    def run_beam(self) -> LocalOptimum:
        """The best of several selections grown side by side; the units come back sorted."""

    def greedy_path(self) -> Iterator[LocalOptimum]:
        """Greedy selections of sizes 0, 1, ..., each exchanged; ends where nothing gains."""

    def regrow(self, kept: Sequence[int], removed: Sequence[int], size: int) -> LocalOptimum | None:
        """As :meth:`run`, to any size; None if that size is not reached."""

    def shrink(self, units: Sequence[int]) -> LocalOptimum:
        """Remove the unit whose removal costs least, then exchange."""

    def support(self, units: Sequence[int], k: int) -> Index:
        """The features of exactly k units: fixed ones, ``units``, then the strongest others."""


class SquaredSearch(LocalSearch, Protocol):
    """A local search for the squared loss."""

    def refine(
        self,
        optima: Sequence[LocalOptimum],
        others: Sequence[LocalOptimum],
        rng: np.random.Generator,
    ) -> list[LocalOptimum]:
        """Search on from local optima of the full size; the units come back sorted.

        Exchanges that raise the objective are made as well, the best selection on the way is
        united with one of ``others``, and the units whose removal costs least are removed until
        the size is right. The better of both comes back for each of ``optima``.
        """

    def state(self, support: Index) -> SupportState:
        """The refitted problem on a support."""
