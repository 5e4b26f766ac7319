"""The refitted least squares problem on a support, and what changing the support would do.

Adding p to the support S lowers the objective by ||R_p||^2 / s_p, removing i raises it by
||V_i||^2 / M_ii. With a_p the first, g_i the second and

    u = T_ip / sqrt(M_ii s_p),     f = <V_i, R_p> / sqrt(M_ii s_p)

the exchange of i for p, all coefficients refitted, lowers it by (a_p - g_i + 2 u f) / (1 + u^2).
:class:`SupportState` says what M, T, s, R and V are.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from copy import copy
from typing import Literal, NamedTuple

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from rowsparse._arrays import Array, Index, Mask
from rowsparse.solvers.subset.gram import GramProblem, independent, safe_ratio

# Entries of A up to this size are safe in single precision.
_SINGLE_LIMIT = 1e30
# Changes after which a state is computed from scratch, because they drift.
_UPDATES_BEFORE_REFRESH = 32
# Columns of A that are converted or scored at a time.
_BLOCK = 8192
# Columns whose exchanges are scored first; the best of them rules out most others.
_FIRST = 256
# Gains that differ by less than this share of ||Y||^2 are ties.
_TIE = 1e-13


# How thoroughly to look for an exchange; see :meth:`SupportState.best_exchange`.
Effort = Literal["best", "quick", "glance"]


class Exchange(NamedTuple):
    """Feature ``out`` for feature ``into``, and what that takes off the objective."""

    gain: float
    out: int
    into: int


class SupportState:
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
        A_pp - A_p,S T[:, p], what is left of p.
    R : array of shape (d, c)
        B - A_:,S V, what is left of its correlation with Y.
    V : array of shape (|S|, c)
        M B_S, the refitted coefficients.
    """

    def __init__(
        self, problem: GramProblem, support: Iterable[int] = (), *, capacity: int = 0
    ) -> None:
        self.problem = problem
        self.basis: list[int] = []
        self.inert: list[int] = []
        S = np.array([int(p) for p in support], dtype=np.intp)
        problem.gram.prepare(S)
        dtype = problem.design.columns(S[:0]).dtype
        if problem.diagonal.max(initial=0.0) > _SINGLE_LIMIT:
            dtype = np.dtype(np.float64)  # a ridge that single precision cannot hold
        self._A = np.empty((max(capacity, S.size, 1), problem.diagonal.size), dtype=dtype)
        for p in S.tolist():
            self._place(len(self.basis), p)
        self.refresh()

    @property
    def nbytes(self) -> int:
        """Approximate memory of a copy, in bytes."""
        return int(self._A.nbytes + self._R.nbytes)

    def copy(self) -> SupportState:
        """A copy that can be changed independently."""
        twin = copy(self)
        for name in ("_A", "_R", "s", "basis", "inert"):
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
        T = self._combine(self.M)
        T[:, self.basis] = np.eye(len(self.basis))
        return T

    @property
    def R(self) -> Array:
        return self._R.T

    @property
    def A_S(self) -> Array:
        """The rows of A of the basis, in the precision of the data."""
        return self._A[: len(self.basis)]

    # --------------------------------------------------------------- from scratch
    def _place(self, slot: int, p: int) -> None:
        """Make p the feature of a slot; the slot after the last appends it."""
        if slot == len(self.basis):
            if slot == self._A.shape[0]:
                self._A = np.concatenate([self._A, np.empty_like(self._A)])
            self.basis.append(p)
        self.basis[slot] = p
        self._A[slot] = self.problem.gram.row(p)
        self._A[slot, p] += self.problem.ridge

    def _blocks(self) -> Iterator[tuple[slice, Array]]:
        """A_S in blocks of columns, in double precision."""
        m, d = len(self.basis), self._A.shape[1]
        for start in range(0, d, _BLOCK):
            columns = slice(start, start + _BLOCK)
            yield columns, self._A[:m, columns].astype(np.float64, copy=False)

    def _combine(self, weights: Array) -> Array:
        """weights A_S, for weights of the rows of A_S."""
        combined = np.empty((weights.shape[0], self._A.shape[1]))
        for columns, A_S in self._blocks():
            np.matmul(weights, A_S, out=combined[:, columns])
        return combined

    def refresh(self) -> None:
        """Compute M, s, R and V from scratch."""
        problem = self.problem
        root = self._root()
        inverse = solve_triangular(root, np.eye(len(self.basis)), lower=True) if root.size else root
        self.M = inverse.T @ inverse
        self.V = self.M @ problem.B[self.basis]
        self.s = problem.diagonal.copy()
        self._R = problem.B.T.copy()
        for columns, A_S in self._blocks() if self.basis else ():
            half = inverse @ A_S
            self.s[columns] -= np.einsum("ip,ip->p", half, half)
            self._R[:, columns] -= self.V.T @ A_S
        self._updates = 0
        self._finish_update()

    def _root(self) -> Array:
        """The Cholesky factor of A_SS, after moving dependent features to ``inert``."""
        A_SS = self._A[: len(self.basis), self.basis].astype(np.float64)
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
        self._A[: kept.size] = self._A[kept]
        return np.asarray(cholesky(A_SS[np.ix_(kept, kept)], lower=True))

    def _finish_update(self) -> None:
        """Refresh after many updates; set s and R of the basis to zero, which is exact."""
        if self._updates >= _UPDATES_BEFORE_REFRESH:
            self.refresh()
            return
        self._updates += 1
        self.s[self.basis] = 0.0
        self._R[:, self.basis] = 0.0
        np.maximum(self.s, 0.0, out=self.s)

    # --------------------------------------------------------------- changes
    def add(self, p: int) -> bool:
        """Select feature p; whether it joined the basis."""
        m = len(self.basis)
        a = self.problem.gram.row(p)
        t = self.M @ self._A[:m, p]
        row = a - self._combine(t[None, :])[0]
        row[p] += self.problem.ridge
        left = row[p]
        if min(left, self.s[p]) <= self.problem.negligible[p]:
            self.inert.append(p)
            return False
        v = self._R[:, p] / left
        column = np.append(-t, 1.0)
        M, V = column[:, None] * (column / left), column[:, None] * v
        M[:m, :m] += self.M
        V[:m] += self.V
        self.M, self.V = M, V
        self._R -= v[:, None] * row
        np.square(row, out=row)
        row /= left
        self.s -= row
        self._place(m, p)
        self._finish_update()
        return True

    def remove(self, feature: int) -> None:
        """Deselect a feature; inert ones that this makes independent join the basis."""
        if feature in self.inert:
            self.inert.remove(feature)
            return
        i, last = self.basis.index(feature), len(self.basis) - 1
        t, v, m = self._combine(self.M[i : i + 1])[0], self.V[i].copy(), self.M[i, i]
        share = self.M[:, i] / m
        self._R += (v / m)[:, None] * t
        self.s += t**2 / m
        order = np.arange(last)
        order[i:][:1] = last
        self.V = (self.V - share[:, None] * v)[order]
        self.M = (self.M - share[:, None] * self.M[i])[np.ix_(order, order)]
        self._A[i] = self._A[last]
        self.basis[i] = self.basis[last]
        del self.basis[last]
        self._finish_update()
        for q in [q for q in self.inert if self.s[q] > self.problem.negligible[q]]:
            self.inert.remove(q)
            self.add(q)

    def exchange(self, out: int, p: int) -> bool:
        """Replace a basis feature by p; False, and no change, if p depends on the others."""
        i, m = self.basis.index(out), len(self.basis)
        pivot, share = self.M[i, i], self.M[:, i] / self.M[i, i]
        M = self.M - share[:, None] * self.M[i]
        M[i] = M[:, i] = 0.0
        t = M @ self._A[:m, p]
        both = self._combine(np.stack([self.M[i], -t]))
        both[1] += self.problem.gram.row(p)
        both[1, p] += self.problem.ridge
        left = both[1, p]
        if left <= self.problem.negligible[p]:
            return False
        v = self.V[i].copy()
        v_p = (self._R[:, p] + v * (both[0, p] / pivot)) / left
        self._R += np.stack([v / pivot, -v_p], axis=1) @ both
        np.square(both, out=both)
        self.s += np.array([1.0 / pivot, -1.0 / left]) @ both
        column = -t
        column[i] = 1.0
        self.M = M + column[:, None] * (column / left)
        V = self.V - share[:, None] * v
        V[i] = 0.0
        self.V = V + column[:, None] * v_p
        self._place(i, p)
        self._finish_update()
        return True

    # --------------------------------------------------------------- gains of changes
    def addition_gains(self) -> Array:
        """What adding each feature would take off the objective; -inf for the selected."""
        gains = self._gains()
        gains[self.support] = -np.inf
        return gains

    def _gains(self) -> Array:
        squares = np.einsum("cp,cp->p", self._R, self._R)
        return safe_ratio(squares, self.s, self.s > self.problem.negligible)

    def removal_costs(self) -> Array:
        """What removing each feature would add to the objective, in the order of ``support``."""
        costs = np.einsum("ic,ic->i", self.V, self.V) / np.diag(self.M)
        if self.inert:
            costs[self._replaceable()] = 0.0
        return np.append(costs, np.zeros(len(self.inert)))

    def _replaceable(self) -> Mask:
        """Which basis features an inert one can replace: removing them costs nothing."""
        scale = np.sqrt(self.problem.diagonal)
        T = self.M @ self._A[: len(self.basis), self.inert]
        weights = np.abs(T) * scale[self.basis][:, None]
        noise = np.sqrt(self.problem.share) * scale[self.inert]
        return np.asarray((weights > noise).any(axis=1))

    def exchange_gains(self) -> Array:
        """What each exchange would take off the objective, with all coefficients refitted.

        Returns
        -------
        gains : array of shape (k, d)
            Entry (i, p): the i-th feature of ``support`` out and p in; -inf where p is selected.
        """
        added = np.maximum(self.addition_gains(), 0.0)
        useful = np.flatnonzero(self.s > self.problem.negligible)
        gains = np.zeros((len(self.basis), added.size))
        gains[:, useful] = self._score(np.arange(len(self.basis)), useful, added)
        if self.inert:
            gains[self._replaceable()] = added
            gains = np.vstack([gains, np.tile(added, (len(self.inert), 1))])
        gains[:, self.support] = -np.inf
        return gains

    def _score(self, slots: Index, columns: Index, added: Array) -> Array:
        """Gains of the exchanges of these slots for these columns, which must add something."""
        scale = 1.0 / np.sqrt(np.diag(self.M)[slots])[:, None]
        v = self.V[slots] * scale
        costs = np.einsum("ic,ic->i", v, v)[:, None]
        inverse = 1.0 / np.sqrt(self.s[columns])
        A_C = self._A[: len(self.basis)].take(columns, axis=1) * inverse
        u = (self.M[slots] * scale) @ A_C
        gains = (2.0 * v) @ (self._R.take(columns, axis=1) * inverse)
        gains *= u
        gains += added[columns]
        gains -= costs
        u *= u
        u += 1.0
        gains /= u
        return gains

    def best_exchange(
        self,
        min_gain: float,
        allowed: Mask,
        *,
        fixed: int = 0,
        held: Container[int] = (),
        effort: Effort = "best",
    ) -> Exchange | None:
        """The exchange that gains most, if that is more than ``min_gain``; ties to low indices.

        Only features ``allowed`` come in; the first ``fixed`` of the basis stay, and so do those
        that are ``held``. ``min_gain`` may be negative: the loss is then least. A column is scored
        only if a bound on its exchanges is above the best of those scored before. Of the
        efforts, "quick" stops after the columns with the highest bounds if one of them gains, and
        "glance" always does.
        """
        slots = np.array([i for i in range(fixed, len(self.basis)) if self.basis[i] not in held])
        if slots.size == 0:
            return None
        added = self._gains()
        added[~allowed] = 0.0
        added[self.basis] = 0.0
        costs = np.einsum("ic,ic->i", self.V, self.V)[slots] / np.diag(self.M)[slots]
        bound = self._exchange_bound(added, float(costs.min()))
        columns = np.flatnonzero((bound > min_gain) & (added > 0))
        slack = _TIE * self.problem.total
        best, tops, scored = min_gain, np.empty(0), columns[:0]
        size = _FIRST
        while columns.size:
            block = columns
            if columns.size > 2 * size:
                block = columns[np.argpartition(-bound[columns], size - 1)[:size]]
            top = self._score(slots, block, added).max(axis=0)
            scored, tops = np.append(scored, block), np.append(tops, top)
            best = max(best, float(top.max()))
            if effort == "glance" or (effort == "quick" and best > min_gain):
                break
            bound[block], size = -np.inf, _BLOCK
            columns = columns[bound[columns] > best - slack]
        if best <= min_gain:
            return None
        p = int(scored[tops >= best - slack].min())
        gains = self._score(slots, np.array([p]), added)[:, 0]
        ties = slots[gains >= gains.max() - slack]
        out = min(self.basis[i] for i in ties.tolist())
        return Exchange(float(gains.max()), out, p)

    def _exchange_bound(self, added: Array, least_cost: float) -> Array:
        """No exchange that brings p in gains more than entry p.

        It gains at most a_p, with equality if g_i = u^2 a_p; and u^2 <= A_pp / s_p - 1, because
        what the others leave of p is at most all of it.
        """
        left = np.maximum(self.s, self.problem.negligible)
        ratio = safe_ratio(self.problem.diagonal, left, left > 0)
        u = np.sqrt(np.maximum(ratio - 1.0, 0.0)) * np.sqrt(added)
        least = np.sqrt(least_cost)
        np.minimum(u, least, out=u)
        reached = u >= least
        bound = added - least_cost
        bound += 2.0 * least * u
        bound = safe_ratio(bound, ratio, ratio > 0)
        return np.where(reached, added, bound)
