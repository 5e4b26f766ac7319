"""Selection of whole groups of features, with exact block gains.

With F the features of the selected groups, adding the group g lowers the objective by
trace(R_g' S_g^+ R_g) for S_g = A_gg - A_gF A_FF^-1 A_Fg and R_g = B_g - A_gF A_FF^-1 B_F.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.linalg import solve_triangular

from rowsparse._arrays import Array, Index, Mask
from rowsparse.solvers.subset.gram import GramProblem, first_best
from rowsparse.solvers.subset.starts import End
from rowsparse.solvers.subset.support import SupportState

# An exchange must gain more than so many rounding errors of ||Y||^2.
_ROUNDING = 16
# Numbers held at a time when exchanges are scored.
_ENTRIES = 1 << 22


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

    @classmethod
    def of(
        cls,
        problem: GramProblem,
        k: int,
        include: Sequence[int],
        exclude: Sequence[int],
        tol: float,
        late: Callable[[], bool] = lambda: False,
    ) -> Rules:
        """From features that must and must not be selected, and a share of ||Y||^2."""
        excluded: Mask = np.zeros(problem.diagonal.size, dtype=bool)
        excluded[list(exclude)] = True
        allowed = (problem.design.column_norms() > 0) & ~excluded
        allowed[list(include)] = False
        enough = max(tol, _ROUNDING * problem.eps) * problem.total
        return cls(k, tuple(include), excluded, allowed, enough, late)

    def bar_all_but(self, features: Index) -> None:
        """Exclude every feature that is not among these."""
        others = np.ones(self.allowed.size, dtype=bool)
        others[features] = False
        self.excluded[others] = True
        self.allowed[others] = False


class GroupEngine:
    """Starts over groups; an :class:`~rowsparse.solvers.subset.starts.Engine`."""

    def __init__(self, problem: GramProblem, rules: Rules, groups: Sequence[Index]) -> None:
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
        return self.grown(kept, barred, self.size, pause)

    def grown(self, kept: Sequence[int], barred: Sequence[int], size: int, pause: int = 0) -> End:
        """As :meth:`run`, to any size; what adds nothing does not come in."""
        chosen = [*self._fixed, *kept]
        full = len(self._fixed) + size
        while len(chosen) < full:
            g = self._next(chosen, barred)
            if g is None and not barred:
                break
            barred = ()
            if g is None:
                continue
            chosen = [*chosen, g]
            if pause and len(chosen) % pause == 0 and len(chosen) < full:
                chosen = self._exchange(chosen)
        chosen = self._exchange(chosen)
        return End(self._state(chosen).objective, tuple(sorted(chosen[len(self._fixed) :])))

    def greedily(self, units: Sequence[int]) -> tuple[int, ...] | None:
        """With the group that adds most, or None if none adds anything."""
        g = self._next([*self._fixed, *units], ())
        return None if g is None else (*units, g)

    def without_least(self, units: Sequence[int]) -> tuple[int, ...]:
        """Without the group that is missed least."""
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

    def _starts(self, chosen: Sequence[int]) -> list[int]:
        """Where the features of each group begin, and where those of the last end."""
        starts: list[int] = np.cumsum([0, *(self._groups[g].size for g in chosen)]).tolist()
        return starts

    def _next(self, chosen: Sequence[int], barred: Sequence[int]) -> int | None:
        gains = self._gains(chosen)
        gains[list(barred)] = -np.inf
        g = first_best(gains, self._problem.eps)
        return g if gains[g] > self._problem.eps * self.total else None

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
        state = self._state(chosen)
        while not self._rules.late():
            best = (self._rules.enough, -1, -1)
            for i, gains in self._exchange_gains(chosen, state):
                gains[~self._open] = -np.inf
                gains[chosen] = -np.inf
                g = first_best(gains, self._problem.eps)
                if gains[g] > best[0]:
                    best = (float(gains[g]), i, g)
            if best[1] < 0:
                break
            trial = [*chosen[: best[1]], best[2], *chosen[best[1] + 1 :]]
            reached = self._state(trial)
            if not reached.objective < state.objective:  # a gain of rounding alone
                break
            chosen, state = trial, reached
        return chosen

    def _exchange_gains(
        self, chosen: list[int], state: SupportState
    ) -> Iterator[tuple[int, Array]]:
        """By place of the group that goes: what each group in its stead would gain."""
        if state.inert:  # which of them are of use depends on what goes
            for i in range(len(self._fixed), len(chosen)):
                without = self._state([*chosen[:i], *chosen[i + 1 :]])
                yield i, self._blocks.gains(without) - (without.objective - state.objective)
            return
        first = len(self._fixed)
        if first == len(chosen):
            return
        left, T = self._blocks.left(state), state.T
        starts = self._starts(chosen)
        widest = max(part.size for part in self._groups)
        step = max(1, _ENTRIES // (widest * T.shape[1] * max(state.V.shape[1], widest)))
        for begin in range(first, len(chosen), step):
            slots = starts[begin : min(begin + step, len(chosen)) + 1]
            yield from enumerate(self._blocks.exchange_gains(state, left, T, slots), start=begin)

    def support(self, units: Sequence[int]) -> Index:
        """The features of exactly k groups: these, the fixed ones, and others if need be."""
        return self.filled(units, self._rules.k)

    def filled(self, units: Sequence[int], k: int) -> Index:
        """The same for any k."""
        chosen = [*self._fixed, *units]
        strength = self._gains([], SupportState(self._problem))
        strength[chosen] = -np.inf
        others = np.argsort(-strength, kind="stable")[: k - len(chosen)].tolist()
        return np.sort(self._features([*chosen, *others]))

    def state(self, support: Index) -> SupportState:
        """The problem on a support."""
        return SupportState(self._problem, support)


def _removal_cost(state: SupportState, slots: slice) -> float:
    """What the objective rises by without the features in these slots, trace(V_I' M_II^-1 V_I)."""
    V = state.V[slots]
    return float(np.vdot(V, np.linalg.solve(state.M[slots, slots], V)))


@dataclass(frozen=True)
class _Blocks:
    """The groups by their size: which they are, their features, and A_gg of each."""

    problem: GramProblem
    n_groups: int
    parts: list[tuple[Index, Index, Array]]

    @classmethod
    def of(cls, problem: GramProblem, groups: Sequence[Index]) -> _Blocks:
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

    def left(self, state: SupportState) -> list[Array]:
        """S_g of every group, as ``parts`` has them."""
        T, A_S = state.T, state.A_S
        # One product a group: A_Sg' T_g.
        return [
            A_gg - np.matmul(A_S[:, features].transpose(1, 2, 0), T[:, features].transpose(1, 0, 2))
            for _, features, A_gg in self.parts
        ]

    def gains(self, state: SupportState) -> Array:
        """What adding each group would take off the objective of a state."""
        return self._gains(self.left(state), state.R)

    def exchange_gains(
        self, state: SupportState, left: list[Array], T: Array, slots: list[int]
    ) -> Array:
        """What each group gains in the stead of others, of which ``slots`` has where they begin.

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
        for (_, features, _), S in zip(self.parts, left, strict=True):
            block = half[:, features]
            grown.append(S + np.add.reduceat(block[..., None] * block[..., None, :], at, axis=0))
        return self._gains(grown, R) - np.add.reduceat(np.sum(v**2, axis=1), at)[:, None]

    def _gains(self, left: list[Array], R: Array) -> Array:
        """trace(R_g' S_g^+ R_g), for one state or several along the first axis."""
        gains = np.zeros((*R.shape[:-2], self.n_groups))
        for (which, features, A_gg), S in zip(self.parts, left, strict=True):
            values, along = S[..., 0], R[..., features, :]
            if features.shape[1] > 1:
                values, vectors = np.linalg.eigh(S)
                along = np.matmul(vectors.swapaxes(-1, -2), along)
            squares = np.einsum("...jc,...jc->...j", along, along)
            scale = np.einsum("gjj->gj", A_gg).max(axis=1, initial=0.0)
            useful = values > self.problem.share * scale[:, None]
            ratios = np.divide(squares, values, out=np.zeros_like(squares), where=useful)
            gains[..., which] = ratios.sum(axis=-1)
        return gains
