"""Local search over whole groups of features, with exact block gains.

With F the features of the selected groups, adding the group g lowers the objective by
trace(R_g' S_g^+ R_g) for S_g = A_gg - A_gF A_FF^-1 A_Fg and R_g = B_g - A_gF A_FF^-1 B_F.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np
from scipy.linalg import solve_triangular

from rowsparse._arrays import Array, Index, Mask
from rowsparse.solvers.subset.features import FeatureSearch
from rowsparse.solvers.subset.gram import GramProblem, first_best, safe_ratio
from rowsparse.solvers.subset.local_search import LocalOptimum, SquaredSearch
from rowsparse.solvers.subset.rules import Rules
from rowsparse.solvers.subset.starts import best_optima
from rowsparse.solvers.subset.support import SupportState

# Numbers held at a time when exchanges are scored.
_ENTRIES = 1 << 22


def local_search(
    problem: GramProblem, rules: Rules, groups: Sequence[Index] | None
) -> SquaredSearch:
    """The search over features, or over groups if any has more than one."""
    if groups is None or all(len(group) == 1 for group in groups):
        if groups is not None:
            rules.exclude_all_but(np.concatenate(groups))
        return FeatureSearch(problem, rules)
    return GroupSearch(problem, rules, groups)


@dataclass(frozen=True)
class GroupRules:
    """Groups of features, and which of them must or may be selected.

    Features to include and to exclude stand for their groups.
    """

    groups: list[Index]
    fixed: tuple[int, ...]
    allowed: Mask

    @classmethod
    def of(cls, rules: Rules, groups: Sequence[Index]) -> GroupRules:
        parts = [np.sort(np.asarray(group, dtype=np.intp)) for group in groups]
        included = np.zeros(rules.excluded.size, dtype=bool)
        included[list(rules.include)] = True
        fixed = np.array([included[part].any() for part in parts])
        excluded = np.array([rules.excluded[part].any() for part in parts])
        return cls(parts, tuple(np.flatnonzero(fixed).tolist()), ~(fixed | excluded))

    def features(self, chosen: Sequence[int]) -> Index:
        """The features of some groups, one group after the other."""
        return np.concatenate([np.empty(0, dtype=np.intp), *(self.groups[g] for g in chosen)])

    def starts(self, chosen: Sequence[int]) -> list[int]:
        """Where the features of each of some groups begin, and where those of the last end."""
        starts: list[int] = np.cumsum([0, *(self.groups[g].size for g in chosen)]).tolist()
        return starts


class GroupSearch:
    """A :class:`~rowsparse.solvers.subset.local_search.LocalSearch` over whole groups."""

    def __init__(self, problem: GramProblem, rules: Rules, groups: Sequence[Index]) -> None:
        self._problem, self._rules = problem, rules
        grouped = GroupRules.of(rules, groups)
        self._groups, self._fixed, self._allowed = grouped.groups, grouped.fixed, grouped.allowed
        self._features, self._starts = grouped.features, grouped.starts
        self._blocks = GroupBlocks.of(problem, self._groups)
        self.n_fixed = len(self._fixed)
        self.size = rules.k - self.n_fixed
        self.units = np.flatnonzero(self._allowed)
        self.total = problem.total

    def run(self, kept: Sequence[int], removed: Sequence[int], exchange_every: int) -> LocalOptimum:
        return self._grown(kept, removed, self.size, exchange_every)

    def run_beam(self) -> LocalOptimum:
        """Growth with exchanges at every size, which replaces a beam."""
        return self.run((), (), 1)

    def refine(
        self,
        optima: Sequence[LocalOptimum],
        others: Sequence[LocalOptimum],
        rng: np.random.Generator,
    ) -> list[LocalOptimum]:
        """Without exchanges that raise the objective, which cost too much for groups."""
        return [self._joined(one, other) for one, other in zip(optima, others, strict=True)]

    def _joined(self, optimum: LocalOptimum, other: LocalOptimum) -> LocalOptimum:
        units: Sequence[int] = sorted({*optimum.units, *other.units})
        while len(units) > self.size and not self._rules.deadline.expired():
            units = self._without_weakest(units)
        if len(units) > self.size:
            return optimum
        return best_optima([optimum, self._grown(units, (), self.size)], self.total)[0]

    def greedy_path(self) -> Iterator[LocalOptimum]:
        units: tuple[int, ...] = ()
        yield self._grown((), (), 0)
        for size in range(1, self.size + 1):
            g = self._best_addition([*self._fixed, *units], ())
            if g is None:
                return
            units = (*units, g)
            yield self._grown(units, (), size)

    def regrow(self, kept: Sequence[int], removed: Sequence[int], size: int) -> LocalOptimum | None:
        optimum = self._grown(kept, removed, size)
        return optimum if len(optimum.units) == size else None

    def shrink(self, units: Sequence[int]) -> LocalOptimum:
        fewer = self._without_weakest(units)
        return self._grown(fewer, (), len(fewer))

    def support(self, units: Sequence[int], k: int) -> Index:
        chosen = [*self._fixed, *units]
        strength = self._gains([], SupportState(self._problem))
        strength[chosen] = -np.inf
        others = np.argsort(-strength, kind="stable")[: k - len(chosen)].tolist()
        return np.sort(self._features([*chosen, *others]))

    def state(self, support: Index) -> SupportState:
        return SupportState(self._problem, support)

    def _without_weakest(self, units: Sequence[int]) -> Sequence[int]:
        """The units but the one whose removal costs least."""
        fixed = [*self._fixed]
        state = self._state([*fixed, *units])
        if state.inert:
            others = [[*units[:i], *units[i + 1 :]] for i in range(len(units))]
            costs = [self._state([*fixed, *left]).objective for left in others]
        else:
            starts = self._starts([*fixed, *units])[len(fixed) :]
            costs = [_removal_cost(state, slice(*ends)) for ends in pairwise(starts)]
        least = int(np.argmin(costs))
        return (*units[:least], *units[least + 1 :])

    def _grown(
        self, kept: Sequence[int], removed: Sequence[int], size: int, exchange_every: int = 0
    ) -> LocalOptimum:
        """``kept`` grown to a size, or as far as groups gain, and then exchanged."""
        chosen = [*self._fixed, *kept]
        full = self.n_fixed + size
        while len(chosen) < full:
            g = self._best_addition(chosen, removed)
            if g is None and not removed:
                break
            removed = ()
            if g is None:
                continue
            chosen = [*chosen, g]
            if exchange_every and len(chosen) % exchange_every == 0 and len(chosen) < full:
                chosen = self._exchange(chosen)
        chosen = self._exchange(chosen)
        units = tuple(chosen[self.n_fixed :])
        return LocalOptimum(self._state(chosen).objective, units).in_order()

    def _best_addition(self, chosen: Sequence[int], barred: Sequence[int]) -> int | None:
        """The group, none of ``barred``, that gains most; None if none gains anything."""
        gains = self._gains(chosen)
        gains[list(barred)] = -np.inf
        g = first_best(gains, self._problem.eps)
        return g if gains[g] > self._problem.eps * self.total else None

    def _state(self, chosen: Sequence[int]) -> SupportState:
        return SupportState(self._problem, self._features(chosen))

    def _gains(self, chosen: Sequence[int], state: SupportState | None = None) -> Array:
        gains = self._blocks.gains(self._state(chosen) if state is None else state)
        gains[~self._allowed] = -np.inf
        gains[list(chosen)] = -np.inf
        return gains

    def _exchange(self, chosen: list[int]) -> list[int]:
        """Apply the best exchange of one group for another until none gains."""
        state = self._state(chosen)
        while not self._rules.deadline.expired():
            best = (self._rules.min_gain, -1, -1)
            for i, gains in self._exchange_gains(chosen, state):
                gains[~self._allowed] = -np.inf
                gains[chosen] = -np.inf
                g = first_best(gains, self._problem.eps)
                if gains[g] > best[0]:
                    best = (float(gains[g]), i, g)
            if best[1] < 0:
                break
            trial = [*chosen[: best[1]], best[2], *chosen[best[1] + 1 :]]
            reached = self._state(trial)
            if not reached.objective < state.objective:  # the gain was rounding error
                break
            chosen, state = trial, reached
        return chosen

    def _exchange_gains(
        self, chosen: list[int], state: SupportState
    ) -> Iterator[tuple[int, Array]]:
        """For each group that may leave, by position: what each group in its place gains."""
        if state.inert:  # some of them become useful, depending on the group that leaves
            for i in range(len(self._fixed), len(chosen)):
                without = self._state([*chosen[:i], *chosen[i + 1 :]])
                yield i, self._blocks.gains(without) - (without.objective - state.objective)
            return
        first = len(self._fixed)
        if first == len(chosen):
            return
        residual, T = self._blocks.residual_grams(state), state.T
        starts = self._starts(chosen)
        widest = max(part.size for part in self._groups)
        step = max(1, _ENTRIES // (widest * T.shape[1] * max(state.V.shape[1], widest)))
        for begin in range(first, len(chosen), step):
            slots = starts[begin : min(begin + step, len(chosen)) + 1]
            yield from enumerate(
                self._blocks.exchange_gains(state, residual, T, slots), start=begin
            )


def _removal_cost(state: SupportState, slots: slice) -> float:
    """What the objective rises by without the features in these slots, trace(V_I' M_II^-1 V_I)."""
    V = state.V[slots]
    return float(np.vdot(V, np.linalg.solve(state.M[slots, slots], V)))


class GroupState(Protocol):
    """What the gains of groups need of a refitted problem on a support."""

    @property
    def A_S(self) -> Array:
        """The rows of the Gram matrix for the support."""

    @property
    def T(self) -> Array:
        """A_SS^-1 A_S."""

    @property
    def R(self) -> Array:
        """Inner products of the columns with the residuals, of shape (d, c)."""


@dataclass(frozen=True)
class GroupBlocks:
    """The Gram matrices of the groups, stacked by group size.

    ``parts`` has for each size the groups, their features (one row per group), and A_gg of each.
    Directions up to ``share`` of the largest inner product of a group count as dependent.
    """

    share: float
    n_groups: int
    parts: list[tuple[Index, Index, Array]]

    @classmethod
    def of(cls, problem: GramProblem, groups: Sequence[Index]) -> GroupBlocks:
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
        return cls(problem.share, len(groups), parts)

    def residual_grams(self, state: GroupState) -> list[Array]:
        """S_g of every group, in the order of ``parts``."""
        T, A_S = state.T, state.A_S
        # One product per group: A_Sg' T_g.
        return [
            A_gg - np.matmul(A_S[:, features].transpose(1, 2, 0), T[:, features].transpose(1, 0, 2))
            for _, features, A_gg in self.parts
        ]

    def gains(self, state: GroupState) -> Array:
        """What adding each group would take off the objective of a state."""
        return self._gains(self.residual_grams(state), state.R)

    def exchange_gains(
        self, state: SupportState, residual: list[Array], T: Array, slots: list[int]
    ) -> Array:
        """What each group gains in the place of others, which begin at ``slots``.

        Without the features I, S_g grows by T_Ig' M_II^-1 T_Ig and R_g by T_Ig' M_II^-1 V_I, and
        the objective by trace(V_I' M_II^-1 V_I). Entry (i, g) is for the i-th of the others.
        """
        half = np.empty((slots[-1] - slots[0], T.shape[1] + state.V.shape[1]))
        for begin, end in pairwise(slots):
            own = slice(begin, end)
            root = np.linalg.cholesky(state.M[own, own])
            half[begin - slots[0] : end - slots[0]] = solve_triangular(
                root, np.hstack([T[own], state.V[own]]), lower=True
            )
        half, v = half[:, : T.shape[1]], half[:, T.shape[1] :]
        at = [begin - slots[0] for begin in slots[:-1]]
        R = state.R + np.add.reduceat(half[:, :, None] * v[:, None, :], at, axis=0)
        grown = []
        for (_, features, _), S in zip(self.parts, residual, strict=True):
            block = half[:, features]
            grown.append(S + np.add.reduceat(block[..., None] * block[..., None, :], at, axis=0))
        return self._gains(grown, R) - np.add.reduceat(np.sum(v**2, axis=1), at)[:, None]

    def _gains(self, residual: list[Array], R: Array) -> Array:
        """trace(R_g' S_g^+ R_g), for one state or several along the first axis."""
        gains = np.zeros((*R.shape[:-2], self.n_groups))
        for (which, features, A_gg), S in zip(self.parts, residual, strict=True):
            values, along = S[..., 0], R[..., features, :]
            if features.shape[1] > 1:
                values, vectors = np.linalg.eigh(S)
                along = np.matmul(vectors.swapaxes(-1, -2), along)
            squares = np.einsum("...jc,...jc->...j", along, along)
            scale = np.einsum("gjj->gj", A_gg).max(axis=1, initial=0.0)
            useful = values > self.share * scale[:, None]
            gains[..., which] = safe_ratio(squares, values, useful).sum(axis=-1)
        return gains
