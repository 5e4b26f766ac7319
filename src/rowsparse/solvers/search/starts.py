"""Many starts of a local search, with the same answer for any number of workers.

The first start is greedy, the second a beam search or growth beyond the size and back, and all
others perturb one of the best selections known: some of its units are removed, and it is grown
again. Perturbations come in rounds of a fixed size, each with its own seed and from the best
selections of earlier rounds.

If the first few starts end at one selection, the others are left out. If few end at the
best one, there are many local optima and better ones are likely. The search then goes on while it
improves: half of the starts begin with the units that two of the
best selections share, and the result of each is refined.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from rowsparse.solvers.problem import Options, Selection
from rowsparse.solvers.search.local import TIE, LocalSearch, best_selections

# Perturbed starts that may run side by side, and refined ones.
_ROUND, _REFINED_ROUND = 4, 8
# Kinds of perturbation, by turns: the largest share of units removed, and how often to exchange
# while growing; a share of 0 stands for a random selection of half the size.
_PERTURBATIONS = ((0.3, 1), (0.5, 3), (1.0, 3), (1.0, 0), (0.0, 0))
# Where agreement is trusted, no more starts follow once this number of them have all ended at one
# selection: the first where gains are exact, the second elsewhere, where a start leads less far.
_UNANIMOUS = 3, 7
# The search goes on if fewer starts than this end at the best selection, up to ten times the
# number of restarts; if more do but are not trusted, at first for a part of that number.
_AGREEING, _MAX_ROUNDS, _TRIAL_SHARE = 2, 10, 0.4
# Of the units that only one of two selections has, the share that is kept, and of all of them.
_KEPT_OF_ONE, _KEPT_OF_ALL = 0.5, 0.85
# If no more than this share of the units is left out, one start is enough.
_FEW_LEFT_OUT = 0.05


@dataclass(frozen=True)
class Perturbation:
    """The arguments of :meth:`LocalSearch.run` for one start."""

    kept: tuple[int, ...]
    removed: tuple[int, ...]
    exchange_every: int

    def is_far(self, size: int) -> bool:
        """Whether at most half of the units are kept; less change often leads straight back."""
        return 2 * len(self.kept) <= size


@dataclass(frozen=True)
class MultiStartResult:
    """The results of the starts.

    Attributes
    ----------
    first, best : Selection
        From the first start, and the best of all.
    n_starts : int
        Number of starts that were run.
    history : list of float
        The best objective after the first start, and after each round of others.
    stopped_early : bool
        Whether the deadline or the monitor ended the search.
    """

    first: Selection
    best: Selection
    n_starts: int
    history: list[float]
    stopped_early: bool


def run_starts(
    search: LocalSearch, options: Options, *, trusts_agreement: bool = True, goes_on: bool = False
) -> MultiStartResult:
    """The first start and ``n_restarts`` more, unless the deadline or the monitor ends them.

    If it ``trusts_agreement``, none follow once three or more (seven where gains are not exact)
    have all ended at one selection, but of groups, whose starts are much alike.

    If it ``goes_on``, and if fewer than two of these starts (those that keep more than half of a
    selection not counted) end at the best selection, refined starts follow until ``n_restarts`` of
    them in a row find nothing better; in all there are at most ten times ``n_restarts``. If more
    starts than that do and are not trusted, refined starts end after two fifths of ``n_restarts``
    if these find nothing better.
    """
    n_restarts = options.n_restarts
    starts = _Starts(search, options)
    first = starts.kept[0]
    # If one unit is to be chosen or left out, the first start is optimal. If few are left out,
    # starts differ little and take long. If the first start is short, the fit is perfect.
    left_out = search.units.size - search.size
    few = search.size <= 1 or left_out <= max(1, _FEW_LEFT_OUT * search.units.size)
    unfinished = False
    if n_restarts and not few and len(first.units) == search.size:
        ends_early = trusts_agreement and search.choices.groups is None
        unfinished = starts.restart(n_restarts, ends_early=ends_early)
        if not unfinished and goes_on:
            unfinished = starts.go_on(n_restarts, trusts_agreement)
    return MultiStartResult(first, starts.kept[0], starts.n_starts, starts.history, unfinished)


class _Starts:
    """The starts so far: the best selections, the best objective after every round of starts."""

    def __init__(self, search: LocalSearch, options: Options) -> None:
        self._search, self._options = search, options
        self.kept: list[Selection] = []
        self.history: list[float] = []
        self.n_starts = 0
        # The objectives that starts reached which are no small changes of a selection.
        self._reached: list[float] = []
        self._record([search.run((), (), 0)], [True])

    def restart(self, n_restarts: int, *, ends_early: bool) -> bool:
        """A beam search and perturbations; whether the deadline or the monitor ended them."""
        while self.n_starts <= n_restarts and not (ends_early and self._is_unanimous()):
            if self._stopped:
                return True
            if self.n_starts == 1:
                self._record([self._search.run_beam(self.kept[0])], [True])
            else:
                self._perturb(n_restarts + 1 - self.n_starts)
        return False

    def _is_unanimous(self) -> bool:
        enough = _UNANIMOUS[0 if self._search.states.exact else 1]
        return self.n_starts >= enough and len(self.kept) == 1

    def _doubtful_for(self, n_restarts: int, trusts_agreement: bool) -> int:
        """The number of refined starts without an improvement that ends the search."""
        level = self.kept[0].objective + TIE * self._search.total
        if sum(objective <= level for objective in self._reached) < _AGREEING:
            return n_restarts
        return 0 if trusts_agreement else math.ceil(_TRIAL_SHARE * n_restarts)

    def go_on(self, n_restarts: int, trusts_agreement: bool) -> bool:
        """Refined starts while they find better; whether they were ended early."""
        left = self._doubtful_for(n_restarts, trusts_agreement)
        most = _MAX_ROUNDS * n_restarts + 1
        while left > 0 and not self._stopped:
            best = self.kept[0].objective
            before = self.n_starts
            self._refine(left)
            left -= self.n_starts - before
            if self.kept[0].objective < best - TIE * self._search.total:
                left = n_restarts
            left = min(left, most - self.n_starts)
        return left > 0

    def _perturb(self, most: int) -> None:
        """A round of perturbations, but no more than ``most``; one alone at first."""
        first = self.n_starts - 2
        starts = []
        for turn in range(first, first + min(_ROUND if first else 1, most)):
            rng = np.random.default_rng([self._options.seed, turn])
            starts.append(_perturbed(self._search, self.kept, rng, turn))
        far = [start.is_far(self._search.size) for start in starts]
        self._record(self._run(starts), far)

    def _refine(self, most: int) -> None:
        """A round of refined starts, but no more than ``most``."""
        first = self.n_starts - 2
        rng = np.random.default_rng([self._options.seed, first])
        starts = []
        for turn in range(first, first + min(_REFINED_ROUND, most)):
            crossed = turn % 2 == 0 and len(self.kept) > 1
            change = _crossed if crossed else _perturbed
            starts.append(change(self._search, self.kept, rng, turn))
        ends = self._run(starts)
        full = [one for one in ends if len(one.units) == self._search.size]
        others = [self.kept[i] for i in rng.integers(len(self.kept), size=len(full)).tolist()]
        refined = self._search.refine(full, others, rng) if full else []
        short = [one for one in ends if len(one.units) < self._search.size]
        self._record([*refined, *short], [False] * len(ends))

    def _run(self, starts: list[Perturbation]) -> list[Selection]:
        run = self._search.run
        calls = [partial(run, s.kept, s.removed, s.exchange_every) for s in starts]
        return _run_all(calls, self._options.n_jobs)

    def _record(self, ends: list[Selection], far: list[bool]) -> None:
        """Count a round of starts."""
        self._reached += [one.objective for one, is_far in zip(ends, far, strict=True) if is_far]
        self.kept = best_selections([*self.kept, *ends], self._search.total)
        self.n_starts += len(ends)
        self.history.append(self.kept[0].objective)
        options = self._options
        self._stopped = options.deadline.expired() or options.monitor(self.history[-1])


def _perturbed(
    search: LocalSearch, kept: list[Selection], rng: np.random.Generator, turn: int
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


def _crossed(
    search: LocalSearch, kept: list[Selection], rng: np.random.Generator, turn: int
) -> Perturbation:
    """Most of the common units of two of the best selections, and some of their other units."""
    one, other = (kept[i].units for i in rng.choice(len(kept), 2, replace=False).tolist())
    shared = [p for p in one if p in other]
    single = [p for p in (*one, *other) if (p in one) != (p in other)]
    drawn = rng.random(len(single)) < _KEPT_OF_ONE
    units = [*shared, *(p for p, is_kept in zip(single, drawn, strict=True) if is_kept)]
    left = rng.random(len(units)) < _KEPT_OF_ALL
    chosen = [p for p, is_kept in zip(units, left, strict=True) if is_kept]
    return Perturbation(tuple(chosen[: search.size]), (), 0)


def _run_all(calls: Sequence[Callable[[], Selection]], n_jobs: int | None) -> list[Selection]:
    if n_jobs in (None, 1) or len(calls) == 1:
        return [call() for call in calls]
    from joblib import Parallel, delayed

    ends: list[Selection] = Parallel(n_jobs=n_jobs, require="sharedmem")(
        delayed(call)() for call in calls
    )
    return ends
