"""Scores of predicted risks for survival times: Harrell's concordance and partial likelihood."""

from __future__ import annotations

from typing import Any

import numpy as np

from rowsparse._arrays import Array
from rowsparse.solvers.losses.cox import RiskSets, half_deviances
from rowsparse.targets import survival_times, target_array

_LEAST = float(np.finfo(np.float64).tiny)


def concordance(y: Any, risks: Any, sample_weight: Any = None) -> float:
    """The share of pairs of samples in which the one with the earlier event has the higher risk.

    Harrell's C. Pairs are those of an event and a sample that was still under observation then: of
    a later time, or of the same one without an event. Equal risks count half. A weight of a sample
    is one of its pairs. Without any pair it is 1/2.

    Parameters
    ----------
    y : array of shape (n,) or (n, 2)
        Structured, with a field of events and one of times, or with these two columns.
    risks : array of shape (n,)
        Larger for earlier events.
    sample_weight : array of shape (n,), optional
        Weight of each sample.

    Examples
    --------
    >>> y = np.array([[1, 2.0], [0, 5.0], [1, 3.0]])
    >>> concordance(y, [3.0, 1.0, 2.0]), concordance(y, [2.0, 1.0, 3.0])
    (1.0, 0.6666666666666666)
    """
    events, times, risks, weights = _checked(y, risks, sample_weight)
    order = np.argsort(-times, kind="stable")
    events, times, risks, weights = (part[order] for part in (events, times, risks, weights))
    later = np.searchsorted(-times, -times, side="left")
    until = np.searchsorted(-times, -times, side="right")
    right = total = 0.0
    for i in np.flatnonzero(events):
        others = np.where(events[later[i] : until[i]] > 0, 0.0, weights[later[i] : until[i]])
        others = weights[i] * np.concatenate([weights[: later[i]], others])
        compared = risks[: until[i]]
        right += others @ ((compared < risks[i]) + 0.5 * (compared == risks[i]))
        total += others.sum()
    return float(right / total) if total > 0.0 else 0.5


def partial_likelihood(y: Any, risks: Any, sample_weight: Any = None) -> float:
    """The mean log partial likelihood of an event, less that of a perfect prediction: at most 0.

    It is minus half the mean deviance, with Breslow's ties; without events, 0. Parameters are those
    of :func:`concordance`; risks are logarithms of hazard ratios.

    Examples
    --------
    >>> y = np.array([[1, 2.0], [0, 5.0], [1, 3.0]])
    >>> round(partial_likelihood(y, np.zeros(3)), 3)  # -(log 3 + log 2) / 2
    -0.896
    """
    events, times, risks, weights = _checked(y, risks, sample_weight)
    risk = RiskSets.from_times(times, events, weights)
    deviance = half_deviances(risks[:, None], risk, weights[:, None])
    return -float(deviance[0]) / max(float(weights @ events), _LEAST)


def _checked(y: Any, risks: Any, sample_weight: Any) -> tuple[Array, Array, Array, Array]:
    risks = np.asarray(risks, dtype=np.float64)
    events, times = survival_times(target_array(y, risks.size)).T
    weights = np.ones(risks.size) if sample_weight is None else np.asarray(sample_weight, float)
    return events, times, risks, weights
