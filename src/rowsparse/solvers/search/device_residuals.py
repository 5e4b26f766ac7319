"""Residuals of all d features and of Y on a support, on the device of X.

Of the arrays that grow with d, only masks of features are transferred, and only to the device. A
step of the greedy growth waits for the device once.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import Any, Self

import numpy as np
from array_api_compat import array_namespace, device

from rowsparse._arrays import Array, Index, Mask, largest_places, to_device, to_host, wide_dtype
from rowsparse.solvers.search.gram import GramProblem
from rowsparse.solvers.search.residuals import (
    FIRST,
    TIE,
    Column,
    Effort,
    ExchangeWeights,
    Residuals,
)

# Entries that are converted or scored at a time.
_BLOCK_ENTRIES = 1 << 24


class DeviceResiduals(Residuals):
    """On the device of X, in the widest floating type there except for the rows of A."""

    def __init__(self, problem: GramProblem, capacity: int) -> None:
        super().__init__(problem, capacity)
        held = problem.held
        self._like, self._B = held.B, held.B
        self._diagonal, self._negligible = held.diagonal, held.negligible
        self._xp = xp = array_namespace(held.B)
        self._wide = getattr(xp, wide_dtype(held.B).name)
        dtype = self._row_dtype if self._wide == xp.float64 else np.dtype(np.float32)
        size = (capacity, problem.diagonal.size)
        self._A = xp.zeros(size, dtype=getattr(xp, dtype.name), device=device(held.B))
        self._s, self._R = held.diagonal, held.B
        self._n_rows = 0
        self._known: tuple[int, int, Column] | None = None

    def _hold(self, array: Array) -> Any:
        return to_device(array, self._like)

    @property
    def nbytes(self) -> int:
        (rows, d), c = self._A.shape, self._R.shape[0]
        return int(d * (rows * self.problem.gram.dtype.itemsize + 8 * c))

    def copy(self) -> Self:
        twin = copy(self)
        for name in ("_A", "_R", "_s"):
            setattr(twin, name, self._xp.asarray(getattr(self, name), copy=True))
        return twin

    @property
    def s(self) -> Array:
        return np.asarray(to_host(self._s), dtype=np.float64)

    @property
    def R(self) -> Array:
        return np.asarray(to_host(self._R), dtype=np.float64).T

    def rows(self, m: int) -> Array:
        return np.asarray(to_host(self._A[:m, :]))

    # ------------------------------------------------------------------------- changes
    def place(self, slot: int, p: int) -> None:
        self._known = None
        if slot == self._A.shape[0]:
            self._A = self._xp.concat([self._A, self._xp.zeros_like(self._A)])
        self._A[slot, :] = self._xp.astype(self.problem.gram.row(p), self._A.dtype, copy=False)
        if self.problem.ridge:
            self._A[slot, p] = self._A[slot, p] + self.problem.ridge

    def move(self, source: int, target: int) -> None:
        self._known = None
        self._A[target, :] = self._xp.asarray(self._A[source, :], copy=True)

    def _blocks(self, m: int) -> Iterator[tuple[slice, Any]]:
        """The first m rows in blocks of columns, in the widest type."""
        d = self._A.shape[1]
        step = max(1, _BLOCK_ENTRIES // max(m, 1))
        for start in range(0, d, step):
            columns = slice(start, min(start + step, d))
            yield columns, self._xp.astype(self._A[:m, columns], self._wide, copy=False)

    def reset(self, basis: list[int], inverse: Array, V: Array) -> None:
        xp = self._xp
        self._s = xp.asarray(self._diagonal, copy=True)
        self._R = xp.asarray(self._B, copy=True)
        if basis:
            held, V_held = self._hold(inverse), self._hold(V.T)
            for columns, A_S in self._blocks(len(basis)):
                half = held @ A_S
                self._s[columns] -= xp.sum(half * half, axis=0)
                self._R[:, columns] -= V_held @ A_S
        self._clear(basis)

    def update(
        self, weights: Array, p: int | None, R_weights: Array, s_weights: Array, basis: list[int]
    ) -> None:
        rows, R_held, s_held = (self._hold(part) for part in (weights, R_weights, s_weights))
        for columns, A_S in self._blocks(weights.shape[1]):
            combined = rows @ A_S
            if p is not None:
                combined[-1, :] += self.problem.gram.row(p)[columns]
                if self.problem.ridge and columns.start <= p < columns.stop:
                    at = p - columns.start
                    combined[-1, at] = combined[-1, at] + self.problem.ridge
            self._R[:, columns] += R_held @ combined
            combined *= combined
            self._s[columns] += s_held @ combined
        self._clear(basis)

    def _clear(self, basis: list[int]) -> None:
        """Zeros for the basis, which are exact."""
        xp = self._xp
        self._known, self._n_rows = None, len(basis)
        others = np.ones(self._s.shape[0], dtype=bool)
        others[basis] = False
        held = self._hold(others)
        self._R *= xp.astype(held, self._wide)
        zero = xp.zeros_like(self._s)
        self._s = xp.where(held, xp.maximum(self._s, zero), zero)

    def drop(self, p: int) -> None:
        self._s[p] = 0.0

    # ------------------------------------------------------------------------- questions
    def column(self, m: int, p: int) -> Column:
        if self._known is None or self._known[:2] != (m, p):
            self._known = m, p, self._column(m, self._hold(np.array([p])))[0]
        return self._known[2]

    def _column(self, m: int, at: Any, *others: Any) -> tuple[Column, Array]:
        """The feature at a position that only the device knows, and further numbers: one wait."""
        xp, c = self._xp, self._R.shape[0]
        parts = [
            xp.take(self._A[:m, :], at, axis=1)[:, 0],
            xp.take(self._R, at, axis=1)[:, 0],
            xp.take(self._diagonal, at),
            xp.take(self._s, at),
            *others,
        ]
        packed = to_host(xp.concat([xp.astype(part, self._wide) for part in parts]))
        values = np.asarray(packed, dtype=np.float64)
        diagonal, left = values[m + c : m + c + 2].tolist()
        return Column(values[:m], diagonal, left, values[m : m + c]), values[m + c + 2 :]

    def cross(self, m: int, features: list[int]) -> Array:
        if not features or not m:
            return np.empty((m, len(features)))
        at = self._hold(np.array(features))
        return np.asarray(to_host(self._xp.take(self._A[:m, :], at, axis=1)), dtype=np.float64)

    def combined(self, weights: Array) -> Array:
        held = self._hold(weights)
        parts = [to_host(held @ A_S) for _, A_S in self._blocks(weights.shape[1])]
        return np.concatenate(parts, axis=1).astype(np.float64)

    def gains(self) -> Array:
        return np.asarray(to_host(self._gains()), dtype=np.float64)

    def _gains(self) -> Any:
        xp = self._xp
        useful = self._s > self._negligible
        squares = xp.sum(self._R * self._R, axis=0)
        ratio = squares / xp.where(useful, self._s, xp.ones_like(self._s))
        return xp.where(useful, ratio, xp.zeros_like(ratio))

    def best_addition(self, allowed: Mask, min_gain: float) -> int | None:
        xp, gram = self._xp, self.problem.gram
        gains = self._gains()
        gains = xp.where(self._hold(allowed), gains, xp.full_like(gains, -np.inf))
        best = xp.max(gains)
        near = gains >= best - 64 * self.problem.eps * xp.abs(best)
        at = xp.reshape(xp.argmax(xp.astype(near, xp.int8)), (1,))
        guesses = []
        if gram.n_guesses:
            places = largest_places(gains, gram.n_guesses)
            guesses = [places, xp.take(gains, places)]
        m = self._n_rows
        column, numbers = self._column(m, at, at, xp.take(gains, at), *guesses)
        p, gain = int(numbers[0]), float(numbers[1])
        if not gain > min_gain:
            return None
        self._known = m, p, column

        def best_places(count: int) -> Index:
            places, gains_there = numbers[2 : 2 + count], numbers[2 + count :]
            return places[np.argsort(-gains_there)].astype(np.intp)

        gram.fetch(p, best_places)
        return p

    def exchange_gains(self, weights: ExchangeWeights, columns: Index) -> Array:
        scored = self._scored(self._held(weights), self._hold(columns), self._gains())
        return np.asarray(to_host(scored), dtype=np.float64)

    def _held(self, weights: ExchangeWeights) -> ExchangeWeights:
        return ExchangeWeights(*(self._hold(part) for part in weights))

    def _scored(self, weights: ExchangeWeights, at: Any, added: Any) -> Any:
        """Gains of exchanges for some features."""
        xp = self._xp
        A = xp.astype(xp.take(self._A[: weights.M.shape[1], :], at, axis=1), self._wide)
        R, s = xp.take(self._R, at, axis=1), xp.take(self._s, at)
        return weights.gains(A, R, 1.0 / xp.sqrt(s), xp.take(added, at))

    def best_exchange(
        self, weights: ExchangeWeights, allowed: Mask, min_gain: float, effort: Effort
    ) -> int | None:
        xp = self._xp
        added = self._gains() * xp.astype(self._hold(allowed), self._wide)
        bound = self._exchange_bound(added, float(weights.costs.min()))
        held, slack = self._held(weights), TIE * self.problem.total
        if effort != "best" and allowed.size > FIRST:
            first = largest_places(bound, FIRST)
            some = xp.take(added, first) > 0
            tops = xp.max(self._scored(held, first, added), axis=0)
            tops = xp.where(some, tops, xp.full_like(tops, -np.inf))
            found = _least_of_best(first, tops, slack, self._wide)
            if found[0] > min_gain or effort == "glance":
                return int(found[1]) if found[0] > min_gain else None
        tops = self._all_tops(held, added)
        everyone = xp.arange(allowed.size, device=device(self._like))
        best, p = _least_of_best(everyone, tops, slack, self._wide)
        return int(p) if best > min_gain else None

    def _all_tops(self, weights: ExchangeWeights, added: Any) -> Any:
        """The best exchange of every feature that may come in."""
        xp = self._xp
        useful = added > 0
        inverse = 1.0 / xp.sqrt(xp.where(useful, self._s, xp.ones_like(self._s)))
        tops = xp.zeros_like(added)
        for columns, A_S in self._blocks(weights.M.shape[1]):
            gains = weights.gains(A_S, self._R[:, columns], inverse[columns], added[columns])
            tops[columns] = xp.max(gains, axis=0)
        return xp.where(useful, tops, xp.full_like(tops, -np.inf))

    def _exchange_bound(self, added: Any, least_cost: float) -> Any:
        """The exchange bound of ``HostResiduals``, on the device."""
        xp = self._xp
        zero, one = xp.zeros_like(added), xp.ones_like(added)
        left = xp.maximum(self._s, self._negligible)
        ratio = xp.where(left > 0, self._diagonal / xp.where(left > 0, left, one), one)
        least = least_cost**0.5
        u = xp.sqrt(xp.maximum(ratio - 1.0, zero)) * xp.sqrt(added)
        bound = (added - least_cost + 2.0 * least * u) / ratio
        return xp.where(u >= least, added, bound)


def _least_of_best(places: Any, values: Any, slack: float, wide: Any) -> tuple[float, float]:
    """The largest value, and the lowest place with a value within the slack of it."""
    xp = array_namespace(values)
    best = xp.max(values)
    near = values >= best - slack
    places = xp.astype(places, wide)
    lowest = xp.min(xp.where(near, places, xp.full_like(places, np.inf)))
    value, place = to_host(xp.stack([best, lowest])).tolist()
    return value, place
