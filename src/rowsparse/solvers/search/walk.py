"""Walks over supports: the best exchange at every step, whether it gains or not.

A feature that left must not come back for some steps, and one that came in must stay for some,
so that a walk leaves the surroundings of a local optimum (tabu search, Glover 1989). Several walks
are taken in lockstep: except on large data, the overhead of the calls for a single walk is larger
than its arithmetic.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rowsparse._arrays import Array, Index, Mask
from rowsparse._deadline import NO_DEADLINE, Deadline
from rowsparse.solvers.search.gram import GramProblem

# Walks end after this many steps that led none of them to anything better: more of them without a
# ridge, where supports that differ in one feature differ more, and there are more local optima.
_PATIENCE, _PATIENCE_WITHOUT_RIDGE = 30, 120
# Only the features that would gain most if added are scored for an exchange: with more of them,
# steps take longer and lead to nothing better.
_CANDIDATES = 64
# Steps after which all is computed from scratch, because updates drift.
_STEPS_BEFORE_REFRESH = 32
# Memory that walks side by side may take.
_BYTES = 1 << 26


def walk(
    problem: GramProblem,
    supports: Sequence[Sequence[int]],
    allowed: Mask,
    *,
    fixed: int = 0,
    rng: np.random.Generator,
    deadline: Deadline = NO_DEADLINE,
) -> list[list[int]]:
    """The best supports on walks from some of the same size, none worse than where it began.

    Parameters
    ----------
    problem : GramProblem
        The squared loss, with a ridge or without.
    supports : list of lists of int
        Linearly independent features each.
    allowed : array of bool of shape (d,)
        Features that may come in.
    fixed : int
        Number of features at the beginning of each support that stay.
    rng : numpy.random.Generator
        Draws how long features are kept out or in.
    deadline : Deadline
        When to stop.
    """
    size = len(supports[0])
    row_bytes = 8 * size * problem.B.shape[0]
    at_once = max(1, _BYTES // max(1, row_bytes))
    best: list[list[int]] = []
    for begin in range(0, len(supports), at_once):
        part = np.array(supports[begin : begin + at_once], dtype=np.intp)
        if size > fixed:
            part = _Walks(problem, part, allowed, fixed).run(rng, deadline)
        best += part.tolist()
    return best


class _Walks:
    """The refitted problems on several supports of one size.

    M, V, s and R are those of :class:`~rowsparse.solvers.search.gram_state.GramState`, with the
    walks along the first axis; R has the columns of the targets along the second.
    """

    def __init__(self, problem: GramProblem, S: Index, allowed: Mask, fixed: int) -> None:
        self._problem, self._S, self._fixed = problem, S, fixed
        self._each = np.arange(len(S))
        self._A = problem.gram(S.ravel()).reshape(*S.shape, -1)
        self._A[self._each[:, None], np.arange(S.shape[1]), S] += problem.ridge
        # The steps up to which features must not come in, and those of a slot must stay.
        self._out_until = np.where(allowed, 0, np.iinfo(np.int64).max) + np.zeros((len(S), 1), int)
        self._in_until = np.zeros(S.shape, dtype=int)
        self._in_until[:, :fixed] = np.iinfo(np.int64).max
        self._refresh()

    def run(self, rng: np.random.Generator, deadline: Deadline) -> Index:
        """The best supports after walking."""
        problem = self._problem
        best, supports = self._objectives(), self._S.copy()
        patience = _PATIENCE if problem.ridge > 0 else _PATIENCE_WITHOUT_RIDGE
        step = last_better = 0
        # Where rounding makes a support dependent, what is not a number ends the walks.
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            while step - last_better < patience and not deadline.expired():
                step += 1
                if not self._step(step, rng):
                    break
                reached = self._objectives()
                better = reached < best - problem.eps * problem.total
                if better.any():
                    best[better], supports[better] = reached[better], self._S[better]
                    last_better = step
        return supports

    def _refresh(self) -> None:
        A_SS = np.take_along_axis(self._A, self._S[:, None, :], axis=2)
        self._M = np.linalg.inv(A_SS)
        self._V = self._M @ self._problem.B[self._S]
        explained = np.einsum("bkd,bkd->bd", self._A, self._M @ self._A)
        self._s = self._problem.diagonal - explained
        self._R = self._problem.B.T - self._V.swapaxes(1, 2) @ self._A

    def _objectives(self) -> Array:
        explained = np.einsum("bkc,bkc->b", self._problem.B[self._S], self._V)
        return np.asarray(self._problem.total - explained)

    def _step(self, step: int, rng: np.random.Generator) -> bool:
        """The best exchange of every walk; False if one of them has none."""
        if step % _STEPS_BEFORE_REFRESH == 0:
            self._refresh()
        added = self._addition_gains(step)
        count = min(_CANDIDATES, added.shape[1])
        columns = np.argpartition(added, -count, axis=1)[:, -count:]
        gains = self._exchange_gains(columns, np.take_along_axis(added, columns, axis=1))
        gains[self._in_until >= step] = -np.inf
        at = gains.reshape(len(gains), -1).argmax(axis=1)
        slots, places = np.divmod(at, count)
        if not np.isfinite(gains[self._each, slots, places]).all():
            return False
        p, out = columns[self._each, places], self._S[self._each, slots]
        self._exchange(slots, p)
        size = self._S.shape[1] - self._fixed
        kept_out = rng.integers(size // 2, size + 1, len(p))
        self._out_until[self._each, out] = step + kept_out
        self._in_until[self._each, slots] = step + rng.integers(1, max(2, size // 3) + 1, len(p))
        return True

    def _addition_gains(self, step: int) -> Array:
        """||R_p||^2 / s_p; 0 for features that must not come in."""
        useful = self._s > self._problem.negligible
        useful &= self._out_until < step
        np.put_along_axis(useful, self._S, False, axis=1)
        squares = np.einsum("bcd,bcd->bd", self._R, self._R)
        return np.divide(squares, self._s, out=np.zeros_like(squares), where=useful)

    def _exchange_gains(self, columns: Index, added: Array) -> Array:
        """Gains of some features in each slot; -inf where a feature must not come in."""
        inverse = np.take_along_axis(self._s, columns, axis=1)
        inverse = 1.0 / np.sqrt(np.where(added > 0, inverse, 1.0))[:, None, :]
        scale = 1.0 / np.sqrt(np.einsum("bkk->bk", self._M))[:, :, None]
        v = self._V * scale
        u = (self._M * scale) @ (np.take_along_axis(self._A, columns[:, None, :], 2) * inverse)
        gains = (2.0 * v) @ (np.take_along_axis(self._R, columns[:, None, :], 2) * inverse)
        gains *= u
        gains += added[:, None, :]
        gains -= np.einsum("bkc,bkc->bk", v, v)[:, :, None]
        u *= u
        u += 1.0
        gains /= u
        return np.where(added[:, None, :] > 0, gains, -np.inf)

    def _exchange(self, slots: Index, p: Index) -> None:
        """Replace the feature of a slot by p, in every walk."""
        each, M, V = self._each, self._M, self._V
        row, v = M[each, slots], V[each, slots]
        pivot = row[each, slots][:, None]
        share = row / pivot
        M = M - share[:, :, None] * row[:, None, :]
        M[each, slots] = M[each, :, slots] = 0.0
        cross, entering = self._A[each, :, p], self._problem.gram(p)
        entering[each, p] += self._problem.ridge
        t = np.einsum("bij,bj->bi", M, cross)
        left = (entering[each, p] - np.einsum("bi,bi->b", t, cross))[:, None]
        v_p = self._R[each, :, p] + v * (np.einsum("bi,bi->b", row, cross)[:, None] / pivot)
        v_p /= left
        C = np.stack([row, -t], axis=1) @ self._A
        C[:, 1] += entering
        self._R += (v / pivot)[:, :, None] * C[:, :1] - v_p[:, :, None] * C[:, 1:]
        C *= C
        self._s += C[:, 0] / pivot - C[:, 1] / left
        column = -t
        column[each, slots] = 1.0
        self._M = M + column[:, :, None] * (column / left)[:, None, :]
        V = V - share[:, :, None] * v[:, None, :]
        V[each, slots] = 0.0
        self._V = V + column[:, :, None] * v_p[:, None, :]
        self._A[each, slots], self._S[each, slots] = entering, p
