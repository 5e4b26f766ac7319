"""The best supports of all sizes at once, each a start for the sizes next to it.

    minimise ||Y - X W||_F^2 + ridge ||W||_F^2   subject to   at most k rows of W are non-zero

for k = 1, 2, ... (or the rows of at most k groups). Greedy selection gives the first support of
every size. From then on a better support of size k is grown to k + 1 and shortened to k - 1, each
time with exchanges until none gains, until all sizes agree with their neighbours. Kicks come
between: some units of a support, features or groups, go, and it is grown again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from rowsparse._arrays import Array, Index
from rowsparse.design import Design
from rowsparse.solvers.subset.exchange import descend, fill, grow, least_squares_fit
from rowsparse.solvers.subset.gram import GramProblem, univariate_gains
from rowsparse.solvers.subset.groups import GroupEngine, Rules
from rowsparse.solvers.subset.starts import End
from rowsparse.solvers.subset.support import SupportState

# Kicks of every size unless told otherwise.
DEFAULT_PATH_RESTARTS = 2
# A support is better if it takes more than this share of ||Y||^2 off the objective.
_TIE = 1e-12


@dataclass(frozen=True)
class PathPoint:
    """The best support of one size.

    Attributes
    ----------
    k : int
        The size: the number of features, or of groups.
    support : array of int
        The features, sorted.
    V : array of shape (len(support), c)
        Their coefficients.
    objective, loss : float
        ||Y - X W||_F^2 with and without ridge ||W||_F^2.
    """

    k: int
    support: Index
    V: Array
    objective: float
    loss: float


def solve_path(
    problem: GramProblem,
    Y: Array,
    k_max: int,
    *,
    include: Sequence[int] = (),
    exclude: Sequence[int] = (),
    groups: Sequence[Index] | None = None,
    n_restarts: int = DEFAULT_PATH_RESTARTS,
    seed: int = 0,
    tol: float = 1e-9,
) -> list[PathPoint]:
    """Search for the best support of every size from 1, or that of ``include``, to ``k_max``.

    Parameters
    ----------
    problem : GramProblem
        Its targets may be ``reduced_targets(Y)``.
    Y : array of shape (n, c)
        Centred; the coefficients are fitted to it.
    k_max : int
        The largest size, at most the number of features, or groups, that are not excluded.
    include, exclude : sequence of int
        Features that must and must not be selected; with groups, they speak for their group.
    groups : list of arrays of int, optional
        Disjoint sets of all features that come and go together.
    n_restarts : int
        Kicks of every size.
    seed : int
        Draws the kicks.
    tol : float
        Exchanges end when none gains more than this share of ||Y||_F^2.

    Returns
    -------
    list of PathPoint
        Their objectives never increase, are at most those of greedy selection, and no exchange
        of one feature (or group) for another lowers one of them.
    """
    rules = Rules.of(problem, k_max, include, exclude, tol)
    moves: Moves = FeatureMoves(problem, rules)
    if groups is not None and any(len(group) > 1 for group in groups):
        moves = GroupMoves(problem, rules, groups)
    sizes = _Sizes(moves)
    sizes.settle()
    rng = np.random.default_rng(seed)
    for _ in range(n_restarts):
        sizes.kick(rng)
        sizes.settle()
    ks = range(max(1, moves.n_fixed), k_max + 1)
    return _fitted(problem.design, Y, {k: sizes.support(k) for k in ks}, problem.ridge)


class Moves(Protocol):
    """How a selection of units, features or groups, becomes one of another size.

    Sizes count the units besides those that must be selected; every :class:`End` is exchanged
    until nothing gains.
    """

    n_fixed: int
    total: float

    def greedy(self) -> Iterator[End]:
        """Greedy selections of all sizes from 0 on, up to where more gain nothing."""

    def regrown(self, units: Sequence[int], size: int, barred: Sequence[int]) -> End | None:
        """Grown to a size, the first time by none of those barred; None if that is not reached."""

    def shortened(self, units: Sequence[int]) -> End:
        """Without the unit that is missed least."""

    def support(self, units: Sequence[int], k: int) -> Index:
        """The features of exactly k units; the strongest ones fill up."""


class FeatureMoves:
    """Moves of single features; of those to include, the dependent ones are set aside."""

    def __init__(self, problem: GramProblem, rules: Rules) -> None:
        first = SupportState(problem, capacity=rules.k)
        for p in rules.include:
            first.add(p)
        self._problem, self._rules = problem, rules
        self._fixed = list(first.basis)
        self._nothing = problem.eps * problem.total
        self.n_fixed, self.total = len(rules.include), problem.total

    def greedy(self) -> Iterator[End]:
        state = SupportState(self._problem, self._fixed, capacity=self._rules.k)
        yield self._end(state)
        for size in range(1, self._rules.k - self.n_fixed + 1):
            if not grow(state, len(self._fixed) + size, self._rules.allowed, self._nothing):
                return
            yield self._descended(SupportState(self._problem, state.basis))

    def regrown(self, units: Sequence[int], size: int, barred: Sequence[int]) -> End | None:
        state = self._state(units)
        if barred:
            others = self._rules.allowed.copy()
            others[list(barred)] = False
            grow(state, len(state.basis) + 1, others, self._nothing)
        if not grow(state, len(self._fixed) + size, self._rules.allowed, self._nothing):
            return None
        return self._descended(state)

    def shortened(self, units: Sequence[int]) -> End:
        state = self._state(units)
        costs = state.removal_costs()[len(self._fixed) :]
        if costs.size:
            state.remove(state.basis[len(self._fixed) + int(np.argmin(costs))])
        return self._descended(state)

    def support(self, units: Sequence[int], k: int) -> Index:
        strength = univariate_gains(self._problem.B, self._problem.diagonal)
        strength[self._rules.excluded] = -np.inf
        return np.sort(fill([*self._rules.include, *units], strength, self._rules.allowed, k))

    def _state(self, units: Sequence[int]) -> SupportState:
        capacity = len(self._fixed) + len(units) + 1
        state = SupportState(self._problem, [*self._fixed, *units], capacity=capacity)
        if state.basis[: len(self._fixed)] != self._fixed:  # rounding took one for dependent
            return SupportState(self._problem, self._fixed, capacity=capacity)
        state.inert = []
        return state

    def _descended(self, state: SupportState) -> End:
        descend(state, self._rules.enough, self._rules.allowed, fixed=len(self._fixed))
        return self._end(state)

    def _end(self, state: SupportState) -> End:
        return End(state.objective, tuple(state.basis[len(self._fixed) :]))


class GroupMoves:
    """Moves of whole groups."""

    def __init__(self, problem: GramProblem, rules: Rules, groups: Sequence[Index]) -> None:
        self._engine = GroupEngine(problem, rules, groups)
        self.n_fixed, self.total = rules.k - self._engine.size, problem.total

    def greedy(self) -> Iterator[End]:
        units: tuple[int, ...] = ()
        yield self._engine.grown((), (), 0)
        for size in range(1, self._engine.size + 1):
            grown = self._engine.greedily(units)
            if grown is None:
                return
            units = grown
            yield self._engine.grown(units, (), size)

    def regrown(self, units: Sequence[int], size: int, barred: Sequence[int]) -> End | None:
        end = self._engine.grown(units, barred, size)
        return end if len(end.units) == size else None

    def shortened(self, units: Sequence[int]) -> End:
        fewer = self._engine.without_least(units)
        return self._engine.grown(fewer, (), len(fewer))

    def support(self, units: Sequence[int], k: int) -> Index:
        return self._engine.filled(units, k)


class _Sizes:
    """The best selection known of every size, and which of them their neighbours have not seen."""

    def __init__(self, moves: Moves) -> None:
        self._moves = moves
        self.best: dict[int, End] = {}
        self.to_grow: set[int] = set()
        self.to_shorten: set[int] = set()
        for end in moves.greedy():
            self._offer(end)

    def _offer(self, end: End | None) -> None:
        """Take a selection if it is the best of its size."""
        if end is None:
            return
        size = len(end.units)
        known = self.best[size].objective if size in self.best else np.inf
        if end.objective < known - _TIE * self._moves.total:
            self.best[size] = end
            self.to_grow.add(size)
            self.to_shorten.add(size)

    def settle(self) -> None:
        """Grow and shorten until nothing changes."""
        low, high = min(self.best), max(self.best)
        self.to_grow.discard(high)
        self.to_shorten.discard(low)
        while self.to_grow or self.to_shorten:
            for size in range(low, high):
                if size in self.to_grow:
                    self.to_grow.remove(size)
                    self._offer(self._moves.regrown(self.best[size].units, size + 1, ()))
            for size in range(high, low, -1):
                if size in self.to_shorten:
                    self.to_shorten.remove(size)
                    self._offer(self._moves.shortened(self.best[size].units))
            self.to_grow.discard(high)
            self.to_shorten.discard(low)

    def kick(self, rng: np.random.Generator) -> None:
        """Replace some units of every selection."""
        for size in sorted(self.best)[2:]:
            units = self.best[size].units
            goes = rng.permutation(len(units))[: rng.integers(1, len(units) // 2 + 1)]
            barred = [units[i] for i in goes.tolist()]
            kept = [p for p in units if p not in barred]
            self._offer(self._moves.regrown(kept, size, barred))

    def support(self, k: int) -> Index:
        """The features of exactly k units."""
        size = min(k - self._moves.n_fixed, max(self.best))
        return self._moves.support(self.best[size].units, k)


def _fitted(design: Design, Y: Array, supports: dict[int, Index], ridge: float) -> list[PathPoint]:
    """The supports by size with their coefficients, computed from the columns themselves."""
    points: list[PathPoint] = []
    for k, support in supports.items():
        V, objective = least_squares_fit(design, Y, support, ridge=ridge)
        if points:  # what rises by a unit more is rounding
            objective = min(objective, points[-1].objective)
        loss = max(objective - ridge * float(np.vdot(V, V)), 0.0)
        points.append(PathPoint(k, support, V, objective, loss))
    return points
