"""Sets of choices of columns, as the steps of a proof divide them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, islice

import numpy as np

from rowsparse._arrays import Array, Index, Mask
from rowsparse.certificate.proof import does_not_hold


@dataclass(frozen=True)
class Choices:
    """All choices of the columns ``chosen`` and ``count`` more of those ``allowed``."""

    chosen: Index
    allowed: Mask
    count: int

    @property
    def is_empty(self) -> bool:
        """Whether there are none."""
        return self.count < 0 or self.count > int(self.allowed.sum())

    def without(self, out: Index, fixed: Index) -> Choices:
        """The choices without the columns ``out`` and with the columns ``fixed``."""
        if not (self.allowed[out].all() and self.allowed[fixed].all()):
            raise does_not_hold("it screens or splits on a column that is not allowed")
        allowed = self.allowed.copy()
        allowed[out] = allowed[fixed] = False
        return Choices(np.append(self.chosen, fixed), allowed, self.count - fixed.size)

    def largest(self, q: Array) -> float:
        """The largest sum of scores of a choice."""
        largest = np.sort(q[self.allowed])[::-1][: self.count]
        return float(q[self.chosen].sum() + largest.sum())

    def batches(self, size: int) -> Iterator[Index]:
        """All of them, that many at a time, one a row."""
        free = combinations(np.flatnonzero(self.allowed).tolist(), self.count)
        while batch := list(islice(free, size)):
            rest = np.array(batch, dtype=np.intp).reshape(len(batch), self.count)
            yield np.hstack([np.tile(self.chosen, (len(batch), 1)), rest])
