"""Sets of choices of features, as the steps of a proof divide them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, islice
from typing import Protocol

import numpy as np

from rowsparse._arrays import Array, Index, Mask


@dataclass(frozen=True)
class Choices:
    """All choices of the features ``chosen`` and ``count`` more of those ``allowed``."""

    chosen: Index
    allowed: Mask
    count: int

    @property
    def is_empty(self) -> bool:
        """Whether there are none."""
        return self.count < 0 or self.count > int(self.allowed.sum())

    def without(self, out: Index, fixed: Index) -> Choices:
        """The choices without the features ``out`` and with the features ``fixed``."""
        if not (self.allowed[out].all() and self.allowed[fixed].all()):
            raise ValueError(
                "the proof does not hold: it screens or splits on a column that is not allowed."
            )
        allowed = self.allowed.copy()
        allowed[out] = allowed[fixed] = False
        return Choices(np.append(self.chosen, fixed), allowed, self.count - fixed.size)

    def batches(self, size: int) -> Iterator[Index]:
        """All of them, that many at a time, one a row."""
        free = combinations(np.flatnonzero(self.allowed).tolist(), self.count)
        while batch := list(islice(free, size)):
            rest = np.array(batch, dtype=np.intp).reshape(len(batch), self.count)
            yield np.hstack([np.tile(self.chosen, (len(batch), 1)), rest])


class LossBounds(Protocol):
    """What the data prove with one loss. Features are positions in the pool of a proof."""

    @property
    def total(self) -> float:
        """The objective of choosing nothing."""

    @property
    def n_targets(self) -> int:
        """Number of columns of the W of a dual point."""

    def bound(self, at: Index, W: Array, choices: Choices) -> tuple[float, Array]:
        """The bound of a W with the rows ``at`` over some choices, and the q of all features."""

    def last(self, choices: Choices) -> float:
        """The least objective with one or two more features, of all ways to choose them."""

    def every(self, choices: Choices) -> float:
        """The least objective of all choices, each from its own columns."""
