"""Figures of merit equal their formulae."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LinearRegression
from sklearn.metrics import balanced_accuracy_score, log_loss, roc_auc_score
from sklearn.preprocessing import StandardScaler

from rowsparse.evaluation import (
    METRICS,
    NEEDS_VALUES,
    Predictions,
    is_better_low,
    prediction_score,
    prediction_scores,
    redundancy,
    refitted_objective,
    residue,
)


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 6)) * [1, 5, 0.1, 2, 3, 1] + 7.0
    return X, rng.integers(3, size=30)


def test_classification_scores_are_those_of_scikit_learn():
    rng = np.random.default_rng(1)
    y, predicted = rng.integers(4, size=50), rng.integers(4, size=50)
    scores = prediction_scores("classification", y, predicted)
    assert set(scores) == set(METRICS["classification"]) - set(NEEDS_VALUES)
    assert scores["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(y, predicted))
    assert scores["accuracy"] == np.mean(y == predicted)


def test_a_class_that_is_only_predicted_is_an_error_without_a_warning():
    scores = prediction_scores("classification", [0, 0, 1], [0, 2, 1])
    assert scores["balanced_accuracy"] == pytest.approx(0.75)


def test_multilabel_scores_by_hand():
    truth = np.array([[1, 0], [1, 1], [0, 1]])
    guess = np.array([[1, 0], [0, 1], [0, 0]])
    scores = prediction_scores("multilabel", truth, guess)
    assert scores == pytest.approx({"accuracy": 1 / 3, "macro_f1": 2 / 3})


def test_regression_score_by_hand():
    assert prediction_scores("regression", [1.0, 2, 3], [1.0, 2, 3]) == {"r2": 1.0, "mae": 0.0}
    assert prediction_scores("regression", [1.0, 2, 3], [2.0, 2, 5])["mae"] == 1.0


@pytest.mark.parametrize("n_classes", [2, 4])
def test_auc_and_log_loss_are_those_of_scikit_learn(n_classes):
    rng = np.random.default_rng(2)
    y = np.array(list("abcd"))[np.arange(40) % n_classes]
    p = rng.dirichlet(np.ones(n_classes), size=40)
    said = Predictions(None, p, np.array(list("abcd"))[:n_classes], are_probabilities=True)
    values = p if n_classes > 2 else p[:, 1]
    auc = prediction_score("auc", "classification", y, said)
    assert auc == pytest.approx(roc_auc_score(y, values, multi_class="ovr"))
    assert prediction_score("log_loss", "classification", y, said) == pytest.approx(log_loss(y, p))


def test_auc_of_labels_is_the_mean_over_those_that_vary():
    rng = np.random.default_rng(3)
    Y, values = rng.integers(2, size=(30, 3)), rng.standard_normal((30, 3))
    said = Predictions(None, values)
    expected = roc_auc_score(Y, values, average="macro")
    assert prediction_score("auc", "multilabel", Y, said) == pytest.approx(expected)
    Y[:, 1] = 0
    expected = roc_auc_score(Y[:, [0, 2]], values[:, [0, 2]], average="macro")
    assert prediction_score("auc", "multilabel", Y, said) == pytest.approx(expected)


def test_scores_of_classes_that_the_model_or_the_sample_lacks():
    classes, values = np.array(["a", "b", "c"]), np.array([[0.5, 0.3, 0.2], [0.1, 0.6, 0.3]])
    said = Predictions(None, values, classes, are_probabilities=True)
    assert np.isnan(prediction_score("auc", "classification", ["a", "a"], said))
    # One of two classes is unknown: nothing tells it from the other.
    assert prediction_score("auc", "classification", ["a", "new"], said) == 0.75
    loss = prediction_score("log_loss", "classification", ["a", "new"], said)
    assert loss == pytest.approx(-(np.log(0.5) + np.log(np.finfo(float).eps)) / 2)
    undecided = Predictions(None, values, classes)
    assert np.isnan(prediction_score("log_loss", "classification", ["a", "b"], undecided))


def test_errors_are_better_low():
    low = {metric for metrics in METRICS.values() for metric in metrics if is_better_low(metric)}
    assert low == {"log_loss", "mae"}


def test_refitted_objective_is_least_squares_with_an_intercept(data):
    X, y = data
    S = [1, 3, 4]
    Y = np.eye(3)[y]
    model = LinearRegression().fit(X[:, S], Y)
    expected = np.sum((Y - model.predict(X[:, S])) ** 2)
    assert refitted_objective(X, y, S) == pytest.approx(expected)
    assert refitted_objective(sp.csr_array(X), y, S) == pytest.approx(expected)
    mask = np.isin(np.arange(6), S)
    assert refitted_objective(X, y, mask) == pytest.approx(expected)


def test_residue_without_an_intercept_has_a_floor(data):
    X, y = data
    Y = np.eye(3)[y]
    Z = StandardScaler().fit_transform(X)
    model = LinearRegression(fit_intercept=False).fit(Z, Y)
    expected = np.linalg.norm(Y - model.predict(Z))
    assert residue(X, y, np.arange(6)) == pytest.approx(expected)
    assert residue(X, y, np.arange(6)) >= np.sqrt(30) * np.linalg.norm(Y.mean(axis=0))


def test_redundancy_by_hand(data):
    X, _ = data
    X = np.column_stack([X, -2.0 * X[:, 0] + 3.0, np.ones(30)])
    C = np.corrcoef(X[:, :3].T)
    pairs = [C[0, 1], C[0, 2], C[1, 2]]
    assert redundancy(X, [0, 1, 2]) == pytest.approx(np.mean(np.abs(pairs)))
    assert redundancy(X, [0, 1, 2], kind="published") == pytest.approx(np.sum(pairs) / 6)
    assert redundancy(X, [0, 6]) == pytest.approx(1.0)
    assert redundancy(X, [0, 6], kind="published") == pytest.approx(-0.5)
    assert redundancy(X, [0, 7]) == 0.0
    assert redundancy(X, [3]) == 0.0
    with pytest.raises(ValueError, match="kind must be one of"):
        redundancy(X, [0, 1], kind="spearman")
