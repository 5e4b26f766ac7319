"""Dual points of the logistic loss: probabilities, and what they prove in floating point.

For labels y of 0 and 1 and any probabilities p, of which, if there is an intercept, the sums
sum_i omega_i p_i are those of y, every choice S of features has an objective of at least

    sum_i omega_i H(p_i) - sum_{j in S} ||x_j' diag(omega) (p - y)||^2 / (2 ridge)

with H(p) = -p log p - (1 - p) log(1 - p), summed over the labels. Here the probabilities are those
of given predictions, shifted by an intercept that makes their sums right.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import entr, expit

from rowsparse._arrays import Array

_EPS = float(np.finfo(np.float64).eps)
# Most steps to the intercept; bisection alone takes that many from any interval of floats.
_MAX_STEPS = 100


@dataclass(frozen=True)
class DualPoints:
    """Probabilities by their residuals, for labels that are rows; other axes are points.

    The sums of the probabilities are those of the labels only up to rounding. Mixing a share
    theta of zeros or ones into them makes the sums exact, which takes at most that share off the
    entropy, because it is concave, and moves no residual by more than theta.

    Attributes
    ----------
    weighted : array of shape (..., c, n)
        omega_i (p_i - y_i).
    entropy : array of shape (...)
        The entropy, summed over the labels and lowered by what rounding and theta may take off.
    error : array of shape (...)
        e such that each ||x_j' diag(omega) (p - y)|| is off by at most e ||x_j||, with the norm
        weighted by omega.
    """

    weighted: Array
    entropy: Array
    error: Array

    @classmethod
    def of(
        cls,
        P: Array,
        labels: Array,
        omega: Array,
        fit_intercept: bool,
        column_rounding: float = 0.0,
    ) -> DualPoints:
        """The points of predictions of shape (..., c, n), for labels of shape (c, n).

        ``column_rounding`` is the relative error of the columns.
        """
        n = omega.size
        rounding = 2.0 * (n + 16) * _EPS
        sign = 1.0 - 2.0 * labels
        if fit_intercept:
            P = P + _balancing(P, sign, labels, omega)[..., None]
        # |p - y|, accurate even where p is close to y.
        size = expit(sign * P)
        weighted = omega * sign * size
        theta = np.zeros(P.shape[:-1])
        if fit_intercept:
            left = np.abs(weighted.sum(axis=-1)) + rounding * (omega * size).sum(axis=-1)
            theta = left / np.minimum(labels @ omega, (1.0 - labels) @ omega)
        # No mixture: no bound.
        theta = np.where(theta < 1.0, theta, np.inf)
        entropy = omega * (entr(size) - (1.0 - size) * np.log1p(-size, where=size < 1, out=-size))
        entropies = entropy.sum(axis=-1) * (1.0 - rounding)
        lengths = np.sqrt((omega * size**2).sum(axis=-1))
        errors = (rounding + column_rounding) * lengths + theta * np.sqrt(omega.sum())
        return cls(
            weighted,
            (entropies * (1.0 - theta)).sum(axis=-1),
            np.sqrt((errors**2).sum(axis=-1)),
        )


def _balancing(P: Array, sign: Array, labels: Array, omega: Array) -> Array:
    """Intercepts that make the sums of the probabilities those of the labels.

    By Newton steps within an interval that shrinks around the solution.
    """
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
