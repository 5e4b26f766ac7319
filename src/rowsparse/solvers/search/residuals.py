"""Residuals of all d features and of Y on a support: the arrays of a state that grow with d.

:class:`~rowsparse.solvers.search.gram_state.GramState` says what A, s, R, M and V are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from copy import copy
from typing import Any, Literal, NamedTuple, Self

import numpy as np

from rowsparse._arrays import Array, Index, Mask
from rowsparse.solvers.search.gram import GramProblem, first_best, safe_ratio

# Entries of A up to this size are safe in single precision.
_SINGLE_LIMIT = 1e30
# Columns of A that are converted or scored at a time, and that are updated at a time.
_BLOCK, _UPDATE_BLOCK = 8192, 32768
# Columns whose exchanges are scored first; the best of them rules out most others.
FIRST = 256
# Gains that differ by less than this share of ||Y||^2 are ties.
TIE = 1e-13

# How thoroughly to look for an exchange; see :meth:`Residuals.best_exchange`.
Effort = Literal["best", "quick", "glance"]


class Column(NamedTuple):
    """One feature p against the basis: A_Sp, A_pp, s_p and R_p."""

    cross: Array
    diagonal: float
    residual: float
    R: Array


class ExchangeWeights(NamedTuple):
    """The factors of exchange gains that are the same for all features that may come in.

    The rows of M and twice those of V, both divided by sqrt(M_ii), and the costs of removal.
    """

    M: Any
    V: Any
    costs: Any

    @classmethod
    def from_inverse(cls, M: Array, V: Array, slots: Index) -> ExchangeWeights:
        """The weights of some slots, from A_SS^-1 and the coefficients."""
        scale = 1.0 / np.sqrt(np.diag(M)[slots])[:, None]
        v = V[slots] * scale
        return cls(M[slots] * scale, 2.0 * v, np.einsum("ic,ic->i", v, v)[:, None])

    def gains(self, A: Any, R: Any, inverse: Any, added: Any) -> Any:
        """Gains of the exchanges for features with these columns of A_S and R, 1 / sqrt(s), a."""
        u = self.M @ (A * inverse)
        gains = self.V @ (R * inverse)
        gains *= u
        gains += added
        gains -= self.costs
        u *= u
        u += 1.0
        gains /= u
        return gains


class Residuals(ABC):
    """The rows A_S of A, s and R, held where X is.

    Rows are made by :meth:`place`; methods are told the number of them that count.
    """

    def __init__(self, problem: GramProblem, capacity: int) -> None:
        self.problem = problem
        self._capacity = capacity

    @property
    def _row_dtype(self) -> np.dtype[Any]:
        """The precision of the data, unless it cannot hold the ridge."""
        wide = self.problem.diagonal.max(initial=0.0) > _SINGLE_LIMIT
        return np.dtype(np.float64) if wide else self.problem.gram.dtype

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Approximate memory of a copy, in bytes."""

    @abstractmethod
    def copy(self) -> Self:
        """A copy that can be changed independently."""

    @property
    @abstractmethod
    def s(self) -> Array:
        """The squares of what the basis does not explain of each feature, in host memory."""

    @property
    @abstractmethod
    def R(self) -> Array:
        """Products of the features with the residuals of Y (d x c), in host memory."""

    @abstractmethod
    def rows(self, m: int) -> Array:
        """The first m rows of A_S, in host memory and in the precision of the data."""

    # ------------------------------------------------------------------------- changes
    @abstractmethod
    def place(self, slot: int, p: int) -> None:
        """Make row ``slot`` that of feature p; the slot after the last appends it."""

    @abstractmethod
    def move(self, source: int, target: int) -> None:
        """Copy a row over another one."""

    @abstractmethod
    def reset(self, basis: list[int], inverse: Array, V: Array) -> None:
        """s and R from scratch; ``inverse`` is that of the Cholesky factor of A_SS."""

    @abstractmethod
    def update(
        self, weights: Array, p: int | None, R_weights: Array, s_weights: Array, basis: list[int]
    ) -> None:
        """Add rank-one terms of the rows C = weights A_S, with A_p added to the last row.

        R' grows by R_weights C and s by s_weights C^2; p is None for no further row. Both are
        zero on the ``basis`` that results.
        """

    @abstractmethod
    def drop(self, p: int) -> None:
        """Set s_p to zero: rounding had hidden that p depends on the basis."""

    # ------------------------------------------------------------------------- questions
    @abstractmethod
    def column(self, m: int, p: int) -> Column:
        """Feature p against a basis of m features."""

    @abstractmethod
    def cross(self, m: int, features: list[int]) -> Array:
        """A[basis, features] for a basis of m features."""

    @abstractmethod
    def combined(self, weights: Array) -> Array:
        """weights A_S, in host memory."""

    @abstractmethod
    def gains(self) -> Array:
        """||R_p||^2 / s_p of every feature, in host memory; 0 for those that the basis explains."""

    @abstractmethod
    def best_addition(self, allowed: Mask, min_gain: float) -> int | None:
        """The feature that gains most, if more than ``min_gain``; ties to the lowest index.

        Its row of the Gram matrix is computed, with others that are likely to be asked for next.
        """

    @abstractmethod
    def exchange_gains(self, weights: ExchangeWeights, columns: Index) -> Array:
        """Gains of exchanges for features that the basis does not explain, in host memory."""

    @abstractmethod
    def best_exchange(
        self, weights: ExchangeWeights, allowed: Mask, min_gain: float, effort: Effort
    ) -> int | None:
        """The feature whose best exchange gains most, if more than ``min_gain``.

        Ties go to the lowest index. Of the efforts, "quick" stops after the features with the
        highest bounds if one of them gains, and "glance" always does.
        """


class HostResiduals(Residuals):
    """In host memory, a block of columns at a time so that each is read once."""

    def __init__(self, problem: GramProblem, capacity: int) -> None:
        super().__init__(problem, capacity)
        d, c = problem.B.shape
        self._A = np.empty((capacity, d), dtype=self._row_dtype)
        self._s, self._R, self._gains = np.empty(d), np.empty((c, d)), np.zeros(d)

    @property
    def nbytes(self) -> int:
        return int(self._A.nbytes + self._R.nbytes)

    def copy(self) -> Self:
        twin = copy(self)
        for name in ("_A", "_R", "_s", "_gains"):
            setattr(twin, name, getattr(self, name).copy())
        return twin

    @property
    def s(self) -> Array:
        return self._s

    @property
    def R(self) -> Array:
        return self._R.T

    def rows(self, m: int) -> Array:
        return self._A[:m]

    # ------------------------------------------------------------------------- changes
    def place(self, slot: int, p: int) -> None:
        if slot == self._A.shape[0]:
            self._A = np.concatenate([self._A, np.empty_like(self._A)])
        self._A[slot] = self.problem.gram.row(p)
        self._A[slot, p] += self.problem.ridge

    def move(self, source: int, target: int) -> None:
        self._A[target] = self._A[source]

    def _blocks(self, m: int) -> Iterator[tuple[slice, Array]]:
        """The first m rows in blocks of columns, in double precision."""
        for start in range(0, self._A.shape[1], _BLOCK):
            columns = slice(start, start + _BLOCK)
            yield columns, self._A[:m, columns].astype(np.float64, copy=False)

    def reset(self, basis: list[int], inverse: Array, V: Array) -> None:
        self._s[:] = self.problem.diagonal
        self._R[:] = self.problem.B.T
        for columns, A_S in self._blocks(len(basis)):
            if basis:
                half = inverse @ A_S
                self._s[columns] -= np.einsum("ip,ip->p", half, half)
                self._R[:, columns] -= V.T @ A_S
            self._finish(columns)
        self._clear(basis)

    def update(
        self, weights: Array, p: int | None, R_weights: Array, s_weights: Array, basis: list[int]
    ) -> None:
        m, row = weights.shape[1], None if p is None else self.problem.gram.row(p)
        # Sums of few rows in their own precision: they were rounded to it before. Weights of the
        # columns of least scale may be beyond its range.
        dtype = self._A.dtype
        if dtype != weights.dtype and np.abs(weights).max(initial=0.0) < np.sqrt(
            np.finfo(dtype).max
        ):
            weights = weights.astype(dtype)
        d = self._A.shape[1]
        change = np.empty((self._R.shape[0], min(d, _UPDATE_BLOCK)))
        for start in range(0, d, _UPDATE_BLOCK):
            columns = slice(start, min(start + _UPDATE_BLOCK, d))
            combined = (weights @ self._A[:m, columns]).astype(np.float64, copy=False)
            if row is not None and p is not None:
                combined[-1] += row[columns]
                if columns.start <= p < columns.stop:
                    combined[-1, p - start] += self.problem.ridge
            for weight, line in zip(R_weights.T, combined, strict=True):
                # Faster than a matrix product of one row.
                part = np.multiply(weight[:, None], line, out=change[:, : line.size])
                self._R[:, columns] += part
            combined *= combined
            self._s[columns] += s_weights @ combined
            self._finish(columns)
        self._clear(basis)

    def _finish(self, columns: slice) -> None:
        """The gains of a block of columns, from s and R there."""
        s, R = self._s[columns], self._R[:, columns]
        np.maximum(s, 0.0, out=s)
        useful = s > self.problem.negligible[columns]
        self._gains[columns] = safe_ratio(np.einsum("cp,cp->p", R, R), s, useful)

    def _clear(self, basis: list[int]) -> None:
        """Zeros for the basis, which are exact."""
        self._s[basis] = 0.0
        self._R[:, basis] = 0.0
        self._gains[basis] = 0.0

    def drop(self, p: int) -> None:
        self._s[p] = self._gains[p] = 0.0

    # ------------------------------------------------------------------------- questions
    def column(self, m: int, p: int) -> Column:
        diagonal = float(self.problem.gram.row(p)[p]) + self.problem.ridge
        cross = self._A[:m, p].astype(np.float64)
        return Column(cross, diagonal, float(self._s[p]), self._R[:, p].copy())

    def cross(self, m: int, features: list[int]) -> Array:
        return self._A[:m, features].astype(np.float64)

    def combined(self, weights: Array) -> Array:
        combined = np.empty((weights.shape[0], self._A.shape[1]))
        for columns, A_S in self._blocks(weights.shape[1]):
            np.matmul(weights, A_S, out=combined[:, columns])
        return combined

    def gains(self) -> Array:
        return self._gains.copy()

    def best_addition(self, allowed: Mask, min_gain: float) -> int | None:
        gains = np.where(allowed, self._gains, -np.inf)
        p = first_best(gains, self.problem.eps)
        if not gains[p] > min_gain:
            return None

        def best(count: int) -> Index:
            top = np.argpartition(-gains, count)[:count]
            return top[np.argsort(-gains[top])]

        self.problem.gram.fetch(p, best)
        return p

    def exchange_gains(self, weights: ExchangeWeights, columns: Index) -> Array:
        A = self._A[: weights.M.shape[1]].take(columns, axis=1)
        inverse = 1.0 / np.sqrt(self._s[columns])
        R = self._R.take(columns, axis=1)
        return np.asarray(weights.gains(A, R, inverse, self._gains[columns]))

    def best_exchange(
        self, weights: ExchangeWeights, allowed: Mask, min_gain: float, effort: Effort
    ) -> int | None:
        added = np.where(allowed, self._gains, 0.0)
        bound = self._exchange_bound(added, float(weights.costs.min()))
        columns = np.flatnonzero((bound > min_gain) & (added > 0))
        slack = TIE * self.problem.total
        best, tops, scored = min_gain, np.empty(0), columns[:0]
        size = FIRST
        while columns.size:
            block = columns
            if columns.size > 2 * size:
                block = columns[np.argpartition(-bound[columns], size - 1)[:size]]
            top = self.exchange_gains(weights, block).max(axis=0)
            scored, tops = np.append(scored, block), np.append(tops, top)
            best = max(best, float(top.max()))
            if effort == "glance" or (effort == "quick" and best > min_gain):
                break
            bound[block], size = -np.inf, _BLOCK
            columns = columns[bound[columns] > best - slack]
        if best <= min_gain:
            return None
        return int(scored[tops >= best - slack].min())

    def _exchange_bound(self, added: Array, least_cost: float) -> Array:
        """No exchange that brings p in gains more than entry p.

        It gains at most a_p, with equality if g_i = u^2 a_p; and u^2 <= A_pp / s_p - 1, because
        what the others leave of p is at most all of it.
        """
        left = np.maximum(self._s, self.problem.negligible)
        ratio = safe_ratio(self.problem.diagonal, left, left > 0)
        u = np.sqrt(np.maximum(ratio - 1.0, 0.0)) * np.sqrt(added)
        least = np.sqrt(least_cost)
        np.minimum(u, least, out=u)
        reached = u >= least
        bound = added - least_cost
        bound += 2.0 * least * u
        bound = safe_ratio(bound, ratio, ratio > 0)
        return np.where(reached, added, bound)
