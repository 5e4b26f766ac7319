"""Many starts of a local search, and the same answer for any number of workers.

The first start is greedy, the second a beam search, and all others kick one of the best
selections known: some of its units go, and it is grown again. Kicks come in rounds of a fixed
size, each with a seed of its own and from the best selections of the rounds before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from rowsparse._arrays import Index
from rowsparse.solvers.solution import Monitor

# Kicks that may run side by side.
_ROUND = 4
# The best selections that are kept, to be kicked.
_ELITE = 8
# Kinds of kicks, by turns: the largest share that goes, and the pause of the growth; a share of
# 0 is a random selection of half the size.
_KICKS = ((0.3, 1), (0.5, 3), (1.0, 3), (1.0, 0), (0.0, 0))
# Up to this share of the units to leave out, one start will do.
_FEW_LEFT_OUT = 0.05
# Objectives closer than this share of the objective of nothing are ties.
_TIE = 1e-13


@dataclass(frozen=True)
class End:
    """Where a start ended: the units selected (features or groups), sorted, and the objective."""

    objective: float
    units: tuple[int, ...]


class Engine(Protocol):
    """One start after another, over features or over groups of them."""

    @property
    def size(self) -> int:
        """How many units are to be chosen."""

    @property
    def units(self) -> Index:
        """Those to choose from."""

    @property
    def total(self) -> float:
        """The objective of choosing nothing."""

    def run(self, kept: Sequence[int], barred: Sequence[int], pause: int) -> End:
        """Grow ``kept`` to full size and exchange until nothing gains.

        The first unit to come in is none of those ``barred``. At every ``pause``-th size on the
        way up there are exchanges too; never with a pause of 0.
        """

    def run_beam(self) -> End:
        """Grow several selections side by side, and exchange in the best of them."""


@dataclass(frozen=True)
class Kick:
    """What a start begins with; see :meth:`Engine.run`."""

    kept: tuple[int, ...]
    barred: tuple[int, ...]
    pause: int


@dataclass(frozen=True)
class Outcome:
    """The first end and the best one; the best objective after each round, the first included."""

    first: End
    best: End
    n_starts: int
    history: list[float]
    stopped_early: bool


def run_starts(
    engine: Engine,
    n_restarts: int,
    *,
    seed: int,
    n_jobs: int | None,
    late: Callable[[], bool],
    monitor: Monitor,
) -> Outcome:
    """The first start and ``n_restarts`` more, fewer if it gets ``late`` or the monitor says so."""
    first = engine.run((), (), 0)
    elite, history, n_starts = [first], [first.objective], 1
    stopped = late() or monitor(first.objective)
    # One unit to choose, or to leave out, is found by trying all; with few to leave out, starts
    # differ by little and take long; and once nothing is left to gain, more cannot help.
    left_out = engine.units.size - engine.size
    few = engine.size <= 1 or left_out <= max(1, _FEW_LEFT_OUT * engine.units.size)
    if few or len(first.units) < engine.size:
        n_restarts = 0
    while n_starts <= n_restarts and not stopped:
        if n_starts == 1:
            ends = [engine.run_beam()]
        else:
            turns = range(n_starts - 2, min(n_starts - 2 + _ROUND, n_restarts - 1))
            kicks = [_kick(engine, elite, np.random.default_rng([seed, i]), i) for i in turns]
            ends = _run_all(engine, kicks, n_jobs)
        elite = best_ends([*elite, *ends], engine.total)
        n_starts += len(ends)
        history.append(elite[0].objective)
        stopped = late() or monitor(elite[0].objective)
    return Outcome(first, elite[0], n_starts, history, stopped and n_starts <= n_restarts)


def _kick(engine: Engine, elite: list[End], rng: np.random.Generator, turn: int) -> Kick:
    """One of the best selections, half of the time the very best, less a random part of it."""
    most, pause = _KICKS[turn % len(_KICKS)]
    size = engine.size
    if most == 0:
        drawn = rng.choice(engine.units, size=max(1, size // 2), replace=False)
        return Kick(tuple(drawn.tolist()), (), pause)
    units = elite[min(int(rng.geometric(0.5)), len(elite)) - 1].units
    goes = rng.integers(1, max(1, int(most * size)) + 1)
    barred = tuple(rng.permutation(units)[:goes].tolist())
    return Kick(tuple(p for p in units if p not in barred), barred, pause)


def _run_all(engine: Engine, kicks: list[Kick], n_jobs: int | None) -> list[End]:
    if n_jobs in (None, 1) or len(kicks) == 1:
        return [engine.run(kick.kept, kick.barred, kick.pause) for kick in kicks]
    from joblib import Parallel, delayed

    tasks = (delayed(engine.run)(kick.kept, kick.barred, kick.pause) for kick in kicks)
    ends: list[End] = Parallel(n_jobs=n_jobs, require="sharedmem")(tasks)
    return ends


def best_ends(ends: list[End], total: float) -> list[End]:
    """The few best, each once; those that tie in lexicographic order of what they select."""
    distinct = list({end.units: end for end in ends}.values())
    least = min(end.objective for end in distinct)
    slack = _TIE * total

    def rank(end: End) -> tuple[float, tuple[int, ...]]:
        return (max(end.objective, least + slack), end.units)

    return sorted(distinct, key=rank)[:_ELITE]
