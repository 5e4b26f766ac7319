"""The Poisson loss of counts with the log link, and its dual points.

It is half the deviance. For counts y and any positive means v, with sum_i omega_i v_i =
sum_i omega_i y_i if there is an intercept, every choice S of columns has an objective of at least

    sum_i omega_i (v_i - v_i log v_i - y_i + y_i log y_i)
        - sum_{j in S} ||x_j' diag(omega) (v - y)||^2 / (2 ridge)

summed over the columns of counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from scipy.special import xlogy

from rowsparse._arrays import Array, Mask
from rowsparse.design import Design
from rowsparse.solvers.losses.newton import DualPoint, NewtonLoss, VaryingColumns

_EPS = float(np.finfo(np.float64).eps)
# Predictions within which exp neither loses digits nor has a square that overflows.
_LEAST, _LARGEST = -600.0, 200.0
# The rate that stands for 0, which no intercept makes.
_NO_RATE = 1e-16


@dataclass(frozen=True)
class PoissonLoss(NewtonLoss):
    """sum_i omega_i sum_c exp(p_ic) - y_ic p_ic - y_ic + y_ic log y_ic, for counts Y."""

    perfect: ClassVar[str] = "fit the counts perfectly"

    columns: VaryingColumns | None = None

    @classmethod
    def from_targets(
        cls, design: Design, Y: Array, omega: Array, fit_intercept: bool, task: str
    ) -> Self:
        """From counts of at least 0; with an intercept, without those that are all the same."""
        if task != "counts":
            raise ValueError(
                "loss='poisson' is for counts, but y holds classes or labels: leave task at 'auto' "
                "if they are counts, or take loss='logistic'."
            )
        intercepts = np.log(np.maximum(Y[0], _NO_RATE))
        columns = VaryingColumns.from_targets(Y, fit_intercept, intercepts)
        return cls(design, Y[:, columns.varying], omega, fit_intercept, columns)

    def expand(self, W: Array, b: Array) -> tuple[Array, Array]:
        """(W, b) with the columns that were left out."""
        return (W, b) if self.columns is None else self.columns.expand(W, b)

    @cached_property
    def _log_counts(self) -> Array:
        """log y, and 0 where y is 0."""
        return np.log(np.where(self._none, 1.0, self.Y))

    @cached_property
    def _none(self) -> Mask:
        """Where the count is 0."""
        return np.asarray(self.Y == 0.0)

    def null_intercept(self) -> Array:
        if not self.fit_intercept:
            return np.zeros(self.Y.shape[1])
        return np.asarray(np.log(self.omega @ self.Y) - np.log(self.omega.sum()))

    def column_values(self, P: Array) -> Array:
        # With d = p - log y a term is y (exp(d) - 1 - d), or exp(p) for y = 0.
        with np.errstate(over="ignore", invalid="ignore"):
            D = P - self._log_counts
            values = np.maximum(np.expm1(D) - D, 0.0)
            values *= self.Y
            np.copyto(values, np.exp(P), where=self._none)
            return np.asarray(self.omega @ values)

    def derivatives(self, P: Array) -> tuple[Array, Array]:
        with np.errstate(over="ignore"):
            means = np.exp(P)
        return self.omega[:, None] * (means - self.Y), self.omega[:, None] * means

    def curvature_bound(self, P: Array) -> Array:
        """The curvature at P, which has no bound elsewhere: steps that rely on it are shortened."""
        return np.asarray(self.curvature(P).max(axis=1))

    def steepness(self, P: Array) -> float:
        return float(np.sqrt(self.omega @ ((np.exp(P) - self.Y) ** 2).max(axis=1)))

    def dual_value(self, Theta: Array) -> float:
        """That of the means V = Y - Theta / omega, which must not be negative."""
        V = np.maximum(self.Y - Theta / self.omega[:, None], 0.0)
        terms = V - xlogy(V, V) - self.Y + self.Y * self._log_counts
        return float((self.omega @ terms).sum())

    def dual(self, P: Array) -> DualPoint:
        """The means of predictions, times a number that makes their sum that of the counts.

        Any predictions are those of some means, so that the limits on them do no harm; and means
        times the exact number are feasible, so that rounding makes no more than a relative error of
        each mean.
        """
        omega, counts = self.omega, self.Y.T
        rounding = 2.0 * (omega.size + 16) * _EPS
        logs = np.zeros(P.shape[:-1])
        if self.fit_intercept:
            # Shifted first, so that nothing overflows and the number is nearly 1.
            total = np.log(counts @ omega)
            P = P - P.max(axis=-1, keepdims=True)
            P = P + (total - np.log(np.exp(P) @ omega))[..., None]
        P = np.clip(P, _LEAST, _LARGEST)
        if self.fit_intercept:
            logs = total - np.log(np.exp(P) @ omega)
        means = np.exp(P) * np.exp(logs)[..., None]
        P = P + logs[..., None]
        own = counts * self._log_counts.T
        terms = means - means * P - counts + own
        size = means * (np.abs(P) + 2.0) + counts + np.abs(own)
        value = (terms @ omega - rounding * (size @ omega)).sum(axis=-1)
        lengths = np.sqrt((means - counts) ** 2 @ omega)
        errors = (rounding + self.design.bound_rounding) * lengths
        errors += rounding * np.sqrt(means**2 @ omega)
        return DualPoint(omega * (counts - means), value, np.sqrt((errors**2).sum(axis=-1)))
