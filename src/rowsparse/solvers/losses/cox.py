"""The Cox loss of times that may be censored, with Breslow's ties, and its dual points.

With R_t the samples that are at risk at time t, that is, whose time is not before t, and d_t the
weight of the events at t, it is the sum over the times t of events of

    d_t log sum_{l in R_t} omega_l exp(p_l) - sum_{events i at t} omega_i p_i - d_t log d_t,

half the deviance: minus the log partial likelihood, less that of a perfect fit. It is at least 0,
and it does not change if all predictions are shifted, so that there is no intercept. For any
predictions p, with the shares pi_tl = omega_l exp(p_l) / sum_{R_t} omega exp(p), every choice S of
columns has an objective of at least

    sum_t d_t (log(sum_{R_t} omega exp(p) / d_t) - sum_l pi_tl p_l)
        - sum_{j in S} (sum_{events i} omega_i x_ij - sum_t d_t sum_l pi_tl x_lj)^2 / (2 ridge).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from rowsparse._arrays import Array, Index
from rowsparse.design import Design
from rowsparse.solvers.losses.newton import Curvature, DualPoint, NewtonLoss, VaryingColumns

_EPS = float(np.finfo(np.float64).eps)
# Predictions that are lower than the largest one by more than this have no finite loss: their
# exponentials would be no normal floats. Dual points are those of predictions within it.
_SPREAD = 600.0
# The rounding error of a difference, as a share of the minuend.
_DIFFERENCE = 1e-13
# The least sum of weights times exponentials whose relative error is that of normal floats.
_LEAST_SUM = 1e-290


@dataclass(frozen=True)
class RiskSets:
    """Who is at risk at which event; arrays of samples have them on the second last axis.

    Attributes
    ----------
    order : array of shape (n,)
        The samples, the latest time first, so that those at risk come before all others.
    ends : array of shape (T,)
        How many samples are at risk at each time of events, the latest time first.
    first : array of shape (n,)
        The place of the first of these times that is not after that of each sample.
    deaths : array of shape (T, 1)
        The weight of the events at each time.
    dead, starts : arrays of int
        The samples with events in the order of these times, and where each time begins.
    """

    order: Index
    ends: Index
    first: Index
    deaths: Array
    dead: Index
    starts: Index

    @classmethod
    def from_times(cls, times: Array, events: Array, weights: Array) -> Self:
        """From the time of each sample, 1 for an event and 0 for the end of observation."""
        latest, place = np.unique(-times[events > 0], return_inverse=True)
        deaths = np.bincount(place, weights[events > 0], minlength=latest.size)
        order = np.argsort(-times, kind="stable")
        ends = np.searchsorted(-times[order], latest, side="right")
        first, by_time = np.searchsorted(latest, -times), np.argsort(place, kind="stable")
        starts = np.searchsorted(place[by_time], np.arange(latest.size))
        dead = np.flatnonzero(events > 0)[by_time]
        return cls(order, ends, first, deaths[:, None], dead, starts)

    def sums(self, values: Array) -> Array:
        """The sums of values over the samples at risk, for each time of events."""
        # With the samples along the last axis, each sum goes through adjacent numbers.
        rows = values.swapaxes(-1, -2).take(self.order, axis=-1)
        np.cumsum(rows, axis=-1, out=rows)
        return np.asarray(rows.take(self.ends - 1, axis=-1).swapaxes(-1, -2))

    def means_of_events(self, values: Array, weights: Array) -> Array:
        """The weighted means of values over the events at each time; of one event its value."""
        values, weights = values.take(self.dead, axis=-2), weights[self.dead]
        counts = np.diff(np.append(self.starts, self.dead.size))
        base = values.take(self.starts, axis=-2)
        off = weights * (values - np.repeat(base, counts, axis=-2))
        return np.asarray(base + np.add.reduceat(off, self.starts, axis=-2) / self.deaths)

    def shared(self, values: Array) -> Array:
        """For each sample, the sum of values over the times of events at which it was at risk."""
        later = np.flip(np.flip(values, axis=-2).cumsum(axis=-2), axis=-2)
        none = np.zeros((*values.shape[:-2], 1, values.shape[-1]))
        return np.asarray(np.concatenate([later, none], axis=-2).take(self.first, axis=-2))


@dataclass(frozen=True)
class CoxCurvature(Curvature):
    """sum_t d_t (diag(pi_t) - pi_t pi_t'), which is at most diag(h), h = sum_t d_t pi_t.

    Attributes
    ----------
    risk : RiskSets
        Who is at risk.
    sizes : array of shape (..., n, c)
        The weights times the exponentials of the predictions.
    totals : array of shape (..., T, c)
        Their sums over those at risk.
    """

    is_diagonal: ClassVar[bool] = False

    risk: RiskSets
    sizes: Array
    totals: Array

    def _means(self, Z: Array) -> Array:
        """pi_t' Z, of shape (..., c, T, k)."""
        sizes = self.sizes.swapaxes(-1, -2)[..., None]
        totals = self.totals.swapaxes(-1, -2)[..., None]
        return self.risk.sums(sizes * Z[..., None, :, :]) / totals

    def times(self, Z: Array) -> Array:
        rates = self.risk.deaths / self.totals.swapaxes(-1, -2)[..., None]
        shared = self.risk.shared(rates * self._means(Z)).swapaxes(-2, -3)
        return np.asarray(super().times(Z) - self.sizes[..., None] * shared)

    def products(self, Z: Array) -> Array:
        means = self._means(Z)
        of_means = np.matmul((self.risk.deaths * means).swapaxes(-1, -2), means)
        Zt = Z.swapaxes(-1, -2)[..., None, :, :] * self.h.swapaxes(-1, -2)[..., None, :]
        products = np.matmul(Zt, Z[..., None, :, :])
        # The difference of nearly equal numbers may be negative.
        rounding = _DIFFERENCE * np.einsum("...jj->...j", products)
        products -= of_means
        np.einsum("...jj->...j", products)[...] += rounding
        return np.asarray(products)

    def squares(self, Z: Array) -> Array:
        of_means = self.risk.deaths[:, 0] @ self._means(Z) ** 2
        return np.asarray(np.maximum(self.h.T @ Z**2 - of_means, 0.0))

    def for_targets(self, columns: slice) -> Self:
        parts = (self.h, self.sizes, self.totals)
        h, sizes, totals = (part[..., columns] for part in parts)
        return type(self)(h, self.risk, sizes, totals)


def half_deviances(P: Array, risk: RiskSets, weights: Array) -> Array:
    """Half the deviance of every column of predictions; infinite beyond the limit on them.

    Parameters
    ----------
    P : array of shape (..., n, c)
        Predictions.
    risk : RiskSets
        Who is at risk.
    weights : array of shape (n, 1)
        Of the samples.
    """
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        P, _, totals = _at_risk(P, risk, weights)
        # No difference of sums, in which a small deviance of large weights would be lost.
        own = risk.deaths * np.exp(risk.means_of_events(P, weights))
        values = (risk.deaths * np.log(totals / own)).sum(axis=-2)
        far = P.min(axis=-2, initial=0.0) < -_SPREAD
        return np.asarray(np.where(far, np.inf, np.maximum(values, 0.0)))


def _at_risk(P: Array, risk: RiskSets, weights: Array) -> tuple[Array, Array, Array]:
    """Predictions shifted to a maximum of 0, their weighted exponentials, and the sums of these."""
    P = P - P.max(axis=-2, keepdims=True)
    sizes = np.exp(P) * weights
    return P, sizes, risk.sums(sizes)


@dataclass(frozen=True)
class CoxLoss(NewtonLoss):
    """Half the deviance of Cox regression; Y is 1 for events and 0 for ends of observation."""

    perfect: ClassVar[str] = "order the events perfectly"

    times: Array
    columns: VaryingColumns | None = None

    @classmethod
    def from_targets(
        cls, design: Design, Y: Array, omega: Array, fit_intercept: bool, task: str
    ) -> Self:
        """From a column of events and one of times; without them if no predictions matter.

        They do not where all who are at risk at an event have one.
        """
        if task != "survival":
            raise ValueError(
                "loss='cox' is for survival times, but y holds something else: leave task at "
                "'auto', and pass the event and the time of each sample."
            )
        events, times = Y.T
        risk = RiskSets.from_times(times, events, np.ones(times.size))
        matters = np.any(risk.deaths[:, 0] < risk.ends)
        columns = VaryingColumns(np.arange(int(matters)), np.zeros(1))
        return cls(design, Y[:, columns.varying], omega, False, times, columns)

    def expand(self, W: Array, b: Array) -> tuple[Array, Array]:
        """(W, b) for one column of predictions, even if they do not matter."""
        return (W, b) if self.columns is None else self.columns.expand(W, b)

    @cached_property
    def risk(self) -> RiskSets:
        """Who is at risk at which event."""
        events = self.Y[:, 0] if self.Y.shape[1] else np.zeros(self.times.size)
        return RiskSets.from_times(self.times, events, self.omega)

    @property
    def n_terms(self) -> float:
        """The weight of the events: each event is a term."""
        return float(self.risk.deaths.sum())

    def null_intercept(self) -> Array:
        return np.zeros(self.Y.shape[1])

    def column_values(self, P: Array) -> Array:
        return half_deviances(P, self.risk, self.omega[:, None])

    def derivatives(self, P: Array) -> tuple[Array, Array]:
        gradient, curvature = self.quadratic(P)
        return gradient, curvature.h

    def quadratic(self, P: Array) -> tuple[Array, Curvature]:
        with np.errstate(divide="ignore", invalid="ignore"):
            _, sizes, totals = _at_risk(P, self.risk, self.omega[:, None])
            expected = sizes * self.risk.shared(self.risk.deaths / totals)
        gradient = expected - self.omega[:, None] * self.Y
        return gradient, CoxCurvature(expected, self.risk, sizes, totals)

    def curvature_bound(self, P: Array) -> Array:
        """The diagonal at P that the curvature is at most."""
        return np.asarray(self.curvature(P).sum(axis=1))

    def steepness(self, P: Array) -> float:
        return float(np.sqrt((self.gradient(P) ** 2 / self.omega[:, None]).sum()))

    def dual_value_at(self, P: Array) -> float:
        P, sizes, totals = _at_risk(P, self.risk, self.omega[:, None])
        return float((self.risk.deaths * self._entropies(P, sizes, totals)[0]).sum())

    def _entropies(self, P: Array, sizes: Array, totals: Array) -> tuple[Array, Array]:
        """log(sum omega exp(p) / d) less the mean of p, at each event, and the size of its terms.

        The predictions are not positive, so that there is no cancellation in the mean.
        """
        logs, means = np.log(totals), self.risk.sums(sizes * P) / totals
        own = np.log(self.risk.deaths)
        return logs - own - means, np.abs(logs) + np.abs(own) + np.abs(means) + 2.0

    def dual(self, P: Array) -> DualPoint:
        """The shares of predictions in the risk of each event.

        Any predictions have shares, so that the limit on them does no harm. Each share is a sum, or
        a ratio of two, of positive numbers, and so is each sum of shares: it has a relative error.
        """
        omega, deaths = self.omega, self.risk.deaths
        rounding = 4.0 * (omega.size + 16) * _EPS
        P = P.swapaxes(-1, -2)
        P = np.maximum(P - P.max(axis=-2, keepdims=True), -_SPREAD)
        P, sizes, totals = _at_risk(P, self.risk, omega[:, None])
        entropies, size = self._entropies(P, sizes, totals)
        values = (deaths * (entropies - rounding * size)).sum(axis=-2)
        values[totals.min(axis=-2, initial=np.inf) < _LEAST_SUM] = -np.inf
        expected = sizes * self.risk.shared(deaths / totals)
        Theta = omega[:, None] * self.Y - expected
        lengths = np.sqrt((Theta**2 / omega[:, None]).sum(axis=-2))
        errors = (rounding + self.design.bound_rounding) * lengths
        errors += rounding * np.sqrt((expected**2 / omega[:, None]).sum(axis=-2))
        error = np.sqrt((errors**2).sum(axis=-1))
        return DualPoint(np.ascontiguousarray(Theta.swapaxes(-1, -2)), values.sum(axis=-1), error)
