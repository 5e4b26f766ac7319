"""Local search over supports, for any loss: growth, exchanges, beams, walks and joins.

A unit is a feature or a group of features. :class:`LocalSearch` knows no loss: :class:`States` are
the supports of one problem, and a :class:`SupportState` is one of them, refitted after each change.
Sizes do not count units that must be selected.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import ClassVar, Self

import numpy as np

from rowsparse._arrays import Array, Index, Mask
from rowsparse._deadline import NO_DEADLINE, Deadline
from rowsparse.solvers.problem import Fit, Problem, Selection
from rowsparse.solvers.search.residuals import Effort

# From this share of the features on, a support is found by removing from all of them.
_NEARLY_ALL = 0.8
# The best selections that are kept, to be perturbed.
_MAX_KEPT = 8
# Objectives closer than this share of the objective of selecting nothing are ties.
TIE = 1e-13


class SupportState(ABC):
    """A selection with its fit, changed step by step.

    The fixed units that take part come first and stay.
    """

    n_fixed: int

    @property
    @abstractmethod
    def units(self) -> Sequence[int]:
        """The units, the fixed ones first."""

    @property
    def size(self) -> int:
        """Number of units that are not fixed."""
        return len(self.units) - self.n_fixed

    @property
    @abstractmethod
    def objective(self) -> float:
        """The least objective on the units."""

    def selection(self) -> Selection:
        """The units that are not fixed, with the objective."""
        return Selection(self.objective, tuple(self.units[self.n_fixed :]))

    @abstractmethod
    def grow(self, allowed: Mask, room: int = 1) -> bool:
        """Add the best unit, or several but no more than ``room``; False if none gains."""

    @abstractmethod
    def shrink(self, most: int = 1) -> None:
        """Remove the unit whose removal costs least, or several but no more than ``most``."""

    @abstractmethod
    def descend(
        self, allowed: Mask, *, effort: Effort = "best", deadline: Deadline = NO_DEADLINE
    ) -> None:
        """Make the best exchanges until none gains; ``effort`` says how well to look for them."""

    def confirm(self, allowed: Mask, deadline: Deadline = NO_DEADLINE) -> bool:
        """Make one exchange that gains, of all that may; False if there is none.

        Where gains are exact, :meth:`descend` leaves none.
        """
        return False

    def widen(self) -> bool:
        """Look at more units for exchanges; False if no other one promises to gain.

        Most states look at all units.
        """
        return False


class States(ABC):
    """The supports of one problem, which all starts of a search share.

    Attributes
    ----------
    choices : Choices
        What may be chosen.
    allowed : array of bool
        Units that may enter.
    total : float
        The objective of selecting nothing.
    exact : bool
        Whether the gains of changes are exact; if so, a search may go on from its best ends.
    first : SupportState or None
        Where the first start ended; fits that are iterative begin there.
    """

    exact: ClassVar[bool]
    first: SupportState | None = None

    def __init__(self, problem: Problem, total: float) -> None:
        self._problem, self.total = problem, total
        self.design, self.choices = problem.loss.design, problem.choices
        self.allowed = self.choices.allowed(self.design.column_norms() > 0)

    @abstractmethod
    def with_size(self, k: int) -> Self:
        """The supports for choices of another size."""

    @abstractmethod
    def start(self, units: Sequence[int], size: int, *, widen: bool = False) -> SupportState:
        """The fixed units and these, with room to grow to a size.

        States that look at some units alone look at more of them as they grow if ``widen``; these
        are then those that other states look at.
        """

    @abstractmethod
    def gains_alone(self) -> Array:
        """Gains of each unit on its own."""

    def beam(self, size: int, deadline: Deadline) -> Sequence[SupportState] | None:
        """Selections grown side by side; None where growth beyond the size replaces them."""
        return None

    def walks(
        self, starts: Sequence[Selection], rng: np.random.Generator, deadline: Deadline
    ) -> list[list[int]] | None:
        """Units reached from each start by exchanges that may raise the objective.

        None where that takes too long.
        """
        return None

    @abstractmethod
    def fit(self, support: Index) -> Fit:
        """The fit on a support, from its columns and to full accuracy."""

    @abstractmethod
    def changes(self, fit: Fit, known: SupportState | None = None) -> tuple[Array, Array]:
        """Costs of removing each column of a support, and gains of adding each other one.

        ``known`` is a state of this support, if there is one.
        """


class LocalSearch:
    """Selections of units, each improved by exchanges until none gains."""

    def __init__(self, states: States, deadline: Deadline = NO_DEADLINE) -> None:
        self.states, self.choices, self._deadline = states, states.choices, deadline
        self._allowed = states.allowed
        self.units = np.flatnonzero(self._allowed)
        self.n_fixed, self.size = self.choices.fixed.size, self.choices.n_free
        self.total = states.total
        # That of the first start, until there is another one.
        self._only_state: SupportState | None = None

    # -------------------------------------------------------------------------------- starts
    def run(self, kept: Sequence[int], removed: Sequence[int], exchange_every: int) -> Selection:
        """Grow ``kept`` to the full size, then exchange; the units come back sorted.

        The first unit added is none of ``removed``. With ``exchange_every`` > 0 there are also
        exchanges whenever the size reaches a multiple of it.
        """
        self._only_state = None
        if kept or removed or exchange_every:
            state = self.states.start(kept, self.size)
            self._grow(state, self.size, removed, exchange_every)
            return self._exchanged(state)
        state = self._first()
        if self.size > 1 or not self.states.exact:  # else it is the best single unit
            self._descend(state, "quick")
            if state.widen():
                self._descend(state, "quick")
        self._only_state = self.states.first = state
        return state.selection().sorted()

    def _first(self) -> SupportState:
        """Greedy growth or, to nearly all features, removal from all of them."""
        states, n = self.states, self.units.size
        if self.choices.groups is None and self.size >= _NEARLY_ALL * n:
            state = states.start(self.units.tolist(), n, widen=True)
            if state.size == n and self._shrink_to_size(state):
                return state
        state = states.start((), self.size, widen=True)
        self._grow(state, self.size)
        return state

    def run_beam(self, first: Selection) -> Selection:
        """The best of several selections grown side by side; the units come back sorted.

        Where there are none, the first selection is grown to twice its size, and the units whose
        removal costs least are removed.
        """
        self._only_state = None
        states = self.states.beam(self.size, self._deadline)
        if states is not None:
            return best_selections([self._exchanged(state) for state in states], self.total)[0]
        state = self.states.start(first.units, self.size, widen=True)
        self._grow(state, 2 * self.size)
        self._shrink_to_size(state)
        return self._exchanged(state)

    def refine(
        self,
        selections: Sequence[Selection],
        others: Sequence[Selection],
        rng: np.random.Generator,
    ) -> list[Selection]:
        """Search on from selections of the full size; the units come back sorted.

        Exchanges that raise the objective are made as well, the best selection on the way is
        united with one of ``others``, and the units whose removal costs least are removed until
        the size is right. The better of both comes back for each selection.
        """
        self._only_state = None
        walked, reached = selections, self.states.walks(selections, rng, self._deadline)
        if reached is not None:
            walked = [self._exchanged(self.states.start(S, self.size)) for S in reached]
        return [self._joined(one, other) for one, other in zip(walked, others, strict=True)]

    def _joined(self, one: Selection, other: Selection) -> Selection:
        """The better of one and of both together without their weakest units."""
        both = sorted({*one.units, *other.units})
        if len(both) > self.size:
            state = self.states.start(both, len(both))
            if self._shrink_to_size(state):
                return best_selections([one, self._exchanged(state)], self.total)[0]
        return one

    # ---------------------------------------------------------------------------- every size
    def greedy_path(self) -> Iterator[Selection]:
        """Greedy selections of sizes 0, 1, ..., each exchanged; ends where nothing gains."""
        state = self.states.start((), self.size, widen=True)
        yield state.selection()
        while state.size < self.size and state.grow(self._allowed, 1):
            if state.size == self.size:
                state.widen()
            yield self._descended(self.states.start(state.units[state.n_fixed :], state.size))

    def regrow(self, units: Sequence[int], size: int) -> Selection | None:
        """Grow units to a size, then exchange; None if that size is not reached."""
        state = self.states.start(units, size)
        self._grow(state, size)
        return self._descended(state) if state.size == size else None

    def shrink(self, units: Sequence[int]) -> Selection:
        """Remove the unit whose removal costs least, then exchange."""
        state = self.states.start(units, len(units))
        if state.size:
            state.shrink()
        return self._descended(state)

    # ----------------------------------------------------------------------------- the answer
    def support(self, units: Sequence[int], k: int) -> Index:
        """The columns of exactly k units: fixed ones, ``units``, then the strongest others."""
        chosen = [*self.choices.fixed.tolist(), *units]
        if len(chosen) < k:
            sized = self.choices.with_k(k)
            chosen = sized.filled(chosen, self.states.gains_alone(), self._allowed).tolist()
        return np.sort(self.choices.columns(chosen[:k]))

    def confirmed(self, selection: Selection) -> tuple[Selection, bool]:
        """A selection improved until no exchange gains, and whether time sufficed for that."""
        state = self.states.start(selection.units, self.size)
        while state.confirm(self._allowed, self._deadline):
            self._descend(state, "quick")
        return state.selection().sorted(), not self._deadline.expired()

    def changes(self, fit: Fit) -> tuple[Array, Array]:
        """Costs of removing each column of a support, and gains of adding each other one."""
        known = self._only_state
        if known is not None:
            columns = np.sort(self.choices.columns(known.units))
            if not np.array_equal(columns, fit.support):
                known = None
        return self.states.changes(fit, known)

    # -------------------------------------------------------------------------------- changes
    def _grow(
        self,
        state: SupportState,
        size: int,
        removed: Sequence[int] = (),
        exchange_every: int = 0,
    ) -> None:
        """Grow to a size, or as far as units gain."""
        if removed and state.size < size:
            others = self._allowed.copy()
            others[list(removed)] = False
            state.grow(others, size - state.size)
        while (before := state.size) < size and state.grow(self._allowed, size - before):
            if exchange_every and state.size < size:
                turns = [(state.n_fixed + n) // exchange_every for n in (before, state.size)]
                if turns[0] < turns[1]:
                    self._descend(state, "glance")

    def _shrink_to_size(self, state: SupportState) -> bool:
        """Remove what costs least until the size is right; False if it is not."""
        while state.size > self.size and not self._deadline.expired():
            state.shrink(state.size - self.size)
        return state.size == self.size

    def _descend(self, state: SupportState, effort: Effort) -> None:
        state.descend(self._allowed, effort=effort, deadline=self._deadline)

    def _exchanged(self, state: SupportState) -> Selection:
        self._descend(state, "quick")
        return state.selection().sorted()

    def _descended(self, state: SupportState) -> Selection:
        self._descend(state, "best")
        return state.selection()


def best_selections(selections: Sequence[Selection], total: float) -> list[Selection]:
    """The few best, each once; ties are sorted by their units, in lexicographic order."""
    distinct = list({one.units: one for one in selections}.values())
    least = min(one.objective for one in distinct)
    slack = TIE * total

    def rank(one: Selection) -> tuple[float, tuple[int, ...]]:
        return (max(one.objective, least + slack), one.units)

    return sorted(distinct, key=rank)[:_MAX_KEPT]
