"""Paths over k, the choice of k, and selection frequencies."""

from __future__ import annotations

import pickle
import warnings
from math import comb, log

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import config_context
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_iris, make_multilabel_classification
from sklearn.feature_selection import (
    RFE,
    SelectFromModel,
    SelectKBest,
    SelectorMixin,
    VarianceThreshold,
    f_classif,
)
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import make_scorer, mean_absolute_error
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from rowsparse.selectors.meta.stability_selection import (
    StabilitySelection,
    stability,
    wilson_interval,
)
from rowsparse.selectors.meta.topk_cv import TopKCV
from rowsparse.selectors.topk.path import topk_path
from rowsparse.selectors.topk.topk import TopK

CHECKED = [
    TopKCV(),
    TopKCV(k_max=3),
    StabilitySelection(),
    StabilitySelection(SelectKBest(k=1), n_subsamples=4),
    StabilitySelection(TopK(1, n_restarts=0), n_subsamples=4),
]


@parametrize_with_checks(CHECKED)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_conformance(estimator, check):
    check(estimator)


def numbers(seed=0, n=120, d=15, noise=0.5):
    """Numbers that depend on columns 2, 7 and 11."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * np.linspace(0.5, 3, d) + 1.0
    y = 2 * X[:, 2] - 1.5 * X[:, 7] + X[:, 11] + noise * rng.standard_normal(n)
    return X, y


def classes(seed=0, n=120, d=12):
    """Three classes that columns 1 and 4 tell apart."""
    rng = np.random.default_rng(seed)
    y = np.array(["a", "b", "c"])[rng.permutation(np.arange(n) % 3)]
    X = rng.standard_normal((n, d))
    X[:, 1] += 3 * (y == "a")
    X[:, 4] += 3 * (y == "b")
    return X, y


# ------------------------------------------------------------------------------- topk_path
def test_path_finds_planted_features_and_says_when_they_entered():
    path = topk_path(*numbers(), 5, random_state=0)
    assert path.ks.tolist() == [1, 2, 3, 4, 5]
    assert path.supports[2].tolist() == [2, 7, 11]
    inside = path.membership
    assert inside.shape == (5, 15)
    assert inside.sum(axis=1).tolist() == [1, 2, 3, 4, 5]
    for j in range(15):
        at = path.ks[inside[:, j]]
        assert path.entered[j] == (at.min() if at.size else 0)
    assert np.all(np.diff(path.objectives) <= 0)


def test_path_has_the_objective_of_topk_and_the_ridge_regression_in_data_units():
    X, y = numbers()
    path = topk_path(X, y, 4, alpha=0.3, random_state=0)
    Z = StandardScaler().fit_transform(X)
    for k, S, objective in zip(path.ks, path.supports, path.objectives, strict=True):
        topk = TopK(int(k), alpha=0.3, random_state=0).fit(X, y)
        assert objective == pytest.approx(topk.objective_)
        np.testing.assert_allclose(path.coef(k), [topk.coef_], atol=1e-10)
        np.testing.assert_allclose(path.intercepts[k - 1], topk.intercept_)
        ridge = Ridge(alpha=0.3 * len(y)).fit(Z[:, S], y)
        ours = X[:, S] @ path.coefs[k - 1].T + path.intercepts[k - 1]
        np.testing.assert_allclose(ours.ravel(), ridge.predict(Z[:, S]))


def test_path_weights_repeat_samples():
    X, y = classes(n=40)
    weights = np.random.default_rng(1).integers(0, 4, 40)
    rows = np.repeat(np.arange(40), weights)
    weighted = topk_path(X, y, 4, sample_weight=weights, random_state=0)
    repeated = topk_path(X[rows], y[rows], 4, random_state=0)
    np.testing.assert_allclose(weighted.objectives, repeated.objectives)
    np.testing.assert_allclose(weighted.coef(4), repeated.coef(4), atol=1e-10)


def test_path_takes_names_sparse_data_and_extreme_units():
    pd = pytest.importorskip("pandas")
    X, y = numbers()
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(15)])
    path = topk_path(frame, y, 3, include=["c0"], exclude=["c2"], random_state=0)
    assert path.ks.tolist() == [1, 2, 3]
    assert path.supports[0].tolist() == [0]
    assert all(0 in S and 2 not in S for S in path.supports)
    plain = topk_path(X, y, 4, random_state=0)
    sparse = topk_path(sp.csr_matrix(X), y, 4, random_state=0)
    np.testing.assert_allclose(plain.objectives, sparse.objectives)
    small = topk_path(X * 1e-90, y * 1e-80, 4, standardize=False, alpha=0.0, random_state=0)
    large = topk_path(X, y, 4, standardize=False, alpha=0.0, random_state=0)
    np.testing.assert_allclose(small.objectives, large.objectives * 1e-160)
    np.testing.assert_allclose(small.coef(4), large.coef(4) * 1e10, rtol=1e-6, atol=1.0)


def test_path_caps_k_max_with_a_warning():
    X, y = load_iris(return_X_y=True)
    with pytest.warns(UserWarning, match="k_max=9 .* taken as 4"):
        assert topk_path(X, y, 9).ks.tolist() == [1, 2, 3, 4]
    with pytest.warns(UserWarning, match="taken as 3"):
        assert topk_path(X, y, 4, exclude=[1]).ks.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k_max": 0}, "k_max must be an integer of at least 1"),
        ({"alpha": -1.0}, "alpha must be"),
        ({"n_restarts": -1}, "n_restarts must be"),
        ({"include": [0], "exclude": [0]}, "overlap in column 0"),
        ({"include": [0, 1, 2]}, "include has 3 columns, more than k_max=2"),
        ({"exclude": [0, 1, 2, 3]}, "leaves no columns"),
        ({"exclude": [7]}, "index 7"),
    ],
)
def test_path_refuses_bad_input(options, message):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=message):
        topk_path(X, y, **({"k_max": 2} | options))


def test_path_refuses_a_k_it_does_not_have():
    path = topk_path(*load_iris(return_X_y=True), 2)
    with pytest.raises(ValueError, match="k must be an integer of at least 1 and at most 2"):
        path.coef(3)


# ---------------------------------------------------------------------------------- TopKCV
@pytest.mark.parametrize("rule", ["one_std_err", "ebic"])
def test_planted_numbers_are_found(rule):
    for seed in range(3):
        selector = TopKCV(8, rule=rule, random_state=0).fit(*numbers(seed))
        assert selector.n_features_ == 3
        assert selector.get_support(indices=True).tolist() == [2, 7, 11]


@pytest.mark.parametrize("rule", ["one_std_err", "best", "ebic"])
def test_planted_classes_are_found(rule):
    selector = TopKCV(6, rule=rule, random_state=0).fit(*classes())
    assert {1, 4} <= set(selector.get_support(indices=True).tolist())
    assert selector.n_features_ == (selector.n_features_ if rule == "best" else 2)
    assert selector.classes_.tolist() == ["a", "b", "c"]


def test_curve_is_that_of_a_loop_over_folds():
    X, y = numbers(n=60)
    selector = TopKCV(4, alpha=0.2, cv=3, rule="best", random_state=0).fit(X, y)
    for i, (train, test) in enumerate(KFold(3).split(X)):
        for k in range(1, 5):
            topk = TopK(k, alpha=0.2, random_state=0).fit(X[train], y[train])
            S = topk.get_support()
            scaler = StandardScaler().fit(X[train])
            model = Ridge(alpha=0.2 * len(train)).fit(scaler.transform(X[train])[:, S], y[train])
            score = model.score(scaler.transform(X[test])[:, S], y[test])
            assert selector.cv_results_[f"split{i}_test_score"][k - 1] == pytest.approx(score)
    splits = [selector.cv_results_[f"split{i}_test_score"] for i in range(3)]
    np.testing.assert_allclose(selector.cv_results_["mean_test_score"], np.mean(splits, axis=0))
    np.testing.assert_allclose(selector.cv_results_["std_test_score"], np.std(splits, axis=0))
    assert selector.cv_results_["n_features"].tolist() == [1, 2, 3, 4]
    assert selector.n_features_ == 1 + np.argmax(selector.cv_results_["mean_test_score"])


def test_curve_with_an_estimator_is_that_of_its_pipeline():
    X, y = classes(n=60)
    knn = KNeighborsClassifier(3)
    cv = StratifiedKFold(4)
    selector = TopKCV(3, cv=cv, estimator=knn, scoring="f1_macro", random_state=0).fit(X, y)
    for k in range(1, 4):
        pipe = make_pipeline(TopK(k, random_state=0), knn)
        scores = cross_val_score(pipe, X, y, cv=cv, scoring="f1_macro")
        ours = [selector.cv_results_[f"split{i}_test_score"][k - 1] for i in range(4)]
        np.testing.assert_allclose(ours, scores)
    assert not hasattr(knn, "classes_")


def test_default_class_score_is_the_accuracy_of_the_largest_value():
    X, y = classes(n=60)
    selector = TopKCV(2, cv=3, random_state=0).fit(X, y)
    for i, (train, test) in enumerate(StratifiedKFold(3).split(X, y)):
        path = topk_path(X[train], y[train], 2, random_state=0)
        for k in (1, 2):
            values = X[test] @ path.coef(k).T + path.intercepts[k - 1]
            accuracy = np.mean(np.unique(y)[values.argmax(axis=1)] == y[test])
            assert selector.cv_results_[f"split{i}_test_score"][k - 1] == pytest.approx(accuracy)


def test_final_selection_is_that_of_topk():
    X, y = numbers()
    selector = TopKCV(6, alphas=[0.1, 1.0], random_state=0).fit(X, y)
    topk = TopK(selector.n_features_, alpha=selector.alpha_, random_state=0).fit(X, y)
    for name in ("support_", "ranking_", "coef_", "intercept_", "objective_"):
        np.testing.assert_allclose(getattr(selector, name), getattr(topk, name), atol=1e-10)
    assert selector.n_features_in_ == 15
    assert selector.transform(X).shape == (120, selector.n_features_)


def test_alphas_give_the_curve_of_each():
    X, y = numbers(n=60, noise=4.0)
    both = TopKCV(3, alphas=[0.1, 5.0], rule="best", random_state=0).fit(X, y)
    assert both.cv_results_["alpha"].tolist() == [0.1] * 3 + [5.0] * 3
    assert both.cv_results_["n_features"].tolist() == [1, 2, 3] * 2
    for i, alpha in enumerate([0.1, 5.0]):
        one = TopKCV(3, alpha=alpha, random_state=0).fit(X, y)
        curve = both.cv_results_["mean_test_score"][3 * i : 3 * i + 3]
        np.testing.assert_allclose(curve, one.cv_results_["mean_test_score"])
    best = np.argmax(both.cv_results_["mean_test_score"])
    assert both.alpha_ == both.cv_results_["alpha"][best]
    assert both.n_features_ == both.cv_results_["n_features"][best]


def test_one_standard_error_takes_the_fewest_features_within_it():
    X, y = numbers(seed=4, n=50, noise=5.0)
    selector = TopKCV(8, random_state=0).fit(X, y)
    results = selector.cv_results_
    splits = np.array([results[f"split{i}_test_score"] for i in range(5)])
    best = splits.mean(axis=0).argmax()
    limit = splits[:, best].mean() - splits[:, best].std(ddof=1) / np.sqrt(5)
    good = results["n_features"][splits.mean(axis=0) >= limit]
    assert selector.n_features_ == good.min() < results["n_features"][best]


def test_ebic_is_its_formula():
    X, y = classes(n=50)
    selector = TopKCV(5, rule="ebic", ebic_gamma=0.7, exclude=[0], random_state=0).fit(X, y)
    Y = (y[:, None] == np.unique(y)).astype(float)
    path = topk_path(X, y, 5, exclude=[0], random_state=0)
    values = []
    for k, S in zip(path.ks.tolist(), path.supports, strict=True):
        rss = np.sum((Y - LinearRegression().fit(X[:, S], Y).predict(X[:, S])) ** 2)
        nc = 50 * 2
        value = nc * log(rss / nc) + k * 2 * log(50) + 2 * 0.7 * log(comb(11, k))
        values.append(value)
    np.testing.assert_allclose(selector.cv_results_["ebic"], values)
    assert selector.n_features_ == 1 + np.argmin(values)
    np.testing.assert_allclose(selector.path_.objectives, path.objectives)


def test_ebic_stops_at_a_perfect_fit():
    assert TopKCV(8, rule="ebic", random_state=0).fit(*numbers(noise=0.0)).n_features_ == 3


@pytest.mark.parametrize("estimator", [None, LogisticRegression()])
def test_threads_do_not_change_the_answer(estimator):
    X, y = classes()
    one = TopKCV(5, alphas=[0.1, 1.0], estimator=estimator, random_state=3).fit(X, y)
    two = clone(one).set_params(n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(one.support_, two.support_)
    for name, values in one.cv_results_.items():
        np.testing.assert_array_equal(values, two.cv_results_[name])


@pytest.mark.parametrize("estimator", [None, LinearRegression()])
def test_weights_repeat_samples_in_folds_and_scores(estimator):
    X, y = numbers(n=40, noise=3.0)
    weights = np.random.default_rng(0).integers(1, 4, 40)
    rows = np.repeat(np.arange(40), weights)
    groups = np.arange(40) % 3
    options = {"cv": GroupKFold(3), "estimator": estimator, "random_state": 0}
    # The splitter balances groups by their counts: give both the same folds.
    weighted = TopKCV(4, **options | {"cv": _splits(groups)}).fit(X, y, weights)
    repeated = TopKCV(4, **options | {"cv": _splits(groups[rows])}).fit(X[rows], y[rows])
    for name in ("mean_test_score", "std_test_score"):
        np.testing.assert_allclose(weighted.cv_results_[name], repeated.cv_results_[name])
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-9)
    grouped = TopKCV(4, **options).fit(X, y, groups=groups)
    assert sum(name.startswith("split") for name in grouped.cv_results_) == 3


def _splits(groups):
    return [(np.flatnonzero(groups != g), np.flatnonzero(groups == g)) for g in range(3)]


def test_labels_several_numbers_sparse_data_and_scorers():
    X, Y = make_multilabel_classification(80, 10, n_classes=3, random_state=0)
    labels = TopKCV(3, random_state=0).fit(X, Y)
    assert labels.coef_.shape == (3, 10)
    assert labels.cv_results_["mean_test_score"].max() > 0.3
    X, y = numbers()
    several = TopKCV(5, random_state=0).fit(X, np.column_stack([y, X[:, 0]]))
    assert {0, 2} <= set(several.get_support(indices=True).tolist())
    dense = TopKCV(4, random_state=0).fit(X, y)
    sparse = TopKCV(4, random_state=0).fit(sp.csc_array(X), y)
    np.testing.assert_allclose(
        dense.cv_results_["mean_test_score"], sparse.cv_results_["mean_test_score"]
    )
    scorer = make_scorer(mean_absolute_error, greater_is_better=False)
    assert TopKCV(4, scoring=scorer, random_state=0).fit(X, y).n_features_ == 3
    auc = TopKCV(3, scoring="roc_auc", random_state=0).fit(X, y > y.mean())
    assert auc.cv_results_["mean_test_score"].max() > 0.9


def test_topkcv_is_a_good_citizen():
    pd = pytest.importorskip("pandas")
    X, y = numbers()
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(15)])
    selector = TopKCV(4, include=["c0"], random_state=0).set_output(transform="pandas")
    out = selector.fit_transform(frame, y)
    assert "c0" in out.columns
    assert list(out.columns) == list(selector.get_feature_names_out())
    again = pickle.loads(pickle.dumps(selector))
    np.testing.assert_array_equal(again.support_, selector.support_)
    pipe = make_pipeline(StandardScaler(), TopKCV(4, random_state=0), LinearRegression())
    assert pipe.fit(X, y).score(X, y) > 0.9
    with config_context(enable_metadata_routing=True):
        weighted = TopKCV(4, random_state=0).set_fit_request(sample_weight=True)
        last = LinearRegression().set_fit_request(sample_weight=True)
        weights = np.r_[np.ones(60), np.zeros(60)]
        pipe = make_pipeline(weighted, last).fit(X, y, sample_weight=weights)
        direct = clone(weighted).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(pipe[0].coef_, direct.coef_)


def test_samples_of_weight_zero_are_not_in_the_folds():
    X, y = classes(n=80)
    weights = np.repeat([1, 0], 40)
    weighted = TopKCV(3, random_state=0).fit(X, y, weights)
    without = TopKCV(3, random_state=0).fit(X[:40], y[:40])
    for name, values in weighted.cv_results_.items():
        np.testing.assert_allclose(values, without.cv_results_[name])


def test_default_k_max_is_all_features_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        selector = TopKCV(random_state=0).fit(*load_iris(return_X_y=True))
    assert selector.cv_results_["n_features"].tolist() == [1, 2, 3, 4]
    X = np.random.default_rng(0).standard_normal((60, 40))
    forced = TopKCV(include=range(35), random_state=0, n_restarts=0).fit(X, X[:, 0])
    assert forced.cv_results_["n_features"].tolist() == [35]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k_max": 0}, "k_max must be an integer of at least 1"),
        ({"rule": "aic"}, "rule must be one of"),
        ({"alpha": -0.1}, "alpha must be a number of at least 0"),
        ({"alphas": [0.1, -1.0]}, "alphas must be .* each a number of at least 0"),
        ({"alphas": []}, "alphas must be a sequence of numbers"),
        ({"alphas": 0.3}, "alphas must be a sequence of numbers"),
        ({"cv": 1}, "cv must be an integer of at least 2"),
        ({"estimator": TopKCV}, "estimator must be"),
        ({"scoring": 3}, "scoring must be a string"),
        ({"ebic_gamma": -1.0}, "ebic_gamma must be"),
        ({"n_restarts": -2}, "n_restarts must be"),
        ({"cv": 60}, "n_splits=60 cannot be greater"),
        ({"scoring": "nonsense"}, "scoring"),
    ],
)
def test_topkcv_refuses_bad_input_and_keeps_its_last_fit(options, message):
    X, y = load_iris(return_X_y=True)
    selector = TopKCV(2, random_state=0).fit(X, y)
    before = selector.n_features_
    with pytest.raises((ValueError, TypeError), match=message):
        selector.set_params(**options).fit(X, y)
    assert selector.n_features_ == before


# ------------------------------------------------------------------------------- stability
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


# ---------------------------------------------------------------------- StabilitySelection
def test_frequencies_are_those_of_the_supports():
    X, y = classes()
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
    X, y = classes(n=90)
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
        TopKCV(4, cv=3, n_restarts=0),
    ],
)
def test_any_selector_will_do(inner):
    X, y = classes()
    selector = StabilitySelection(inner, n_subsamples=6, random_state=0).fit(X, y)
    assert selector.frequencies_[[1, 4]].min() == 1.0
    assert {1, 4} <= set(selector.get_support(indices=True).tolist())
    assert selector.support_.sum() == np.floor(selector.supports_.sum(axis=1).mean() + 0.5)


def test_selectors_without_a_target_will_do():
    X, _ = numbers()
    X[:, 3] = 1.0
    selector = StabilitySelection(VarianceThreshold(), n_subsamples=3, random_state=0).fit(X)
    assert selector.support_.tolist() == [j != 3 for j in range(15)]


def test_number_and_threshold_decide_what_is_selected():
    X, y = numbers(noise=8.0, n=60)
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
    X, y = numbers(d=12)
    selector = StabilitySelection(Always(), n_subsamples=3, n_features_to_select=3)
    selector.fit(X[:, :6], y)
    assert selector.get_support(indices=True).tolist() == [2, 4, 5]
    assert selector.ranking_.tolist() == [3, 2, 1, 4, 1, 1]


def test_every_row_keeps_its_weight():
    X, y = numbers(d=12)
    weights = X[:, 0].copy()
    for kind in (np.asarray, list):
        StabilitySelection(Always(), n_subsamples=3).fit(X[:, :6], y, sample_weight=kind(weights))
    with pytest.raises(AssertionError):
        StabilitySelection(Always(), n_subsamples=3).fit(X[:, :6], y, sample_weight=weights[::-1])


@pytest.mark.parametrize("inner", [TopK(3, n_restarts=3), SelectKBest(k=3)])
def test_jobs_do_not_change_the_frequencies(inner):
    X, y = classes()
    one = StabilitySelection(inner, n_subsamples=6, random_state=5).fit(X, y)
    two = clone(one).set_params(n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(one.supports_, two.supports_)
    other = clone(one).set_params(random_state=6).fit(X, y)
    assert not np.array_equal(one.supports_, other.supports_)


def test_weights_reach_the_inner_selector():
    X, y = numbers(n=200)
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
    X, y = classes()
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
        ({"selector": LinearRegression()}, TypeError, "get_support or None; got LinearRegress"),
        ({"selector": TopK}, TypeError, "selector must be a selector with fit"),
    ],
)
def test_stability_selection_refuses_bad_input(options, error, message):
    X, y = load_iris(return_X_y=True)
    options = {"selector": SelectKBest(k=1), "n_subsamples": 2} | options
    with pytest.raises(error, match=message):
        StabilitySelection(**options).fit(X, y)


def test_groups_of_columns_over_k():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 7))
    y = X[:, 2] - X[:, 3] + 0.5 * X[:, 6] + 0.3 * rng.standard_normal(80)
    frame = pd.DataFrame(X, columns=list("abcdefg"))
    groups = [["a", "b"], ["c", "d"], ["e", "f"]]
    path = topk_path(frame, y, 3, feature_groups=groups, random_state=0)
    assert path.ks.tolist() == [1, 2, 3]
    assert path.supports[0].tolist() == [2, 3]
    assert path.supports[1].tolist() == [2, 3, 6]
    assert path.coefs[1].shape == (1, 3)
    one = TopK(2, feature_groups=groups, random_state=0).fit(frame, y)
    assert path.objectives[1] == pytest.approx(one.objective_)
    chooser = TopKCV(4, feature_groups=groups, rule="best", random_state=0).fit(frame, y)
    assert chooser.cv_results_["n_features"].tolist() == [1, 2, 3, 4]
    assert chooser.get_support(indices=True).tolist()[:2] == [2, 3]
    assert chooser.n_features_ >= 2
    by_ebic = TopKCV(4, feature_groups=groups, rule="ebic", random_state=0).fit(frame, y)
    assert by_ebic.n_features_ == by_ebic.cv_results_["ebic"].argmin() + 1
    for k, support in zip(by_ebic.path_.ks, by_ebic.path_.supports, strict=True):
        Z = np.column_stack([np.ones(80), X[:, support]])
        rss = np.sum((y - Z @ np.linalg.lstsq(Z, y, rcond=None)[0]) ** 2)
        expected = 80 * log(rss / 80) + support.size * log(80) + 2 * log(comb(4, k))
        assert by_ebic.cv_results_["ebic"][k - 1] == pytest.approx(expected)
    with pytest.warns(UserWarning, match="number of groups to select from: it is taken as 4"):
        assert topk_path(frame, y, 9, feature_groups=groups).ks[-1] == 4
    with pytest.raises(ValueError, match="include has 2 groups, more than k_max=1"):
        topk_path(frame, y, 1, feature_groups=groups, include=["a", "g"])
    with pytest.raises(ValueError, match=r"overlap in the group of columns \[0, 1\]"):
        topk_path(frame, y, 2, feature_groups=groups, include=["a"], exclude=["b"])
