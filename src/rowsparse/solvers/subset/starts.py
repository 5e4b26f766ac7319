"""Many starts of a local search, with the same answer for any number of workers.

The first start is greedy, the second a beam search, and all others perturb one of the best
selections known: some of its units are removed, and it is grown again. Perturbations come in
rounds of a fixed size, each with its own seed and from the best selections of earlier rounds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rowsparse._deadline import Deadline
from rowsparse.solvers.solution import Monitor
from rowsparse.solvers.subset.local_search import LocalOptimum, LocalSearch

# Perturbed starts that may run side by side.
_ROUND = 4
# The best selections that are kept, to be perturbed.
_MAX_KEPT = 8
# Kinds of perturbation, by turns: the largest share of units removed, and how often to exchange
# while growing; a share of 0 stands for a random selection of half the size.
_PERTURBATIONS = ((0.3, 1), (0.5, 3), (1.0, 3), (1.0, 0), (0.0, 0))
# If no more than this share of the units is left out, one start is enough.
_FEW_LEFT_OUT = 0.05
# Objectives closer than this share of the objective of selecting nothing are ties.
_TIE = 1e-13


@dataclass(frozen=True)
class Perturbation:
    """The arguments of :meth:`LocalSearch.run` for one start."""

    kept: tuple[int, ...]
    removed: tuple[int, ...]
    exchange_every: int


@dataclass(frozen=True)
class MultiStartResult:
    """What the starts led to.

    Attributes
    ----------
    first, best : LocalOptimum
        From the first start, and the best of all.
    n_starts : int
        Number of starts that were run.
    history : list of float
        The best objective after the first start, and after each round of others.
    stopped_early : bool
        Whether the deadline or the monitor ended the search.
    """

    first: LocalOptimum
    best: LocalOptimum
    n_starts: int
    history: list[float]
    stopped_early: bool


def run_starts(
    search: LocalSearch,
    n_restarts: int,
    *,
    seed: int,
    n_jobs: int | None,
    deadline: Deadline,
    monitor: Monitor,
) -> MultiStartResult:
    """The first start and ``n_restarts`` more, unless the deadline or the monitor ends them."""
    first = search.run((), (), 0)
    kept, history, n_starts = [first], [first.objective], 1
    stopped = deadline.expired() or monitor(first.objective)
    # If one unit is to be chosen or left out, the first start is optimal. If few are left out,
    # starts differ little and take long. If the first start is short, the fit is perfect.
    left_out = search.units.size - search.size
    few = search.size <= 1 or left_out <= max(1, _FEW_LEFT_OUT * search.units.size)
    if few or len(first.units) < search.size:
        n_restarts = 0
    while n_starts <= n_restarts and not stopped:
        if n_starts == 1:
            optima = [search.run_beam()]
        else:
            turns = range(n_starts - 2, min(n_starts - 2 + _ROUND, n_restarts - 1))
            starts = [_perturbed(search, kept, np.random.default_rng([seed, i]), i) for i in turns]
            optima = _run_all(search, starts, n_jobs)
        kept = best_optima([*kept, *optima], search.total)
        n_starts += len(optima)
        history.append(kept[0].objective)
        stopped = deadline.expired() or monitor(kept[0].objective)
    return MultiStartResult(first, kept[0], n_starts, history, stopped and n_starts <= n_restarts)


def _perturbed(
    search: LocalSearch, kept: list[LocalOptimum], rng: np.random.Generator, turn: int
) -> Perturbation:
    """One of the best selections, half of the time the very best, less a random part of it."""
    max_share, exchange_every = _PERTURBATIONS[turn % len(_PERTURBATIONS)]
    size = search.size
    if max_share == 0:
        drawn = rng.choice(search.units, size=max(1, size // 2), replace=False)
        return Perturbation(tuple(drawn.tolist()), (), exchange_every)
    units = kept[min(int(rng.geometric(0.5)), len(kept)) - 1].units
    n_removed = rng.integers(1, max(1, int(max_share * size)) + 1)
    removed = tuple(rng.permutation(units)[:n_removed].tolist())
    return Perturbation(tuple(p for p in units if p not in removed), removed, exchange_every)


def _run_all(
    search: LocalSearch, starts: list[Perturbation], n_jobs: int | None
) -> list[LocalOptimum]:
    arguments = [(start.kept, start.removed, start.exchange_every) for start in starts]
    if n_jobs in (None, 1) or len(starts) == 1:
        return [search.run(*one) for one in arguments]
    from joblib import Parallel, delayed

    calls = (delayed(search.run)(*one) for one in arguments)
    optima: list[LocalOptimum] = Parallel(n_jobs=n_jobs, require="sharedmem")(calls)
    return optima


def best_optima(optima: list[LocalOptimum], total: float) -> list[LocalOptimum]:
    """The few best, each once; ties are sorted by their units, in lexicographic order."""
    distinct = list({optimum.units: optimum for optimum in optima}.values())
    least = min(optimum.objective for optimum in distinct)
    slack = _TIE * total

    def rank(optimum: LocalOptimum) -> tuple[float, tuple[int, ...]]:
        return (max(optimum.objective, least + slack), optimum.units)

    return sorted(distinct, key=rank)[:_MAX_KEPT]
