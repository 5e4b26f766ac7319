"""The k features with the least ridge regression objective, by greedy growth and exchange.

    minimise ||Y - X W||_F^2 + ridge ||W||_F^2   subject to   at most k rows of W are non-zero

Every start ends where no exchange of one selected feature for another one, all coefficients
refitted, lowers the objective; :mod:`rowsparse.solvers.subset.starts` says which starts there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np

from rowsparse._arrays import Array, Index
from rowsparse.design import Design
from rowsparse.solvers.solution import Monitor, silent
from rowsparse.solvers.subset.exchange import descend, fill, grow, least_squares_fit
from rowsparse.solvers.subset.gram import GramProblem, reduced_targets, univariate_gains
from rowsparse.solvers.subset.groups import GroupEngine, Rules
from rowsparse.solvers.subset.starts import End, best_ends, run_starts
from rowsparse.solvers.subset.support import Effort, SupportState

# Starts after the first, unless told otherwise.
DEFAULT_RESTARTS = 20
# From this share of the features on, a support is not grown but what is left of all of them.
_NEARLY_ALL = 0.8
# Supports that grow side by side, and memory for them.
_BEAM, _BEAM_BYTES = 10, 1 << 26


@dataclass(frozen=True)
class SearchResult:
    """The best support found, and how it was found.

    Attributes
    ----------
    support : array of int
        The features, sorted.
    objective : float
        The least objective on them, computed from the columns themselves.
    V : array of shape (len(support), c)
        The coefficients there.
    costs : array of shape (len(support),)
        How much the objective rises without each of them.
    gains : array of shape (d,)
        How much it would fall with each of the others as well; 0 on the support.
    n_starts : int
        Number of starts that were run.
    history : array
        The best objective after the first start, and after each round of others.
    stopped_early : bool
        Whether the time limit or the monitor ended the search.
    """

    support: Index
    objective: float
    V: Array
    costs: Array
    gains: Array
    n_starts: int
    history: Array
    stopped_early: bool


class FeatureEngine:
    """Starts over single features; an :class:`~rowsparse.solvers.subset.starts.Engine`."""

    def __init__(self, problem: GramProblem, rules: Rules) -> None:
        self._problem, self._rules = problem, rules
        self._fixed: list[int] = []
        if rules.include:
            first = SupportState(problem, capacity=len(rules.include))
            for p in rules.include:
                first.add(p)
            self._fixed = first.basis
        self._first: SupportState | None = None
        self._nothing = problem.eps * problem.total
        self.size = rules.k - len(rules.include)
        self.units = np.flatnonzero(rules.allowed)
        self.total = problem.total

    def run(self, kept: Sequence[int], barred: Sequence[int], pause: int) -> End:
        self._first = None
        fixed = len(self._fixed)
        full = fixed + self.size
        if not kept and not barred and self.size >= _NEARLY_ALL * self.units.size:
            shrunk = self._shrunk()
            if shrunk is not None:
                self._exchange(shrunk, "quick")
                self._first = shrunk
                return self._end(shrunk)
        state = SupportState(self._problem, [*self._fixed, *kept], capacity=full)
        if state.basis[:fixed] != self._fixed:  # a dependent one that was kept took its place
            state = SupportState(self._problem, self._fixed, capacity=full)
        state.inert = []
        if barred:
            others = self._rules.allowed.copy()
            others[list(barred)] = False
            grow(state, min(len(state.basis) + 1, full), others, self._nothing)
        growing = True
        while growing and len(state.basis) < full:
            growing = grow(state, len(state.basis) + 1, self._rules.allowed, self._nothing)
            if pause and len(state.basis) % pause == 0 and len(state.basis) < full:
                self._exchange(state, "glance")
        if self.size > 1 or kept or barred:  # one feature, the best of all, is not exchanged
            self._exchange(state, "quick")
        if not kept and not barred:
            self._first = state
        return self._end(state)

    def _shrunk(self) -> SupportState | None:
        """All features but those that are missed least; None if they depend on each other."""
        fixed, full = len(self._fixed), len(self._fixed) + self.size
        state = SupportState(self._problem, [*self._fixed, *self.units.tolist()])
        if state.inert:
            return None
        while len(state.basis) > full and not self._rules.late():
            costs = state.removal_costs()
            state.remove(state.basis[fixed + int(np.argmin(costs[fixed:]))])
        return state if len(state.basis) == full else None

    def run_beam(self) -> End:
        """Beam search: of all one-feature extensions of several supports, the best go on."""
        self._first = None
        states = [SupportState(self._problem, self._fixed, capacity=len(self._fixed) + self.size)]
        width = max(1, min(_BEAM, _BEAM_BYTES // states[0].nbytes))
        for _ in range(self.size):
            extended = self._extended(states, width)
            if not extended or self._rules.late():
                break
            states = extended
        ends = []
        for state in states:
            self._exchange(state, "quick")
            ends.append(self._end(state))
        return best_ends(ends, self.total)[0]

    def _extended(self, states: list[SupportState], width: int) -> list[SupportState]:
        """The best extensions of these states by one feature, the best first."""
        children: dict[frozenset[int], tuple[float, int, int]] = {}
        for parent, state in enumerate(states):
            gains = state.addition_gains()
            gains[~self._rules.allowed] = -np.inf
            top = np.argpartition(-gains, min(width, gains.size) - 1)[:width]
            for p in top[gains[top] > self._nothing].tolist():
                child = (state.objective - float(gains[p]), parent, p)
                key = frozenset((*state.basis, p))
                children[key] = min(child, children.get(key, child))
        chosen = sorted(children.values())[:width]
        last = {parent: at for at, (_, parent, _) in enumerate(chosen)}
        extended = []
        for at, (_, parent, p) in enumerate(chosen):
            # The last child takes the place of its parent.
            state = states[parent] if last[parent] == at else states[parent].copy()
            if state.add(p):
                extended.append(state)
        return extended

    def _end(self, state: SupportState) -> End:
        return End(state.objective, tuple(sorted(state.basis[len(self._fixed) :])))

    def _exchange(self, state: SupportState, effort: Effort) -> None:
        rules, fixed = self._rules, len(self._fixed)
        descend(state, rules.enough, rules.allowed, fixed=fixed, effort=effort, late=rules.late)

    def support(self, units: Sequence[int]) -> Index:
        """Exactly k features: these, the included ones, and the strongest others if need be."""
        problem, rules = self._problem, self._rules
        chosen = [*rules.include, *units]
        if len(chosen) == rules.k:
            return np.array(sorted(chosen), dtype=np.intp)
        strength = univariate_gains(problem.B, problem.diagonal)
        strength[rules.excluded] = -np.inf
        live = rules.allowed & ~rules.excluded
        return np.sort(fill(chosen, strength, live, rules.k))

    def state(self, support: Index) -> SupportState:
        """The problem on a support: as the first start left it, if that was the only one."""
        first = self._first
        if first is not None and sorted(first.basis) == support.tolist():
            return first
        return SupportState(self._problem, support)


def search(
    design: Design,
    Y: Array,
    k: int,
    *,
    ridge: float = 0.0,
    include: Sequence[int] = (),
    exclude: Sequence[int] = (),
    groups: Sequence[Index] | None = None,
    n_restarts: int = DEFAULT_RESTARTS,
    time_limit: float | None = None,
    seed: int = 0,
    n_jobs: int | None = None,
    tol: float = 1e-12,
    monitor: Monitor = silent,
) -> SearchResult:
    """Search for the k features with the least objective.

    Parameters
    ----------
    design : Design
        Centred.
    Y : array of shape (n, c)
        Centred.
    k : int
        Number of features, or of groups, the included ones among them.
    ridge : float
        Weight of ||W||_F^2.
    include, exclude : sequence of int
        Features that must and must not be selected; with groups, they speak for their group.
    groups : list of arrays of int, optional
        Disjoint sets of features that come and go together; no other feature is selected.
    n_restarts : int
        Starts after the first.
    time_limit : float, optional
        Seconds after which nothing but the greedy construction is completed.
    seed : int
        Draws the kicks.
    n_jobs : int, optional
        Threads for the kicks, as in joblib; they do not change the answer.
    tol : float
        Exchanges end when none gains more than this share of ||Y||_F^2.
    monitor : callable
        Called after every round with the best objective; the search ends when it returns True.

    Returns
    -------
    SearchResult
        Never worse than greedy selection. Of starts that tie, the support that comes first in
        lexicographic order.
    """
    deadline = np.inf if time_limit is None else perf_counter() + time_limit
    problem = GramProblem.of(design, reduced_targets(Y), ridge=ridge)
    rules = Rules.of(problem, k, include, exclude, tol, lambda: perf_counter() > deadline)
    engine: FeatureEngine | GroupEngine
    if groups is None or all(len(group) == 1 for group in groups):
        if groups is not None:
            rules.bar_all_but(np.concatenate(groups))
        engine = FeatureEngine(problem, rules)
    else:
        engine = GroupEngine(problem, rules, groups)
    outcome = run_starts(
        engine, n_restarts, seed=seed, n_jobs=n_jobs, late=rules.late, monitor=monitor
    )
    supports = [engine.support(units) for units in {outcome.best.units, outcome.first.units}]
    fits = [(least_squares_fit(design, Y, S, ridge=ridge), S) for S in supports]
    (V, objective), support = min(fits, key=lambda fit: fit[0][1])
    costs, gains = _changes(engine.state(support))
    return SearchResult(
        support=support,
        objective=objective,
        V=V,
        costs=costs,
        gains=gains,
        n_starts=outcome.n_starts,
        history=np.array([*outcome.history[:-1], objective]),
        stopped_early=outcome.stopped_early,
    )


def with_support(
    result: SearchResult, design: Design, Y: Array, support: Index, *, ridge: float
) -> SearchResult:
    """The result with another support in the place of the one that was found."""
    V, objective = least_squares_fit(design, Y, support, ridge=ridge)
    problem = GramProblem.of(design, reduced_targets(Y), ridge=ridge)
    costs, gains = _changes(SupportState(problem, support))
    return replace(
        result,
        support=support,
        objective=objective,
        V=V,
        costs=costs,
        gains=gains,
        history=np.append(result.history, objective),
    )


def _changes(state: SupportState) -> tuple[Array, Array]:
    """What removing each selected feature costs, and what adding each other one gains."""
    order = np.argsort(state.support)
    return state.removal_costs()[order], np.maximum(state.addition_gains(), 0.0)
