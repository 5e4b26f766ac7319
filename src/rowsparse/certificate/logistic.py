"""What the data prove with the logistic loss, in plain NumPy.

With shares sigma of the samples, labels t of 0 and 1 and predictions f, the loss is
sum_i sigma_i (log(1 + exp(f_i)) - t_i f_i). For any probability p, log(1 + exp(f)) >= p f + H(p)
with the entropy H(p) = -p log p - (1 - p) log(1 - p). So with f = Z W + b, and any p of which, if
there is an intercept b, the sums sum_i sigma_i p_i are those of t, the objective of S is at least

    sum_i sigma_i H(p_i) + min_W <W, Z' diag(sigma) (p - t)> + sum_{j in S} c_j ||w_j||^2 / 2
        = sum_i sigma_i H(p_i) - sum_{j in S} ||z_j' diag(sigma) (p - t)||^2 / (2 c_j),

summed over the labels. The p here are those of predictions of some W, computed in any way.
"""

from __future__ import annotations

import numpy as np

from rowsparse._arrays import Array, Index
from rowsparse.certificate.choices import Choices
from rowsparse.certificate.data import EPS, Scaled, Table
from rowsparse.certificate.proof import does_not_hold

# Entries of the columns of the choices that are fitted together.
_BATCH_ENTRIES = 1 << 18
# Newton steps, halvings of one of them, and the decrease at which they end, relative to the loss.
_STEPS, _HALVINGS, _TOL = 200, 40, 1e-13


class LogisticBounds:
    """Bounds from the data of a pool of columns.

    Arrays with samples hold them on the last axis, and labels on the one before.
    """

    def __init__(self, table: Table, data: Scaled, pool: Index) -> None:
        self.factor = data.trust, data.weight, 0
        self.share, self.c, self.unit = data.share, data.penalty[pool], data.unit[pool]
        self.intercept = table.statement.fit_intercept
        self.T = np.ascontiguousarray(binary_labels(table).T)
        self.sign = 1.0 - 2.0 * self.T
        self.n_targets = len(self.T)
        # Not multiplied by the roots of the shares.
        self.Z = np.ascontiguousarray((data.Z[:, pool] / np.sqrt(self.share)[:, None]).T)
        self.rounding = 2.0 * (self.share.size + 16) * EPS
        self.column_error = data.error + 4.0 * EPS
        self.total = float(self._losses(self._null()[:, None] * np.ones_like(self.T)).sum())

    def bound(self, at: Index, V: Array, choices: Choices) -> tuple[float, Array]:
        """The bound of coefficients of the columns ``at`` over some choices, and the scores q."""
        weighted, entropy, error = self._dual((V * self.unit[at, None]).T @ self.Z[at])
        q = (np.linalg.norm(self.Z @ weighted.T, axis=1) + error) ** 2 / (2.0 * self.c)
        k = choices.chosen.size + choices.count
        used = choices.largest(q) * (1.0 + self.rounding + 2.0 * k * EPS)
        return float(entropy - used), q

    def last(self, choices: Choices) -> float:
        """Proofs with this loss have no such step."""
        raise does_not_hold("it has a step of another loss")

    def every(self, choices: Choices) -> float:
        """The least objective of all choices, each bounded by the probabilities of its own fit."""
        k = choices.chosen.size + choices.count
        size = max(1, _BATCH_ENTRIES // max(self.T.size * (k + 1), 1))
        return min((float(self.fitted(S)[1].min()) for S in choices.batches(size)), default=np.inf)

    def objective(self, support: Index) -> float:
        """An objective that a choice attains."""
        return float(self.fitted(support[None])[0][0])

    # ----------------------------------------------------------------------- the dual points
    def probabilities(self, F: Array) -> Array:
        """|p - t| of predictions, shifted by an intercept that makes the sums of p those of t."""
        if self.intercept and F.size:
            F = F + self._balancing(F)[..., None]
        return _probability(self.sign * F)

    def _dual(self, F: Array) -> tuple[Array, Array, Array]:
        """sigma (p - t) at predictions F, the entropy, and the error of ||z_j' sigma (p - t)||.

        The entropy is rounded down. The sums of p are right only up to rounding: a share theta of
        zeros or ones mixed into p would make them exact, would move no p - t by more than
        theta, and would cost no more than that share of the entropy, which is concave.
        """
        residuals = self.probabilities(F)
        weighted = self.share * self.sign * residuals
        theta = np.zeros(F.shape[:-1])
        if self.intercept:
            off = np.abs(weighted.sum(axis=-1)) + self.rounding * np.abs(weighted).sum(axis=-1)
            theta = off / np.minimum(self.T @ self.share, (1.0 - self.T) @ self.share)
            theta *= 1.0 + self.rounding
        inside = (residuals > 0.0) & (residuals < 1.0)
        p = np.where(inside, residuals, 0.5)
        H = np.where(inside, -p * np.log(p) - (1.0 - p) * np.log1p(-p), 0.0)
        entropy = (H @ self.share) * np.where(theta < 1.0, 1.0 - theta, -np.inf)
        # Columns have the norm 1: sums of products, and the errors of the columns.
        lengths = np.sqrt(residuals**2 @ self.share)
        errors = (self.rounding + self.column_error) * lengths + 1.01 * theta
        lowered = entropy.sum(axis=-1) * (1.0 - self.rounding)
        return weighted, lowered, np.linalg.norm(errors, axis=-1)

    def _balancing(self, F: Array) -> Array:
        """By bisection, the intercepts with which the sums of p are those of t."""
        null = self._null()
        low, high = null - F.max(axis=-1), null - F.min(axis=-1)
        middle = 0.5 * (low + high)
        # Until hardly a float is left between the ends.
        while np.any(high - low > 2.0 * EPS * np.maximum(np.abs(low), np.abs(high)) + EPS):
            P = _probability(self.sign * (F + middle[..., None]))
            above = (self.sign * P) @ self.share > 0.0
            low, high = np.where(above, low, middle), np.where(above, middle, high)
            middle = 0.5 * (low + high)
        return np.asarray(middle)

    def _null(self) -> Array:
        """The intercepts of choosing nothing."""
        if not self.intercept:
            return np.zeros(self.n_targets)
        return np.log(self.T @ self.share) - np.log((1.0 - self.T) @ self.share)

    # ------------------------------------------------------------------------------ the fits
    def _losses(self, F: Array) -> Array:
        return np.asarray(np.logaddexp(0.0, self.sign * F) @ self.share)

    def fitted(self, sets: Index) -> tuple[Array, Array, Array]:
        """Of each set of columns, an objective that it attains, a lower bound, and predictions."""
        Z, c = self.Z[sets], self.c[sets]
        F, values = self._newton(Z, c)
        weighted, entropy, error = self._dual(F)
        lengths = np.linalg.norm(weighted @ Z.transpose(0, 2, 1), axis=1)
        q = (lengths + error[:, None]) ** 2 / (2.0 * c)
        used = q.sum(axis=1) * (1.0 + self.rounding + 2.0 * sets.shape[1] * EPS)
        bounds = entropy - used
        return values, np.where(np.isfinite(bounds), bounds, 0.0), F

    def _newton(self, Z: Array, c: Array) -> tuple[Array, Array]:
        """Predictions of logistic regression on the columns of each set, and objectives."""
        N, k, n = Z.shape
        rows = np.concatenate([Z, np.ones((N, 1, n))], axis=1) if self.intercept else Z
        penalty = np.zeros((N, 1, rows.shape[1]))
        penalty[:, 0, :k] = c
        V = np.zeros((N, self.n_targets, rows.shape[1]))
        if self.intercept:
            V[:, :, k] = self._null()
        F = V @ rows
        values = self._objectives(F, V, penalty)
        own = np.arange(rows.shape[1])
        for _ in range(_STEPS):
            P = _probability(self.sign * F)
            h = self.share * P * _probability(-self.sign * F)
            slope = (self.share * self.sign * P) @ rows.transpose(0, 2, 1) + penalty * V
            H = (rows[:, None] * h[:, :, None]) @ rows[:, None].transpose(0, 1, 3, 2)
            H[..., own, own] = (H[..., own, own] + penalty) * (1.0 + 1e-13) + 1e-300
            step = np.linalg.solve(H, slope[..., None])[..., 0]
            gain = 0.5 * np.einsum("scj,scj->sc", slope, step)
            before = values
            V, F, values = self._shortened(V, F, values, step, step @ rows, penalty)
            if not np.any((gain > _TOL * self.total) & (values < before)):
                break
        return F, values.sum(axis=1)

    def _objectives(self, F: Array, V: Array, penalty: Array) -> Array:
        return self._losses(F) + 0.5 * (V**2 * penalty).sum(axis=-1)

    def _shortened(
        self, V: Array, F: Array, values: Array, step: Array, move: Array, penalty: Array
    ) -> tuple[Array, Array, Array]:
        """The state after a step, which is halved until it does not raise the objective."""
        length = np.ones(values.shape)[..., None]
        for _ in range(_HALVINGS):
            there, moved = V - length * step, F - length * move
            reached = self._objectives(moved, there, penalty)
            worse = ~(reached <= values)[..., None]
            if not worse.any():
                break
            length = np.where(worse, length / 2.0, length)
        best = np.where(worse[..., 0], values, reached)
        return np.where(worse, V, there), np.where(worse, F, moved), best


def binary_labels(table: Table) -> Array:
    """The labels of the loss: of two classes the second; with an intercept, none that all share.

    The loss of a label that all samples share has the infimum 0, with an infinite intercept.
    """
    labels = table.labels
    if table.statement.task == "classification" and labels.shape[1] == 2:
        labels = labels[:, 1:]
    constant = np.all(labels[:1] == labels, axis=0) & table.statement.fit_intercept
    return labels[:, ~constant]


def _probability(x: Array) -> Array:
    """1 / (1 + exp(-x)), accurate where it is small."""
    return np.asarray(np.exp(-np.logaddexp(0.0, -x)))
