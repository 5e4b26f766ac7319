"""What the data prove with the Poisson loss of counts, in plain NumPy.

For counts t, l(t, f) = exp(f) - t f - t + t log t, and for any mean v > 0,
exp(f) >= v f + v - v log v: so theta is t - v and g is v - v log v - t + t log t. With an intercept
the sums of sigma v are those of t.
"""

from __future__ import annotations

import numpy as np

from rowsparse._arrays import Array
from rowsparse.certificate.curved_bounds import CurvedBounds
from rowsparse.certificate.data import EPS, Table

# The least and the largest log v.
_LEAST, _MOST = -600.0, 200.0


class PoissonBounds(CurvedBounds):
    """Bounds from the data of a pool of columns."""

    def targets(self, table: Table) -> Array:
        """The counts; with an intercept, without columns of one count, whose loss it makes 0."""
        counts = table.labels
        counts = counts[
            :, np.any(counts != counts[0], axis=0) | (not table.statement.fit_intercept)
        ]
        self.positive = counts.T > 0.0
        self.logs = np.log(np.where(self.positive, counts.T, 1.0))
        self.shift = self.length(self.logs)
        return counts

    def null(self) -> Array:
        if not self.intercept:
            return np.zeros(self.n_targets)
        return np.log(self.T @ self.share) - np.log(self.share.sum())

    def losses(self, F: Array) -> Array:
        # exp(f) = t exp(x) with x = f - log t, so that exp(x) - 1 - x is left of it.
        x = F - self.logs
        terms = np.where(self.positive, self.T * (np.expm1(x) - x), np.exp(x))
        return np.asarray(np.maximum(terms, 0.0) @ self.share)

    def slopes(self, F: Array) -> tuple[Array, Array]:
        v = np.exp(F)
        return v - self.T, v

    def dual(self, F: Array) -> tuple[Array, Array, Array]:
        """As in :class:`CurvedBounds`, for v that are a number times exp(f), whatever f is.

        The number makes the sum of v exactly that of t, so that the computed v, and t - v, are off
        by a relative error of v, and by no more: that of sums and of the logarithm of the number.
        """
        rounding = self.rounding + 8.0 * EPS
        if self.intercept:
            top = F.max(axis=-1, keepdims=True)
            total = np.log(self.T @ self.share)[..., None]
            F = F - top
            F = np.clip(F + (total - _log_mean(F, self.share)), _LEAST, _MOST)
            number = total - _log_mean(F, self.share)
            rounding = rounding + 2.0 * EPS * (np.abs(total) + np.abs(number))
        else:
            F = np.clip(F, _LEAST, _MOST)
            number = np.zeros((*F.shape[:-1], 1))
        log_v = F + number
        v = np.exp(F) * np.exp(number)
        known = self.T * self.logs
        g = v - v * log_v - self.T + known
        largest = v * (2.0 + np.abs(F) + np.abs(number)) + self.T + np.abs(known)
        value = ((g - rounding * largest) @ self.share).sum(axis=-1)
        errors = (self.rounding + self.column_error) * self.length(v - self.T)
        errors += self.length(rounding * v)
        return self.share * (self.T - v), value, np.linalg.norm(errors, axis=-1)


def _log_mean(F: Array, share: Array) -> Array:
    """The logarithm of the sum of sigma exp(f), kept as an axis."""
    return np.log(np.exp(F) @ share)[..., None]
