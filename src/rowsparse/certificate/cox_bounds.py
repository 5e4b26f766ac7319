"""What the data prove with the Cox loss of survival times, in plain NumPy.

With r_i the weighted sum of exp(f) over the samples whose time is at least that of the event i, and
d_i the weight of all events at its time, the loss is the sum over the events of
sigma_i (log(r_i / d_i) - f_i). It does not change if f is shifted: there is no intercept. For
any positive shares p_il of these samples l that add up to 1,

    log sum_l sigma_l exp(f_l) >= sum_l p_il (f_l + log(sigma_l / p_il)),

so sigma theta is sum_i sigma_i (e_i - p_i), and the sum of g is
sum_i sigma_i sum_l p_il log(sigma_l / (p_il d_i)). The shares are those of some predictions.

The loss is linear in the weights as others are, and so as little sensitive to their rounding: at
each time of events it is the least, over all c, of the sum over the events of
sigma (exp(f - c) - 1 - (f - c)) and over the others at risk of sigma exp(f - c).
"""

from __future__ import annotations

import numpy as np

from rowsparse._arrays import Array
from rowsparse.certificate.curved_bounds import CurvedBounds
from rowsparse.certificate.data import Table

# By how much predictions may be below the largest one, and the least sigma exp(f).
_SPREAD, _LEAST = 500.0, 1e-290


class CoxBounds(CurvedBounds):
    """Bounds from the data of a pool of columns.

    Sums over those at risk are sums of samples sorted by time, from each one to the last.
    """

    def targets(self, table: Table) -> Array:
        """1 for an event; no column if all who are at risk at an event have one."""
        self.intercept = False
        events, times = table.labels.T
        self.order = np.argsort(times, kind="stable")
        ordered, happened = times[self.order], events[self.order] > 0
        at = np.unique(ordered[happened])
        # The first sample at risk at each time of events, and the last such time of each sample.
        self.begin = np.searchsorted(ordered, at, side="left")
        self.until = np.searchsorted(at, times, side="right")
        place = np.searchsorted(at, ordered[happened])
        self.deaths = np.bincount(place, self.share[self.order][happened])
        at_risk, with_event = times.size - self.begin, np.bincount(place)
        return events[:, None][:, : int(np.any(with_event < at_risk))]

    def null(self) -> Array:
        return np.zeros(self.n_targets)

    def losses(self, F: Array) -> Array:
        f, sizes, sums = self._at_risk(F)
        events = self.T * self.share
        values = np.log(sums / self.deaths) @ self.deaths - (events * f).sum(axis=-1)
        far = sizes.min(axis=-1) < _LEAST
        return np.asarray(np.where(far, np.inf, np.maximum(values, 0.0)))

    def slopes(self, F: Array) -> tuple[Array, Array]:
        """The first derivatives, and twice the shares in the risk of all events.

        Moving all predictions by less than 1/2 changes these shares by a factor of less than e.
        """
        _, sizes, sums = self._at_risk(F)
        expected = sizes * self._until(self.deaths / sums) / self.share
        return expected - self.T, 2.0 * expected

    def curvature(self, rows: Array, F: Array, second: Array) -> Array:
        _, sizes, sums = self._at_risk(F)
        means = self._from(sizes[:, :, None] * rows[:, None]) / sums[:, :, None]
        of_means = (means * self.deaths) @ means.swapaxes(-1, -2)
        products = super().curvature(rows, F, 0.5 * second)
        # So much that differences of nearly equal numbers are not negative.
        products += 1e-13 * products * np.eye(rows.shape[1])
        return np.asarray(products - of_means)

    def value_error(self, F: Array, values: Array, slope: Array) -> Array:
        f, _, sums = self._at_risk(F)
        logs = np.abs(np.log(sums)) + np.abs(np.log(self.deaths)) + 2.0
        terms = logs @ self.deaths + (self.T * self.share * np.abs(f)).sum(axis=-1)
        return np.asarray(2.0 * self.rounding * (terms + values))

    def dual(self, F: Array) -> tuple[Array, Array, Array]:
        """As in :class:`CurvedBounds`, for the shares of predictions, whatever they are.

        Those further below the largest than a limit are raised to it. All sums are of numbers of
        one sign, so that each has a relative error, and the rounded weights have one, too.
        """
        rounding = 2.0 * self.rounding
        F = np.maximum(F - F.max(axis=-1, keepdims=True), -_SPREAD)
        f, sizes, sums = self._at_risk(F)
        logs, own, means = np.log(sums), np.log(self.deaths), self._from(sizes * f) / sums
        size = np.abs(logs) + np.abs(own) + np.abs(means) + 2.0
        values = (logs - own - means - rounding * size) @ self.deaths
        values[sizes.min(axis=-1) < _LEAST] = -np.inf
        expected = sizes * self._until(self.deaths / sums)
        weighted = self.T * self.share - expected
        errors = (rounding + self.column_error) * self.length(weighted / self.share)
        errors += rounding * self.length(expected / self.share)
        return weighted, values.sum(axis=-1), np.linalg.norm(errors, axis=-1)

    def _at_risk(self, F: Array) -> tuple[Array, Array, Array]:
        """Predictions shifted to a maximum of 0, sigma exp(f), and its sums over those at risk."""
        f = F - F.max(axis=-1, keepdims=True)
        sizes = self.share * np.exp(f)
        return f, sizes, self._from(sizes)

    def _from(self, values: Array) -> Array:
        """Sums over those at risk at each time of events."""
        ordered = values[..., self.order][..., ::-1]
        return np.asarray(np.cumsum(ordered, axis=-1)[..., ::-1][..., self.begin])

    def _until(self, values: Array) -> Array:
        """Sums over the times of events until the time of each sample."""
        sums = np.cumsum(values, axis=-1)
        sums = np.concatenate([np.zeros((*sums.shape[:-1], 1)), sums], axis=-1)
        return np.asarray(sums[..., self.until])
