"""The convex relaxation of the choice of k units, by projected Newton steps.

With s_g in [0, 1] for each unit g, a feature or a group of them, and sum s = k instead of a choice,

    phi(s) = min_W loss(XW) + penalty * sum_g ||W_g||^2 / s_g

is convex in s for a convex loss; its gradient is -q, with q_g = ||G_g||^2 / (4 penalty) and G the
gradient of the loss in W. The W of *any* s gives a lower bound on the problem, so nothing here has
to be exact for a bound to be valid.

There are two implementations: :class:`GramRelaxation` from the products of the features, for the
squared loss, and :class:`ColumnRelaxation` from their columns, for any loss with a curvature.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs, dtrtrs

from rowsparse._arrays import Array, Index, Mask
from rowsparse.solvers.choices import largest
from rowsparse.solvers.losses.newton import NewtonLoss

# Entries of s closer than this to 0 or 1 sit on the bound.
_AT_BOUND = 1e-9
# Entries of a projection below this are zeros up to rounding.
_ZERO = 1e-14
_SHRINK_STEP = 0.3
_NEWTON_TRIES = 6
_GRADIENT_TRIES = 12
# The longest move of an entry, before it is projected to [0, 1]: longer ones would lose its digits.
_LONGEST = 1e3
# Steps of one solution, and Newton steps that may fail before the barrier method takes over.
_MAX_ITER, _MAX_FAILURES = 50, 6
# The weight of the barrier, relative to ||Y||^2 a feature, how it falls, the steps with each
# weight, and what of the tolerance the last one may come to.
_FIRST_BARRIER, _BARRIER_FALL, _BARRIER_STEPS, _LAST_BARRIER = 1e-2, 0.15, 3, 0.3
# Share of the mean curvature added to a Hessian that may be singular.
_DAMPING = 1e-10
# The same for the slopes at zero.
_SLOPE_DAMPING = 1e-6
# Steps with the same curvature, the share of the last promise at which they go on, and the promise
# at which they end, relative to the loss of choosing nothing.
_MODEL_STEPS, _MODEL_RATE, _MODEL_TOL, _MODEL_RENEWALS = 20, 0.3, 1e-11, 2
# Share of its curvature that an entry must keep while others are set to 0.
_LEAST_PIVOT = 1e-6
# Tolerance of the fits of a loss with a curvature, relative to the loss of choosing nothing. The
# last Newton step squares it.
_FIT_TOL = 1e-5


def project_capped_simplex(v: Array, k: int) -> Array:
    """The nearest point to v with entries in [0, 1] that sum to k <= len(v).

    >>> project_capped_simplex(np.array([3.0, 0.5, 0.1]), 2)
    array([1. , 0.7, 0.3])
    """
    # total(t) = sum(clip(v - t, 0, 1)) falls with t and is linear between these knots: the slope
    # grows by one where an entry leaves 1 and falls by one where it arrives at 0.
    knots = np.concatenate([v - 1.0, v])
    order = knots.argsort(kind="stable")
    knots = knots[order]
    moving = (1 - 2 * (order >= v.size)).cumsum()
    total = v.size - (moving[:-1] * (knots[1:] - knots[:-1])).cumsum()
    # The last knot with a total of at least k; the first has all of v at 1.
    low = int(np.count_nonzero(total >= k))
    t = float(knots[low])
    # What rounding did to the cumulated total is not in this one.
    s = _clipped(v, t)
    if moving[low] > 0:
        s = _clipped(v, t + (float(s.sum()) - k) / float(moving[low]))
    return s


def _clipped(v: Array, t: float) -> Array:
    s = v - t
    np.maximum(s, 0.0, out=s)
    np.minimum(s, 1.0, out=s)
    return s


class Splits(NamedTuple):
    """Units to split on, one after the other, and what s is expected to be in the parts.

    Attributes
    ----------
    units : array of int
        The units.
    inside : array of shape (len(units), m)
        s where each of them is chosen and those before it are ruled out.
    rest : array of shape (m,)
        s where all of them are ruled out.
    """

    units: Index
    inside: Array
    rest: Array


def no_splits(s: Array) -> Splits:
    """No units, and s as it is."""
    return Splits(np.zeros(0, dtype=np.intp), np.zeros((0, s.size)), s)


def _ruled_out(C: Array, s: Array, rise: float, most: int) -> Splits:
    """The entries of s to set to 0 one after the other, the steepest first.

    See :meth:`Relaxation.splits`. Those that are set stay 0, while the others adapt.
    """
    chosen: list[int] = []
    inside: list[Array] = []
    curvature = C.diagonal().copy()
    small = _LEAST_PIVOT * curvature
    while len(chosen) < min(most, s.size - 1):
        slope = np.where(curvature > small, s / np.maximum(curvature, small), 0.0)
        slope[chosen] = 0.0
        j = int(slope.argmax())
        if not slope[j] > 0.0:
            break
        chosen.append(j)
        inside.append(s + C[j] * ((1.0 - s[j]) / C[j, j]))
        rise -= 0.5 * float(s[j] * slope[j])
        s = s - C[j] * slope[j]
        if rise <= 0.0:
            break
        C = C - np.outer(C[j], C[j] / C[j, j])
        curvature = C.diagonal()
    units = np.array(chosen, dtype=np.intp)
    return Splits(units, np.array(inside).reshape(len(chosen), s.size), s)


@dataclass
class RelaxedPoint:
    """phi at one s; the relaxation of a loss adds what its derivatives need.

    Attributes
    ----------
    s : array of shape (m,)
        The point.
    active : array of int
        The columns of the units with s > 0.
    W : array of shape (len(active), c)
        Their coefficients.
    phi : float
        The value of the relaxation.
    q : array of shape (m,)
        Minus the gradient of phi.
    """

    s: Array
    active: Index
    W: Array
    phi: float
    q: Array


Point = TypeVar("Point", bound=RelaxedPoint)


class Relaxation(ABC, Generic[Point]):
    """The relaxation on m units; subclasses know the loss.

    Parameters
    ----------
    total : float
        The objective of choosing nothing.
    k : int
        Number of units to choose.
    n_fixed : int
        Number of units chosen already, which come first; their s is 1.
    owner : array of int or None
        The unit of each column, in order; None where every column is a unit.
    """

    def __init__(self, total: float, k: int, n_fixed: int, owner: Index | None) -> None:
        self.total = total
        self.n_fixed, self.n_free = n_fixed, k - n_fixed
        self.owner = owner

    @abstractmethod
    def evaluate(self, s: Array, near: Point | None = None) -> Point:
        """Evaluate phi at s; ``near`` is a point not far from it, where one is known."""

    @abstractmethod
    def bound(self, point: Point) -> float:
        """The lower bound from a point, over the choices among these units."""

    @abstractmethod
    def _column_hessian(self, point: Point, columns: Index) -> Array:
        """The Hessian of phi if each of these columns had an s of its own."""

    @abstractmethod
    def _column_curvature(self, point: Point) -> Array:
        """Upper bounds on the diagonal of that of all columns."""

    def hessian(self, point: Point, free: Index) -> Array:
        """The Hessian of phi over some units, which are sorted."""
        if self.owner is None:
            return self._column_hessian(point, free)
        columns = np.flatnonzero(np.isin(self.owner, free))
        starts = np.searchsorted(self.owner[columns], free)
        rows = np.add.reduceat(self._column_hessian(point, columns), starts, axis=0)
        return np.asarray(np.add.reduceat(rows, starts, axis=1))

    def spread(self, s: Array) -> Array:
        """Values of units for each of their columns."""
        return s if self.owner is None else s[self.owner]

    def sums(self, q: Array) -> Array:
        """Scores of columns, summed over each unit."""
        return q if self.owner is None else np.bincount(self.owner, q)

    def _curvature(self, point: Point) -> float:
        """An upper bound on the diagonal of the Hessian."""
        curvature = self._column_curvature(point)
        if self.owner is not None:
            # An entry of a block is at most the mean of those of the diagonal.
            curvature = self.sums(curvature) * np.bincount(self.owner)
        return float(curvature.max(initial=0.0))

    def project(self, v: Array) -> Array:
        """The nearest s to v that keeps the fixed entries at 1 and sums to k."""
        s = np.ones(v.size)
        s[self.n_fixed :] = project_capped_simplex(v[self.n_fixed :], self.n_free)
        # What rounding leaves of zeros would only make the next step dearer.
        s[s < _ZERO] = 0.0
        return s

    def near(self, s: Array) -> Array:
        """An s with sum k near one of the free units; what is missing goes to those with s > 0."""
        s = np.concatenate([np.ones(self.n_fixed), s]).clip(0.0, 1.0)
        missing, room = self.n_free + self.n_fixed - float(s.sum()), s * (1.0 - s)
        if missing > 0.0 and room.any():
            s += missing / float(room.sum()) * room
        return self.project(s)

    def _largest_sum(self, q: Array) -> float:
        """The sum of the k largest q; the fixed features count whatever their q."""
        fixed, free = q[: self.n_fixed], q[self.n_fixed :]
        return float(fixed.sum() + largest(free, self.n_free).sum())

    def solve(self, s: Array, *, tol: float, stop_above: float = np.inf) -> tuple[Point, float]:
        """Minimise phi from s until the bound is within ``tol`` or reaches ``stop_above``.

        If phi falls below ``stop_above``, the bound cannot reach it; then the bound only has to
        be within a tenth of the distance of phi from ``stop_above``.

        Returns the point with the best bound, and that bound.
        """
        point = self.evaluate(s)
        best, bound = point, -np.inf
        failures = 0
        for _ in range(_MAX_ITER):
            value = self.bound(point)
            if value > bound:
                best, bound = point, value
            if self._is_solved(point, bound, tol, stop_above):
                break
            moved = self._newton_step(point)
            if moved is None:
                failures += 1
                moved = self._gradient_step(point)
            if moved is None or failures > _MAX_FAILURES:
                if self.n_free > 0:
                    inside, value = self.solve_by_barrier(point.s, tol=tol, stop_above=stop_above)
                    best, bound = (inside, value) if value > bound else (best, bound)
                break
            point = moved
        return best, bound

    @staticmethod
    def _is_solved(point: Point, bound: float, tol: float, stop_above: float) -> bool:
        """Whether the bound has reached ``stop_above``, or is close enough to phi."""
        gap = max(tol, 0.1 * (stop_above - point.phi)) if np.isfinite(stop_above) else tol
        return bound >= stop_above or point.phi - bound <= gap

    def solve_by_barrier(
        self, s: Array, *, tol: float, stop_above: float = np.inf
    ) -> tuple[Point, float]:
        """As :meth:`solve`, by Newton steps on phi plus a logarithmic barrier of falling weight.

        Slower than :meth:`solve` in general, but reliable where the ridge is small. Returns the
        last point, and its bound.
        """
        m, fixed = s.size, self.n_fixed
        middle = self.n_free / (m - fixed)
        s = np.concatenate([np.ones(fixed), 0.9 * s[fixed:] + 0.1 * middle])
        free = np.arange(fixed, m)
        point, tau = self.evaluate(s), _FIRST_BARRIER * self.total / m
        while True:
            for _ in range(_BARRIER_STEPS):
                moved = self._barrier_step(point, free, tau)
                if moved is None:
                    break
                point = moved
            bound = self.bound(point)
            solved = self._is_solved(point, bound, tol, stop_above)
            if solved or tau * m <= _LAST_BARRIER * tol:
                return point, bound
            tau *= _BARRIER_FALL

    def _barrier_step(self, point: Point, free: Index, tau: float) -> Point | None:
        s, q = point.s[free], point.q[free]
        hessian = self._damped_hessian(point, free)
        hessian.flat[:: free.size + 1] += tau * (s**-2.0 + (1.0 - s) ** -2.0)
        factor, failed = dpotrf(hessian.T, lower=1, clean=0, overwrite_a=1)
        if failed:
            return None
        right = np.stack([q + tau * (1.0 / s - 1.0 / (1.0 - s)), np.ones(free.size)], axis=1)
        solved = dpotrs(factor, right, lower=1)[0]
        totals = solved.sum(axis=0)
        step = solved[:, 0] - totals[0] / totals[1] * solved[:, 1]
        # To 95 % of the way to the nearest end of an interval.
        ends = np.where(step < 0, s, 1.0 - s)
        length = min(1.0, 0.95 / float(np.max(np.abs(step) / ends, initial=1e-300)))
        now = point.phi - tau * float(np.log(s).sum() + np.log1p(-s).sum())
        for _ in range(_GRADIENT_TRIES):
            there = point.s.copy()
            there[free] = s + length * step
            trial = self.evaluate(there, point)
            t = there[free]
            if trial.phi - tau * float(np.log(t).sum() + np.log1p(-t).sum()) < now:
                return trial
            length *= _SHRINK_STEP
        return None

    def _newton_step(self, point: Point) -> Point | None:
        direction = self._newton_direction(point)
        if direction is None:
            return None
        return self._moved(point, direction, 1.0, _NEWTON_TRIES, balanced=True)

    def _gradient_step(self, point: Point) -> Point | None:
        step = 1.0 / max(self._curvature(point), np.finfo(np.float64).tiny)
        return self._moved(point, point.q, step, _GRADIENT_TRIES)

    def _moved(
        self, point: Point, direction: Array, step: float, tries: int, *, balanced: bool = False
    ) -> Point | None:
        """The point after a step, shortened until phi falls; None if it does not."""
        longest = float(np.abs(direction).max(initial=0.0))
        if not 0.0 < longest < np.inf:
            return None
        step = min(step, _LONGEST / longest)
        for _ in range(tries):
            there = point.s + step * direction
            # A direction of sum 0 within the bounds needs no projection.
            if not (balanced and there.min() >= 0.0 and there.max() <= 1.0):
                there = self.project(there)
            trial = self.evaluate(there, point)
            if trial.phi < point.phi:
                return trial
            step *= _SHRINK_STEP
        return None

    def _newton_direction(self, point: Point) -> Array | None:
        """The Newton direction with sum 0 over the entries that are free to move."""
        free = self._free(point).nonzero()[0]
        if free.size < 2:
            return None
        hessian = self._damped_hessian(point, free)
        while free.size >= 2:
            # Overwritten by its factor, by columns.
            factor, failed = dpotrf(hessian.T.copy(order="F"), lower=1, clean=0, overwrite_a=1)
            if failed:
                return None
            right = np.ones((2, free.size))
            right[0] = point.q[free]
            solved = dpotrs(factor, right.T, lower=1, overwrite_b=1)[0].T
            totals = solved.sum(axis=1)
            step = solved[0] - (totals[0] / totals[1]) * solved[1]
            s = point.s[free]
            kept = ((s > _AT_BOUND) | (step >= 0)) & ((s < 1 - _AT_BOUND) | (step <= 0))
            if kept.all():
                direction = np.zeros_like(point.s)
                direction[free] = step
                return direction
            stay = np.flatnonzero(kept)
            free, hessian = free[stay], hessian.take(stay, axis=0).take(stay, axis=1)
        return None

    def splits(self, point: Point, rise: float, most: int) -> Splits:
        """Units to rule out one after the other, until phi may have risen by ``rise``.

        Those at whose s = 0 the slope of phi is the steepest, to second order: phi rises by
        delta^2 / (2 C_jj) when s_j moves by delta and the other fractional entries adapt optimally,
        with C the inverse of the Hessian among directions of sum 0, and at s_j = 0 its slope is
        s_j / C_jj. Without curvature there are none.
        """
        fractional = self._fractional(point.s)
        fractional[: self.n_fixed] = False
        free = np.flatnonzero(fractional)
        if free.size < 2:
            return no_splits(point.s)
        hessian = self._damped_hessian(point, free, _SLOPE_DAMPING)
        factor, failed = dpotrf(hessian.T, lower=1, clean=0, overwrite_a=1)
        if failed:
            return no_splits(point.s)
        sums = dpotrs(factor, np.ones(free.size), lower=1)[0]
        inverse, _ = dpotri(factor, lower=1, overwrite_c=1)
        C = np.tril(inverse)
        C += np.tril(C, -1).T
        C -= np.outer(sums, sums / sums.sum())
        found = _ruled_out(C, point.s[free], rise, most)
        inside, rest = np.tile(point.s, (found.units.size, 1)), point.s.copy()
        inside[:, free], rest[free] = found.inside, found.rest
        return Splits(free[found.units], inside, rest)

    def _damped_hessian(self, point: Point, free: Index, damping: float = _DAMPING) -> Array:
        """The Hessian of phi over some entries, a little damped."""
        H = self.hessian(point, free)
        H.flat[:: free.size + 1] += damping * np.trace(H) / free.size + 1e-300
        return H

    @staticmethod
    def _fractional(s: Array) -> Mask:
        inside: Mask = (s > _AT_BOUND) & (s < 1 - _AT_BOUND)
        return inside

    def _free(self, point: Point) -> Mask:
        s, q = point.s, point.q
        inside = self._fractional(s)
        multiplier = self._multiplier(point, inside)
        enters = (s <= _AT_BOUND) & (q > multiplier)
        leaves = (s >= 1 - _AT_BOUND) & (q < multiplier)
        free: Mask = inside | enters | leaves
        free[: self.n_fixed] = False
        return free

    def multiplier(self, point: Point) -> float:
        """The multiplier of sum s = k: the q that fractional entries have in common."""
        return self._multiplier(point, self._fractional(point.s))

    def _multiplier(self, point: Point, inside: Mask) -> float:
        s, q = point.s[inside], point.q
        if s.size:
            weights = np.minimum(s, 1.0 - s)
            return float(weights @ q[inside] / weights.sum())
        ordered = np.sort(q[self.n_fixed :])[::-1]
        last, next_one = self.n_free - 1, min(self.n_free, ordered.size - 1)
        return 0.5 * float(ordered[last] + ordered[next_one])


# ------------------------------------------------------------------------------ from products
@dataclass
class GramPoint(RelaxedPoint):
    """phi of the squared loss at one s; ``u`` is X'(Y - XW).

    Attributes
    ----------
    root, factor : arrays
        sqrt(s), and the Cholesky factor of T G T + ridge I, of the active columns.
    u : array of shape (m, c)
        Half of minus the gradient of the loss in W.
    """

    root: Array
    factor: Array
    u: Array


class GramRelaxation(Relaxation[GramPoint]):
    """The relaxation of the squared loss, from the products of the features.

        phi(s) = min_W ||Y - XW||^2 + ridge * sum_g ||W_g||^2 / s_g

    with q_j = ||u_j||^2 / ridge and u = X'(Y - XW).

    Parameters
    ----------
    G : array of shape (m, m)
        X'X.
    B : array of shape (m, c)
        X'Y.
    total : float
        ||Y||^2.
    ridge : float
        Positive.
    k, n_fixed, owner
        As in :class:`Relaxation`.
    """

    def __init__(
        self,
        G: Array,
        B: Array,
        total: float,
        k: int,
        ridge: float,
        n_fixed: int = 0,
        owner: Index | None = None,
    ) -> None:
        super().__init__(total, k, n_fixed, owner)
        self.G, self.B, self.ridge = G, B, ridge

    def evaluate(self, s: Array, near: GramPoint | None = None) -> GramPoint:
        """Evaluate phi at s, by W = T V with (T G T + ridge I) V = T B and T = diag(sqrt s)."""
        return self._evaluate(s, 0.0)

    def _evaluate(self, s: Array, damping: float) -> GramPoint:
        """The matrix is damped where rounding makes it singular: any W gives a bound."""
        shares = self.spread(s)
        active = shares.nonzero()[0]
        root = np.sqrt(shares[active])
        whole = active.size == shares.size
        # One axis at a time is the fastest.
        G_A = self.G if whole else self.G.take(active, axis=0)
        K = (G_A if whole else G_A.take(active, axis=1)) * root
        K *= root[:, None]
        K.flat[:: active.size + 1] += self.ridge + damping
        # The transpose of a symmetric matrix is in the column order that LAPACK needs.
        factor, failed = dpotrf(K.T, lower=1, clean=0, overwrite_a=1)
        if failed and np.isfinite(damping):
            scaled = self.ridge + float(self.G.diagonal()[active] @ shares[active]) / active.size
            least = _DAMPING * scaled
            return self._evaluate(s, max(100.0 * damping, least, np.finfo(np.float64).tiny))
        right = root[:, None] * self.B[active]
        V, _ = dpotrs(factor, right, lower=1)
        W = root[:, None] * V
        u = self.B - G_A.T @ W
        phi = self.total - float(np.vdot(right, V))
        return GramPoint(s, active, W, phi, self.sums(self.scores(u)), root, factor, u)

    def scores(self, u: Array) -> Array:
        """The q of each column."""
        q = np.einsum("jc,jc->j", u, u)
        q /= self.ridge
        return q

    def bound(self, point: GramPoint) -> float:
        """The lower bound from a point: total - <W, GW> - the sum of the k largest q."""
        explained = float(np.vdot(point.W, self.B[point.active] - point.u[point.active]))
        return self.total - explained - self._largest_sum(point.q)

    def _column_hessian(self, point: GramPoint, columns: Index) -> Array:
        """2/ridge^2 (X'K^{-1}X) o (u u'), with K = I + X diag(s) X'/ridge; o is entrywise."""
        G_F = self.G.take(columns, axis=0)
        cross = G_F.take(point.active, axis=1) * point.root
        Z, _ = dtrtrs(point.factor, cross.T, lower=1, overwrite_b=1)
        H = G_F.take(columns, axis=1)
        H -= Z.T @ Z
        u = point.u[columns] * (np.sqrt(2.0) / self.ridge)
        H *= u @ u.T
        return H

    def _column_curvature(self, point: GramPoint) -> Array:
        return 2.0 / self.ridge * (self.scores(point.u) * np.diag(self.G))


# ------------------------------------------------------------------------------- from columns
class Guess(NamedTuple):
    """What is known of the fit of a relaxation from one not far from it.

    Attributes
    ----------
    columns : array of int
        Columns of the design, sorted.
    pull : array of shape (len(columns), c)
        Minus the gradient of the loss in their coefficients, by the ridge.
    W : array of shape (len(columns), c)
        These coefficients.
    b : array of shape (c,)
        The intercepts.
    """

    columns: Index
    pull: Array
    W: Array
    b: Array

    def among(self, columns: Index) -> Guess:
        """The same for some columns of the design in any order; 0 of those that are not known."""
        at = np.minimum(np.searchsorted(self.columns, columns), self.columns.size - 1)
        known = (self.columns[at] == columns)[:, None]
        pull, W = (np.where(known, part[at], 0.0) for part in (self.pull, self.W))
        return Guess(columns, pull, W, self.b)


@dataclass
class ColumnPoint(RelaxedPoint):
    """phi at one s.

    Attributes
    ----------
    u, b : arrays of shape (m, c) and (c,)
        Minus the gradient of the loss in W, and the intercepts.
    P : array of shape (n, c)
        The predictions XW + 1b'.
    value : float
        Their loss.
    model : QuadraticModel
        Of the loss, not far from here.
    inverse : array of shape (c, a, a)
        Of its Hessian in the coefficients V of the active columns, and in the intercept.
    """

    u: Array
    b: Array
    P: Array
    value: float
    model: QuadraticModel
    inverse: Array


@dataclass(frozen=True)
class QuadraticModel:
    """The curvature of a loss at some predictions, in the coefficients of all columns.

    Attributes
    ----------
    products : array of shape (c, m, m)
        Z'HZ for each column of the targets; a last column of ones stands for an intercept.
    ridge : float
        The weight of half the squares of the coefficients, without the intercept.
    n_columns : int
        Number of columns, without that of ones.
    """

    products: Array
    ridge: float
    n_columns: int

    def with_intercept(self, columns: Index) -> Index:
        """These columns, and that of ones if there is one."""
        return np.append(columns, np.arange(self.n_columns, self.products.shape[1]))

    def inverse(self, active: Index, root: Array) -> Array:
        """The inverse of the Hessian in V, where W = root V; with the intercept."""
        used = self.with_intercept(active)
        K = self._scaled(used, used, root) * _padded(root, used.size)
        own = np.arange(active.size)
        K[:, own, own] += self.ridge
        own = np.arange(used.size)
        K[:, own, own] *= 1.0 + _DAMPING
        try:
            return np.asarray(np.linalg.inv(K))
        except np.linalg.LinAlgError:
            return np.full_like(K, np.nan)

    def reduced(self, active: Index, root: Array, inverse: Array, columns: Index) -> Array:
        """X'(H^-1 + X diag(s) X'/ridge)^-1 X of some columns, with the intercept projected out."""
        C = self._scaled(self.with_intercept(active), columns, root)
        M = self.products[:, columns[:, None], columns]
        M -= np.matmul(C.transpose(0, 2, 1), np.matmul(inverse, C))
        return M

    def _scaled(self, rows: Index, columns: Index, root: Array) -> Array:
        return np.asarray(
            self.products[:, rows[:, None], columns] * _padded(root, rows.size)[:, None]
        )


def _padded(root: Array, size: int) -> Array:
    """The roots, and 1 for the intercept."""
    padded = np.ones(size)
    padded[: root.size] = root
    return padded


class ColumnRelaxation(Relaxation[ColumnPoint]):
    """The relaxation of a loss with a curvature, from the columns of the features.

        phi(s) = min_{W,b} loss(XW + 1b') + (ridge / 2) * sum_g ||W_g||^2 / s_g

    with q_j = ||u_j||^2 / (2 ridge) and u = -X'G, G the gradient of the loss. With W = T V and
    T = diag(sqrt s), it is the fit of the columns XT with the ridge itself.

    The curvature is computed once; fits by it take a few products with the columns more, and are
    left to Newton's method if they do not converge fast.

    Parameters
    ----------
    loss : NewtonLoss
        Of the targets; its design is not used.
    X : array of shape (n, m)
        The columns.
    ridge : float
        Positive.
    k, n_fixed, owner
        As in :class:`Relaxation`.
    start : Guess, optional
        A guess for these columns, in their order.
    """

    def __init__(
        self,
        loss: NewtonLoss,
        X: Array,
        ridge: float,
        k: int,
        n_fixed: int,
        owner: Index | None = None,
        start: Guess | None = None,
    ) -> None:
        super().__init__(loss.at_zero, k, n_fixed, owner)
        self.loss, self.ridge, self._start = loss, ridge, start
        self.n_columns = X.shape[1]
        self.Z = np.column_stack([X, np.ones(len(X))]) if loss.fit_intercept else X
        self._model: QuadraticModel | None = None
        if start is not None:
            self._model = self._model_at(X @ start.W + start.b)

    def evaluate(self, s: Array, near: ColumnPoint | None = None) -> ColumnPoint:
        """Evaluate phi at s, from the W of ``near`` scaled to s."""
        shares = self.spread(s)
        active = np.flatnonzero(shares)
        root = np.sqrt(shares[active])
        start: tuple[Array, Array] | None = None
        if near is not None:
            start = near.u / self.ridge, near.b
        elif self._start is not None:
            start = self._start.pull, self._start.b
        if start is not None:
            start = root[:, None] * start[0][active], start[1]
            point = self._by_model(s, active, root, *start)
            if point is not None:
                return point
        X = self.Z[:, : self.n_columns]
        fit = self.loss.fit(X[:, active] * root, ridge=self.ridge, tol=_FIT_TOL, start=start)
        self._model = model = self._model_at(fit.P)
        inverse, u = model.inverse(active, root), -(X.T @ self.loss.gradient(fit.P))
        W, q, phi = root[:, None] * fit.W, self.sums(self.scores(u)), fit.objective
        value = phi - self._penalty(fit.W)
        return ColumnPoint(s, active, W, phi, q, u, fit.b, fit.P, value, model, inverse)

    def _by_model(
        self, s: Array, active: Index, root: Array, V: Array, b: Array
    ) -> ColumnPoint | None:
        """The same by the model of the loss; None if that does not converge fast."""
        if self.loss.fit_intercept:
            V = np.vstack([V, b])
        used = np.append(active, np.arange(self.n_columns, self.Z.shape[1]))
        Z = self.Z.take(used, axis=1) * _padded(root, used.size)
        P, model, a = Z @ V, self._model, active.size
        assert model is not None
        inverse, last, renewals = model.inverse(active, root), np.inf, 0
        for _ in range(_MODEL_STEPS):
            gradient = self.loss.gradient(P)
            slope = Z.T @ gradient
            slope[:a] += self.ridge * V[:a]
            step = np.matmul(inverse, slope.T[..., None])[..., 0].T
            promised = abs(0.5 * float(np.vdot(slope, step)))
            if promised <= _MODEL_TOL * self.total:
                value, u = self.loss.value(P), -(self.Z.T @ gradient)[: self.n_columns]
                phi = value + self._penalty(V[:a])
                W, q = root[:, None] * V[:a], self.sums(self.scores(u))
                b = V[a] if self.loss.fit_intercept else b
                return ColumnPoint(s, active, W, phi, q, u, b, P, value, model, inverse)
            if not promised < _MODEL_RATE * last:
                if renewals == _MODEL_RENEWALS or not np.isfinite(promised):
                    return None
                renewals += 1
                self._model = model = self._model_at(P)
                inverse, last = model.inverse(active, root), np.inf
                step = np.matmul(inverse, slope.T[..., None])[..., 0].T
            last, V = promised, V - step
            P = Z @ V
        return None

    def _penalty(self, V: Array) -> float:
        return 0.5 * self.ridge * float(np.vdot(V, V))

    def _model_at(self, P: Array) -> QuadraticModel:
        products = self.loss.quadratic(P)[1].products(self.Z)
        return QuadraticModel(products, self.ridge, self.n_columns)

    def scores(self, u: Array) -> Array:
        """The q of each column."""
        return np.asarray(np.einsum("jc,jc->j", u, u) / (2.0 * self.ridge))

    def bound(self, point: ColumnPoint) -> float:
        """The loss less <gradient, XW> and the sum of the k largest q.

        Up to the square of what the intercepts are off.
        """
        pulled = float(np.vdot(point.u[point.active], point.W))
        return point.value + pulled - self._largest_sum(point.q)

    def _column_hessian(self, point: ColumnPoint, columns: Index) -> Array:
        """sum_c (X'(H_c^-1 + X diag(s) X'/ridge)^-1 X) o (u_c u_c') / ridge^2; o is entrywise.

        H_c is the curvature of column c of the targets, with the intercept projected out.
        """
        root = np.sqrt(self.spread(point.s)[point.active])
        M = point.model.reduced(point.active, root, point.inverse, columns)
        u = point.u[columns].T / self.ridge
        M *= u[:, :, None]
        M *= u[:, None, :]
        return np.asarray(M.sum(axis=0))

    def _column_curvature(self, point: ColumnPoint) -> Array:
        squares = self.loss.curvature_bound(point.P) @ self.Z[:, : self.n_columns] ** 2
        return np.asarray(2.0 / self.ridge * (self.scores(point.u) * squares))
