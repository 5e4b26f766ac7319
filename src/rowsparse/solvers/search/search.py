"""Search for the k units with the least objective, by growth and exchange, for one k or every k.

Every start ends where no exchange of one selected unit for another one, with all coefficients
refitted, lowers the objective; :mod:`rowsparse.solvers.search.starts` defines the starts. For
every k at once, a better support of size k is also grown to k + 1 and shrunk to k - 1.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rowsparse._arrays import Array, Index
from rowsparse.solvers.losses.newton import NewtonLoss
from rowsparse.solvers.losses.squared import SquaredLoss
from rowsparse.solvers.problem import Fit, Options, Outcome, Problem, Selection
from rowsparse.solvers.search.gram import GramProblem, reduced_targets
from rowsparse.solvers.search.gram_state import GramColumns
from rowsparse.solvers.search.groups import GramGroups
from rowsparse.solvers.search.local import LocalSearch, States, best_selections
from rowsparse.solvers.search.newton_state import NewtonColumns, NewtonGroups
from rowsparse.solvers.search.starts import MultiStartResult, run_starts

# A support is better if it takes more than this share of the objective of selecting nothing off.
_TIE = 1e-12


def states_of(problem: Problem, gram: GramProblem | None = None) -> States:
    """The supports of a problem, in the form that its loss has; see :func:`search`."""
    loss, grouped = problem.loss, problem.choices.groups is not None
    if isinstance(loss, NewtonLoss):
        return NewtonGroups(problem) if grouped else NewtonColumns(problem)
    if not isinstance(loss, SquaredLoss):
        raise TypeError(
            f"The search needs the squared loss or one with a curvature (a NewtonLoss), "
            f"not {type(loss).__name__}."
        )
    if gram is None:
        Y, n_expected = reduced_targets(loss.Y), problem.choices.k
        gram = GramProblem.from_design(loss.design, Y, ridge=problem.ridge, n_expected=n_expected)
    return GramGroups(problem, gram) if grouped else GramColumns(problem, gram)


def search(problem: Problem, options: Options, gram: GramProblem | None = None) -> Outcome:
    """Search for the choice with the least objective.

    Parameters
    ----------
    problem : Problem
        Of the squared loss, its data centred, or of a loss with a curvature.
    options : Options
        Once the deadline has passed, only the greedy growth is completed. The monitor is called
        after every round.
    gram : GramProblem, optional
        For the squared loss: of these data and this ridge, where several searches share it.

    Returns
    -------
    Outcome
        Never worse than greedy selection. Of starts that tie, the support that comes first in
        lexicographic order. Where gains are not exact and unless time was up, no exchange of
        positive gain in the second-order model at the fit, nor another one of the most promising,
        lowers the objective.
    """
    states, k = states_of(problem, gram), problem.choices.k
    local, found = _started(states, problem, options)
    ends, settled = _settled(local, found)
    fits = [states.fit(local.support(end.units, k)) for end in ends]
    fit = min(fits, key=lambda fit: fit.objective)
    costs, gains = local.changes(fit)
    return Outcome(
        fit=fit,
        costs=costs,
        gains=gains,
        n_starts=found.n_starts,
        history=_falling([*found.history[:-1], fit.objective]),
        stopped_early=found.stopped_early or not settled,
    )


def with_support(problem: Problem, outcome: Outcome, support: Index) -> Outcome:
    """The outcome with another support in the place of the one that was found."""
    states = states_of(problem)
    fit = states.fit(support)
    costs, gains = states.changes(fit)
    history = _falling([*outcome.history, fit.objective])
    return replace(outcome, fit=fit, costs=costs, gains=gains, history=history)


def refit(problem: Problem, support: Index, gram: GramProblem | None = None) -> Fit:
    """The fit on a support, from its columns and to full accuracy."""
    return states_of(problem, gram).fit(support)


def grown(problem: Problem, fit: Fit, gram: GramProblem | None = None) -> Fit:
    """A fit on more units than another one has, exchanged until nothing gains."""
    choices, local = problem.choices, LocalSearch(states_of(problem, gram))
    units = np.setdiff1d(choices.owner[fit.support], choices.fixed).tolist()
    found = local.regrow(units, choices.n_free)
    return local.states.fit(local.support(units if found is None else found.units, choices.k))


def _started(
    states: States, problem: Problem, options: Options
) -> tuple[LocalSearch, MultiStartResult]:
    """The local search of one size, and all its starts."""
    local = LocalSearch(states, options.deadline)
    # Without a ridge, starts that are much alike lead to the same local optimum more often.
    trusts = problem.ridge > 0
    return local, run_starts(local, options, trusts_agreement=trusts, goes_on=states.exact)


def _settled(local: LocalSearch, found: MultiStartResult) -> tuple[list[Selection], bool]:
    """The selections among which the best is, and whether no exchange that gains is left."""
    # The first start may lead further than a better one, and then restarts would do harm.
    ends = [found.best]
    if found.first.units != found.best.units:
        ends.append(found.first)
    if local.states.exact:
        return ends, True
    if found.stopped_early:
        return ends[:1], True
    confirmed = [local.confirmed(end) for end in ends]
    best = best_selections([end for end, _ in confirmed], local.total)[:1]
    return best, all(is_settled for _, is_settled in confirmed)


def _falling(objectives: list[float]) -> Array:
    """The objectives without rises, which are rounding, and none below the last."""
    return np.maximum(np.minimum.accumulate(objectives), objectives[-1])


def path(problem: Problem, options: Options, gram: GramProblem | None = None) -> dict[int, Fit]:
    """Search for the best choice of every size from 1, or that of the fixed units, to ``k``.

    The parameters are those of :func:`search`; every size has ``n_restarts`` starts of its own.
    Objectives never increase, are at most those of the search for each size alone, and no
    exchange of one unit for another lowers one of them.
    """
    states, choices = states_of(problem, gram), problem.choices
    sizes = _BestOfEverySize(LocalSearch(states, options.deadline))
    sizes.propagate()
    all_k = range(max(1, choices.fixed.size), choices.k + 1)
    for k in all_k:
        for selection in _settled(*_started(states.with_size(k), problem, options))[0]:
            sizes.offer(selection)
    sizes.propagate()
    fits: dict[int, Fit] = {}
    least = np.inf
    for k in all_k:
        fit = states.fit(sizes.support(k))
        least = min(least, fit.objective)  # one unit more cannot raise it but by rounding
        fits[k] = replace(fit, objective=least, P=None)
    return fits


class _BestOfEverySize:
    """The best selection known of every size.

    ``to_grow`` and ``to_shrink`` are the sizes whose selections are not yet known to the
    next larger and the next smaller size.
    """

    def __init__(self, search: LocalSearch) -> None:
        self._search = search
        self.best: dict[int, Selection] = {}
        self.to_grow: set[int] = set()
        self.to_shrink: set[int] = set()
        for optimum in search.greedy_path():
            self.offer(optimum)

    def offer(self, optimum: Selection | None) -> None:
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
                    self.offer(self._search.regrow(self.best[size].units, size + 1))
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
