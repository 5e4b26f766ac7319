"""Local search over single features."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from rowsparse._arrays import Index
from rowsparse.solvers.subset.exchange import descend, fill, grow
from rowsparse.solvers.subset.gram import GramProblem, univariate_gains
from rowsparse.solvers.subset.local_search import LocalOptimum
from rowsparse.solvers.subset.residuals import Effort
from rowsparse.solvers.subset.rules import Rules
from rowsparse.solvers.subset.starts import best_optima
from rowsparse.solvers.subset.support import SupportState
from rowsparse.solvers.subset.walk import walk

# From this share of the features on, a support is found by removing from all of them.
_NEARLY_ALL = 0.8
# Supports that a beam search grows side by side, and the memory they may take.
_BEAM_WIDTH, _BEAM_BYTES = 10, 1 << 26


class FeatureSearch:
    """A :class:`~rowsparse.solvers.subset.local_search.LocalSearch` over single features.

    Of the features that must be selected, those that depend on others take no part in the fits.
    """

    def __init__(self, problem: GramProblem, rules: Rules) -> None:
        self._problem, self._rules = problem, rules
        self._fixed: list[int] = []
        if rules.include:
            included = SupportState(problem, capacity=len(rules.include))
            for p in rules.include:
                included.add(p)
            self._fixed = included.basis
        self._greedy_state: SupportState | None = None
        self._min_addition_gain = problem.eps * problem.total
        self.n_fixed = len(rules.include)
        self.size = rules.k - self.n_fixed
        self.units = np.flatnonzero(rules.allowed)
        self.total = problem.total

    def run(self, kept: Sequence[int], removed: Sequence[int], exchange_every: int) -> LocalOptimum:
        self._greedy_state = None
        greedy = not kept and not removed
        state = self._shrunk() if greedy and self.size >= _NEARLY_ALL * self.units.size else None
        if state is None:
            state = self._grown(kept, removed, self.size, exchange_every)
        if self.size > 1 or not greedy:  # the best single feature cannot be improved
            self._exchange(state, "quick")
        if greedy:
            self._greedy_state = state
        return self._optimum(state).in_order()

    def run_beam(self) -> LocalOptimum:
        """Beam search: the best one-feature extensions of several supports go on."""
        self._greedy_state = None
        states = [self._state((), self.size)]
        width = max(1, min(_BEAM_WIDTH, _BEAM_BYTES // states[0].nbytes))
        for _ in range(self.size):
            extended = self._extended(states, width)
            if not extended or self._rules.deadline.expired():
                break
            states = extended
        return best_optima([self._exchanged(state) for state in states], self.total)[0]

    def refine(
        self,
        optima: Sequence[LocalOptimum],
        others: Sequence[LocalOptimum],
        rng: np.random.Generator,
    ) -> list[LocalOptimum]:
        self._greedy_state = None
        fixed, rules = len(self._fixed), self._rules
        supports = [[*self._fixed, *optimum.units] for optimum in optima]
        reached = walk(
            self._problem,
            supports,
            rules.allowed,
            fixed=fixed,
            rng=rng,
            deadline=rules.deadline,
        )
        walked = [self._exchanged(self._state(basis[fixed:], self.size)) for basis in reached]
        return [self._joined(one, other) for one, other in zip(walked, others, strict=True)]

    def _joined(self, one: LocalOptimum, other: LocalOptimum) -> LocalOptimum:
        """The better of one and of what is left of both if the weakest units are removed."""
        both = sorted({*one.units, *other.units})
        if len(both) > self.size:
            state = self._state(both, len(both))
            if self._eliminate(state):
                return best_optima([one, self._exchanged(state)], self.total)[0]
        return one

    def greedy_path(self) -> Iterator[LocalOptimum]:
        state = self._state((), self.size)
        yield self._optimum(state)
        for size in range(1, self.size + 1):
            if not self._grow(state, len(self._fixed) + size):
                return
            yield self._descended(SupportState(self._problem, state.basis))

    def regrow(self, kept: Sequence[int], removed: Sequence[int], size: int) -> LocalOptimum | None:
        state = self._grown(kept, removed, size, 0)
        return self._descended(state) if len(state.basis) == len(self._fixed) + size else None

    def shrink(self, units: Sequence[int]) -> LocalOptimum:
        state = self._state(units, len(units))
        costs = state.removal_costs()[len(self._fixed) :]
        if costs.size:
            state.remove(state.basis[len(self._fixed) + int(np.argmin(costs))])
        return self._descended(state)

    def support(self, units: Sequence[int], k: int) -> Index:
        chosen = [*self._rules.include, *units]
        if len(chosen) == k:
            return np.array(sorted(chosen), dtype=np.intp)
        strength = univariate_gains(self._problem.B, self._problem.diagonal)
        strength[self._rules.excluded] = -np.inf
        return np.sort(fill(chosen, strength, self._rules.allowed, k))

    def state(self, support: Index) -> SupportState:
        """The refitted problem on a support; reuses the greedy start if no other was run."""
        known = self._greedy_state
        if known is not None and sorted(known.basis) == support.tolist():
            return known
        return SupportState(self._problem, support)

    def _state(self, units: Sequence[int], size: int) -> SupportState:
        """The fixed features and ``units``, with room to grow to a size."""
        capacity = len(self._fixed) + size
        state = SupportState(self._problem, [*self._fixed, *units], capacity=capacity)
        if state.basis[: len(self._fixed)] != self._fixed:  # a dependent unit replaced a fixed one
            state = SupportState(self._problem, self._fixed, capacity=capacity)
        state.inert = []
        return state

    def _grow(self, state: SupportState, size: int) -> bool:
        return grow(state, size, self._rules.allowed, self._min_addition_gain)

    def _grown(
        self, kept: Sequence[int], removed: Sequence[int], size: int, exchange_every: int
    ) -> SupportState:
        """``kept`` grown to a size, or as far as features gain."""
        full = len(self._fixed) + size
        state = self._state(kept, size)
        if removed:
            others = self._rules.allowed.copy()
            others[list(removed)] = False
            grow(state, min(len(state.basis) + 1, full), others, self._min_addition_gain)
        growing = True
        while growing and len(state.basis) < full:
            growing = self._grow(state, len(state.basis) + 1)
            reached = len(state.basis)
            if exchange_every and reached % exchange_every == 0 and reached < full:
                self._exchange(state, "glance")
        return state

    def _shrunk(self) -> SupportState | None:
        """All features, less those whose removal costs least; None if they are dependent."""
        state = SupportState(self._problem, [*self._fixed, *self.units.tolist()])
        return state if not state.inert and self._eliminate(state) else None

    def _eliminate(self, state: SupportState) -> bool:
        """Remove what costs least until the size is right; False if it is not reached."""
        fixed, full = len(self._fixed), len(self._fixed) + self.size
        while len(state.basis) > full and not self._rules.deadline.expired():
            costs = state.removal_costs()
            state.remove(state.basis[fixed + int(np.argmin(costs[fixed:]))])
        return len(state.basis) == full

    def _extended(self, states: list[SupportState], width: int) -> list[SupportState]:
        """The best extensions of these states by one feature, the best first."""
        children: dict[frozenset[int], tuple[float, int, int]] = {}
        for parent, state in enumerate(states):
            gains = state.addition_gains()
            gains[~self._rules.allowed] = -np.inf
            top = np.argpartition(-gains, min(width, gains.size) - 1)[:width]
            for p in top[gains[top] > self._min_addition_gain].tolist():
                child = (state.objective - float(gains[p]), parent, p)
                key = frozenset((*state.basis, p))
                children[key] = min(child, children.get(key, child))
        chosen = sorted(children.values())[:width]
        last = {parent: at for at, (_, parent, _) in enumerate(chosen)}
        extended = []
        for at, (_, parent, p) in enumerate(chosen):
            # The last child reuses the state of its parent.
            state = states[parent] if last[parent] == at else states[parent].copy()
            if state.add(p):
                extended.append(state)
        return extended

    def _exchange(self, state: SupportState, effort: Effort) -> None:
        rules, fixed = self._rules, len(self._fixed)
        descend(
            state,
            rules.min_gain,
            rules.allowed,
            fixed=fixed,
            effort=effort,
            deadline=rules.deadline,
        )

    def _exchanged(self, state: SupportState) -> LocalOptimum:
        self._exchange(state, "quick")
        return self._optimum(state).in_order()

    def _descended(self, state: SupportState) -> LocalOptimum:
        self._exchange(state, "best")
        return self._optimum(state)

    def _optimum(self, state: SupportState) -> LocalOptimum:
        return LocalOptimum(state.objective, tuple(state.basis[len(self._fixed) :]))
