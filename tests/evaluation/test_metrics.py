"""Figures of merit equal their formulae, and predictions are in the order of the classes."""

from itertools import permutations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import balanced_accuracy_score, d2_tweedie_score, log_loss, roc_auc_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from rowsparse.evaluation.metrics import (
    METRICS,
    NEEDS_VALUES,
    Predictions,
    is_better_low,
    predict,
    prediction_score,
    prediction_scores,
    redundancy,
    refitted_objective,
    residue,
    score_by_chance,
)


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 6)) * [1, 5, 0.1, 2, 3, 1] + 7.0
    return X, rng.integers(3, size=30)


def test_scores_are_those_of_scikit_learn_or_by_hand():
    rng = np.random.default_rng(1)
    y, predicted = rng.integers(4, size=50), rng.integers(4, size=50)
    scores = prediction_scores("classification", y, Predictions(predicted))
    assert set(scores) == set(METRICS["classification"]) - set(NEEDS_VALUES)
    assert scores["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(y, predicted))
    assert scores["accuracy"] == np.mean(y == predicted)
    # A class that is only predicted is an error.
    scores = prediction_scores("classification", [0, 0, 1], Predictions([0, 2, 1]))
    assert scores["balanced_accuracy"] == pytest.approx(0.75)
    truth, guess = np.array([[1, 0], [1, 1], [0, 1]]), np.array([[1, 0], [0, 1], [0, 0]])
    scores = prediction_scores("multilabel", truth, Predictions(guess))
    assert scores == pytest.approx({"accuracy": 1 / 3, "macro_f1": 2 / 3})
    perfect = prediction_scores("regression", [1.0, 2, 3], Predictions([1.0, 2, 3]))
    assert perfect == {"r2": 1.0, "rmse": 0.0, "mae": 0.0}
    off = prediction_scores("regression", [1.0, 2, 3], Predictions([2.0, 2, 5]))
    assert (off["mae"], off["rmse"]) == (1.0, pytest.approx(np.sqrt(5 / 3)))
    low = {metric for metrics in METRICS.values() for metric in metrics if is_better_low(metric)}
    assert low == {"log_loss", "mae", "rmse"}


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


def test_probabilities_of_labels_are_those_of_a_model_for_each_label():
    rng = np.random.default_rng(5)
    X, Y = rng.standard_normal((30, 2)), rng.integers(2, size=(30, 4))
    Y[:, 1], Y[:, 2] = 0, 1
    model = make_pipeline(StandardScaler(), KNeighborsClassifier(5)).fit(X, Y)
    said = predict(model, X, "multilabel")
    each = [clone(model).fit(X, Y[:, at]).predict_proba(X)[:, -1] for at in (0, 3)]
    np.testing.assert_allclose(said.values[:, [0, 3]], np.column_stack(each))
    np.testing.assert_array_equal(said.values[:, [1, 2]], np.tile([0.0, 1.0], (30, 1)))


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


def test_the_explained_deviance_is_that_of_scikit_learn_where_that_is_defined():
    rng = np.random.default_rng(5)
    y, rates = rng.poisson(2.0, 40), rng.exponential(2.0, 40)

    def d2(y, rates):
        return prediction_score("d2", "counts", y, Predictions(np.asarray(rates, float)))

    assert d2(y, rates) == pytest.approx(d2_tweedie_score(y, rates, power=1))
    assert d2(y, np.full(40, y.mean())) == pytest.approx(0.0, abs=1e-12)
    # A rate of 0 is as bad as can be where there is a count, and none too good where there is none.
    assert d2([0, 3], [0.0, 0.0]) < -100
    assert (d2([2, 2], [2.0, 2.0]), d2([0, 0], [1.0, 1.0])) == (1.0, 0.0)
    assert np.isnan(d2([3], [3.0]))


def test_losses_of_refits_are_least_squares(data):
    X, y = data
    S, Y = [1, 3, 4], np.eye(3)[y]
    left = Y - LinearRegression().fit(X[:, S], Y).predict(X[:, S])
    for held, columns in ((X, S), (sp.csr_array(X), S), (X, np.isin(np.arange(6), S))):
        assert refitted_objective(held, y, columns) == pytest.approx(np.sum(left**2))
    Z = StandardScaler().fit_transform(X)
    left = Y - LinearRegression(fit_intercept=False).fit(Z, Y).predict(Z)
    assert residue(X, y, np.arange(6)) == pytest.approx(np.linalg.norm(left))
    # Without an intercept there is a floor.
    assert np.linalg.norm(left) >= np.sqrt(30) * np.linalg.norm(Y.mean(axis=0))


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


# -------------------------------------------------------------------------------------- predictions
X, y = load_iris(return_X_y=True)


@pytest.mark.parametrize("n", [100, 150])
def test_the_largest_value_is_the_answer(n: int) -> None:
    for model in (SVC(kernel="linear"), LogisticRegression(max_iter=500)):
        said = predict(model.fit(X[:n], y[:n]), X[:n], "classification")
        assert said.values is not None
        assert said.values.shape == (n, n // 50)
        assert np.mean(said.classes[said.values.argmax(axis=1)] == said.answers) > 0.99
        assert said.are_probabilities == isinstance(model, LogisticRegression)


@pytest.mark.parametrize(
    ("task", "metric"), [(task, metric) for task, all_ in METRICS.items() for metric in all_]
)
def test_the_score_by_chance_is_the_mean_over_all_orders(task, metric):
    """Of R² and of errors by their squares, of all others themselves."""
    rng = np.random.default_rng(4)
    n = 6
    names = np.array(["a", "b", "c"])
    if task == "classification":
        y = names[[0, 1, 2, 0, 1, 0]]
        values = rng.dirichlet(np.ones(3), size=n)
        said = Predictions(names[values.argmax(axis=1)], values, names, are_probabilities=True)
    elif task == "multilabel":
        values = rng.standard_normal((n, 2))
        y, said = rng.permuted(np.tile([[0, 1]] * 3, (1, 2)).reshape(n, 2)), None
        y[:2] = [[0, 1], [1, 0]]
        said = Predictions((values > 0).astype(int), values)
    elif task == "counts":
        y, said = np.array([0.0, 1.0, 0.0, 3.0, 2.0, 7.0]), Predictions(rng.exponential(size=n))
    elif task == "survival":
        y = np.array([[1, 2.0], [0, 2.0], [1, 5.0], [1, 5.0], [0, 7.0], [1, 9.0]])
        said = Predictions(np.array([1.0, 1.0, 2.0, 3.0, 4.0, 5.0]))
    else:
        y, said = rng.standard_normal(n), Predictions(rng.standard_normal(n))
    power = 2 if metric == "rmse" else 1
    every = [
        prediction_score(metric, task, y, said.of(np.array(order))) ** power
        for order in permutations(range(n))
    ]
    found = score_by_chance(metric, task, y, said)
    assert found**power == pytest.approx(np.mean(every))
