"""Survival of groups of samples: Kaplan-Meier curves, the log-rank test, martingale residuals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincc

from rowsparse._arrays import Array
from rowsparse.targets import survival_times

# Quantile of the normal distribution for intervals of 95 %.
_QUANTILE = 1.959963984540054


@dataclass(frozen=True)
class KaplanMeier:
    """The share of samples without the event, over time.

    ``survival`` is the estimate of Kaplan and Meier from each of the distinct ``times`` on, with
    the 95 % interval by Greenwood's variance of log(-log(survival)); ``at_risk`` are the samples
    under observation just before each time.
    """

    times: Array
    survival: Array
    low: Array
    high: Array
    at_risk: Array
    n_events: int

    @classmethod
    def of(cls, y: NDArray[Any]) -> KaplanMeier:
        """From events and times, as :class:`rowsparse.TopK` takes them.

        Examples
        --------
        >>> y = np.array([(True, 1.0), (False, 2.0), (True, 3.0)], dtype="?,f8")
        >>> KaplanMeier.of(y).survival.round(3).tolist()
        [0.667, 0.667, 0.0]
        """
        times, events, at_risk = _counts(y)
        survival = np.cumprod(1.0 - events / at_risk)
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = np.cumsum(events / (at_risk * (at_risk - events)))
            spread = _QUANTILE * np.sqrt(terms) / np.abs(np.log(survival))
            low, high = survival ** np.exp(spread), survival ** np.exp(-spread)
        known = (survival > 0) & (survival < 1)
        low, high = np.where(known, low, survival), np.where(known, high, survival)
        return cls(times, survival, low, high, at_risk, int(events.sum()))

    @property
    def median(self) -> float:
        """The first time at which at most half of the samples are without the event, or NaN."""
        below = np.flatnonzero(self.survival <= 0.5)
        return float(self.times[below[0]]) if below.size else np.nan


def _counts(y: NDArray[Any]) -> tuple[Array, Array, Array]:
    """The distinct times, the events at each, and the samples at risk just before."""
    events, values = survival_times(y).T
    times, place = np.unique(values, return_inverse=True)
    left = np.bincount(place, minlength=times.size)
    at_risk = left[::-1].cumsum()[::-1]
    return times, np.bincount(place, events, times.size), at_risk.astype(np.float64)


def log_rank(
    y: NDArray[Any], group: Array, strata: Array | None = None, *, inflation: float = 1.0
) -> float:
    """The p-value of the log-rank test of two groups, within the strata if there are any.

    ``inflation`` says how many times larger the variance is than that of independent samples. NaN
    if no event is at a time at which both groups are under observation.

    >>> y = np.array([(True, 1.0), (True, 2.0), (True, 3.0), (True, 4.0)], dtype="?,f8")
    >>> round(log_rank(y, np.array([True, True, False, False])), 4)
    0.0896
    """
    excess = variance = 0.0
    strata = np.zeros(len(y)) if strata is None else np.asarray(strata)
    for stratum in np.unique(strata):
        inside = strata == stratum
        part, members = y[inside], np.asarray(group)[inside]
        times, events, at_risk = _counts(part)
        own, own_events, own_at_risk = (np.zeros(0),) * 3
        if members.any():
            own, own_events, own_at_risk = _counts(part[members])
        place = np.searchsorted(own, times)
        risk = np.append(own_at_risk, 0.0)[place]
        of_group = np.zeros(times.size)
        of_group[np.searchsorted(times, own)] = own_events
        share = risk / at_risk
        excess += float((of_group - events * share).sum())
        ties = (at_risk - events) / np.maximum(at_risk - 1.0, 1.0)
        variance += float((events * share * (1.0 - share) * ties).sum())
    if not variance > 0:
        return np.nan
    return float(gammaincc(0.5, 0.5 * excess**2 / (inflation * variance)))


def martingale_residuals(y: NDArray[Any]) -> Array:
    """The event of each sample less the hazard that adds up until its time (Nelson and Aalen).

    They are what survival times are as numbers: high for early events, low for late times.
    Their sum is 0.

    Examples
    --------
    >>> y = np.array([(True, 1.0), (False, 2.0), (True, 3.0)], dtype="?,f8")
    >>> martingale_residuals(y).round(3).tolist()
    [0.667, -0.333, -0.333]
    """
    times, events, at_risk = _counts(y)
    hazard = np.cumsum(events / at_risk)
    own, values = survival_times(y).T
    return np.asarray(own - hazard[np.searchsorted(times, values)])


def targets_for(selector: Any, y: Any, task: str) -> Any:
    """y as a selector takes it: one that knows no survival times takes martingale residuals."""
    knows = task != "survival" or "survival" in getattr(selector, "tasks", ())
    return y if knows else martingale_residuals(y)


def has_pairs(y: NDArray[Any]) -> bool:
    """Whether two samples can be compared: one has an event before the time of the other."""
    events, times = survival_times(y).T
    if not events.any():
        return False
    first = times[events > 0].min()
    return bool(np.any(times > first) or np.any((times == first) & (events == 0)))
