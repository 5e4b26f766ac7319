"""What the data prove with a loss that has a curvature, in plain NumPy.

With shares sigma of the samples and predictions f, the loss is sum_i sigma_i l(t_i, f_i), l convex
in f. For any theta_i, l(t_i, f_i) >= g_i(theta_i) - theta_i f_i with g_i = -l*(-theta_i), the least
of l + theta f. So with f = Z W + b, for any theta with sum_i sigma_i theta_i = 0 if there is an
intercept b, the objective of S is at least

    sum_i sigma_i g_i(theta_i) - max_W <W, Z' diag(sigma) theta> - sum_{j in S} c_j ||w_j||^2 / 2
        = sum_i sigma_i g_i(theta_i) - sum_{j in S} ||z_j' diag(sigma) theta||^2 / (2 c_j),

summed over the targets. The theta here are about minus the slopes of l at the predictions of some
W, computed in any way; a loss says which, and what rounding may do to them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

import numpy as np

from rowsparse._arrays import Array, Index
from rowsparse.certificate.data import EPS, Scaled, Table
from rowsparse.certificate.proof import does_not_hold
from rowsparse.certificate.step_choices import Choices

# Entries of the columns of the choices that are fitted together.
_BATCH_ENTRIES = 1 << 18
# Newton steps, halvings of one of them, and the decrease at which they end, relative to the loss.
_STEPS, _HALVINGS, _TOL = 200, 40, 1e-13
# The least length of samples and the least score: squares of smaller lengths, and of their rounding
# errors, would vanish.
_LEAST_LENGTH, _LEAST_SCORE = 1e-130, float(np.finfo(np.float64).tiny)


class CurvedBounds(ABC):
    """Bounds from the data of a pool of columns; a loss is a subclass.

    Arrays with samples hold them on the last axis, and targets on the one before.
    """

    def __init__(self, table: Table, data: Scaled, pool: Index, shares: Array | None) -> None:
        if shares is not None:
            raise does_not_hold(f"it has a diagonal with the {table.statement.loss} loss")
        self.factor = data.trust, data.weight, data.exponent
        self.share, self.c, self.unit = data.share, data.penalty[pool], data.unit[pool]
        self.intercept = table.statement.fit_intercept
        # The size of numbers that the loss adds to predictions.
        self.shift: Array | float = 0.0
        self.T = np.ascontiguousarray(self.targets(table).T)
        self.n_targets = len(self.T)
        # Not multiplied by the roots of the shares.
        self.Z = np.ascontiguousarray((data.Z[:, pool] / np.sqrt(self.share)[:, None]).T)
        self.rounding = 2.0 * (self.share.size + self.n_targets + 16) * EPS
        self.column_error = data.error + 4.0 * EPS
        self.total = float(self.losses(self.null()[:, None] * np.ones_like(self.T)).sum())

    # ------------------------------------------------------------------- what a loss answers
    @abstractmethod
    def targets(self, table: Table) -> Array:
        """The targets of the loss, a column each."""

    @abstractmethod
    def null(self) -> Array:
        """The intercepts of choosing nothing; zeros without an intercept."""

    @abstractmethod
    def losses(self, F: Array) -> Array:
        """The loss of each target at predictions, without the last axis."""

    @abstractmethod
    def slopes(self, F: Array) -> tuple[Array, Array]:
        """The first and the second derivatives of l, not multiplied by the shares.

        The second may be more: what the slope may change while all predictions move by 1/2.
        """

    @abstractmethod
    def dual(self, F: Array) -> tuple[Array, Array, Array]:
        """sigma theta at predictions F, sum sigma g, and the error of ||z_j' sigma theta||.

        The sum, over the targets as well, is rounded down; the error is of columns of norm 1.
        """

    def curvature(self, rows: Array, F: Array, second: Array) -> Array:
        """Z'HZ of the rows Z of each set, for a loss that is a sum over the samples."""
        h = self.share * second
        return np.asarray((rows[:, None] * h[:, :, None]) @ rows[:, None].swapaxes(-1, -2))

    def value_error(self, F: Array, values: Array, slope: Array) -> Array:
        """What rounding may do to the losses at predictions."""
        return self.rounding * (values + slope)

    # ------------------------------------------------------------------- what follows from it
    def length(self, samples: Array) -> Array:
        """At least the norm of numbers of the samples, weighted by the shares."""
        return np.asarray(np.sqrt(samples**2 @ self.share) + _LEAST_LENGTH)

    def _scores(self, products: Array, error: Array, c: Array) -> Array:
        """q of z_j' sigma theta for each target, whose norms are off by an error."""
        unit = np.sqrt(2.0 * c)
        lengths = np.linalg.norm(products / unit[..., None, :], axis=-2) + error / unit
        return np.asarray(lengths**2 + _LEAST_SCORE)

    def bounds(self, at: Index, V: Array, choices: Choices) -> Iterator[tuple[float, Array]]:
        """The bound of coefficients of the columns ``at`` over some choices, and the scores q."""
        weighted, value, error = self.dual((V * self.unit[at, None]).T @ self.Z[at])
        q = self._scores(weighted @ self.Z.T, error, self.c)
        used = choices.largest(q) * (1.0 + self.rounding + 2.0 * EPS * choices.k)
        yield float(value - used), q

    def last(self, choices: Choices, enough: float) -> float:
        """Proofs with this loss have no such step."""
        raise does_not_hold("it has a step of another loss")

    def every(self, choices: Choices) -> float:
        """The least objective of all choices, each bounded by its own fit."""
        sets = choices.batches(self.batch(choices.k))
        return min((float(self.fitted(S)[0].min()) for S in sets), default=np.inf)

    def batch(self, k: int) -> int:
        """How many choices of k columns are fitted together."""
        return max(1, _BATCH_ENTRIES // max(self.T.size * (k + 1), 1))

    def fitted(self, sets: Index) -> tuple[Array, Array]:
        """What the objective of each set of columns is at least, and at most.

        At least what the dual point of the fit proves. That is little where a penalty is less than
        the squared rounding error of slopes; there, the curvature proves more, see ``_below``.

        At most that of the coefficients V of the fit. Their predictions are off by rounding, and by
        the errors of the columns: by ``off`` in norm. As long as that is little for every sample,
        the slope on the way is at most the first derivative there and the second.
        """
        Z, c = self.Z[sets], self.c[sets]
        (N, k), n = sets.shape, self.share.size
        rows = np.concatenate([Z, np.ones((N, 1, n))], axis=1) if self.intercept else Z
        penalty = np.zeros((N, 1, rows.shape[1]))
        penalty[:, 0, :k] = c
        V, F, values = self._newton(rows, penalty)
        rounding = self.rounding + 2.0 * EPS * k
        first, second = self.slopes(F)
        slope = self.length(first) + self.length(second)
        size = np.abs(V[..., :k]).sum(axis=-1) + self.length(F) + self.shift
        off = (rounding + self.column_error) * size
        near = off < 0.5 * np.sqrt(self.share.min())
        error = self.value_error(F, values, slope) + 2.0 * EPS * k * values + off * slope
        lows = np.where(near, values - error - self._below(rows, penalty, V, F, off), -np.inf)
        highs = np.where(near, values + error, np.inf)
        weighted, value, dual_error = self.dual(F)
        q = self._scores(weighted @ Z.transpose(0, 2, 1), dual_error[:, None], c)
        used = q.sum(axis=1) * (1.0 + rounding)
        bounds = np.fmax(value - used, lows.sum(axis=1))
        return np.where(np.isfinite(bounds), bounds, 0.0), highs.sum(axis=1)

    def _below(self, rows: Array, penalty: Array, V: Array, F: Array, off: Array) -> Array:
        """By how much the minimum is below the objective at V, at most; infinite if not known.

        For the losses here, the second derivative phi'' along a line of predictions changes by a
        factor of at most exp(2 r) while none of them moves by more than r. (Its derivative is at
        most phi'' times the largest move of a prediction, of the Cox loss times their range.) Where
        coefficients move by v, r is at most M ||v|| for the largest norm M of a sample. So with the
        slope g at V, and a Hessian whose least eigenvalue is mu, for all v with 2 r <= 1

            phi(V + v) >= phi(V) - ||g|| ||v|| + 0.36 mu ||v||^2 >= phi(V) - ||g||^2 / mu,

        as (exp(-s) - 1 + s) / s^2 > 0.36 for s <= 1. Where ||v|| = 1 / (2 M), that is at least
        phi(V) if ||g|| <= 0.18 mu / M; then, as phi is convex, so it is for all longer v.

        The Hessian at V is that at F up to a factor of e. Its eigenvalues are off by the errors of
        columns and of sums, and g by those and by what ``off`` does to slopes.
        """
        m, error = rows.shape[1], self.rounding + self.column_error
        first, second = self.slopes(F)
        top = second.max(axis=-1)
        H = self.curvature(rows, F, second)
        own = np.arange(m)
        H[..., own, own] += np.minimum(penalty, top[..., None])
        sound = np.isfinite(H).all(axis=(-1, -2))
        H[~sound] = 0.0
        mu = (np.linalg.eigvalsh(H)[..., 0] - 8.0 * m * (m + 2) * error * top) / 3.0
        pull = penalty * V
        g = (self.share * first) @ rows.transpose(0, 2, 1) + pull
        sizes = self.length(first) + 2.0 * self.length(second) + np.linalg.norm(pull, axis=-1)
        G = np.linalg.norm(g, axis=-1) + m * (error * sizes + 3.0 * off * top)
        M = np.sqrt((rows**2).sum(axis=1).max(axis=-1)) + m * error / np.sqrt(self.share.min())
        known = sound & (mu > 0.0) & (0.1 * mu / M[:, None] >= G)
        return np.where(known, G / np.where(known, mu, 1.0) * G, np.inf)

    def _newton(self, rows: Array, penalty: Array) -> tuple[Array, Array, Array]:
        """Coefficients of the fits on the rows of each set, predictions and objectives.

        The last row is that of the intercept, if there is one.
        """
        V = np.zeros((len(rows), self.n_targets, rows.shape[1]))
        if self.intercept:
            V[:, :, -1] = self.null()
        F = V @ rows
        values = self._objectives(F, V, penalty)
        own = np.arange(rows.shape[1])
        for _ in range(_STEPS):
            first, second = self.slopes(F)
            slope = (self.share * first) @ rows.transpose(0, 2, 1) + penalty * V
            H = self.curvature(rows, F, second)
            H[..., own, own] = (H[..., own, own] + penalty) * (1.0 + 1e-13) + 1e-300
            step = np.linalg.solve(H, slope[..., None])[..., 0]
            gain = 0.5 * np.einsum("scj,scj->sc", slope, step)
            before = values
            V, F, values = self._shortened(V, F, values, step, step @ rows, penalty)
            if not np.any((gain > _TOL * self.total) & (values < before)):
                break
        F = V @ rows
        return V, F, self._objectives(F, V, penalty)

    def _objectives(self, F: Array, V: Array, penalty: Array) -> Array:
        return self.losses(F) + 0.5 * (V**2 * penalty).sum(axis=-1)

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
