"""The best supports of all sizes at once, each a start for the sizes next to it.

    minimise ||Y - X W||_F^2 + ridge ||W||_F^2   subject to   at most k rows of W are non-zero

for k = 1, 2, ... (or the rows of at most k groups). Greedy selection and the search for each size
alone give the first supports. A better support of size k is then grown to k + 1 and shrunk to
k - 1, with exchanges until none gains, until no size improves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from rowsparse._arrays import Array, Index
from rowsparse.design import Design
from rowsparse.solvers.losses.squared import least_squares_fit
from rowsparse.solvers.subset.gram import GramProblem
from rowsparse.solvers.subset.groups import local_search
from rowsparse.solvers.subset.local_search import LocalOptimum, LocalSearch
from rowsparse.solvers.subset.rules import Rules
from rowsparse.solvers.subset.search import TOL, started

# Exchanges end when none gains more than this share of ||Y||_F^2.
_TOL = 1e-9
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
    V, b : arrays of shape (len(support), c) and (c,)
        Their coefficients and intercepts; centred data have intercepts of zero.
    objective, loss : float
        The objective with and without the term of the ridge.
    """

    k: int
    support: Index
    V: Array
    b: Array
    objective: float
    loss: float


def solve_path(
    problem: GramProblem,
    Y: Array,
    k_max: int,
    *,
    include: Sequence[int],
    exclude: Sequence[int],
    groups: Sequence[Index] | None,
    n_restarts: int,
    seed: int,
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
        Features that must and must not be selected; with groups, they stand for their groups.
    groups : list of arrays of int or None
        Disjoint sets of features that are selected together; no other feature is selected.
    n_restarts, seed : int
        As in :func:`rowsparse.solvers.subset.search.search`, for every size.

    Returns
    -------
    list of PathPoint
        Their objectives never increase, are at most those of the search for each size alone, and
        no exchange of one feature (or group) for another lowers one of them.
    """
    rules = Rules.of(problem, k_max, include, exclude, _TOL)

    def alone(k: int) -> list[LocalOptimum]:
        own = Rules.of(problem, k, include, exclude, TOL)
        _, outcome = started(problem, own, groups, n_restarts, seed=seed)
        return [outcome.best, outcome.first]

    supports = best_supports(local_search(problem, rules, groups), k_max, alone)
    return _fitted(problem.design, Y, supports, problem.ridge)


def best_supports(
    search: LocalSearch, k_max: int, alone: Callable[[int], list[LocalOptimum]]
) -> dict[int, Index]:
    """The best support of every size that a local search finds, by size.

    ``alone`` has what the search for one size finds.
    """
    sizes = _BestOfEverySize(search)
    sizes.propagate()
    smallest = max(1, search.n_fixed)
    for k in range(smallest, k_max + 1):
        for optimum in alone(k):
            sizes.offer(optimum)
    sizes.propagate()
    return {k: sizes.support(k) for k in range(smallest, k_max + 1)}


class _BestOfEverySize:
    """The best selection known of every size.

    ``to_grow`` and ``to_shrink`` are the sizes whose selections are not yet known to the
    next larger and the next smaller size.
    """

    def __init__(self, search: LocalSearch) -> None:
        self._search = search
        self.best: dict[int, LocalOptimum] = {}
        self.to_grow: set[int] = set()
        self.to_shrink: set[int] = set()
        for optimum in search.greedy_path():
            self.offer(optimum)

    def offer(self, optimum: LocalOptimum | None) -> None:
        """Take a selection if it is the best of its size."""
        if optimum is None:
            return
        size = len(optimum.units)
        known = self.best[size].objective if size in self.best else np.inf
        if optimum.objective < known - _TIE * self._search.total:
            self.best[size] = optimum
            self.to_grow.add(size)
            self.to_shrink.add(size)

    def propagate(self) -> None:
        """Grow and shrink new selections until no size improves."""
        low, high = min(self.best), max(self.best)
        self.to_grow.discard(high)
        self.to_shrink.discard(low)
        while self.to_grow or self.to_shrink:
            for size in range(low, high):
                if size in self.to_grow:
                    self.to_grow.remove(size)
                    self.offer(self._search.regrow(self.best[size].units, (), size + 1))
            for size in range(high, low, -1):
                if size in self.to_shrink:
                    self.to_shrink.remove(size)
                    self.offer(self._search.shrink(self.best[size].units))
            self.to_grow.discard(high)
            self.to_shrink.discard(low)

    def support(self, k: int) -> Index:
        """The features of exactly k units."""
        size = min(k - self._search.n_fixed, max(self.best))
        return self._search.support(self.best[size].units, k)


def _fitted(design: Design, Y: Array, supports: dict[int, Index], ridge: float) -> list[PathPoint]:
    """The supports by size with their coefficients, computed from the columns themselves."""
    points: list[PathPoint] = []
    for k, support in supports.items():
        V, objective = least_squares_fit(design, Y, support, ridge=ridge)
        if points:  # one unit more cannot raise the objective but by rounding
            objective = min(objective, points[-1].objective)
        loss = max(objective - ridge * float(np.vdot(V, V)), 0.0)
        points.append(PathPoint(k, support, V, np.zeros(V.shape[1]), objective, loss))
    return points
