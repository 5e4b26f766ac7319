"""How the objective and the bound of a proof came together over time."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

from rowsparse._arrays import Array

# With more points than this, every second one is dropped.
_MOST_POINTS = 2000


class ProofHistory:
    """Records the objective, the bound and the number of nodes, where one of the first two changes.

    Seconds count from the making of this object.
    """

    def __init__(self) -> None:
        self._start = perf_counter()
        self._points: list[tuple[float, float, float, int]] = []

    def record(self, objective: float, lower_bound: float, nodes: int) -> None:
        """Record the best objective and the highest bound so far."""
        if self._points:
            _, best, highest, _ = self._points[-1]
            objective, lower_bound = min(objective, best), max(lower_bound, highest)
            if (objective, lower_bound) == (best, highest):
                return
        self._points.append((perf_counter() - self._start, objective, lower_bound, nodes))
        if len(self._points) > _MOST_POINTS:
            del self._points[1:-1:2]

    def finished(
        self, objective: float, lower_bound: float, nodes: int, restored: Callable[[Any], Any]
    ) -> dict[str, Array]:
        """The columns by name, the end of the proof last, in the units of the data."""
        end = (perf_counter() - self._start, objective, lower_bound, nodes)
        seconds, objectives, bounds, counts = map(np.array, zip(*self._points, end, strict=True))
        return {
            "seconds": seconds,
            "objective": restored(objectives),
            "lower_bound": restored(bounds),
            "nodes": counts,
        }
