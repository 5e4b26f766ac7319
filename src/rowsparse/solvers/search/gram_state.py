"""The squared loss on a support, refitted after every change of it, and greedy forward selection.

Adding p to the support S lowers the objective by ||R_p||^2 / s_p, removing i raises it by
||V_i||^2 / M_ii. With a_p the first, g_i the second and

    u = T_ip / sqrt(M_ii s_p),     f = <V_i, R_p> / sqrt(M_ii s_p)

the exchange of i for p, all coefficients refitted, lowers it by (a_p - g_i + 2 u f) / (1 + u^2).
:class:`GramState` says what M, T, s, R and V are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import ClassVar, NamedTuple, Self

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from rowsparse._arrays import Array, Index, Mask
from rowsparse._deadline import NO_DEADLINE, Deadline
from rowsparse.design import Design
from rowsparse.solvers.choices import filled
from rowsparse.solvers.losses.squared import SquaredLoss, least_squares_fit
from rowsparse.solvers.problem import Fit, Problem, Selection
from rowsparse.solvers.search.device_residuals import DeviceResiduals
from rowsparse.solvers.search.gram import (
    GramProblem,
    independent,
    reduced_targets,
    univariate_gains,
)
from rowsparse.solvers.search.local import States, SupportState
from rowsparse.solvers.search.residuals import (
    TIE,
    Effort,
    ExchangeWeights,
    HostResiduals,
    Residuals,
)
from rowsparse.solvers.search.walk import walk

# Changes after which a state is computed from scratch, because they drift.
_UPDATES_BEFORE_REFRESH = 32
# Supports that a beam search grows side by side, and the memory they may take.
_BEAM_WIDTH, _BEAM_BYTES = 10, 1 << 26


class Exchange(NamedTuple):
    """Feature ``out`` for feature ``into``, and what that takes off the objective."""

    gain: float
    out: int
    into: int


class GramState(SupportState):
    """The refitted least squares problem on a support, ready for the next change of it.

    Of the support, ``basis`` is a largest linearly independent part (all of it, ordinarily) and
    ``inert`` the rest, whose coefficients are zero. With S the basis:

    Attributes
    ----------
    M : array of shape (|S|, |S|)
        A_SS^-1.
    T : array of shape (|S|, d)
        M A_S,: , the regression of every feature on the selected ones; computed when asked for.
    s : array of shape (d,)
        A_pp - A_p,S T[:, p], the square of p's part that the basis does not explain.
    R : array of shape (d, c)
        B - A_:,S V, products of the columns with the residuals of Y.
    V : array of shape (|S|, c)
        M B_S, the refitted coefficients.
    """

    def __init__(
        self,
        problem: GramProblem,
        support: Iterable[int] = (),
        *,
        capacity: int = 0,
        n_fixed: int = 0,
    ) -> None:
        self.problem, self.n_fixed = problem, n_fixed
        self.basis: list[int] = []
        self.inert: list[int] = []
        S = np.array([int(p) for p in support], dtype=np.intp)
        problem.gram.prepare(S)
        kind = DeviceResiduals if problem.design.on_device else HostResiduals
        self._residuals: Residuals = kind(problem, max(capacity, S.size, 1))
        for p in S.tolist():
            self._place(len(self.basis), p)
        self.refresh()

    @property
    def nbytes(self) -> int:
        """Approximate memory of a copy, in bytes."""
        return self._residuals.nbytes

    def copy(self) -> GramState:
        """A copy that can be changed independently."""
        twin = copy(self)
        for name in ("_residuals", "basis", "inert"):
            setattr(twin, name, getattr(self, name).copy())
        return twin

    @property
    def support(self) -> Index:
        """The selected features, the inert ones last."""
        return np.array(self.basis + self.inert, dtype=np.intp)

    @property
    def objective(self) -> float:
        """||Y||^2 - <B_S, V>, the least objective on this support."""
        explained = float(np.vdot(self.problem.B[self.basis], self.V))
        return max(self.problem.total - explained, 0.0)

    @property
    def T(self) -> Array:
        T = self._residuals.combined(self.M)
        T[:, self.basis] = np.eye(len(self.basis))
        return T

    @property
    def s(self) -> Array:
        return self._residuals.s

    @property
    def R(self) -> Array:
        return self._residuals.R

    @property
    def A_S(self) -> Array:
        """The rows of A of the basis, in the precision of the data."""
        return self._residuals.rows(len(self.basis))

    # --------------------------------------------------------------- from scratch
    def _place(self, slot: int, p: int) -> None:
        """Make p the feature of a slot; the slot after the last appends it."""
        self._residuals.place(slot, p)
        self.basis[slot : slot + 1] = [p]

    def refresh(self) -> None:
        """Compute M, s, R and V from scratch."""
        root = self._root()
        inverse = solve_triangular(root, np.eye(len(self.basis)), lower=True) if root.size else root
        self.M = inverse.T @ inverse
        self.V = self.M @ self.problem.B[self.basis]
        self._residuals.reset(self.basis, inverse, self.V)
        self._updates = 1

    def _root(self) -> Array:
        """The Cholesky factor of A_SS, after moving dependent features to ``inert``."""
        A_SS = self._residuals.cross(len(self.basis), self.basis)
        if A_SS.size == 0:
            return A_SS
        try:
            root = np.linalg.cholesky(A_SS)
        except np.linalg.LinAlgError:
            root = np.zeros_like(A_SS)
        if np.all(np.diag(root) ** 2 > self.problem.share * np.diag(A_SS)):
            return root
        kept = independent(A_SS, self.problem.share)
        self.inert += [p for i, p in enumerate(self.basis) if i not in kept]
        self.basis = [self.basis[i] for i in kept]
        for target, source in enumerate(kept.tolist()):
            self._residuals.move(source, target)
        return np.asarray(cholesky(A_SS[np.ix_(kept, kept)], lower=True))

    def _finish_update(self) -> None:
        """Refresh after many updates."""
        self._updates += 1
        if self._updates > _UPDATES_BEFORE_REFRESH:
            self.refresh()

    # --------------------------------------------------------------- changes
    def add(self, p: int) -> bool:
        """Select feature p; whether it joined the basis."""
        m = len(self.basis)
        column = self._residuals.column(m, p)
        t = self.M @ column.cross
        left = column.diagonal - float(t @ column.cross)
        if min(left, column.residual) <= self.problem.negligible[p]:
            self.inert.append(p)
            return False
        v = column.R / left
        grown = np.append(-t, 1.0)
        M, V = grown[:, None] * (grown / left), grown[:, None] * v
        M[:m, :m] += self.M
        V[:m] += self.V
        self.M, self.V = M, V
        basis = [*self.basis, p]
        self._residuals.update(-t[None], p, -v[:, None], np.array([-1.0 / left]), basis)
        self._place(m, p)
        self._finish_update()
        return True

    def remove(self, feature: int) -> None:
        """Deselect a feature; inert ones that this makes independent join the basis."""
        if feature in self.inert:
            self.inert.remove(feature)
            return
        i, last = self.basis.index(feature), len(self.basis) - 1
        weights, v, m = self.M[i : i + 1], self.V[i].copy(), self.M[i, i]
        share = self.M[:, i] / m
        basis = [p for p in self.basis if p != feature]
        self._residuals.update(weights, None, (v / m)[:, None], np.array([1.0 / m]), basis)
        order = np.arange(last)
        order[i:][:1] = last
        self.V = (self.V - share[:, None] * v)[order]
        self.M = (self.M - share[:, None] * self.M[i])[np.ix_(order, order)]
        self._residuals.move(last, i)
        self.basis[i] = self.basis[last]
        del self.basis[last]
        self._finish_update()
        if not self.inert:
            return
        left = self.s[self.inert]
        useful = left > self.problem.negligible[self.inert]
        for q in [q for q, joins in zip(self.inert, useful, strict=True) if joins]:
            self.inert.remove(q)
            self.add(q)

    def exchange(self, out: int, p: int) -> bool:
        """Replace a basis feature by p; False, and no change, if p depends on the others."""
        i, m = self.basis.index(out), len(self.basis)
        pivot, share = self.M[i, i], self.M[:, i] / self.M[i, i]
        M = self.M - share[:, None] * self.M[i]
        M[i] = M[:, i] = 0.0
        entering = self._residuals.column(m, p)
        t = M @ entering.cross
        left = entering.diagonal - float(t @ entering.cross)
        if left <= self.problem.negligible[p]:
            return False
        v = self.V[i].copy()
        v_p = (entering.R + v * (float(self.M[i] @ entering.cross) / pivot)) / left
        basis = [*self.basis[:i], p, *self.basis[i + 1 :]]
        self._residuals.update(
            np.stack([self.M[i], -t]),
            p,
            np.stack([v / pivot, -v_p], axis=1),
            np.array([1.0 / pivot, -1.0 / left]),
            basis,
        )
        column = -t
        column[i] = 1.0
        self.M = M + column[:, None] * (column / left)
        V = self.V - share[:, None] * v
        V[i] = 0.0
        self.V = V + column[:, None] * v_p
        self._place(i, p)
        self._finish_update()
        return True

    def drop_dependent(self, p: int) -> None:
        """Forget p, which :meth:`add` found to depend on the basis: it gains nothing."""
        self.inert.remove(p)
        self._residuals.drop(p)

    # --------------------------------------------------------------- gains of changes
    def addition_gains(self) -> Array:
        """The decrease of the objective by each feature; -inf for the selected ones."""
        gains = self._residuals.gains()
        gains[self.support] = -np.inf
        return gains

    def best_addition(self, allowed: Mask, min_gain: float) -> int | None:
        """The feature that gains most, if more than ``min_gain``; ties to the lowest index."""
        return self._residuals.best_addition(self._open(allowed, self.support), min_gain)

    def _open(self, allowed: Mask, taken: Index) -> Mask:
        """Features ``allowed``, without those ``taken``."""
        left: Mask = allowed.copy()
        left[taken] = False
        return left

    def removal_costs(self) -> Array:
        """The increase of the objective without each feature, in the order of ``support``."""
        costs = np.einsum("ic,ic->i", self.V, self.V) / np.diag(self.M)
        if self.inert:
            costs[self._replaceable()] = 0.0
        return np.append(costs, np.zeros(len(self.inert)))

    def _replaceable(self) -> Mask:
        """Which basis features an inert one can replace: removing them costs nothing."""
        scale = np.sqrt(self.problem.diagonal)
        T = self.M @ self._residuals.cross(len(self.basis), self.inert)
        weights = np.abs(T) * scale[self.basis][:, None]
        noise = np.sqrt(self.problem.share) * scale[self.inert]
        return np.asarray((weights > noise).any(axis=1))

    def exchange_gains(self) -> Array:
        """The decrease of the objective by each exchange, with all coefficients refitted.

        Returns
        -------
        gains : array of shape (k, d)
            Entry (i, p): the i-th feature of ``support`` out and p in; -inf where p is selected.
        """
        added = np.maximum(self.addition_gains(), 0.0)
        useful = np.flatnonzero(self.s > self.problem.negligible)
        gains = np.zeros((len(self.basis), added.size))
        weights = ExchangeWeights.from_inverse(self.M, self.V, np.arange(len(self.basis)))
        gains[:, useful] = self._residuals.exchange_gains(weights, useful)
        if self.inert:
            gains[self._replaceable()] = added
            gains = np.vstack([gains, np.tile(added, (len(self.inert), 1))])
        gains[:, self.support] = -np.inf
        return gains

    def best_exchange(
        self,
        min_gain: float,
        allowed: Mask,
        *,
        effort: Effort = "best",
    ) -> Exchange | None:
        """The exchange that gains most, if that is more than ``min_gain``; ties to low indices.

        Only features ``allowed`` come in. ``effort`` is that of :meth:`Residuals.best_exchange`.
        """
        slots = np.arange(self.n_fixed, len(self.basis))
        if slots.size == 0:
            return None
        weights = ExchangeWeights.from_inverse(self.M, self.V, slots)
        others = self._open(allowed, np.array(self.basis))
        p = self._residuals.best_exchange(weights, others, min_gain, effort)
        if p is None:
            return None
        gains = self._residuals.exchange_gains(weights, np.array([p]))[:, 0]
        ties = slots[gains >= gains.max() - TIE * self.problem.total]
        out = min(self.basis[i] for i in ties.tolist())
        return Exchange(float(gains.max()), out, p)

    # --------------------------------------------------------------- growth and descent
    @property
    def units(self) -> list[int]:
        return self.basis

    @property
    def size(self) -> int:
        return len(self.basis) - self.n_fixed

    def grow(self, allowed: Mask, room: int = 1) -> bool:
        """Add the best feature; False if none gains more than a rounding error."""
        while True:
            p = self.best_addition(allowed, self.problem.rounding)
            if p is None:
                return False
            if self.add(p):
                return True
            self.drop_dependent(p)  # which rounding in the updates had hidden

    def shrink(self, most: int = 1) -> None:
        """Remove the feature whose removal costs least."""
        costs = self.removal_costs()[self.n_fixed : len(self.basis)]
        self.remove(self.basis[self.n_fixed + int(np.argmin(costs))])

    def descend(
        self, allowed: Mask, *, effort: Effort = "best", deadline: Deadline = NO_DEADLINE
    ) -> None:
        """Make the best exchange until none gains; ``effort`` is that of :meth:`best_exchange`."""
        objective = self.objective
        while not deadline.expired():
            best = self.best_exchange(self.problem.min_gain, allowed, effort=effort)
            if best is None or not self.exchange(best.out, best.into):
                return
            before, objective = objective, self.objective
            if not objective < before:  # the gain was rounding error
                return


class GramStates(States):
    """Supports of the squared loss, of single columns or of groups."""

    exact: ClassVar[bool] = True

    def __init__(self, problem: Problem, gram: GramProblem) -> None:
        super().__init__(problem, gram.total)
        assert isinstance(problem.loss, SquaredLoss)
        self._loss, self.gram = problem.loss, gram

    def with_size(self, k: int) -> Self:
        return type(self)(replace(self._problem, choices=self.choices.with_k(k)), self.gram)

    def fit(self, support: Index) -> Fit:
        Y = self._loss.Y
        W, objective = least_squares_fit(self.design, Y, support, ridge=self.gram.ridge)
        return Fit(support, W, np.zeros(Y.shape[1]), objective)

    def changes(self, fit: Fit, known: SupportState | None = None) -> tuple[Array, Array]:
        state = known if isinstance(known, GramState) else GramState(self.gram, fit.support)
        order = np.argsort(state.support)
        return state.removal_costs()[order], np.maximum(state.addition_gains(), 0.0)


class GramColumns(GramStates):
    """Supports of the squared loss, made of single features.

    Of the features that must be selected, those that depend on others take no part in the fits.
    """

    @cached_property
    def _fixed(self) -> list[int]:
        if not self.choices.fixed.size:
            return []
        included = GramState(self.gram, capacity=self.choices.fixed.size)
        for p in self.choices.fixed.tolist():
            included.add(p)
        return included.basis

    def start(self, units: Sequence[int], size: int, *, widen: bool = False) -> GramState:
        support, capacity = [*self._fixed, *units], len(self._fixed) + size
        state = GramState(self.gram, support, capacity=capacity, n_fixed=len(self._fixed))
        if state.basis[: state.n_fixed] != self._fixed:  # a dependent unit replaced a fixed one
            state = GramState(self.gram, self._fixed, capacity=capacity, n_fixed=len(self._fixed))
        state.inert = []
        return state

    def gains_alone(self) -> Array:
        return univariate_gains(self.gram.B, self.gram.diagonal)

    def beam(self, size: int, deadline: Deadline) -> list[GramState]:
        """The best extensions of several supports by one feature, until their size is right."""
        states = [self.start((), size)]
        width = max(1, min(_BEAM_WIDTH, _BEAM_BYTES // states[0].nbytes))
        for _ in range(size):
            extended = self._extended(states, width)
            if not extended or deadline.expired():
                break
            states = extended
        return states

    def _extended(self, states: list[GramState], width: int) -> list[GramState]:
        """The best extensions of these states by one feature, the best first."""
        children: dict[frozenset[int], tuple[float, int, int]] = {}
        for parent, state in enumerate(states):
            gains, objective = state.addition_gains(), state.objective
            gains[~self.allowed] = -np.inf
            top = np.argpartition(-gains, min(width, gains.size) - 1)[:width]
            for p in top[gains[top] > self.gram.rounding].tolist():
                child = (objective - float(gains[p]), parent, p)
                key = frozenset((*state.basis, p))
                children[key] = min(child, children.get(key, child))
        chosen = sorted(children.values())[:width]
        last = {parent: at for at, (_, parent, _) in enumerate(chosen)}
        extended = []
        for at, (_, parent, p) in enumerate(chosen):
            # The last child reuses the state of its parent.
            state = states[parent] if last[parent] == at else states[parent].copy()
            if state.add(p):
                extended.append(state)
        return extended

    def walks(
        self, starts: Sequence[Selection], rng: np.random.Generator, deadline: Deadline
    ) -> list[list[int]]:
        fixed = len(self._fixed)
        supports = [[*self._fixed, *start.units] for start in starts]
        reached = walk(self.gram, supports, self.allowed, fixed=fixed, rng=rng, deadline=deadline)
        return [basis[fixed:] for basis in reached]


def forward(
    design: Design, Y: Array, k: int, *, ridge: float = 0.0, live: Mask | None = None
) -> Index:
    """Greedy forward selection by the exact gain, in the order of picking.

    Once no feature gains anything, those with the largest ||B_p||^2 / A_pp are appended until
    there are k, columns of zeros last. Ties go to the lowest index.

    Parameters
    ----------
    design : Design
        Centred.
    Y : array of shape (n, c)
        Centred.
    k : int
        Number of features, at most d.
    ridge : float
        Weight of ||W||_F^2.
    live : array of bool of shape (d,), optional
        Columns to take before all others. Default: those that are not zero.

    Examples
    --------
    >>> from rowsparse.design import make_design
    >>> X = np.array([[1.0, 0.0, 1.0], [-1.0, 0.0, 1.0], [0.0, 0.0, -2.0]])
    >>> design, _ = make_design(X, center=True, scale=False)
    >>> forward(design, np.array([[3.0], [0.0], [-3.0]]), 3)
    array([2, 0, 1])
    """
    problem = GramProblem.from_design(design, reduced_targets(Y), ridge=ridge)
    live = design.column_norms() > 0 if live is None else live
    state = GramState(problem, capacity=k)
    while state.size < k and state.grow(live):
        pass
    return filled(state.basis, univariate_gains(problem.B, problem.diagonal), live, k)
