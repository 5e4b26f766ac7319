"""The stability of supports, and the interval of a share."""

from __future__ import annotations

import numpy as np
import pytest

from rowsparse import stability
from rowsparse.selectors.meta.stability_measure import wilson_interval


def naive_stability(Z):
    """The estimator of Nogueira et al. and its variance, feature by feature."""
    m, d = Z.shape
    kbar = Z.sum() / m
    spread = 0.0
    for f in range(d):
        p = sum(Z[i, f] for i in range(m)) / m
        spread += m / (m - 1) * p * (1 - p) / d
    scale = kbar / d * (1 - kbar / d)
    phi = 1 - spread / scale
    phis = []
    for i in range(m):
        k = Z[i].sum()
        own = sum(Z[i, f] * Z[:, f].mean() for f in range(d)) / d
        rest = phi / 2 * (2 * k * kbar / d**2 - k / d - kbar / d + 1)
        phis.append((own - k * kbar / d**2 + rest) / scale)
    return phi, 4 / m**2 * sum((p - np.mean(phis)) ** 2 for p in phis)


@pytest.mark.parametrize("seed", range(5))
def test_stability_is_the_formula_of_the_paper(seed):
    Z = np.random.default_rng(seed).random((12, 7)) < np.linspace(0.05, 0.9, 7)
    phi, variance = naive_stability(Z.astype(float))
    for confidence, z in ((0.95, 1.959964), (0.9, 1.644854)):
        found = stability(Z, confidence)
        margin = z * np.sqrt(variance)
        np.testing.assert_allclose(found, (phi, phi - margin, phi + margin), rtol=1e-6)


def test_stability_of_equal_sizes_is_the_mean_kuncheva_index():
    rng = np.random.default_rng(0)
    Z = np.array([rng.permutation(np.arange(10) < 3) for _ in range(6)])
    pairs = [(Z[i] & Z[j]).sum() for i in range(6) for j in range(i)]
    kuncheva = np.mean([(r - 9 / 10) / (3 - 9 / 10) for r in pairs])
    assert stability(Z).value == pytest.approx(kuncheva)


def test_stability_is_one_for_identical_supports_and_zero_for_random_ones():
    same = np.tile(np.arange(10) < 3, (5, 1))
    assert stability(same) == pytest.approx((1.0, 1.0, 1.0))
    assert stability(np.ones((4, 3))).value == 1.0
    rng = np.random.default_rng(1)
    found = stability([rng.permutation(np.arange(50) < 10) for _ in range(400)])
    assert abs(found.value) < 0.01
    assert found.lower < found.value < found.upper
    opposite = stability([[1, 0], [0, 1]])
    assert opposite.value == pytest.approx(-1.0)


def test_stability_interval_holds_the_stability():
    shares = np.linspace(0.05, 0.95, 20)
    mean = shares.mean()
    truth = 1 - np.mean(shares * (1 - shares)) / (mean * (1 - mean))
    rng = np.random.default_rng(2)
    inside = 0
    for _ in range(200):
        found = stability(rng.random((100, 20)) < shares)
        inside += found.lower <= truth <= found.upper
    assert 0.9 <= inside / 200 <= 0.99


@pytest.mark.parametrize(
    ("supports", "message"),
    [([[1, 0]], "at least two rows"), ([1, 0], "at least two rows"), ([[2, 0], [1, 0]], "only")],
)
def test_stability_refuses_what_are_no_supports(supports, message):
    with pytest.raises(ValueError, match=message):
        stability(supports)


def test_wilson_interval_solves_its_equation():
    lower, upper = wilson_interval(np.array([30]), 100)[0]
    for p in (lower, upper):
        assert abs(0.3 - p) == pytest.approx(1.959964 * np.sqrt(p * (1 - p) / 100), rel=1e-6)


def test_the_interval_stays_within_what_stability_can_be():
    almost = np.tile([1, 1, 0, 0, 0], (20, 1))
    almost[0] = [1, 0, 1, 0, 0]
    found = stability(almost)
    assert found.lower < found.value < found.upper == 1.0
    opposite = stability([[1, 0], [0, 1]])
    assert opposite.value == opposite.lower == pytest.approx(-1.0)
