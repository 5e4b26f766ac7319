"""The convex relaxation of the best-k-features problem, by projected Newton steps.

With s_j in [0, 1] and sum s = k instead of a choice of k features,

    phi(s) = min_W loss(XW) + penalty * sum_j ||w_j||^2 / s_j

is convex in s for a convex loss; its gradient is -q, with q_j = ||g_j||^2 / (4 penalty) and g the
gradient of the loss in W. The W of *any* s gives a lower bound on the problem, so nothing here has
to be exact for a bound to be valid.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs

from rowsparse._arrays import Array, Index, Mask

# Entries of s closer than this to 0 or 1 sit on the bound.
_AT_BOUND = 1e-9
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


@dataclass
class RelaxedPoint:
    """phi at one s; the relaxation of a loss adds what its derivatives need.

    Attributes
    ----------
    s : array of shape (m,)
        The point.
    active : array of int
        The entries with s > 0.
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
    """The relaxation on m features; subclasses know the loss.

    Parameters
    ----------
    total : float
        The objective of choosing nothing.
    k : int
        Number of features to choose.
    n_fixed : int
        Number of features chosen already, which come first; their s is 1.
    """

    def __init__(self, total: float, k: int, n_fixed: int) -> None:
        self.total = total
        self.n_fixed, self.n_free = n_fixed, k - n_fixed

    @abstractmethod
    def evaluate(self, s: Array, near: Point | None = None) -> Point:
        """Evaluate phi at s; ``near`` is a point not far from it, where one is known."""

    @abstractmethod
    def bound(self, point: Point) -> float:
        """The lower bound from a point, over the choices among these features."""

    @abstractmethod
    def hessian(self, point: Point, free: Index) -> Array:
        """The Hessian of phi over some entries."""

    @abstractmethod
    def _curvature(self, point: Point) -> float:
        """An upper bound on the diagonal of the Hessian."""

    def project(self, v: Array) -> Array:
        """The nearest s to v that keeps the fixed entries at 1 and sums to k."""
        s = np.ones_like(v)
        s[self.n_fixed :] = project_capped_simplex(v[self.n_fixed :], self.n_free)
        return s

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
        return None if direction is None else self._moved(point, direction, 1.0, _NEWTON_TRIES)

    def _gradient_step(self, point: Point) -> Point | None:
        step = 1.0 / max(self._curvature(point), np.finfo(np.float64).tiny)
        return self._moved(point, point.q, step, _GRADIENT_TRIES)

    def _moved(self, point: Point, direction: Array, step: float, tries: int) -> Point | None:
        """The point after a step, shortened until phi falls; None if it does not."""
        longest = float(np.abs(direction).max(initial=0.0))
        if not 0.0 < longest < np.inf:
            return None
        step = min(step, _LONGEST / longest)
        for _ in range(tries):
            trial = self.evaluate(self.project(point.s + step * direction), point)
            if trial.phi < point.phi:
                return trial
            step *= _SHRINK_STEP
        return None

    def _newton_direction(self, point: Point) -> Array | None:
        """The Newton direction with sum 0 over the entries that are free to move."""
        free = np.flatnonzero(self._free(point))
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

    def slopes_at_zero(self, point: Point) -> Array:
        """For each fractional entry of s, the slope of phi where it is 0; 0 for the others.

        To second order, phi rises by delta^2 / (2 C_jj) when s_j moves by delta and the other
        fractional entries adapt optimally, with C the inverse of the Hessian among directions of
        sum 0. At s_j = 0 its slope is s_j / C_jj.
        """
        inside = self._fractional(point.s)
        inside[: self.n_fixed] = False
        free = np.flatnonzero(inside)
        slopes = np.zeros_like(point.s)
        if free.size < 2:
            return slopes
        hessian = self._damped_hessian(point, free, _SLOPE_DAMPING)
        factor, failed = dpotrf(hessian.T, lower=1, clean=0, overwrite_a=1)
        if failed:
            return slopes
        sums = dpotrs(factor, np.ones(free.size), lower=1)[0]
        inverse, _ = dpotri(factor, lower=1, overwrite_c=1)
        C = inverse.diagonal() - sums**2 / sums.sum()
        slopes[free] = point.s[free] / np.maximum(C, np.finfo(np.float64).tiny)
        return slopes

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
        multiplier = self.multiplier(point)
        enters = (s <= _AT_BOUND) & (q > multiplier)
        leaves = (s >= 1 - _AT_BOUND) & (q < multiplier)
        free: Mask = inside | enters | leaves
        free[: self.n_fixed] = False
        return free

    def multiplier(self, point: Point) -> float:
        """The multiplier of sum s = k: the q that fractional entries have in common."""
        s, q = point.s, point.q
        inside = self._fractional(s)
        if inside.any():
            weights = np.minimum(s[inside], 1 - s[inside])
            return float(weights @ q[inside] / weights.sum())
        ordered = np.sort(q[self.n_fixed :])[::-1]
        last, next_one = self.n_free - 1, min(self.n_free, ordered.size - 1)
        return 0.5 * float(ordered[last] + ordered[next_one])


def largest(values: Array, k: int) -> Array:
    """The k largest entries, in any order."""
    if k >= values.size:
        return values
    return np.partition(values, values.size - k)[values.size - k :]
