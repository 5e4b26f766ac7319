"""What the data prove with the logistic loss, in plain NumPy and without code of the solvers.

With sample weights omega, labels T of 0 and 1, and any probabilities P whose weighted sums are
those of T if there is an intercept, every choice S of features has an objective of at least

    sum_i omega_i H(p_i) - sum_{j in S} ||z_j' diag(omega) (P - T)||^2 / (2 ridge)

with H(p) = -p log p - (1 - p) log(1 - p), summed over the labels.
"""

from __future__ import annotations

import numpy as np

from rowsparse._arrays import Array, Index
from rowsparse.certificate.choices import Choices
from rowsparse.certificate.data import Data

_EPS = float(np.finfo(np.float64).eps)
# Entries of the columns of the choices that are fitted together.
_BATCH_ENTRIES = 1 << 18
# Newton steps, halvings of one of them, and the decrease at which they end, relative to the loss.
_STEPS, _HALVINGS, _TOL = 60, 40, 1e-9


class LogisticBounds:
    """Bounds from the data of a pool of features.

    Arrays with samples hold them on the last axis, and labels on the one before.
    """

    def __init__(self, data: Data, pool: Index) -> None:
        self.omega, self.ridge = data.weights, data.ridge
        self.T, self.intercept = np.ascontiguousarray(data.labels.T), data.fit_intercept
        self.sign = 1.0 - 2.0 * self.T
        self.n_targets = len(self.T)
        # Not multiplied by the roots of the weights.
        self.Z = np.ascontiguousarray((data.Z[:, pool] / np.sqrt(self.omega)[:, None]).T)
        self.norms = np.sqrt(self.Z**2 @ self.omega)
        self.rounding = 2.0 * (self.omega.size + 16) * _EPS
        self.total = float(self._losses(self._null()[:, None] * np.ones_like(self.T)).sum())

    def bound(self, at: Index, W: Array, choices: Choices) -> tuple[float, Array]:
        """The entropy less the sum of the largest q, lowered by its possible rounding error."""
        if self.ridge == 0:
            return 0.0, np.zeros(len(self.Z))
        weighted, entropy, error = self._dual(W.T @ self.Z[at])
        q = (np.linalg.norm(self.Z @ weighted.T, axis=1) + error * self.norms) ** 2
        q /= 2.0 * self.ridge
        largest = np.sort(q[choices.allowed])[::-1][: choices.count].sum()
        k = choices.chosen.size + choices.count
        used = (q[choices.chosen].sum() + largest) * (1.0 + self.rounding + 2.0 * k * _EPS)
        return float(entropy - used), q

    def last(self, choices: Choices) -> float:
        """Proofs with this loss have no such step."""
        raise ValueError("the proof does not hold: it has a step of another loss.")

    def every(self, choices: Choices) -> float:
        """The least objective of all choices, each bounded by the probabilities of its own fit."""
        if self.ridge == 0:
            return 0.0
        k = choices.chosen.size + choices.count
        size = max(1, _BATCH_ENTRIES // (self.T.size * (k + 1)))
        return min((self._fitted(S)[1] for S in choices.batches(size)), default=np.inf)

    def objective(self, support: Index) -> float:
        """The objective of some features, which are positions."""
        return self._fitted(support[None])[0]

    # ----------------------------------------------------------------------- the dual points
    def _dual(self, F: Array) -> tuple[Array, Array, Array]:
        """omega (P - T) at predictions F, the entropy, and the error of ||x_j' omega (P - T)||.

        The entropy is rounded down, and the error is in units of the norm of the column. The
        sums of P are right only up to rounding: a share theta of zeros or ones mixed into P would
        make them exact, and would cost no more than that share of the entropy, which is concave.
        """
        if self.intercept:
            F = F + self._balancing(F)[..., None]
        residuals = _probability(self.sign * F)
        weighted = self.omega * self.sign * residuals
        theta = np.zeros(F.shape[:-1])
        if self.intercept:
            off = np.abs(weighted.sum(axis=-1)) + self.rounding * np.abs(weighted).sum(axis=-1)
            theta = off / np.minimum(self.T @ self.omega, (1.0 - self.T) @ self.omega)
        inside = (residuals > 0.0) & (residuals < 1.0)
        p = np.where(inside, residuals, 0.5)
        H = np.where(inside, -p * np.log(p) - (1.0 - p) * np.log1p(-p), 0.0)
        entropy = (H @ self.omega) * np.where(theta < 1.0, 1.0 - theta, -np.inf)
        lengths = np.sqrt(residuals**2 @ self.omega)
        errors = self.rounding * lengths + theta * np.sqrt(self.omega.sum())
        lowered = entropy.sum(axis=-1) * (1.0 - self.rounding)
        return weighted, lowered, np.linalg.norm(errors, axis=-1)

    def _balancing(self, F: Array) -> Array:
        """By bisection, the intercepts with which the sums of P are those of T."""
        null = self._null()
        low, high = null - F.max(axis=-1), null - F.min(axis=-1)
        middle = 0.5 * (low + high)
        # Until hardly a float is left between the ends.
        while np.any(high - low > 2.0 * _EPS * np.maximum(np.abs(low), np.abs(high)) + _EPS):
            P = _probability(self.sign * (F + middle[..., None]))
            above = (self.sign * P) @ self.omega > 0.0
            low, high = np.where(above, low, middle), np.where(above, middle, high)
            middle = 0.5 * (low + high)
        return np.asarray(middle)

    def _null(self) -> Array:
        """The intercepts of choosing nothing."""
        if not self.intercept:
            return np.zeros(self.n_targets)
        ones = self.T @ self.omega
        return np.asarray(np.log(ones) - np.log((1.0 - self.T) @ self.omega))

    # ------------------------------------------------------------------------------ the fits
    def _losses(self, F: Array) -> Array:
        return np.asarray(np.logaddexp(0.0, self.sign * F) @ self.omega)

    def _fitted(self, sets: Index) -> tuple[float, float]:
        """The least objective attained by a set of columns, and the least bound of a set."""
        Z = self.Z[sets]
        F, values = self._newton(Z)
        weighted, entropy, error = self._dual(F)
        lengths = np.linalg.norm(weighted @ Z.transpose(0, 2, 1), axis=1)
        q = (lengths + error[:, None] * self.norms[sets]) ** 2 / (2.0 * self.ridge)
        used = q.sum(axis=1) * (1.0 + self.rounding + 2.0 * sets.shape[1] * _EPS)
        bounds = entropy - used
        return float(values.min()), float(np.where(np.isfinite(bounds), bounds, 0.0).min())

    def _newton(self, Z: Array) -> tuple[Array, Array]:
        """Predictions of logistic regression on the columns of each set, and objectives."""
        N, k, n = Z.shape
        rows = np.concatenate([Z, np.ones((N, 1, n))], axis=1) if self.intercept else Z
        penalty = np.where(np.arange(rows.shape[1]) < k, self.ridge, 0.0)
        V = np.zeros((N, self.n_targets, rows.shape[1]))
        if self.intercept:
            V[:, :, k] = self._null()
        F = V @ rows
        values = self._losses(F) + 0.5 * V**2 @ penalty
        own = np.arange(penalty.size)
        for _ in range(_STEPS):
            P = _probability(self.sign * F)
            h = self.omega * P * _probability(-self.sign * F)
            slope = (self.omega * self.sign * P) @ rows.transpose(0, 2, 1) + penalty * V
            H = (rows[:, None] * h[:, :, None]) @ rows[:, None].transpose(0, 1, 3, 2)
            H[..., own, own] = (H[..., own, own] + penalty) * (1.0 + 1e-13) + 1e-300
            step = np.linalg.solve(H, slope[..., None])[..., 0]
            gain = 0.5 * np.einsum("scj,scj->sc", slope, step)
            before = values
            V, F, values = self._shortened(V, F, values, step, step @ rows, penalty)
            if not np.any((gain > _TOL * self.total) & (values < before)):
                break
        return F, values.sum(axis=1)

    def _shortened(
        self, V: Array, F: Array, values: Array, step: Array, move: Array, penalty: Array
    ) -> tuple[Array, Array, Array]:
        """The state after a step, which is halved until it does not raise the objective."""
        length = np.ones(values.shape)[..., None]
        for _ in range(_HALVINGS):
            there, moved = V - length * step, F - length * move
            reached = self._losses(moved) + 0.5 * there**2 @ penalty
            worse = ~(reached <= values)[..., None]
            if not worse.any():
                break
            length = np.where(worse, length / 2.0, length)
        best = np.where(worse[..., 0], values, reached)
        return np.where(worse, V, there), np.where(worse, F, moved), best


def logistic_objective(data: Data, support: Index) -> float:
    """The objective of some columns."""
    return LogisticBounds(data, support).objective(np.arange(support.size))


def _probability(x: Array) -> Array:
    """1 / (1 + exp(-x)), accurate where it is small."""
    return np.asarray(np.exp(-np.logaddexp(0.0, -x)))
