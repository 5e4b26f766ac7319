"""The stability of supports, and the frequencies of features over subsamples."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from joblib import parallel_config
from sklearn import config_context
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


@pytest.mark.parametrize(
    "backend", ["threading", pytest.param("loky", marks=pytest.mark.long)], ids=str
)
def test_jobs_do_not_change_the_frequencies(backend):
    X, y = classes_of_two()
    one = StabilitySelection(TopK(3, n_restarts=3), n_subsamples=6, random_state=5).fit(X, y)
    with parallel_config(backend):
        two = clone(one).set_params(n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(one.supports_, two.supports_)
    other = clone(one).set_params(random_state=6).fit(X, y)
    assert not np.array_equal(one.supports_, other.supports_)


def test_weights_reach_the_inner_selector():
    X, y = numbers_of_three(n=200)
    y[100:] = 5 * X[100:, 0]  # the second half depends on another column
    weights = np.r_[np.full(100, 1e-9), np.ones(100)]
    inner = TopK(1, n_restarts=0)
    plain = StabilitySelection(inner, n_subsamples=5, random_state=0)
    assert plain.fit(X, y, sample_weight=weights).get_support(indices=True).tolist() == [0]
    assert plain.fit(X[:100], y[:100]).get_support(indices=True).tolist() != [0]
    with config_context(enable_metadata_routing=True):
        asks = StabilitySelection(inner.set_fit_request(sample_weight=True), n_subsamples=5)
        pipe = make_pipeline(asks).fit(X, y, sample_weight=weights)
        assert pipe[0].get_support(indices=True).tolist() == [0]


def test_stability_selection_is_a_good_citizen():
    pd = pytest.importorskip("pandas")
    X, y = classes_of_two()
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(12)])
    inner = TopK(2, include=["c0"], n_restarts=0)
    selector = StabilitySelection(inner, n_subsamples=4, random_state=0)
    assert selector.get_params()["selector__n_features_to_select"] == 2
    selector.set_params(selector__n_features_to_select=3).set_output(transform="pandas")
    out = selector.fit_transform(frame, pd.Series(y))
    assert list(out.columns) == ["c0", "c1", "c4"]
    assert inner.n_features_to_select == 3
    assert not hasattr(inner, "support_")
    again = pickle.loads(pickle.dumps(selector))
    np.testing.assert_array_equal(again.supports_, selector.supports_)
    sparse = StabilitySelection(TopK(2, n_restarts=0), n_subsamples=4, random_state=0)
    both = [sparse.fit(kind(X), y).supports_ for kind in (np.asarray, sp.csc_matrix)]
    np.testing.assert_array_equal(*both)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_subsamples": 1}, ValueError, "n_subsamples must be an integer of at least 2"),
        ({"subsample": 0.0}, ValueError, "subsample must be a number above 0"),
        ({"subsample": 1.0}, ValueError, "subsample must be .* below 1"),
        ({"subsample": 1.5}, ValueError, "subsample must be"),
        ({"threshold": 1.2}, ValueError, "threshold must be"),
        ({"threshold": 0.5, "n_features_to_select": 2}, ValueError, "not both"),
        ({"n_features_to_select": 0}, ValueError, "n_features_to_select must be"),
        ({"selector": LinearRegression()}, TypeError, "Pipeline with one, or None; got Linear"),
        ({"selector": TopK}, TypeError, "selector must be a selector with fit"),
    ],
)
def test_stability_selection_refuses_bad_input(options, error, message):
    X, y = load_iris(return_X_y=True)
    options = {"selector": SelectKBest(k=1), "n_subsamples": 2} | options
    with pytest.raises(error, match=message):
        StabilitySelection(**options).fit(X, y)


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


def test_groups_of_single_samples_are_samples() -> None:
    X, y = np.random.default_rng(0).standard_normal((40, 6)), np.arange(40) % 2
    plain = StabilitySelection(TopK(2), n_subsamples=5, random_state=0).fit(X, y)
    alone = StabilitySelection(TopK(2), n_subsamples=5, random_state=0)
    alone.fit(X, y, groups=np.arange(40))
    np.testing.assert_array_equal(plain.supports_, alone.supports_)


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
