"""Interleaved timing: the contestants take turns, so that a busy spell hits them all."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any


@dataclass
class Timed:
    """The seconds of every run of one contestant, and what the last run returned."""

    seconds: list[float] = field(default_factory=list)
    value: Any = None

    @property
    def best(self) -> float:
        return min(self.seconds)

    def run(self, call: Callable[[], Any], clock: Callable[[], float] = perf_counter) -> None:
        """Time one more call, with the garbage collector off as in ``timeit``."""
        gc.collect()
        gc.disable()
        try:
            start = clock()
            self.value = call()
            self.seconds.append(clock() - start)
        finally:
            gc.enable()


def race(
    contestants: Mapping[str, Callable[[], Any]],
    *,
    rounds: int,
    budget: float = 20.0,
    clock: Callable[[], float] = perf_counter,
) -> dict[str, Timed]:
    """Run every contestant once a round, in turn.

    A contestant that has used up ``budget`` seconds leaves after that run; each runs at least once.
    ``clock`` is ``time.process_time`` where what other programs do must not count.
    """
    timed = {name: Timed() for name in contestants}
    for _ in range(rounds):
        for name, call in contestants.items():
            if sum(timed[name].seconds) < budget:
                timed[name].run(call, clock)
    return timed


def ratio(slower: Timed, faster: Timed) -> float:
    """How many times the best of ``faster`` fits into the best of ``slower``."""
    return slower.best / faster.best


def ratio_range(slower: Timed, faster: Timed) -> str:
    """The least and the largest ratio within one round: how far the noise goes."""
    # The shorter list is that of a contestant that left early; its rounds are the first ones.
    ratios = [s / f for s, f in zip(slower.seconds, faster.seconds, strict=False)]
    return f"{min(ratios):.3g} to {max(ratios):.3g}"
