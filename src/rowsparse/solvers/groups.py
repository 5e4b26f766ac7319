"""Selection of whole groups of features, with exact block gains.

With F the features of the selected groups, adding the group g lowers the objective by
trace(R_g' S_g^+ R_g) for S_g = A_gg - A_gF A_FF^-1 A_Fg and R_g = B_g - A_gF A_FF^-1 B_F.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from rowsparse._arrays import Array, Index, Mask
from rowsparse.solvers.gram import LeastSquares, first_best
from rowsparse.solvers.starts import End
from rowsparse.solvers.support import SupportState


@dataclass(frozen=True)
class Rules:
    """What is asked for: k units, which may come in, and when to stop exchanging.

    ``excluded`` and ``allowed`` are masks over features: those that must not be selected, and
    those that may come in, which leaves out the included ones and columns of zeros.
    """

    k: int
    include: tuple[int, ...]
    excluded: Mask
    allowed: Mask
    enough: float
    late: Callable[[], bool]

    def bar_all_but(self, features: Index) -> None:
        """Exclude every feature that is not among these."""
        others = np.ones(self.allowed.size, dtype=bool)
        others[features] = False
        self.excluded[others] = True
        self.allowed[others] = False


class GroupEngine:
    """Starts over groups; an :class:`~rowsparse.solvers.starts.Engine`."""

    def __init__(self, problem: LeastSquares, rules: Rules, groups: Sequence[Index]) -> None:
        self._problem, self._rules = problem, rules
        self._groups = [np.sort(np.asarray(group, dtype=np.intp)) for group in groups]
        included = np.zeros(problem.diagonal.size, dtype=bool)
        included[list(rules.include)] = True
        has = [bool(included[group].any()) for group in self._groups]
        barred = [bool(rules.excluded[group].any()) for group in self._groups]
        self._fixed = tuple(g for g, inside in enumerate(has) if inside)
        self._open = np.array([not (a or b) for a, b in zip(has, barred, strict=True)])
        self._blocks = _Blocks.of(problem, self._groups)
        self.size = rules.k - len(self._fixed)
        self.units = np.flatnonzero(self._open)
        self.total = problem.total

    def run(self, kept: Sequence[int], barred: Sequence[int], pause: int) -> End:
        chosen = [*self._fixed, *kept]
        full = len(self._fixed) + self.size
        barred_now = list(barred)
        while len(chosen) < full:
            gains = self._gains(chosen)
            gains[barred_now] = -np.inf
            g = first_best(gains, self._problem.eps)
            if gains[g] <= self._problem.eps * self.total:
                if not barred_now:
                    break
                barred_now = []
                continue
            chosen, barred_now = [*chosen, g], []
            if pause and len(chosen) % pause == 0 and len(chosen) < full:
                chosen = self._exchange(chosen)
        chosen = self._exchange(chosen)
        return End(self._state(chosen).objective, tuple(sorted(chosen[len(self._fixed) :])))

    def run_beam(self) -> End:
        """Exchanges on the way up, in place of a beam."""
        return self.run((), (), 1)

    def _state(self, chosen: Sequence[int]) -> SupportState:
        return SupportState(self._problem, self._features(chosen))

    def _features(self, chosen: Sequence[int]) -> Index:
        return np.concatenate([np.empty(0, dtype=np.intp), *(self._groups[g] for g in chosen)])

    def _gains(self, chosen: Sequence[int], state: SupportState | None = None) -> Array:
        gains = self._blocks.gains(self._state(chosen) if state is None else state)
        gains[~self._open] = -np.inf
        gains[list(chosen)] = -np.inf
        return gains

    def _exchange(self, chosen: list[int]) -> list[int]:
        """Best exchanges of one group for another, until none gains enough."""
        objective = self._state(chosen).objective
        while not self._rules.late():
            best = (self._rules.enough, -1, -1)
            for i in range(len(self._fixed), len(chosen)):
                state = self._state([*chosen[:i], *chosen[i + 1 :]])
                gains = self._gains(chosen, state) - (state.objective - objective)
                g = first_best(gains, self._problem.eps)
                if gains[g] > best[0]:
                    best = (float(gains[g]), i, g)
            if best[1] < 0:
                break
            trial = [*chosen[: best[1]], best[2], *chosen[best[1] + 1 :]]
            reached = self._state(trial).objective
            if not reached < objective:  # a gain of rounding alone
                break
            chosen, objective = trial, reached
        return chosen

    def support(self, units: Sequence[int]) -> Index:
        """The features of exactly k groups: these, the fixed ones, and others if need be."""
        chosen = [*self._fixed, *units]
        strength = self._gains([], SupportState(self._problem))
        strength[chosen] = -np.inf
        missing = self._rules.k - len(chosen)
        others = np.argsort(-strength, kind="stable")[:missing].tolist()
        return np.sort(self._features([*chosen, *others]))


@dataclass(frozen=True)
class _Blocks:
    """The groups by their size: which they are, their features, and A_gg of each."""

    problem: LeastSquares
    n_groups: int
    parts: list[tuple[Index, Index, Array]]

    @classmethod
    def of(cls, problem: LeastSquares, groups: Sequence[Index]) -> _Blocks:
        sizes = np.array([len(group) for group in groups])
        parts = []
        for size in np.unique(sizes).tolist():
            which = np.flatnonzero(sizes == size)
            features = np.array([groups[g] for g in which.tolist()])
            A_gg = np.empty((which.size, size, size))
            for i, group in enumerate(features):
                columns = problem.design.columns(group).astype(np.float64, copy=False)
                A_gg[i] = columns.T @ columns
            A_gg[:, np.arange(size), np.arange(size)] += problem.ridge
            parts.append((which, features, A_gg))
        return cls(problem, len(groups), parts)

    def gains(self, state: SupportState) -> Array:
        """What adding each group would take off the objective of a state."""
        gains = np.zeros(self.n_groups)
        T, A_S = state.T, state.A_S
        for which, features, A_gg in self.parts:
            # One product a group: A_Sg' T_g.
            explained = np.matmul(
                A_S[:, features].transpose(1, 2, 0), T[:, features].transpose(1, 0, 2)
            )
            values, vectors = np.linalg.eigh(A_gg - explained)
            along = np.matmul(vectors.transpose(0, 2, 1), state.R[features])
            squares = np.einsum("gjc,gjc->gj", along, along)
            scale = np.einsum("gjj->gj", A_gg).max(axis=1, initial=0.0)
            useful = values > self.problem.share * scale[:, None]
            gains[which] = np.divide(squares, values, out=np.zeros_like(squares), where=useful).sum(
                axis=1
            )
        return gains
