"""The k features with the least ridge regression objective, by greedy growth and exchange.

    minimise ||Y - X W||_F^2 + ridge ||W||_F^2   subject to   at most k rows of W are non-zero

Every start ends where no exchange of one selected feature for another one, with all coefficients
refitted, lowers the objective; :mod:`rowsparse.solvers.subset.starts` defines the starts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from rowsparse._arrays import Array, Index
from rowsparse._deadline import NO_DEADLINE, Deadline
from rowsparse.design import Design
from rowsparse.solvers.losses.squared import least_squares_fit
from rowsparse.solvers.solution import Monitor, silent
from rowsparse.solvers.subset.gram import GramProblem, reduced_targets
from rowsparse.solvers.subset.groups import local_search
from rowsparse.solvers.subset.local_search import SquaredSearch
from rowsparse.solvers.subset.rules import Rules
from rowsparse.solvers.subset.starts import MultiStartResult, run_starts
from rowsparse.solvers.subset.support import SupportState

# Exchanges end when none gains more than this share of ||Y||_F^2.
TOL = 1e-12
# The share of the starts that must end at the best support without a ridge, where starts that are
# much alike lead to the same local optimum more often.
_AGREEMENT_WITHOUT_RIDGE = 2 / 3


@dataclass(frozen=True)
class SearchResult:
    """The best support found, and how it was found.

    Attributes
    ----------
    support : array of int
        The features, sorted.
    objective : float
        The least objective on them, computed from the columns themselves.
    V, b : arrays of shape (len(support), c) and (c,)
        The coefficients and intercepts there; centred data have intercepts of zero.
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
    b: Array
    costs: Array
    gains: Array
    n_starts: int
    history: Array
    stopped_early: bool


def search(
    design: Design,
    Y: Array,
    k: int,
    *,
    ridge: float,
    include: Sequence[int],
    exclude: Sequence[int],
    groups: Sequence[Index] | None,
    n_restarts: int,
    seed: int,
    n_jobs: int | None,
    deadline: Deadline,
    monitor: Monitor = silent,
    problem: GramProblem | None = None,
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
        Features that must and must not be selected; with groups, they stand for their groups.
    groups : list of arrays of int or None
        Disjoint sets of features that are selected together; no other feature is selected.
    n_restarts : int
        Starts after the first, at least; see :func:`~rowsparse.solvers.subset.starts.run_starts`.
    seed : int
        Seed of the perturbations.
    n_jobs : int or None
        Threads for the perturbed starts, as in joblib; they do not change the answer.
    deadline : Deadline
        Once it has passed, only the greedy growth is completed.
    monitor : callable
        Called after every round with the best objective; the search ends when it returns True.
    problem : GramProblem, optional
        Of this design, these targets and this ridge, where searches for several k share it.

    Returns
    -------
    SearchResult
        Never worse than greedy selection. Of starts that tie, the support that comes first in
        lexicographic order.
    """
    if problem is None:
        problem = GramProblem.of(design, reduced_targets(Y), ridge=ridge, n_expected=k)
    local, outcome = started(
        problem,
        Rules.of(problem, k, include, exclude, TOL, deadline),
        groups,
        n_restarts,
        seed=seed,
        n_jobs=n_jobs,
        deadline=deadline,
        monitor=monitor,
    )
    supports = [local.support(units, k) for units in {outcome.best.units, outcome.first.units}]
    fits = [(least_squares_fit(design, Y, S, ridge=ridge), S) for S in supports]
    (V, objective), support = min(fits, key=lambda fit: fit[0][1])
    costs, gains = _changes(local.state(support))
    return SearchResult(
        support=support,
        objective=objective,
        V=V,
        b=np.zeros(Y.shape[1]),
        costs=costs,
        gains=gains,
        n_starts=outcome.n_starts,
        history=np.array([*outcome.history[:-1], objective]),
        stopped_early=outcome.stopped_early,
    )


def started(
    problem: GramProblem,
    rules: Rules,
    groups: Sequence[Index] | None,
    n_restarts: int,
    *,
    seed: int,
    n_jobs: int | None = None,
    deadline: Deadline = NO_DEADLINE,
    monitor: Monitor = silent,
) -> tuple[SquaredSearch, MultiStartResult]:
    """The local search of one size, and all its starts; parameters as in :func:`search`."""
    local = local_search(problem, rules, groups)
    return local, run_starts(
        local,
        n_restarts,
        seed=seed,
        n_jobs=n_jobs,
        deadline=deadline,
        monitor=monitor,
        refine=local.refine,
        agreement=0.0 if problem.ridge > 0 else _AGREEMENT_WITHOUT_RIDGE,
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
