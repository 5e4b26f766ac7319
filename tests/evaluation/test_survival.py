"""Kaplan-Meier curves, the log-rank test and martingale residuals are those of their formulae."""

import numpy as np
import pytest
from scipy.stats import chi2

from rowsparse.evaluation import selection_curve
from rowsparse.evaluation.survival import KaplanMeier, has_pairs, log_rank, martingale_residuals


def survival(events, times):
    y = np.empty(len(times), dtype=[("event", bool), ("time", float)])
    y["event"], y["time"] = events, times
    return y


# Six samples by hand: an event and a censored time at 2, two events at 5.
BY_HAND = survival([1, 0, 1, 1, 0, 1], [2, 2, 5, 5, 7, 9])
RNG = np.random.default_rng(0)
TIED = survival(RNG.random(60) < 0.6, RNG.integers(1, 12, 60))
GROUP, STRATA = RNG.random(60) < 0.4, RNG.integers(0, 3, 60)


def test_the_curve_by_hand() -> None:
    found = KaplanMeier.of(BY_HAND)
    assert found.times.tolist() == [2, 5, 7, 9]
    assert found.at_risk.tolist() == [6, 4, 2, 1]
    np.testing.assert_allclose(found.survival, [5 / 6, 5 / 12, 5 / 12, 0])
    assert (found.n_events, found.median) == (4, 5)
    # Greenwood: sum of d / (n (n - d)), for the interval of log(-log S).
    variance = 1 / (6 * 5) + 2 / (4 * 2)
    S = 5 / 12
    spread = 1.959964 * np.sqrt(variance) / abs(np.log(S))
    np.testing.assert_allclose(found.low[1], S ** np.exp(spread), rtol=1e-6)
    np.testing.assert_allclose(found.high[1], S ** np.exp(-spread), rtol=1e-6)
    assert (found.low[-1], found.high[-1]) == (0, 0)
    assert np.isnan(KaplanMeier.of(survival([1, 0, 0], [1, 2, 3])).median)
    assert KaplanMeier.of(survival([0, 0], [1, 2])).survival.tolist() == [1, 1]


def by_loops(y, group):
    """Observed less expected events of a group, and the hypergeometric variance."""
    excess = variance = 0.0
    for time in np.unique(y["time"][y["event"]]):
        at_risk = y["time"] >= time
        n, m = at_risk.sum(), (at_risk & group).sum()
        now = y["event"] & (y["time"] == time)
        d = now.sum()
        excess += (now & group).sum() - d * m / n
        variance += d * (m / n) * (1 - m / n) * (n - d) / (n - 1) if n > 1 else 0.0
    return excess, variance


@pytest.mark.parametrize("inflation", [1.0, 2.25])
def test_the_log_rank_test_is_that_of_the_tables_at_each_time(inflation: float) -> None:
    excess, variance = by_loops(TIED, GROUP)
    expected = chi2.sf(excess**2 / (inflation * variance), 1)
    for group in (GROUP, ~GROUP):
        assert log_rank(TIED, group, inflation=inflation) == pytest.approx(expected)
    parts = [by_loops(TIED[s == STRATA], GROUP[s == STRATA]) for s in range(3)]
    excess, variance = np.sum(parts, axis=0)
    expected = chi2.sf(excess**2 / (inflation * variance), 1)
    assert log_rank(TIED, GROUP, STRATA, inflation=inflation) == pytest.approx(expected)


def test_martingale_residuals_are_events_less_hazards() -> None:
    expected = [1 - 1 / 6, -1 / 6, 1 - 1 / 6 - 1 / 2, 1 - 2 / 3, -2 / 3, 1 - 2 / 3 - 1]
    np.testing.assert_allclose(martingale_residuals(BY_HAND), expected)
    assert martingale_residuals(TIED).sum() == pytest.approx(0.0, abs=1e-12)


def test_selectors_are_compared_on_survival_times() -> None:
    rng = np.random.default_rng(2)
    X = rng.standard_normal((80, 6))
    y = survival(rng.random(80) < 0.7, rng.exponential(np.exp(-2 * X[:, 1])))
    curve = selection_curve(["topk", "rfs", "allfeatures"], X, y, [1], random_state=0)
    assert (curve.task, curve.metrics) == ("survival", ("concordance",))
    assert curve.mean("concordance").min() > 0.75
    found = {record.support for record in curve.records if record.selector != "AllFeatures"}
    assert found == {(1,)}


@pytest.mark.parametrize(
    ("events", "times", "can"),
    [
        ([1, 0], [1, 2], True),
        ([0, 1], [1, 2], False),
        ([1, 1], [2, 2], False),
        ([1, 0], [2, 2], True),
        ([0, 0], [1, 2], False),
        ([0, 1, 0], [1, 2, 3], True),
    ],
)
def test_samples_can_be_compared_where_one_outlives_an_event(
    events: list[int], times: list[int], can: bool
) -> None:
    assert has_pairs(survival(events, times)) == can
