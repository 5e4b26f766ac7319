"""What the data prove with the logistic loss, in plain NumPy.

For labels t of 0 and 1, l(t, f) = log(1 + exp(f)) - t f, and for any probability p,
log(1 + exp(f)) >= p f + H(p) with the entropy H(p) = -p log p - (1 - p) log(1 - p): so theta is
t - p and g the entropy. With an intercept the sums of sigma p are those of t.
"""

from __future__ import annotations

import numpy as np

from rowsparse._arrays import Array
from rowsparse.certificate.curved_bounds import CurvedBounds
from rowsparse.certificate.data import EPS, Table


class LogisticBounds(CurvedBounds):
    """Bounds from the data of a pool of columns."""

    def targets(self, table: Table) -> Array:
        """Of two classes the second; with an intercept, no label that all samples share.

        The loss of a label that all samples share has the infimum 0, with an infinite intercept.
        """
        labels = table.labels
        if table.statement.task == "classification" and labels.shape[1] == 2:
            labels = labels[:, 1:]
        constant = np.all(labels[:1] == labels, axis=0) & table.statement.fit_intercept
        labels = labels[:, ~constant]
        self.sign = 1.0 - 2.0 * labels.T
        return labels

    def null(self) -> Array:
        if not self.intercept:
            return np.zeros(self.n_targets)
        return np.log(self.T @ self.share) - np.log((1.0 - self.T) @ self.share)

    def losses(self, F: Array) -> Array:
        return np.asarray(np.logaddexp(0.0, self.sign * F) @ self.share)

    def slopes(self, F: Array) -> tuple[Array, Array]:
        P = _probability(self.sign * F)
        return self.sign * P, P * _probability(-self.sign * F)

    def dual(self, F: Array) -> tuple[Array, Array, Array]:
        """As in :class:`CurvedBounds`; the sign of mixed, that of p - t, does not matter.

        The sums of p are right only up to rounding: a share of zeros or ones mixed into p would
        make them exact, would move no p - t by more than that share, and would cost no more than
        it of the entropy, which is concave.
        """
        if self.intercept and F.size:
            F = F + self._balancing(F)[..., None]
        # |p - t|.
        residuals = _probability(self.sign * F)
        weighted = self.share * self.sign * residuals
        mixed = np.zeros(F.shape[:-1])
        if self.intercept:
            off = np.abs(weighted.sum(axis=-1)) + self.rounding * np.abs(weighted).sum(axis=-1)
            mixed = off / np.minimum(self.T @ self.share, (1.0 - self.T) @ self.share)
            mixed *= 1.0 + self.rounding
        inside = (residuals > 0.0) & (residuals < 1.0)
        p = np.where(inside, residuals, 0.5)
        H = np.where(inside, -p * np.log(p) - (1.0 - p) * np.log1p(-p), 0.0)
        entropy = (H @ self.share) * np.where(mixed < 1.0, 1.0 - mixed, -np.inf)
        # Columns have the norm 1: sums of products, and the errors of the columns.
        errors = (self.rounding + self.column_error) * self.length(residuals) + 1.01 * mixed
        lowered = entropy.sum(axis=-1) * (1.0 - self.rounding)
        return weighted, lowered, np.linalg.norm(errors, axis=-1)

    def _balancing(self, F: Array) -> Array:
        """By bisection, the intercepts with which the sums of p are those of t."""
        null = self.null()
        low, high = null - F.max(axis=-1), null - F.min(axis=-1)
        middle = 0.5 * (low + high)
        # Until hardly a float is left between the ends.
        while np.any(high - low > 2.0 * EPS * np.maximum(np.abs(low), np.abs(high)) + EPS):
            P = _probability(self.sign * (F + middle[..., None]))
            above = (self.sign * P) @ self.share > 0.0
            low, high = np.where(above, low, middle), np.where(above, middle, high)
            middle = 0.5 * (low + high)
        return np.asarray(middle)


def _probability(x: Array) -> Array:
    """1 / (1 + exp(-x)), accurate where it is small."""
    return np.asarray(np.exp(-np.logaddexp(0.0, -x)))
