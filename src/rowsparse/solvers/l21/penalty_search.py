"""The search for the penalty that leaves exactly k rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

import numpy as np


class HasRows(Protocol):
    """A solution with its number of non-zero rows."""

    @property
    def n_rows(self) -> int: ...


S = TypeVar("S", bound=HasRows)

# Two penalties closer than this, relatively, are taken for one: the count jumps between them.
_SAME_PENALTY = 1e-4


def search_penalty(
    solve: Callable[[float], S],
    upper: float,
    k: int,
    *,
    step: float = 0.5,
    lower: float = 1e-6,
    max_solves: int = 60,
) -> tuple[float, S]:
    """Find the penalty at which a solution has exactly k non-zero rows.

    Walks down from ``upper`` (where the solution is zero) by the factor ``step`` until at least
    k rows are in, then bisects on the logarithm. ``solve`` warm-starts itself from its last
    call. Where no penalty gives exactly k (several rows enter at once), the solution with the
    fewest rows above k is returned; where even ``lower * upper`` gives fewer, the last one.

    Returns
    -------
    penalty, solution
    """
    low, high = upper, upper
    for _ in range(max_solves):
        low, high = max(low * step, lower * upper), low
        best = solve(low)
        if best.n_rows >= k or low <= lower * upper:
            break
    penalty = low
    for _ in range(max_solves):
        if best.n_rows <= k or high / low <= 1 + _SAME_PENALTY:
            break
        middle = float(np.sqrt(low * high))
        trial = solve(middle)
        if trial.n_rows < k:
            high = middle
            continue
        low = middle
        if trial.n_rows <= best.n_rows:
            penalty, best = middle, trial
    return penalty, best
