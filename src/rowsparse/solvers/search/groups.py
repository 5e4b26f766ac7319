"""Whole groups of features with the squared loss: exact gains of adding and exchanging them.

With F the features of the selected groups, adding the group g lowers the objective by
trace(R_g' S_g^+ R_g) for S_g = A_gg - A_gF A_FF^-1 A_Fg and R_g = B_g - A_gF A_FF^-1 B_F.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Protocol

import numpy as np
from scipy.linalg import solve_triangular

from rowsparse._arrays import Array, Index, Mask
from rowsparse._deadline import NO_DEADLINE, Deadline
from rowsparse.solvers.search.gram import GramProblem, first_best, safe_ratio
from rowsparse.solvers.search.gram_state import GramState, GramStates
from rowsparse.solvers.search.local import SupportState
from rowsparse.solvers.search.residuals import Effort

# Numbers held at a time when exchanges are scored.
_ENTRIES = 1 << 22


class FittedSupport(Protocol):
    """The refitted problem on a support, as the gains of groups need it."""

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
    def from_columns(cls, problem: GramProblem, groups: Sequence[Index]) -> GroupBlocks:
        """The Gram matrices of these groups."""
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

    def residual_grams(self, state: FittedSupport) -> list[Array]:
        """S_g of every group, in the order of ``parts``."""
        T, A_S = state.T, state.A_S
        # One product per group: A_Sg' T_g.
        return [
            A_gg - np.matmul(A_S[:, features].transpose(1, 2, 0), T[:, features].transpose(1, 0, 2))
            for _, features, A_gg in self.parts
        ]

    @property
    def widest(self) -> int:
        """The size of the largest group."""
        return max(features.shape[1] for _, features, _ in self.parts)

    def gains(self, state: FittedSupport) -> Array:
        """The decrease of the objective of a state by each group."""
        return self._gains(self.residual_grams(state), state.R)

    def exchange_gains(
        self, state: GramState, residual: list[Array], T: Array, slots: list[int]
    ) -> Array:
        """Gains of each group in the place of others, which begin at ``slots``.

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


class GramGroupState(SupportState):
    """Some groups, the squared loss on their features fitted from scratch after every change."""

    def __init__(self, states: GramGroups, groups: Sequence[int]) -> None:
        self._states, self.n_fixed = states, states.choices.fixed.size
        self._place(groups, states.fitted(groups))

    def _place(self, groups: Sequence[int], fitted: GramState) -> None:
        self._groups, self.fitted = list(groups), fitted

    @property
    def units(self) -> list[int]:
        return self._groups

    @property
    def objective(self) -> float:
        return self.fitted.objective

    def grow(self, allowed: Mask, room: int = 1) -> bool:
        """Add the best group; False if none gains more than a rounding error."""
        gram = self._states.gram
        gains = self._entering(self._states.blocks.gains(self.fitted), allowed)
        g = first_best(gains, gram.eps)
        if not gains[g] > gram.rounding:
            return False
        groups = [*self._groups, g]
        self._place(groups, self._states.fitted(groups))
        return True

    def shrink(self, most: int = 1) -> None:
        """Remove the group whose removal costs least."""
        fewer = [self._without(i) for i in range(self.n_fixed, len(self._groups))]
        if self.fitted.inert:
            costs = [self._states.fitted(groups).objective for groups in fewer]
        else:
            starts = self._states.choices.bounds(self._groups)[self.n_fixed :]
            costs = [_removal_cost(self.fitted, slice(*ends)) for ends in pairwise(starts)]
        groups = fewer[int(np.argmin(costs))]
        self._place(groups, self._states.fitted(groups))

    def descend(
        self, allowed: Mask, *, effort: Effort = "best", deadline: Deadline = NO_DEADLINE
    ) -> None:
        """Make the best exchange of one group for another until none gains."""
        gram = self._states.gram
        while not deadline.expired():
            best = (gram.min_gain, -1, -1)
            for i, gains in self.exchange_gains():
                gains = self._entering(gains, allowed)
                g = first_best(gains, gram.eps)
                if gains[g] > best[0]:
                    best = (float(gains[g]), i, g)
            if best[1] < 0:
                return
            trial = [*self._groups[: best[1]], best[2], *self._groups[best[1] + 1 :]]
            reached = self._states.fitted(trial)
            if not reached.objective < self.objective:  # the gain was rounding error
                return
            self._place(trial, reached)

    def _entering(self, gains: Array, allowed: Mask) -> Array:
        """Gains of the groups that may enter; the others have -inf."""
        gains[~allowed] = -np.inf
        gains[self._groups] = -np.inf
        return gains

    def _without(self, i: int) -> list[int]:
        return [*self._groups[:i], *self._groups[i + 1 :]]

    def exchange_gains(self) -> Iterator[tuple[int, Array]]:
        """For each group that may leave, by position: what each group in its place gains."""
        blocks, fitted = self._states.blocks, self.fitted
        if fitted.inert:  # some of them become useful, depending on the group that leaves
            for i in range(self.n_fixed, len(self._groups)):
                without = self._states.fitted(self._without(i))
                yield i, blocks.gains(without) - (without.objective - fitted.objective)
            return
        first = self.n_fixed
        if first == len(self._groups):
            return
        residual, T = blocks.residual_grams(fitted), fitted.T
        starts = self._states.choices.bounds(self._groups)
        widest = blocks.widest
        step = max(1, _ENTRIES // (widest * T.shape[1] * max(fitted.V.shape[1], widest)))
        for begin in range(first, len(self._groups), step):
            slots = starts[begin : min(begin + step, len(self._groups)) + 1]
            yield from enumerate(blocks.exchange_gains(fitted, residual, T, slots), start=begin)


def _removal_cost(state: GramState, slots: slice) -> float:
    """The increase of the objective without some slots' features, trace(V_I' M_II^-1 V_I)."""
    V = state.V[slots]
    return float(np.vdot(V, np.linalg.solve(state.M[slots, slots], V)))


class GramGroups(GramStates):
    """Supports of the squared loss, made of whole groups of features."""

    @cached_property
    def blocks(self) -> GroupBlocks:
        """The Gram matrices of the groups."""
        return GroupBlocks.from_columns(self.gram, self.choices.groups or ())

    def fitted(self, groups: Sequence[int]) -> GramState:
        """The squared loss on the features of some groups."""
        return GramState(self.gram, self.choices.columns(groups))

    def start(self, units: Sequence[int], size: int, *, widen: bool = False) -> GramGroupState:
        return GramGroupState(self, [*self.choices.fixed.tolist(), *units])

    def gains_alone(self) -> Array:
        return self.blocks.gains(GramState(self.gram))
