"""The logistic loss, and its dual points.

For labels y of 0 and 1 and any probabilities p, with sum_i omega_i p_i = sum_i omega_i y_i if
there is an intercept, every choice S of columns has an objective of at least

    sum_i omega_i H(p_i) - sum_{j in S} ||x_j' diag(omega) (p - y)||^2 / (2 ridge)

with H(p) = -p log p - (1 - p) log(1 - p), summed over the labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from scipy.special import entr, expit

from rowsparse._arrays import Array
from rowsparse.design import Design
from rowsparse.solvers.losses.newton import DualPoint, NewtonLoss, VaryingColumns

# The intercept of a label that all samples share: its probability is 1 up to rounding.
_CERTAIN = 37.0
_EPS = float(np.finfo(np.float64).eps)
# Most steps to an intercept; bisection alone takes that many from any interval of floats.
_MAX_STEPS = 100


@dataclass(frozen=True)
class LogisticLoss(NewtonLoss):
    """sum_i omega_i sum_c log(1 + exp(p_ic)) - y_ic p_ic, for labels Y of 0 and 1.

    One column is binary logistic regression. Several columns are as many binary problems: the
    labels of multi-label data, or several classes one against the rest. If b is free, no column of
    Y may be constant: :meth:`from_targets` leaves those columns out, whose loss is zero for W = 0
    and an infinite b.
    """

    perfect: ClassVar[str] = "separate the classes perfectly"

    columns: VaryingColumns | None = None

    @classmethod
    def from_targets(
        cls, design: Design, Y: Array, omega: Array, fit_intercept: bool, task: str
    ) -> Self:
        """A label a column: of two classes the second, of several each against the rest."""
        if task not in ("classification", "multilabel"):
            raise ValueError(
                "loss='logistic' is for classes and labels, but y holds numbers: take "
                "loss='squared', or task='classification' if they are classes."
            )
        if task == "classification" and Y.shape[1] == 2:
            Y = Y[:, 1:]
        columns = VaryingColumns.from_targets(
            Y, fit_intercept, np.where(Y[0] > 0.5, _CERTAIN, -_CERTAIN)
        )
        return cls(design, Y[:, columns.varying], omega, fit_intercept, columns)

    def expand(self, W: Array, b: Array) -> tuple[Array, Array]:
        """(W, b) with the labels that were left out."""
        return (W, b) if self.columns is None else self.columns.expand(W, b)

    def null_intercept(self) -> Array:
        """The best b for W = 0."""
        if not self.fit_intercept:
            return np.zeros(self.Y.shape[1])
        ones = self.omega @ self.Y
        return np.asarray(np.log(ones) - np.log(self.omega @ (1.0 - self.Y)))

    def column_values(self, P: Array) -> Array:
        """The loss of every column."""
        # log(1 + exp(p)) - y p is log(1 + exp(-p)) for y = 1 and log(1 + exp(p)) for y = 0.
        # np.logaddexp is slower.
        values = np.log1p(np.exp(-np.abs(P)))
        values += np.maximum(np.where(self.Y > 0.5, -P, P), 0.0)
        return np.asarray(self.omega @ values)

    def derivatives(self, P: Array) -> tuple[Array, Array]:
        """The gradient and the curvature together, as they share half of the work."""
        # Both without cancellation; faster than scipy.special.expit on large arrays.
        small = np.exp(-np.abs(P))
        share = 1.0 / (1.0 + small)
        rest = small * share
        gradient = np.where(P >= 0.0, share, rest)
        gradient -= self.Y
        rest *= share
        return self.omega[:, None] * gradient, self.omega[:, None] * rest

    def dual_value(self, Theta: Array) -> float:
        """The entropy of the probabilities Q = Y - Theta / omega, which must be in [0, 1]."""
        Q = np.clip(self.Y - Theta / self.omega[:, None], 0.0, 1.0)
        return float(self.omega @ (entr(Q) + entr(1.0 - Q)).sum(axis=1))

    def curvature_bound(self, P: Array) -> Array:
        """A quarter of the weight of each sample."""
        return 0.25 * self.omega

    def dual(self, P: Array) -> DualPoint:
        """The probabilities of predictions, shifted by an intercept that makes their sums right.

        The sums are right only up to rounding. Mixing a share theta of zeros or ones into the
        probabilities makes them exact, which takes at most that share off the entropy, because
        it is concave, and moves no residual by more than theta.
        """
        omega, labels = self.omega, self.Y.T
        rounding = 2.0 * (omega.size + 16) * _EPS
        sign = 1.0 - 2.0 * labels
        if self.fit_intercept:
            P = P + self._balancing(P, sign)[..., None]
        # |p - y|, accurate even where p is close to y.
        size = expit(sign * P)
        Theta = omega * -sign * size
        theta = np.zeros(P.shape[:-1])
        if self.fit_intercept:
            off = np.abs(Theta.sum(axis=-1)) + rounding * (omega * size).sum(axis=-1)
            theta = off / np.minimum(labels @ omega, (1.0 - labels) @ omega)
        # No mixture: no bound.
        theta = np.where(theta < 1.0, theta, np.inf)
        entropy = omega * (entr(size) - (1.0 - size) * np.log1p(-size, where=size < 1, out=-size))
        entropies = entropy.sum(axis=-1) * (1.0 - rounding)
        lengths = np.sqrt((omega * size**2).sum(axis=-1))
        errors = (rounding + self.design.bound_rounding) * lengths + theta * np.sqrt(omega.sum())
        value = (entropies * (1.0 - theta)).sum(axis=-1)
        return DualPoint(Theta, value, np.sqrt((errors**2).sum(axis=-1)))

    def _balancing(self, P: Array, sign: Array) -> Array:
        """Intercepts that make the sums of the probabilities those of the labels.

        By Newton steps within an interval that shrinks around the solution.
        """
        omega, labels = self.omega, self.Y.T
        ones, zeros = labels @ omega, (1.0 - labels) @ omega
        logit = np.log(ones) - np.log(zeros)
        low, high = logit - P.max(axis=-1), logit - P.min(axis=-1)
        b = np.clip(0.0, low, high)
        for _ in range(_MAX_STEPS):
            size = expit(sign * (P + b[..., None]))
            excess = (omega * sign * size).sum(axis=-1)
            slope = (omega * size * (1.0 - size)).sum(axis=-1)
            low, high = np.where(excess < 0, b, low), np.where(excess > 0, b, high)
            step = b - np.divide(excess, slope, out=np.full_like(b, np.nan), where=slope > 0)
            step = np.where((step >= low) & (step <= high), step, 0.5 * (low + high))
            moved = np.abs(step - b) > 2.0 * _EPS * np.maximum(np.abs(b), 1.0)
            b = step
            if not moved.any():
                break
        return np.asarray(b)
