"""Scores of folds: the choice among them, the model they judge, weights and tables."""

from __future__ import annotations

from math import lgamma, log

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, log_loss, r2_score, roc_auc_score
from sklearn.neighbors import KNeighborsClassifier

from rowsparse import TopK, TopKClassifier
from rowsparse.selectors.meta.cross_validation import (
    FoldData,
    FoldScorer,
    choose,
    ebic,
    results_table,
    score_fold,
)
from rowsparse.selectors.topk.path_problem import path_problem
from tests.selectors.cases import classes_of_two, numbers_of_three

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


def test_one_fold_has_no_standard_error():
    assert choose(scores([0.5, 0.9])[:1], ALPHAS[:1], one_std_err=True) == (0, 1)


def test_the_table_has_a_row_for_each_alpha_and_k():
    values = np.arange(12.0).reshape(2, 2, 3)  # splits, alphas, ks
    table = results_table(values, ALPHAS, np.array([1, 2, 3]))
    assert table["alpha"].tolist() == [0.1] * 3 + [1.0] * 3
    assert table["n_features"].tolist() == [1, 2, 3] * 2
    assert table["split1_test_score"].tolist() == values[1].ravel().tolist()
    assert table["mean_test_score"].tolist() == [3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
    assert table["std_test_score"].tolist() == [3.0] * 6


def folded(X, y, weights=None, estimator=None, scoring=None, k_max=2, loss="squared"):
    """Scores of one fold whose test samples are the last quarter."""
    selector = TopK(1, loss=loss, random_state=0)
    prepared = path_problem(selector, X, y, weights)
    data = FoldData.of(X, y, weights, prepared)
    rows = np.arange(len(X))
    cut = 3 * len(X) // 4
    scorer = FoldScorer.of(estimator, scoring, data.task)
    return score_fold(data, rows[:cut], rows[cut:], selector, ALPHAS, k_max, scorer, 0)


def selected(X, y, k, alpha, weights=None, loss="squared"):
    """TopK on the training samples of :func:`folded`, and where these end."""
    cut = 3 * len(X) // 4
    weights = None if weights is None else weights[:cut]
    return TopK(k, alpha=alpha, loss=loss, random_state=0).fit(X[:cut], y[:cut], weights), cut


def test_without_an_estimator_the_ridge_regression_is_scored():
    X, y = numbers_of_three(n=60)
    found = folded(X, y)
    for i, alpha in enumerate(ALPHAS):
        for k in (1, 2):
            topk, cut = selected(X, y, k, alpha)
            values = X[cut:] @ topk.coef_ + topk.intercept_
            assert found[i, k - 1] == pytest.approx(r2_score(y[cut:], values))


def test_two_classes_are_scored_by_the_difference_of_their_values():
    X, y = classes_of_two(n=60)
    y = (y == "a").astype(int)
    found = folded(X, y, scoring="roc_auc")
    topk, cut = selected(X, y, 1, 0.1)
    values = X[cut:] @ topk.coef_.T + topk.intercept_
    assert found[0, 0] == pytest.approx(roc_auc_score(y[cut:], values[:, 0]))


def test_labels_are_predicted_above_one_half():
    X, y = classes_of_two(n=60)
    Y = np.column_stack([y == "a", y != "b"]).astype(int)
    found = folded(X, Y)
    topk, cut = selected(X, Y, 2, 1.0)
    values = X[cut:] @ topk.coef_.T + topk.intercept_
    assert found[1, 1] == pytest.approx(accuracy_score(Y[cut:], values > 0.5))


def test_weights_reach_the_fit_and_the_score_of_an_estimator():
    X, y = numbers_of_three(n=60, noise=3.0)
    weights = np.random.default_rng(0).uniform(0.1, 3.0, 60)
    found = folded(X, y, weights, estimator=LinearRegression())
    topk, cut = selected(X, y, 2, 0.1, weights)
    S = topk.support_
    model = LinearRegression().fit(X[:cut, S], y[:cut], weights[:cut])
    assert found[0, 1] == pytest.approx(model.score(X[cut:, S], y[cut:], weights[cut:]))


def test_an_estimator_without_weights_is_fitted_without():
    scorer = FoldScorer.of(KNeighborsClassifier(), None, "classification")
    assert not scorer.weighs_fit
    assert scorer.weighs_score
    assert FoldScorer.of(DummyClassifier(), "accuracy", "classification").weighs_fit
    assert not FoldScorer.of(Ridge(), lambda model, X, y: 0.0, "regression").weighs_score


def test_ebic_is_its_formula():
    X, y = numbers_of_three(n=40, d=12)
    prepared = path_problem(TopK(1), X, y, None)
    points = prepared.solve(0.5, 3, n_restarts=0, seed=0)
    for value, point in zip(ebic(prepared, points, 0.5), points, strict=True):
        S = point.support
        rss = np.sum((y - LinearRegression().fit(X[:, S], y).predict(X[:, S])) ** 2)
        choices = lgamma(13) - lgamma(point.k + 1) - lgamma(13 - point.k)
        assert value == pytest.approx(40 * log(rss / 40) + point.k * log(40) + choices)


def test_logistic_models_predict_the_class_and_the_labels_of_more_than_one_half():
    X, y = classes_of_two(n=60)
    labels = np.column_stack([y == "a", y != "b"]).astype(int)
    for targets in ((y == "a").astype(int), labels):
        found = folded(X, targets, loss="logistic")
        topk, cut = selected(X, targets, 2, 1.0, loss="logistic")
        odds = X[cut:] @ topk.coef_.T + topk.intercept_
        predicted = (odds > 0).astype(int).reshape(targets[cut:].shape)
        assert found[1, 1] == pytest.approx(accuracy_score(targets[cut:], predicted))


def test_logistic_models_have_probabilities():
    X, y = classes_of_two(n=60)
    for targets in (y, (y == "a").astype(int)):
        found = folded(X, targets, loss="logistic", scoring="neg_log_loss")
        cut = 3 * len(X) // 4
        model = TopKClassifier(2, alpha=1.0, loss="logistic", random_state=0)
        P = model.fit(X[:cut], targets[:cut]).predict_proba(X[cut:])
        assert found[1, 1] == pytest.approx(-log_loss(targets[cut:], P))


def test_ebic_of_the_logistic_loss_is_its_formula():
    X, y = classes_of_two(n=60, d=8)
    y = (y == "a") ^ (np.arange(60) % 9 == 0)
    prepared = path_problem(TopK(1, loss="logistic"), X, y, None)
    points = prepared.solve(0.5, 3, n_restarts=0, seed=0)
    for value, point in zip(ebic(prepared, points, 0.5), points, strict=True):
        model = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(X[:, point.support], y)
        P = model.predict_proba(X[:, point.support])
        deviance = -2 * np.log(P[np.arange(60), y.astype(int)]).sum()
        choices = lgamma(9) - lgamma(point.k + 1) - lgamma(9 - point.k)
        assert value == pytest.approx(deviance + point.k * log(60) + choices, rel=1e-6)
