"""What a search for k features must respect, and when it ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from rowsparse._arrays import Index, Mask
from rowsparse._deadline import NO_DEADLINE, Deadline
from rowsparse.design import Design

# An exchange must gain more than this many rounding errors of the objective without features.
_ROUNDING = 16


class SubsetProblem(Protocol):
    """What the rules of a search depend on."""

    @property
    def design(self) -> Design:
        """X."""

    @property
    def eps(self) -> float:
        """The relative rounding error of the data."""

    @property
    def total(self) -> float:
        """The objective of selecting nothing."""


@dataclass(frozen=True)
class Rules:
    """How many units to select, which of them may be selected, and when to stop exchanging.

    Attributes
    ----------
    k : int
        Number of units (features, or groups of features) to select.
    include : tuple of int
        Features that must be selected.
    excluded : array of bool of shape (d,)
        Features that must not be selected.
    allowed : array of bool of shape (d,)
        Features that may enter: neither included nor excluded, nor a column of zeros.
    min_gain : float
        Exchanges that gain no more than this are not made.
    deadline : Deadline
        When to stop.
    """

    k: int
    include: tuple[int, ...]
    excluded: Mask
    allowed: Mask
    min_gain: float
    deadline: Deadline

    @classmethod
    def of(
        cls,
        problem: SubsetProblem,
        k: int,
        include: Sequence[int],
        exclude: Sequence[int],
        tol: float,
        deadline: Deadline = NO_DEADLINE,
    ) -> Rules:
        """Rules for a problem; ``tol`` is the least gain of an exchange as a share of its total."""
        excluded: Mask = np.zeros(problem.design.shape[1], dtype=bool)
        excluded[list(exclude)] = True
        allowed = (problem.design.column_norms() > 0) & ~excluded
        allowed[list(include)] = False
        min_gain = max(tol, _ROUNDING * problem.eps) * problem.total
        return cls(k, tuple(include), excluded, allowed, min_gain, deadline)

    def exclude_all_but(self, features: Index) -> None:
        """Exclude every feature that is not among these."""
        others = np.ones(self.allowed.size, dtype=bool)
        others[features] = False
        self.excluded[others] = True
        self.allowed[others] = False
