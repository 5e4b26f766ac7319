"""Least squares on a set S of k features: greedy construction, and exchanges scored exactly.

The problem is

    minimise ||Y - X W||_F^2 + ridge ||W||_F^2   subject to   W_j = 0 for j outside S

with X and Y centred. A = X'X + ridge I and B = X'Y; of A only the rows of features that were
ever selected are computed. Adding p to S lowers the objective by ||R_p||^2 / s_p, removing i
raises it by ||V_i||^2 / M_ii; :class:`SupportState` says what these are.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, cholesky, lstsq
from scipy.linalg.lapack import dpstrf

from rowsparse._arrays import Array, Index
from rowsparse.design import Design

Mask: TypeAlias = NDArray[np.bool_]

# The Gram matrix is formed once when n >= d and it takes no more than this, or when d is small.
_GRAM_BYTES = 1 << 28
_SMALL_D = 512
# A column adds nothing to the selected ones up to s_p / A_pp = eps to this power.
_NOTHING_LEFT = 2 / 3
# Rank-one updates after which a state is computed from scratch, because they drift.
_UPDATES_BEFORE_REFRESH = 32
# Condition number (of columns of unit norm) from which a refit takes columns for dependent.
_REFIT_CONDITION = 1e10


def machine_eps(design: Design) -> float:
    """The relative rounding error of the design's products."""
    return float(np.finfo(design.columns(np.empty(0, dtype=np.intp)).dtype).eps)


def first_best(scores: Array, eps: float) -> int:
    """The lowest index whose score is the largest but for rounding."""
    best = scores.max()
    return int(np.argmax(scores >= best - 64 * eps * abs(best)))


def univariate_gains(B: Array, diagonal: Array) -> Array:
    """||B_p||^2 / A_pp, what each feature explains on its own; 0 for columns of zeros."""
    return _safe_ratio(np.einsum("jc,jc->j", B, B), diagonal, diagonal > 0)


def _safe_ratio(top: Array, bottom: Array, where: Mask) -> Array:
    """top / bottom, and 0 elsewhere than ``where``."""
    ratio: Array = np.divide(top, bottom, out=np.zeros_like(top), where=where)
    return ratio


class GramRows:
    """Rows of X'X on demand: all formed at once where that is cheap, else the latest ones kept."""

    def __init__(self, design: Design, *, max_bytes: int = _GRAM_BYTES) -> None:
        n, d = design.shape
        self._design = design
        self._all: Array | None = None
        if d <= _SMALL_D or (d <= n and 8 * d * d <= max_bytes):
            self._all = design.gram()
        self._kept: dict[int, Array] = {}
        self._capacity = max_bytes // (8 * max(d, 1))

    def __call__(self, features: Index) -> Array:
        """(X'X)[features, :], as a new array."""
        if self._all is not None:
            return self._all[features]
        missing = [p for p in features.tolist() if p not in self._kept]
        if missing:
            columns = self._design.gram_columns(np.array(missing, dtype=np.intp))
            self._kept.update(zip(missing, np.ascontiguousarray(columns.T), strict=True))
        rows = np.array([self._kept[p] for p in features.tolist()])
        while len(self._kept) > self._capacity:
            del self._kept[next(iter(self._kept))]
        return rows.reshape(features.size, self._design.shape[1])


@dataclass(frozen=True)
class LeastSquares:
    """What all supports of one problem share; build it with :meth:`of`.

    Attributes
    ----------
    gram : GramRows
        Rows of X'X, without the ridge.
    B : array of shape (d, c)
        X'Y.
    diagonal : array of shape (d,)
        A_pp = ||x_p||^2 + ridge.
    share, negligible : float, array of shape (d,)
        The s_p / A_pp and the s_p at and below which p adds nothing.
    total : float
        ||Y||_F^2.
    """

    design: Design
    gram: GramRows
    B: Array
    diagonal: Array
    share: float
    negligible: Array
    ridge: float
    total: float

    @classmethod
    def of(cls, design: Design, Y: Array, *, ridge: float = 0.0) -> LeastSquares:
        """The problem with a centred design and centred targets Y."""
        diagonal = design.column_norms() ** 2 + ridge
        share = machine_eps(design) ** _NOTHING_LEFT
        B, total = design.rmatmul(Y), float(np.vdot(Y, Y))
        return cls(design, GramRows(design), B, diagonal, share, share * diagonal, ridge, total)

    def rows(self, features: Index) -> Array:
        """A[features, :], with the ridge."""
        rows = self.gram(features)
        rows[np.arange(features.size), features] += self.ridge
        return rows


def independent(A_SS: Array, tol: float) -> Index:
    """Positions of a largest set of columns none of which the others explain but for ``tol``.

    >>> independent(np.array([[4.0, 4.0, 0.0], [4.0, 4.0, 0.0], [0.0, 0.0, 1.0]]), 1e-10)
    array([0, 2])
    """
    norms = np.sqrt(np.maximum(np.diag(A_SS), 0.0))
    live = np.flatnonzero(norms > 0)
    if live.size == 0:
        return live
    correlation = A_SS[np.ix_(live, live)] / np.outer(norms[live], norms[live])
    _, pivots, rank, _ = dpstrf(correlation, tol=tol, lower=1)
    return np.asarray(live[np.sort(pivots[:rank]) - 1])


def solve_positive(A_SS: Array, right: Array) -> Array:
    """A_SS^-1 right, for a positive definite A_SS, empty ones included."""
    if A_SS.size == 0:
        return right.copy()
    return np.asarray(cho_solve((cholesky(A_SS, lower=True), True), right))


class SupportState:
    """The refitted least squares problem on a support, ready for the next change of it.

    Of the support, ``basis`` is a largest linearly independent part (all of it, ordinarily) and
    ``inert`` the rest, whose coefficients are zero. With S the basis:

    Attributes
    ----------
    M : array of shape (|S|, |S|)
        A_SS^-1.
    T : array of shape (|S|, d)
        M A_S,: , the regression of every feature on the selected ones.
    s : array of shape (d,)
        A_pp - A_p,S T[:, p], what is left of p.
    R : array of shape (d, c)
        B - A_:,S V, what is left of its correlation with Y.
    V : array of shape (|S|, c)
        M B_S, the refitted coefficients.
    """

    def __init__(self, problem: LeastSquares, support: Iterable[int] = ()) -> None:
        self.problem = problem
        self.basis: list[int] = [int(p) for p in support]
        self.inert: list[int] = []
        self.refresh()

    @property
    def support(self) -> Index:
        """The selected features, the inert ones last."""
        return np.array(self.basis + self.inert, dtype=np.intp)

    @property
    def objective(self) -> float:
        """||Y||^2 - <B_S, V>, the least objective on this support."""
        explained = float(np.vdot(self.problem.B[self.basis], self.V))
        return max(self.problem.total - explained, 0.0)

    def refresh(self) -> None:
        """Compute M, T, s, R and V from scratch."""
        problem, S = self.problem, self.support
        A_S = problem.rows(S)
        kept = independent(A_S[:, S], problem.share)
        self.basis = [int(p) for p in S[kept]]
        self.inert = [int(p) for p in np.delete(S, kept)]
        self._A_S = A_S[kept]
        A_SS = self._A_S[:, self.basis]
        self.M = solve_positive(A_SS, np.eye(kept.size))
        self.T = solve_positive(A_SS, self._A_S)
        self.V = solve_positive(A_SS, problem.B[self.basis])
        self.s = problem.diagonal - np.einsum("ip,ip->p", self._A_S, self.T)
        self.R = problem.B - self._A_S.T @ self.V
        self._updates = 0
        self._clean()

    def _clean(self) -> None:
        """Refresh if it is time; put in what is known of the selected features."""
        if self._updates >= _UPDATES_BEFORE_REFRESH:
            self.refresh()
        self._updates += 1
        self.T[:, self.basis] = np.eye(len(self.basis))
        self.s[self.basis] = 0.0
        self.R[self.basis] = 0.0
        np.maximum(self.s, 0.0, out=self.s)

    def add(self, p: int) -> None:
        """Select feature p."""
        a = self.problem.rows(np.array([p]))[0]
        t = self.T[:, p].copy()
        row = a - t @ self._A_S
        left = row[p]
        if min(left, self.s[p]) <= self.problem.negligible[p]:
            self.inert.append(p)
            return
        v = self.R[p] / left
        self.T = np.vstack([self.T - np.outer(t, row / left), row / left])
        column = np.append(-t, 1.0)[:, None]
        self.M = np.pad(self.M, (0, 1)) + column @ column.T / left
        self.V = np.vstack([self.V - np.outer(t, v), v])
        self.R -= np.outer(row, v)
        self.s -= row**2 / left
        self._A_S = np.vstack([self._A_S, a])
        self.basis.append(p)
        self._clean()

    def remove(self, feature: int) -> None:
        """Deselect a feature; inert ones that its absence makes useful take their place."""
        if feature in self.inert:
            self.inert.remove(feature)
            return
        i = self.basis.index(feature)
        t, v, m = self.T[i].copy(), self.V[i].copy(), self.M[i, i]
        others = np.delete(np.arange(len(self.basis)), i)
        share = self.M[others, i] / m
        self.R += np.outer(t, v / m)
        self.s += t**2 / m
        self.T = self.T[others] - np.outer(share, t)
        self.V = self.V[others] - np.outer(share, v)
        self.M = self.M[np.ix_(others, others)] - np.outer(share, self.M[i, others])
        self._A_S = self._A_S[others]
        del self.basis[i]
        self._clean()
        for q in [q for q in self.inert if self.s[q] > self.problem.negligible[q]]:
            self.inert.remove(q)
            self.add(q)

    def addition_gains(self) -> Array:
        """What adding each feature would take off the objective; -inf for the selected."""
        squares = np.einsum("pc,pc->p", self.R, self.R)
        gains = _safe_ratio(squares, self.s, self.s > self.problem.negligible)
        gains[self.support] = -np.inf
        return gains

    def removal_costs(self) -> Array:
        """What removing each feature would add to the objective, in the order of ``support``."""
        costs = np.einsum("ic,ic->i", self.V, self.V) / np.diag(self.M)
        if self.inert:
            costs[self._replaceable()] = 0.0
        return np.append(costs, np.zeros(len(self.inert)))

    def _replaceable(self) -> Mask:
        """Which of the basis an inert feature would stand in for: their removal costs nothing."""
        scale = np.sqrt(self.problem.diagonal)
        weights = np.abs(self.T[:, self.inert]) * scale[self.basis][:, None]
        noise = np.sqrt(self.problem.share) * scale[self.inert]
        return np.asarray((weights > noise).any(axis=1))

    def exchange_gains(self) -> Array:
        """What each exchange would take off the objective, with all coefficients refitted.

        Returns
        -------
        gains : array of shape (k, d)
            Entry (i, p): the i-th feature of ``support`` out and p in; -inf where p is selected.
        """
        m = np.diag(self.M)[:, None]
        ratio = self.T / m
        left = self.s + ratio * self.T
        V2 = np.einsum("ic,ic->i", self.V, self.V)[:, None]
        gains = self.V @ self.R.T
        gains *= 2.0
        gains += ratio * V2
        gains *= ratio
        gains += np.einsum("pc,pc->p", self.R, self.R)
        gains = _safe_ratio(gains, left, left > self.problem.negligible)
        gains -= V2 / m
        if self.inert:
            added = np.maximum(self.addition_gains(), 0.0)
            gains[self._replaceable()] = added
            gains = np.vstack([gains, np.tile(added, (len(self.inert), 1))])
        gains[:, self.support] = -np.inf
        return gains


def forward(
    design: Design, Y: Array, k: int, *, ridge: float = 0.0, live: Mask | None = None
) -> Index:
    """Greedy forward selection by the exact gain, in the order of picking.

    Gram-Schmidt on the columns [x_p; sqrt(ridge) e_p]: one product X'q a pick, and neither M
    nor T. Once nothing gains any more, the features with the largest ||B_p||^2 / A_pp fill up to
    exactly k, columns of zeros last. Ties go to the lowest index.

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
    n = design.shape[0]
    R = design.rmatmul(Y)
    s = design.column_norms() ** 2 + ridge
    live = design.column_norms() > 0 if live is None else live
    eps = machine_eps(design)
    negligible = eps**_NOTHING_LEFT * s
    alone = univariate_gains(R, s)
    enough = eps * float(np.vdot(Y, Y))
    Q = np.zeros((n + k, k))
    rest = np.vstack([Y, np.zeros((k, Y.shape[1]))])
    picked: list[int] = []
    for m in range(k):
        gains = _safe_ratio(np.einsum("pc,pc->p", R, R), s, live & (s > negligible))
        gains[picked] = -1.0
        p = first_best(gains, eps)
        if gains[p] <= enough:
            break
        q = Q[:, m]
        q[:n] = design.columns(np.array([p]))[:, 0]
        q[n + m] = np.sqrt(ridge)
        for _ in range(2):  # once is not orthogonal to rounding
            q -= Q[:, :m] @ (q @ Q[:, :m])
        q /= np.linalg.norm(q)
        row, y = design.rmatmul(q[:n, None]), q @ rest
        rest -= np.outer(q, y)
        R -= row * y
        s -= row[:, 0] ** 2
        if (m + 1) % _UPDATES_BEFORE_REFRESH == 0:
            R = design.rmatmul(rest[:n])
        picked.append(p)
    return fill(picked, alone, live, k)


def fill(picked: list[int], strength: Array, live: Mask, k: int) -> Index:
    """``picked`` and then the strongest others, those not ``live`` last."""
    order = np.lexsort((-strength, ~live))
    others = order[~np.isin(order, picked)]
    return np.concatenate([np.array(picked, dtype=np.intp), others])[:k]


def least_squares_fit(
    design: Design, Y: Array, support: Index, *, ridge: float = 0.0
) -> tuple[Array, float]:
    """Coefficients on a support (k x c) and ||Y - X W||^2 + ridge ||W||^2, at their least.

    Computed from the columns and not from their Gram matrix, so near-dependence costs no
    digits; of dependent columns the solution of least norm (per unit of column) is taken.
    """
    k = support.size if ridge > 0 else 0
    X_S = np.vstack([design.columns(support), np.sqrt(ridge) * np.eye(k, support.size)])
    target = np.vstack([Y, np.zeros((k, Y.shape[1]))])
    norms = np.linalg.norm(X_S, axis=0)
    norms[norms == 0] = 1.0
    V = lstsq(X_S / norms, target, cond=1 / _REFIT_CONDITION, lapack_driver="gelsy")[0]
    V /= norms[:, None]
    return V, float(np.sum((target - X_S @ V) ** 2))


def least_squares_objective(design: Design, Y: Array, S: Index, *, ridge: float = 0.0) -> float:
    """The least ||Y - X W||^2 + ridge ||W||^2 on a support S."""
    return least_squares_fit(design, Y, S, ridge=ridge)[1]
