"""The protocol of the candidates of a proof: bounds, fits and relaxations, for any loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from rowsparse._arrays import Array, Index, Mask
from rowsparse._deadline import Deadline
from rowsparse.certificate.proof import Dual, Kind
from rowsparse.solvers.choices import Choices, Largest
from rowsparse.solvers.problem import Listing
from rowsparse.solvers.proof.relaxation import Guess, Relaxation


@dataclass(frozen=True)
class DualBound:
    """A lower bound, and what screening needs of it.

    Attributes
    ----------
    value : float
        The bound.
    q : array of shape (m,)
        The scores of all candidates.
    largest : Largest
        Their largest sum, which is in the bound.
    """

    value: float
    q: Array
    largest: Largest


class Ways(NamedTuple):
    """Ways to choose the last units of a set of choices.

    Attributes
    ----------
    added : array of shape (N, r)
        The candidates that each adds.
    values, least : arrays of shape (N,)
        The objectives with them, and what these are at least, whatever rounding did to them.
    """

    added: Index
    values: Array
    least: Array


@dataclass(frozen=True)
class Completion:
    """The best way to choose the last units of a set of choices, found by trying all.

    Attributes
    ----------
    kind : Kind
        The step of a proof that tries them.
    bound : float
        No way leads to an objective below this, apart from those listed.
    added, value : array of int or None, and float
        The candidates to add, and the objective with them; None if no way was worth computing.
    tried : int
        Number of choices that were tried.
    listed : Ways or None
        The ways that are listed; None if it is the best one alone that matters.
    """

    kind: Kind
    bound: float
    added: Index | None
    value: float
    tried: int = 0
    listed: Ways | None = None


def listed(
    kind: Kind,
    ways: Ways,
    copies: Index | None,
    threshold: float,
    most: int,
    *,
    skipped: float = np.inf,
    tried: int = 0,
) -> Completion:
    """The completion that lists the ways below a threshold, at most ``most``, the best ones.

    Of those that differ by copies only one. ``skipped`` bounds ways that are not among these.
    """
    if copies is not None:
        alike = np.sort(copies[ways.added], axis=1)
        first = np.unique(alike, axis=0, return_index=True)[1]
        ways = Ways(*(part[np.sort(first)] for part in ways))
    least = np.where(np.isnan(ways.least), -np.inf, ways.least)
    below = np.flatnonzero(least < threshold)
    kept = below[np.argsort(ways.values[below], kind="stable")[:most]]
    bound = min(skipped, float(np.delete(least, kept).min(initial=np.inf)))
    close = Ways(ways.added[kept], ways.values[kept], least[kept])
    if not kept.size:
        return Completion(kind, bound, None, np.inf, tried, close)
    return Completion(kind, bound, close.added[0], float(close.values[0]), tried, close)


class Candidates(Protocol):
    """The units that may still be chosen, by positions from 0 on, and what choices are worth.

    A unit is a feature or a group of them.
    """

    @property
    def choices(self) -> Choices:
        """Which sets of them may be chosen."""

    @property
    def names(self) -> Index:
        """Their numbers among all units of the problem."""

    @property
    def features(self) -> Index:
        """Their columns, as columns of the design, one unit after the other."""

    @property
    def total(self) -> float:
        """The objective of choosing nothing."""

    @property
    def has_bounds(self) -> bool:
        """Whether coefficients bound anything; without a ridge they may not."""

    @property
    def patience(self) -> float:
        """The number of nodes after which to ask for a tightened problem; infinite for never."""

    @property
    def shares(self) -> Array | None:
        """The ``diagonal`` of :class:`~rowsparse.solvers.problem.Proven`; None for the ridge."""

    @property
    def nbytes(self) -> int:
        """Memory for what was computed from the columns."""

    def __len__(self) -> int: ...

    def restricted(self, keep: Index) -> Self:
        """The same problem with these candidates alone."""

    def with_k(self, k: int) -> Self:
        """The same problem of choosing k units, which shares what was computed from the columns."""

    def gains_alone(self) -> Array:
        """How much each candidate promises on its own."""

    def relaxation(
        self, positions: Index, n_fixed: int, guess: Guess | None = None
    ) -> Relaxation[Any]:
        """The relaxation of the choice of some candidates, the first ``n_fixed`` among them."""

    def guess(self, positions: Index, point: Any) -> Guess | None:
        """What a point of that relaxation says of similar ones."""

    def bound(self, active: Index, W: Array, chosen: Index, allowed: Mask) -> DualBound:
        """The bound of a W with the rows of ``active``, lowered by its possible rounding error.

        ``active`` are columns, by positions among those of the candidates. It is over the choices
        of ``chosen`` and others of ``allowed``.
        """

    def dual(self, active: Index, W: Array) -> Dual:
        """The dual point of that W, as it is recorded."""

    def fit(self, positions: Index, limit: float = np.inf) -> tuple[Array, float]:
        """The coefficients of a set of candidates, and their objective.

        They may be rough if no objective is below the limit.
        """

    def objective(self, features: Index) -> float:
        """The least objective on some columns of the design, computed with care."""

    def complete(
        self,
        chosen: Index,
        free: Index,
        threshold: float,
        bound: DualBound | None = None,
        most: int = 0,
    ) -> Completion | None:
        """Try all ways to complete ``chosen`` by candidates of ``free``; None if they are many.

        Ways whose objective is not below the threshold may be skipped. With the ``bound`` of a
        relaxation, which did not suffice, more of them are worth trying. With ``most``, as many of
        those below the threshold are listed.
        """

    def is_nearly_complete(
        self, chosen: Index, allowed: Mask, threshold: float, bound: DualBound
    ) -> bool:
        """Whether ``complete`` would take less time now than the search for a better bound."""

    def tightened(self, objective: float, deadline: Deadline) -> Self | None:
        """A problem with better bounds, if there is one, for choices above this objective."""

    def enumerated(self, deadline: Deadline, listing: Listing | None = None) -> Completion | None:
        """The best of all choices; None if they are many, or the data allow no bound.

        With a ``listing``, those that it asks for are listed.
        """
