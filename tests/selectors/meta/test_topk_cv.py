"""TopKCV: the number of features by cross-validation and by EBIC."""

from __future__ import annotations

import pickle
import warnings
from math import comb, log

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_iris, make_multilabel_classification
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import make_scorer, mean_absolute_error
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    StratifiedKFold,
    cross_val_score,
    cross_validate,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rowsparse import TopK, TopKClassifier, TopKCV, topk_path
from tests.selectors.cases import classes_of_two, numbers_of_three


@pytest.mark.parametrize("rule", ["one_std_err", "ebic"])
def test_planted_numbers_are_found(rule):
    for seed in range(3):
        selector = TopKCV(k_max=8, rule=rule, random_state=0).fit(*numbers_of_three(seed))
        assert selector.n_features_ == 3
        assert selector.get_support(indices=True).tolist() == [2, 7, 11]


@pytest.mark.parametrize("rule", ["one_std_err", "best", "ebic"])
def test_planted_classes_are_found(rule):
    selector = TopKCV(k_max=6, rule=rule, random_state=0, loss="squared").fit(*classes_of_two())
    assert {1, 4} <= set(selector.get_support(indices=True).tolist())
    assert selector.n_features_ == (selector.n_features_ if rule == "best" else 2)
    assert selector.classes_.tolist() == ["a", "b", "c"]


def test_curve_is_that_of_a_loop_over_folds():
    X, y = numbers_of_three(n=60)
    selector = TopKCV(k_max=4, alpha=0.2, cv=3, rule="best", random_state=0).fit(X, y)
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
    X, y = classes_of_two(n=60)
    knn = KNeighborsClassifier(3)
    cv = StratifiedKFold(4)
    selector = TopKCV(k_max=3, cv=cv, estimator=knn, scoring="f1_macro", random_state=0).fit(X, y)
    for k in range(1, 4):
        pipe = make_pipeline(TopK(k, random_state=0), knn)
        scores = cross_val_score(pipe, X, y, cv=cv, scoring="f1_macro")
        ours = [selector.cv_results_[f"split{i}_test_score"][k - 1] for i in range(4)]
        np.testing.assert_allclose(ours, scores)
    assert not hasattr(knn, "classes_")


def test_default_class_score_is_the_accuracy_of_the_largest_value():
    X, y = classes_of_two(n=60)
    selector = TopKCV(k_max=2, cv=3, random_state=0).fit(X, y)
    for i, (train, test) in enumerate(StratifiedKFold(3).split(X, y)):
        path = topk_path(X[train], y[train], 2, random_state=0)
        for k in (1, 2):
            values = X[test] @ path.coef(k).T + path.intercepts[k - 1]
            accuracy = np.mean(np.unique(y)[values.argmax(axis=1)] == y[test])
            assert selector.cv_results_[f"split{i}_test_score"][k - 1] == pytest.approx(accuracy)


def test_final_selection_is_that_of_topk():
    X, y = numbers_of_three()
    selector = TopKCV(k_max=6, alphas=[0.1, 1.0], random_state=0).fit(X, y)
    topk = TopK(selector.n_features_, alpha=selector.alpha_, random_state=0).fit(X, y)
    for name in ("support_", "ranking_", "coef_", "intercept_", "objective_"):
        np.testing.assert_allclose(getattr(selector, name), getattr(topk, name), atol=1e-10)
    assert selector.n_features_in_ == 15
    assert selector.transform(X).shape == (120, selector.n_features_)


def test_alphas_give_the_curve_of_each():
    X, y = numbers_of_three(n=60, noise=4.0)
    both = TopKCV(k_max=3, alphas=[0.1, 5.0], rule="best", random_state=0).fit(X, y)
    assert both.cv_results_["alpha"].tolist() == [0.1] * 3 + [5.0] * 3
    assert both.cv_results_["n_features"].tolist() == [1, 2, 3] * 2
    for i, alpha in enumerate([0.1, 5.0]):
        one = TopKCV(k_max=3, alpha=alpha, random_state=0).fit(X, y)
        curve = both.cv_results_["mean_test_score"][3 * i : 3 * i + 3]
        np.testing.assert_allclose(curve, one.cv_results_["mean_test_score"])
    best = np.argmax(both.cv_results_["mean_test_score"])
    assert both.alpha_ == both.cv_results_["alpha"][best]
    assert both.n_features_ == both.cv_results_["n_features"][best]


def test_one_standard_error_takes_the_fewest_features_within_it():
    X, y = numbers_of_three(seed=4, n=50, noise=5.0)
    selector = TopKCV(k_max=8, alpha=0.5, random_state=0).fit(X, y)
    results = selector.cv_results_
    splits = np.array([results[f"split{i}_test_score"] for i in range(5)])
    best = splits.mean(axis=0).argmax()
    limit = splits[:, best].mean() - splits[:, best].std(ddof=1) / np.sqrt(5)
    good = results["n_features"][splits.mean(axis=0) >= limit]
    assert selector.n_features_ == good.min() < results["n_features"][best]


def test_ebic_is_its_formula():
    X, y = classes_of_two(n=50)
    selector = TopKCV(
        k_max=5, rule="ebic", ebic_gamma=0.7, exclude=[0], random_state=0, loss="squared"
    ).fit(X, y)
    Y = (y[:, None] == np.unique(y)).astype(float)
    path = topk_path(X, y, 5, exclude=[0], random_state=0, loss="squared")
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
    assert (
        TopKCV(k_max=8, rule="ebic", random_state=0).fit(*numbers_of_three(noise=0.0)).n_features_
        == 3
    )


@pytest.mark.parametrize("estimator", [None, LogisticRegression()])
def test_threads_do_not_change_the_answer(estimator):
    X, y = classes_of_two()
    one = TopKCV(k_max=5, alphas=[0.1, 1.0], estimator=estimator, random_state=3).fit(X, y)
    two = clone(one).set_params(n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(one.support_, two.support_)
    for name, values in one.cv_results_.items():
        np.testing.assert_array_equal(values, two.cv_results_[name])


@pytest.mark.parametrize("estimator", [None, LinearRegression()])
def test_weights_repeat_samples_in_folds_and_scores(estimator):
    X, y = numbers_of_three(n=40, noise=3.0)
    weights = np.random.default_rng(0).integers(1, 4, 40)
    rows = np.repeat(np.arange(40), weights)
    groups = np.arange(40) % 3
    options = {"cv": GroupKFold(3), "estimator": estimator, "random_state": 0}
    # The splitter balances groups by their counts: give both the same folds.
    weighted = TopKCV(k_max=4, **options | {"cv": _splits(groups)}).fit(X, y, weights)
    repeated = TopKCV(k_max=4, **options | {"cv": _splits(groups[rows])}).fit(X[rows], y[rows])
    for name in ("mean_test_score", "std_test_score"):
        np.testing.assert_allclose(weighted.cv_results_[name], repeated.cv_results_[name])
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-9)
    grouped = TopKCV(k_max=4, **options).fit(X, y, groups=groups)
    assert sum(name.startswith("split") for name in grouped.cv_results_) == 3


def _splits(groups):
    return [(np.flatnonzero(groups != g), np.flatnonzero(groups == g)) for g in range(3)]


def test_labels_several_numbers_sparse_data_and_scorers():
    X, Y = make_multilabel_classification(80, 10, n_classes=3, random_state=0)
    labels = TopKCV(k_max=3, random_state=0).fit(X, Y)
    assert labels.coef_.shape == (3, 10)
    assert labels.task_ == "multilabel"
    X, y = numbers_of_three()
    several = TopKCV(k_max=5, random_state=0).fit(X, np.column_stack([y, X[:, 0]]))
    assert {0, 2} <= set(several.get_support(indices=True).tolist())
    dense = TopKCV(k_max=4, random_state=0).fit(X, y)
    sparse = TopKCV(k_max=4, random_state=0).fit(sp.csc_array(X), y)
    np.testing.assert_allclose(
        dense.cv_results_["mean_test_score"], sparse.cv_results_["mean_test_score"]
    )
    scorer = make_scorer(mean_absolute_error, greater_is_better=False)
    assert TopKCV(k_max=4, scoring=scorer, random_state=0).fit(X, y).n_features_ == 3
    auc = TopKCV(k_max=3, scoring="roc_auc", random_state=0).fit(X, y > y.mean())
    assert auc.cv_results_["mean_test_score"].max() > 0.9


def test_topkcv_is_a_good_citizen():
    pd = pytest.importorskip("pandas")
    X, y = numbers_of_three()
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(15)])
    selector = TopKCV(k_max=4, include=["c0"], random_state=0).set_output(transform="pandas")
    out = selector.fit_transform(frame, y)
    assert "c0" in out.columns
    assert list(out.columns) == list(selector.get_feature_names_out())
    again = pickle.loads(pickle.dumps(selector))
    np.testing.assert_array_equal(again.support_, selector.support_)
    pipe = make_pipeline(StandardScaler(), TopKCV(k_max=4, random_state=0), LinearRegression())
    assert pipe.fit(X, y).score(X, y) > 0.9
    with config_context(enable_metadata_routing=True):
        weighted = TopKCV(k_max=4, random_state=0).set_fit_request(sample_weight=True)
        last = LinearRegression().set_fit_request(sample_weight=True)
        weights = np.r_[np.ones(60), np.zeros(60)]
        pipe = make_pipeline(weighted, last).fit(X, y, sample_weight=weights)
        direct = clone(weighted).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(pipe[0].coef_, direct.coef_)


def test_samples_of_weight_zero_are_not_in_the_folds():
    X, y = classes_of_two(n=80)
    weights = np.repeat([1, 0], 40)
    weighted = TopKCV(k_max=3, random_state=0).fit(X, y, weights)
    without = TopKCV(k_max=3, random_state=0).fit(X[:40], y[:40])
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
    selector = TopKCV(k_max=2, random_state=0).fit(X, y)
    before = selector.n_features_
    with pytest.raises((ValueError, TypeError), match=message):
        selector.set_params(**options).fit(X, y)
    assert selector.n_features_ == before


def grouped():
    """Numbers that depend on the group of columns 2 and 3, and on column 6."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 7))
    return X, X[:, 2] - X[:, 3] + 0.5 * X[:, 6] + 0.3 * rng.standard_normal(80)


def test_groups_of_columns_are_counted_as_one():
    X, y = grouped()
    groups = [[0, 1], [2, 3], [4, 5]]
    chooser = TopKCV(k_max=4, alpha=0.5, feature_groups=groups, rule="best", random_state=0).fit(
        X, y
    )
    assert chooser.cv_results_["n_features"].tolist() == [1, 2, 3, 4]
    assert chooser.get_support(indices=True).tolist()[:2] == [2, 3]
    assert chooser.n_features_ >= 2
    by_ebic = TopKCV(k_max=4, feature_groups=groups, rule="ebic", random_state=0).fit(X, y)
    assert by_ebic.n_features_ == by_ebic.cv_results_["ebic"].argmin() + 1
    for k, support in zip(by_ebic.path_.ks, by_ebic.path_.supports, strict=True):
        Z = np.column_stack([np.ones(80), X[:, support]])
        rss = np.sum((y - Z @ np.linalg.lstsq(Z, y, rcond=None)[0]) ** 2)
        expected = 80 * log(rss / 80) + support.size * log(80) + 2 * log(comb(4, k))
        assert by_ebic.cv_results_["ebic"][k - 1] == pytest.approx(expected)


@pytest.mark.parametrize("rule", ["best", "ebic"])
def test_the_logistic_loss_finds_the_planted_classes_and_their_number(rule):
    X, y = classes_of_two()
    chooser = TopKCV(k_max=4, loss="logistic", alpha=0.05, cv=3, rule=rule, random_state=0).fit(
        X, y
    )
    assert chooser.support_[[1, 4]].all()
    assert chooser.n_features_ <= 3
    final = TopK(chooser.n_features_, loss="logistic", alpha=0.05, random_state=0).fit(X, y)
    assert chooser.objective_ == pytest.approx(final.objective_)


# ------------------------------------------------------------------------- what judges
def test_the_judge_is_the_loss_that_selects():
    X, y = load_iris(return_X_y=True)
    scores = {
        loss: TopKCV(loss=loss, random_state=0).fit(X, y).cv_results_["mean_test_score"]
        for loss in ("squared", "logistic")
    }
    assert np.all(scores["logistic"] > scores["squared"] + 0.02)
    judge = TopKClassifier(2, loss="logistic", n_restarts=0, random_state=0)
    alone = cross_val_score(judge, X, y, cv=5).mean()
    assert scores["logistic"][1] == pytest.approx(alone)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_probabilities_are_scored_where_there_are_some(loss):
    X, y = load_iris(return_X_y=True)
    selector = TopKCV(loss=loss, scoring="neg_log_loss", random_state=0)
    if loss == "squared":
        with pytest.raises(AttributeError, match="predict_proba"):
            selector.fit(X, y)
        selector.set_params(estimator=LogisticRegression(max_iter=1000))
    assert selector.fit(X, y).cv_results_["mean_test_score"].max() > -0.4


def test_groups_of_samples_come_through_cross_validate_without_a_request():
    X, y = numbers_of_three(n=60)
    groups = np.arange(60) % 6
    selector = TopKCV(k_max=3, cv=GroupKFold(3), n_restarts=0, random_state=0)
    expected = selector.fit(X, y, groups=groups).cv_results_["mean_test_score"]
    with config_context(enable_metadata_routing=True):
        routed = clone(selector).fit(X, y, groups=groups).cv_results_["mean_test_score"]
        np.testing.assert_array_equal(routed, expected)
        found = cross_validate(
            make_pipeline(clone(selector), LinearRegression()),
            X,
            y,
            cv=GroupKFold(2),
            params={"groups": groups},
            error_score="raise",
        )
        assert found["test_score"].min() > 0.8
        with pytest.raises(TypeError, match="groups"):
            TopKCV(k_max=3, cv=3).fit(X, y, groups=groups)


def test_the_largest_number_is_named():
    with pytest.raises(TypeError, match="positional"):
        TopKCV(5)
