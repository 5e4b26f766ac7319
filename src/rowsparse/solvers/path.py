"""The best supports of all sizes at once, each a start for the sizes next to it.

    minimise ||Y - X W||_F^2 + ridge ||W||_F^2   subject to   at most k rows of W are non-zero

for k = 1, 2, ... Greedy selection gives the first support of every size. From then on a better
support of size k is grown to k + 1 and shortened to k - 1, each time with exchanges until none
gains, until all sizes agree with their neighbours. Kicks come between: some features of a
support go, and it is grown again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from rowsparse._arrays import Array, Index, Mask
from rowsparse.design import Design
from rowsparse.solvers.exchange import (
    LeastSquares,
    SupportState,
    descend,
    fill,
    grow,
    least_squares_fit,
    univariate_gains,
)

# Kicks of every size unless told otherwise.
DEFAULT_PATH_RESTARTS = 2
# An exchange must gain more than so many rounding errors of ||Y||^2.
_ROUNDING = 16
# A support is better if it takes more than this share of ||Y||^2 off the objective.
_TIE = 1e-12


@dataclass(frozen=True)
class PathPoint:
    """The best support of one size.

    Attributes
    ----------
    support : array of int of shape (k,)
        The features, sorted.
    V : array of shape (k, c)
        Their coefficients.
    objective, loss : float
        ||Y - X W||_F^2 with and without ridge ||W||_F^2.
    """

    support: Index
    V: Array
    objective: float
    loss: float

    @property
    def k(self) -> int:
        """The size."""
        return self.support.size


def with_ridge(problem: LeastSquares, ridge: float) -> LeastSquares:
    """The problem with another ridge; the rows of the Gram matrix are shared."""
    diagonal = problem.design.column_norms() ** 2 + ridge
    return replace(problem, ridge=ridge, diagonal=diagonal, negligible=problem.share * diagonal)


def solve_path(
    problem: LeastSquares,
    Y: Array,
    k_max: int,
    *,
    include: Sequence[int] = (),
    exclude: Sequence[int] = (),
    n_restarts: int = DEFAULT_PATH_RESTARTS,
    seed: int = 0,
    tol: float = 1e-9,
) -> list[PathPoint]:
    """Search for the best support of every size from 1, or that of ``include``, to ``k_max``.

    Parameters
    ----------
    problem : LeastSquares
        Its targets may be ``reduced_targets(Y)``.
    Y : array of shape (n, c)
        Centred; the coefficients are fitted to it.
    k_max : int
        The largest size, at most the number of features that are not excluded.
    include, exclude : sequence of int
        Features that must and must not be selected.
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
        of one feature for another lowers one of them.
    """
    excluded = np.zeros(problem.diagonal.size, dtype=bool)
    excluded[list(exclude)] = True
    sizes = _Sizes(problem, include, excluded, tol, k_max)
    sizes.settle()
    rng = np.random.default_rng(seed)
    for _ in range(n_restarts):
        sizes.kick(rng)
        sizes.settle()
    supports = [sizes.support(k) for k in range(max(1, len(include)), k_max + 1)]
    return _fitted(problem.design, Y, supports, problem.ridge)


class _Sizes:
    """The best support known of every size, and which of them their neighbours have not seen.

    Sizes count the features of a basis: the dependent ones of ``include`` are left out.
    """

    def __init__(
        self,
        problem: LeastSquares,
        include: Sequence[int],
        excluded: Mask,
        tol: float,
        k_max: int,
    ) -> None:
        first = SupportState(problem, capacity=k_max)
        for p in include:
            first.add(p)
        self.problem, self.include, self.excluded = problem, include, excluded
        self.fixed = list(first.basis)
        self.spare = len(include) - len(self.fixed)
        self.allowed = (problem.design.column_norms() > 0) & ~excluded
        self.allowed[list(include)] = False
        self.nothing = problem.eps * problem.total
        self.enough = max(tol, _ROUNDING * problem.eps) * problem.total
        self.best: dict[int, tuple[float, tuple[int, ...]]] = {}
        self.to_grow: set[int] = set()
        self.to_shorten: set[int] = set()
        self._greedy(first, k_max - self.spare)

    def _greedy(self, state: SupportState, largest: int) -> None:
        """Greedy supports of all sizes, with exchanges; the last size where more gain nothing."""
        state.inert = []
        self._offer(SupportState(self.problem, self.fixed))
        while len(state.basis) < largest:
            if not grow(state, len(state.basis) + 1, self.allowed, self.nothing):
                break
            self._offer(self._descended(SupportState(self.problem, state.basis)))

    def _descended(self, state: SupportState) -> SupportState:
        descend(state, self.enough, self.allowed, fixed=len(self.fixed))
        return state

    def _offer(self, state: SupportState) -> None:
        """Take a support if it is the best of its size."""
        size, objective = len(state.basis), state.objective
        known = self.best[size][0] if size in self.best else np.inf
        if objective < known - _TIE * self.problem.total:
            self.best[size] = objective, tuple(state.basis[len(self.fixed) :])
            self.to_grow.add(size)
            self.to_shorten.add(size)

    def _state(self, units: Sequence[int]) -> SupportState:
        capacity = len(self.fixed) + len(units) + 1
        state = SupportState(self.problem, [*self.fixed, *units], capacity=capacity)
        if state.basis[: len(self.fixed)] != self.fixed:  # rounding took one for dependent
            return SupportState(self.problem, self.fixed, capacity=capacity)
        state.inert = []
        return state

    def settle(self) -> None:
        """Grow and shorten until nothing changes."""
        low, high = min(self.best), max(self.best)
        self.to_grow.discard(high)
        self.to_shorten.discard(low)
        while self.to_grow or self.to_shorten:
            for size in range(low, high):
                if size in self.to_grow:
                    self.to_grow.remove(size)
                    self._regrow(self.best[size][1], size + 1)
            for size in range(high, low, -1):
                if size in self.to_shorten:
                    self.to_shorten.remove(size)
                    self._shorten(self.best[size][1])
            self.to_grow.discard(high)
            self.to_shorten.discard(low)

    def _regrow(self, units: Sequence[int], size: int, barred: Sequence[int] = ()) -> None:
        """Grow to a size, the first time by none of those barred, and exchange."""
        state = self._state(units)
        if barred:
            others = self.allowed.copy()
            others[list(barred)] = False
            grow(state, len(state.basis) + 1, others, self.nothing)
        if grow(state, size, self.allowed, self.nothing):
            self._offer(self._descended(state))

    def _shorten(self, units: Sequence[int]) -> None:
        """Without the feature that is missed least, and exchange."""
        state = self._state(units)
        costs = state.removal_costs()[len(self.fixed) :]
        if costs.size:
            state.remove(state.basis[len(self.fixed) + int(np.argmin(costs))])
            self._offer(self._descended(state))

    def kick(self, rng: np.random.Generator) -> None:
        """Replace some features of every support."""
        for size in sorted(self.best)[2:]:
            units = self.best[size][1]
            goes = rng.permutation(len(units))[: rng.integers(1, len(units) // 2 + 1)]
            barred = [units[i] for i in goes.tolist()]
            self._regrow([p for p in units if p not in barred], size, barred)

    def support(self, k: int) -> Index:
        """Exactly k features; the strongest ones fill up where more gain nothing."""
        strength = univariate_gains(self.problem.B, self.problem.diagonal)
        strength[self.excluded] = -np.inf
        size = min(k - self.spare, max(self.best))
        return np.sort(fill([*self.include, *self.best[size][1]], strength, self.allowed, k))


def _fitted(design: Design, Y: Array, supports: list[Index], ridge: float) -> list[PathPoint]:
    """The supports with their coefficients, computed from the columns themselves."""
    points: list[PathPoint] = []
    for support in supports:
        V, objective = least_squares_fit(design, Y, support, ridge=ridge)
        if points:  # what rises by a feature more is rounding
            objective = min(objective, points[-1].objective)
        loss = max(objective - ridge * float(np.vdot(V, V)), 0.0)
        points.append(PathPoint(support, V, objective, loss))
    return points
