"""Frequencies of features over subsamples, the stability of supports, and the subsamples."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.feature_selection import (
    RFE,
    SelectFromModel,
    SelectKBest,
    SelectorMixin,
    VarianceThreshold,
    f_classif,
)
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rowsparse import Moments, StabilitySelection, TopK, TopKCV, stability
from rowsparse.selectors.meta.stability_selection import wilson_interval
from tests.selectors.cases import classes_of_two, numbers_of_three, three_classes


def test_frequencies_are_those_of_the_supports():
    X, y = classes_of_two()
    selector = StabilitySelection(TopK(2, n_restarts=0), n_subsamples=20, random_state=0)
    selector.fit(X, y)
    assert selector.supports_.shape == (20, 12)
    assert selector.supports_.dtype == bool
    np.testing.assert_array_equal(selector.supports_.sum(axis=1), 2)
    np.testing.assert_allclose(selector.frequencies_, selector.supports_.mean(axis=0))
    low, high = selector.frequency_intervals_.T
    assert np.all((low <= selector.frequencies_) & (selector.frequencies_ <= high))
    measure = stability(selector.supports_)
    assert selector.stability_ == measure.value
    assert selector.stability_interval_ == (measure.lower, measure.upper)
    assert selector.get_support(indices=True).tolist() == [1, 4]
    assert sorted(selector.ranking_) == [1, 1, *range(2, 12)]
    falling = selector.frequencies_[np.argsort(selector.ranking_)]
    assert np.all(np.diff(falling) <= 0)


def test_subsamples_have_half_of_every_class():
    X, y = classes_of_two(n=90)
    seen = []

    class Spy(SelectKBest):
        def fit(self, X, y):
            seen.append(np.unique(y, return_counts=True)[1].tolist())
            assert np.unique(X, axis=0).shape[0] == len(X)
            return super().fit(X, y)

    StabilitySelection(Spy(k=2), n_subsamples=6, random_state=0).fit(X, y)
    assert seen == [[15, 15, 15]] * 6
    seen.clear()
    few = np.r_[np.zeros(87, int), 1, 2, 2]
    StabilitySelection(Spy(k=2), n_subsamples=6, random_state=0).fit(X, few)
    assert all(len(counts) == 3 and sum(counts) == 45 for counts in seen)


def test_groups_are_drawn_together_with_half_of_every_class():
    groups = np.repeat(np.arange(12), 5)
    X, y = np.column_stack([groups, np.random.default_rng(0).random((60, 3))]), groups % 3
    seen = []

    class Spy(SelectKBest):
        def fit(self, X, y):
            seen.append(np.bincount(X[:, 0].astype(int), minlength=12))
            return super().fit(X, y)

    StabilitySelection(Spy(k=2), n_subsamples=6, random_state=0).fit(X, y, groups=groups)
    for taken in seen:
        assert set(taken) == {0, 5}
        assert [taken[c::3].sum() for c in range(3)] == [10, 10, 10]


@pytest.mark.parametrize(
    "inner",
    [
        SelectKBest(f_classif, k=2),
        RFE(LogisticRegression(), n_features_to_select=2),
        SelectFromModel(LogisticRegression(C=0.1), threshold="2*mean"),
        TopKCV(k_max=4, cv=3, n_restarts=0),
    ],
)
def test_any_selector_will_do(inner):
    X, y = classes_of_two()
    selector = StabilitySelection(inner, n_subsamples=6, random_state=0).fit(X, y)
    assert selector.frequencies_[[1, 4]].min() == 1.0
    assert {1, 4} <= set(selector.get_support(indices=True).tolist())
    assert selector.support_.sum() == np.floor(selector.supports_.sum(axis=1).mean() + 0.5)


def test_selectors_without_a_target_will_do():
    X, _ = numbers_of_three()
    X[:, 3] = 1.0
    selector = StabilitySelection(VarianceThreshold(), n_subsamples=3, random_state=0).fit(X)
    assert selector.support_.tolist() == [j != 3 for j in range(15)]


def test_number_and_threshold_decide_what_is_selected():
    X, y = numbers_of_three(noise=8.0, n=60)
    base = StabilitySelection(SelectKBest(k=3), n_subsamples=30, random_state=0)
    for k in (1, 5, 0.4):
        chosen = clone(base).set_params(n_features_to_select=k).fit(X, y > 0)
        wanted = k if k >= 1 else 6
        assert chosen.support_.sum() == wanted
        outside = chosen.frequencies_[~chosen.support_].max()
        assert chosen.frequencies_[chosen.support_].min() >= outside
    with pytest.warns(UserWarning, match="greater than n_features=15"):
        assert clone(base).set_params(n_features_to_select=20).fit(X, y > 0).support_.all()
    often = clone(base).set_params(threshold=0.3).fit(X, y > 0)
    np.testing.assert_array_equal(often.support_, often.frequencies_ >= 0.3)


class Always(SelectorMixin, BaseEstimator):
    """Selects column 4 of 6 and ranks the others from the last to the first."""

    def fit(self, X, y, sample_weight=None):
        if sample_weight is not None:
            np.testing.assert_array_equal(sample_weight, X[:, 0])
        self.scores_ = np.array([0.0, 1.0, 2.0, np.nan, 9.0, 5.0])
        return self

    def _get_support_mask(self):
        return np.arange(6) == 4


def test_ties_go_to_the_better_mean_rank():
    X, y = numbers_of_three(d=12)
    selector = StabilitySelection(Always(), n_subsamples=3, n_features_to_select=3)
    selector.fit(X[:, :6], y)
    assert selector.get_support(indices=True).tolist() == [2, 4, 5]
    assert selector.ranking_.tolist() == [3, 2, 1, 4, 1, 1]


def test_every_row_keeps_its_weight():
    X, y = numbers_of_three(d=12)
    weights = X[:, 0].copy()
    for kind in (np.asarray, list):
        StabilitySelection(Always(), n_subsamples=3).fit(X[:, :6], y, sample_weight=kind(weights))
    with pytest.raises(AssertionError):
        StabilitySelection(Always(), n_subsamples=3).fit(X[:, :6], y, sample_weight=weights[::-1])


def test_a_threshold_and_a_number_are_not_asked_for_together():
    selector = StabilitySelection(SelectKBest(k=1), threshold=0.5, n_features_to_select=2)
    with pytest.raises(ValueError, match="not both"):
        selector.fit(*load_iris(return_X_y=True))


def test_subsamples_of_moments_are_choices_of_their_parts():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((160, 10))
    y = X[:, 0] + X[:, 1] + rng.standard_normal(160)
    parts = [Moments().update(X[i::8], y[i::8]) for i in range(8)]
    selector = StabilitySelection(TopK(2), n_subsamples=12, random_state=0)
    found = selector.fit_moments(parts)
    # The same draws, of parts, with the samples themselves.
    state = np.random.RandomState(0)
    drawn = [np.sort(state.permutation(8)[:4]) for _ in range(12)]
    for support, chosen in zip(found.supports_, drawn, strict=True):
        rows = np.flatnonzero(np.isin(np.arange(160) % 8, chosen))
        expected = TopK(2, random_state=0).fit(X[rows], y[rows]).support_
        np.testing.assert_array_equal(support, expected)
    assert found.n_features_in_ == 10
    with pytest.raises(ValueError, match="subsamples need 4"):
        selector.fit_moments(parts[:3])
    with pytest.raises(TypeError, match="has no fit_moments: RFE needs"):
        StabilitySelection(RFE(LinearRegression())).fit_moments(parts)


# ------------------------------------------------------------------------- pipelines
@pytest.mark.parametrize("named", [False, True])
def test_a_pipeline_is_its_selector_on_the_columns_that_it_keeps(named):
    X, y = three_classes()
    X = np.column_stack([np.full(len(X), 7.0), X])
    if named:
        X = pytest.importorskip("pandas").DataFrame(X, columns=[f"c{j}" for j in range(9)])
    options = {"n_subsamples": 6, "random_state": 0}
    alone = StabilitySelection(TopK(2), **options).fit(X, y)
    for steps in (
        [StandardScaler(), TopK(2)],
        [VarianceThreshold(), StandardScaler(), TopK(2)],
        [StandardScaler(), TopK(2), LogisticRegression()],
    ):
        piped = StabilitySelection(make_pipeline(*steps), **options).fit(X, y)
        np.testing.assert_array_equal(piped.supports_, alone.supports_)


def test_a_pipeline_that_makes_other_columns_or_selects_none_is_refused():
    X, y = three_classes()
    with pytest.raises(ValueError, match="a step that makes other columns"):
        StabilitySelection(make_pipeline(PCA(), TopK(2)), n_subsamples=2).fit(X, y)
    with pytest.raises(TypeError, match="a Pipeline with one"):
        StabilitySelection(make_pipeline(StandardScaler())).fit(X, y)


# -------------------------------------------------------------------------------------- the measure
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
