"""TopKCV: the number of features by cross-validation and by EBIC, and the scores of folds."""

import warnings
from itertools import product
from math import comb, log
from typing import Any

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score
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

from rowsparse import Moments, TopK, TopKClassifier, TopKCV, topk_path
from rowsparse.moments.parts import MomentsInParts
from rowsparse.selectors.meta.fold_scores import choose
from tests.selectors.cases import classes_of_two, numbers_of_three


def test_curve_is_that_of_a_loop_over_folds():
    X, y = numbers_of_three(n=60)
    alphas = [0.2, 5.0]
    selector = TopKCV(k_max=4, alphas=alphas, cv=3, rule="best", random_state=0).fit(X, y)
    results = selector.cv_results_
    assert results["alpha"].tolist() == [0.2] * 4 + [5.0] * 4
    assert results["n_features"].tolist() == [1, 2, 3, 4] * 2
    for i, (train, test) in enumerate(KFold(3).split(X)):
        scaler = StandardScaler().fit(X[train])
        expected = []
        for alpha, k in product(alphas, range(1, 5)):
            S = TopK(k, alpha=alpha, random_state=0).fit(X[train], y[train]).get_support()
            model = Ridge(alpha=alpha * len(train)).fit(scaler.transform(X[train])[:, S], y[train])
            expected.append(model.score(scaler.transform(X[test])[:, S], y[test]))
        np.testing.assert_allclose(results[f"split{i}_test_score"], expected)
    splits = [results[f"split{i}_test_score"] for i in range(3)]
    np.testing.assert_allclose(results["mean_test_score"], np.mean(splits, axis=0))
    np.testing.assert_allclose(results["std_test_score"], np.std(splits, axis=0))
    best = np.argmax(results["mean_test_score"])
    assert (selector.alpha_, selector.n_features_) == (
        results["alpha"][best],
        results["n_features"][best],
    )


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


def test_final_selection_is_that_of_topk():
    X, y = numbers_of_three()
    selector = TopKCV(k_max=6, alphas=[0.1, 1.0], random_state=0).fit(X, y)
    topk = TopK(selector.n_features_, alpha=selector.alpha_, random_state=0).fit(X, y)
    for name in ("support_", "ranking_", "coef_", "intercept_", "objective_"):
        np.testing.assert_allclose(getattr(selector, name), getattr(topk, name), atol=1e-10)
    assert selector.n_features_in_ == 15
    assert selector.transform(X).shape == (120, selector.n_features_)


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


# ---------------------------------------------------------------------------------- scores of folds
ALPHAS = np.array([0.1, 1.0])


def scores(*means: list[float]) -> np.ndarray:
    """Two folds with these means, 0.02 apart: a standard error of 0.01."""
    return np.array([np.array(means) - 0.01, np.array(means) + 0.01])


@pytest.mark.parametrize(
    ("means", "one_std_err", "chosen"),
    [
        (([0.5, 0.9, 0.8], [0.6, 0.7, 0.95]), False, (1, 2)),
        (([0.5, 0.9, 0.9], [0.6, 0.9, 0.9]), False, (1, 1)),  # ties: fewest, then largest alpha
        (([0.5, 0.895, 0.9], [0.5, 0.8, 0.9]), True, (0, 1)),  # within one standard error
        (([0.5, 0.885, 0.9], [0.5, 0.8, 0.8]), True, (0, 2)),  # not within
        (([0.5, np.nan, 0.4], [np.nan, np.nan, np.nan]), False, (0, 0)),
    ],
)
def test_choice_by_the_rules(means, one_std_err, chosen):
    assert choose(scores(*means), ALPHAS, one_std_err=one_std_err) == chosen
    # One fold has no standard error: its best is taken.
    assert choose(scores([0.5, 0.9])[:1], ALPHAS[:1], one_std_err=True) == (0, 1)


def values_of(model, X):
    return X @ model.coef_.T + model.intercept_


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_models_of_folds_are_scored_as_classifiers_are(loss):
    X, y = classes_of_two(n=60)
    rows = np.arange(60)
    train, test = rows[:45], rows[45:]
    half = 0.5 if loss == "squared" else 0.0
    two, labels = (y == "a").astype(int), np.column_stack([y == "a", y != "b"]).astype(int)
    options = {"loss": loss, "random_state": 0}

    def scored(targets, scoring=None):
        chooser = TopKCV(k_max=2, alpha=1.0, cv=[(train, test)], scoring=scoring, **options)
        found = chooser.fit(X, targets).cv_results_["mean_test_score"]
        model = TopKClassifier(2, alpha=1.0, **options).fit(X[train], targets[train])
        return found[1], model

    for targets in (two, labels, y):
        found, model = scored(targets)
        values = values_of(model, X[test])
        if targets is y:
            predicted = np.unique(y)[values.argmax(axis=1)]
        elif targets is two:
            predicted = values[:, 0] > 0
        else:
            predicted = values > half
        assert found == pytest.approx(accuracy_score(targets[test], predicted))
    found, model = scored(two, "roc_auc")
    assert found == pytest.approx(roc_auc_score(two[test], values_of(model, X[test])[:, 0]))
    if loss == "logistic":
        for targets in (y, two):
            found, model = scored(targets, "neg_log_loss")
            P = model.predict_proba(X[test])
            assert found == pytest.approx(-log_loss(targets[test], P))


def test_ebic_of_the_logistic_loss_is_its_formula():
    X, y = classes_of_two(n=60, d=8)
    y = (y == "a") ^ (np.arange(60) % 9 == 0)
    options = {"loss": "logistic", "alpha": 0.5, "random_state": 0}
    selector = TopKCV(k_max=3, rule="ebic", ebic_gamma=0.5, **options).fit(X, y)
    for k, support, value in zip(
        (1, 2, 3), selector.path_.supports, selector.cv_results_["ebic"], strict=True
    ):
        model = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(X[:, support], y)
        P = model.predict_proba(X[:, support])
        deviance = -2 * np.log(P[np.arange(60), y.astype(int)]).sum()
        expected = deviance + k * log(60) + 2 * 0.5 * log(comb(8, k))
        assert value == pytest.approx(expected, rel=1e-6)


# --------------------------------------------------------------------------- folds of sums
_rng = np.random.default_rng(0)
X = _rng.standard_normal((120, 12)) + 5.0
NUMBERS = X[:, :3] @ _rng.standard_normal((3, 2)) + _rng.standard_normal((120, 2))
CLASSES = np.digitize(NUMBERS[:, 0], np.quantile(NUMBERS[:, 0], [0.3, 0.7]))


def folds_of(y: Any, n: int, classes: bool) -> list[tuple[Any, Any]]:
    part = np.arange(120) % n
    if classes:
        for c in np.unique(y):
            part[y == c] = np.arange(np.count_nonzero(y == c)) % n
    return [(np.flatnonzero(part != i), np.flatnonzero(part == i)) for i in range(n)]


@pytest.mark.parametrize("task", ["regression", "classification"])
@pytest.mark.parametrize("n_parts", [3, 6])
def test_scores_are_those_of_folds_of_samples(task: str, n_parts: int) -> None:
    classes = task == "classification"
    y = CLASSES if classes else NUMBERS
    dealt = MomentsInParts(n_parts, "auto", products=True)
    for start in range(0, 120, 33):
        dealt.update(X[start : start + 33], y[start : start + 33])
    found = TopKCV(k_max=6, cv=3, alphas=[0.1, 1.0], random_state=0).fit_moments(dealt.parts)
    parts = folds_of(y, n_parts, classes)
    tests = [np.sort(np.concatenate([parts[j][1] for j in range(i, n_parts, 3)])) for i in range(3)]
    splits = [(np.setdiff1d(np.arange(120), rows), rows) for rows in tests]
    # The indicators of classes as numbers have the scores that are asked for.
    Y = np.eye(3)[CLASSES] if classes else NUMBERS
    whole = TopKCV(k_max=6, cv=splits, alphas=[0.1, 1.0], task="regression", random_state=0).fit(
        X, Y
    )
    for name, values in whole.cv_results_.items():
        np.testing.assert_allclose(found.cv_results_[name], values, rtol=1e-9)
    assert (found.n_features_, found.alpha_) == (whole.n_features_, whole.alpha_)
    np.testing.assert_array_equal(found.support_, whole.support_)


def test_ebic_needs_no_parts() -> None:
    found = TopKCV(k_max=6, rule="ebic", random_state=0, loss="squared").fit_moments(
        Moments().update(X, CLASSES)
    )
    whole = TopKCV(k_max=6, rule="ebic", random_state=0, loss="squared").fit(X, CLASSES)
    np.testing.assert_allclose(found.cv_results_["ebic"], whole.cv_results_["ebic"], rtol=1e-9)
    np.testing.assert_array_equal(found.support_, whole.support_)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"estimator": LinearRegression()}, "need the samples themselves"),
        ({"scoring": "accuracy"}, "need the samples themselves"),
        ({"cv": [([0], [1])]}, "cv must be a number of folds"),
        ({"cv": 4}, "fewer than the cv=4 folds"),
        ({"loss": "logistic"}, "loss='squared' only"),
    ],
)
def test_what_needs_samples_is_refused(options: dict[str, Any], message: str) -> None:
    parts = [Moments().update(X[i::3], CLASSES[i::3]) for i in range(3)]
    with pytest.raises(ValueError, match=message):
        TopKCV(k_max=3, **options).fit_moments(parts)
