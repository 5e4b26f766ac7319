"""TopK with the logistic loss: the model, its targets, weights, sparse data and refusals."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.linear_model import LogisticRegression

from rowsparse import TopK


def topk(k, **options):
    return TopK(k, **{"loss": "logistic", "alpha": 0.05, "random_state": 0, **options})


def reference(X, y, S, alpha):
    """scikit-learn's model on standardised columns S, and its objective."""
    Z = ((X - X.mean(axis=0)) / X.std(axis=0))[:, S]
    model = LogisticRegression(C=1 / (alpha * len(X)), tol=1e-12, solver="newton-cholesky")
    model.fit(Z, y)
    P = model.decision_function(Z)
    loss = np.logaddexp(0, np.where(y > 0, -P, P)).sum()
    return model, loss + 0.5 * alpha * len(X) * np.sum(model.coef_**2)


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return X[:200, :10], y[:200]


def test_two_classes_equal_exhaustive_search_with_scikit_learn(cancer):
    X, y = cancer
    selector = topk(2).fit(X, y)
    values = {S: reference(X, y, S, 0.05)[1] for S in combinations(range(10), 2)}
    best = min(values, key=values.get)
    assert selector.get_support(indices=True).tolist() == list(best)
    assert selector.objective_ == pytest.approx(values[best], rel=1e-9)
    assert selector.history_[-1] == selector.objective_
    assert selector.n_starts_ == 3
    assert (selector.status_, selector.lower_bound_, selector.gap_) == ("heuristic", 0.0, 1.0)


def test_the_coefficients_are_a_classifiers_in_the_units_of_the_data(cancer):
    X, y = cancer
    selector = topk(3).fit(X, y)
    assert selector.coef_.shape == (1, 10)
    assert selector.intercept_.shape == (1,)
    S = selector.get_support(indices=True)
    model, _ = reference(X, y, S, 0.05)
    P = X @ selector.coef_[0] + selector.intercept_
    Z = ((X - X.mean(axis=0)) / X.std(axis=0))[:, S]
    np.testing.assert_allclose(P, model.decision_function(Z), atol=1e-7)
    np.testing.assert_array_equal(selector.classes_[(P > 0).astype(int)], model.predict(Z))


def test_several_classes_are_the_sum_of_each_against_the_rest():
    X, y = load_iris(return_X_y=True)
    selector = topk(2).fit(X, y)
    values = {
        S: sum(reference(X, (y == c).astype(int), S, 0.05)[1] for c in range(3))
        for S in combinations(range(4), 2)
    }
    best = min(values, key=values.get)
    assert selector.get_support(indices=True).tolist() == list(best)
    assert selector.objective_ == pytest.approx(values[best], rel=1e-9)
    assert selector.coef_.shape == (3, 4)
    P = X @ selector.coef_.T + selector.intercept_
    Z = ((X - X.mean(axis=0)) / X.std(axis=0))[:, best]
    for c in range(3):
        model, _ = reference(X, (y == c).astype(int), best, 0.05)
        np.testing.assert_allclose(P[:, c], model.decision_function(Z), atol=1e-7)


def test_labels_of_one_hot_classes_are_the_classes():
    X, y = load_wine(return_X_y=True)
    classes, labels = topk(3).fit(X, y), topk(3).fit(X, np.eye(3, dtype=int)[y])
    assert labels.task_ == "multilabel"
    np.testing.assert_array_equal(classes.support_, labels.support_)
    assert classes.objective_ == labels.objective_


def test_a_label_that_all_samples_share_changes_nothing():
    X, y = load_wine(return_X_y=True)
    Y = np.eye(3, dtype=int)[y]
    some, more = topk(3).fit(X, Y), topk(3).fit(X, np.column_stack([np.ones(len(Y), int), Y]))
    np.testing.assert_array_equal(some.support_, more.support_)
    assert more.objective_ == pytest.approx(some.objective_, rel=1e-12)
    np.testing.assert_array_equal(more.coef_[0], 0.0)
    assert more.intercept_[0] > 30


def test_weights_equal_repeated_samples_and_sparse_equals_dense(cancer):
    X, y = cancer
    weights = np.random.default_rng(0).integers(0, 4, len(X))
    rows = np.repeat(np.arange(len(X)), weights)
    weighted = topk(3, n_restarts=4).fit(X, y, sample_weight=weights)
    for other in (
        topk(3, n_restarts=4).fit(X[rows], y[rows]),
        topk(3, n_restarts=4).fit(sp.csr_array(X), y, sample_weight=weights),
    ):
        np.testing.assert_array_equal(weighted.support_, other.support_)
        assert weighted.objective_ == pytest.approx(other.objective_, rel=1e-9)
        np.testing.assert_allclose(weighted.coef_, other.coef_, rtol=1e-6, atol=1e-9)


def test_the_answer_does_not_depend_on_n_jobs():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 200)), rng.integers(0, 3, 40)
    one, two = (topk(6, n_jobs=n, n_restarts=8).fit(X, y) for n in (None, 2))
    np.testing.assert_array_equal(one.support_, two.support_)
    assert one.objective_ == two.objective_


def test_scores_rank_the_selected_by_what_they_are_worth(cancer):
    X, y = cancer
    selector = topk(3).fit(X, y)
    S = selector.get_support(indices=True)
    for j in S.tolist():
        rise = reference(X, y, [i for i in S.tolist() if i != j], 0.05)[1] - selector.objective_
        assert selector.scores_[j] == pytest.approx(rise, rel=1e-5)
    assert selector.scores_[~selector.support_].max() < selector.scores_[S].min()


def test_include_exclude_and_single_precision(cancer):
    X, y = cancer
    selector = topk(3, include=[9], exclude=[0, 7]).fit(X, y)
    assert selector.support_[9]
    assert not selector.support_[[0, 7]].any()
    single = topk(3, include=[9], exclude=[0, 7]).fit(X.astype(np.float32), y)
    np.testing.assert_array_equal(selector.support_, single.support_)


@pytest.mark.parametrize("standardize", [True, False])
def test_without_an_intercept_it_is_the_best_of_all_fits_without(cancer, standardize):
    X, y = cancer
    X = X / X.max(axis=0)
    selector = topk(2, fit_intercept=False, standardize=standardize).fit(X, y)
    Z = (X - X.mean(axis=0)) / X.std(axis=0) if standardize else X
    values = {}
    for S in combinations(range(10), 2):
        model = LogisticRegression(
            C=1 / (0.05 * len(X)), tol=1e-12, solver="newton-cholesky", fit_intercept=False
        ).fit(Z[:, S], y)
        P = model.decision_function(Z[:, S])
        loss = np.logaddexp(0, np.where(y > 0, -P, P)).sum()
        values[S] = loss + 0.025 * len(X) * np.sum(model.coef_**2)
    best = min(values, key=values.get)
    assert selector.get_support(indices=True).tolist() == list(best)
    assert selector.objective_ == pytest.approx(values[best], rel=1e-9)


def test_labels_that_never_vary_are_fitted_by_nothing(cancer):
    selector = topk(2).fit(cancer[0], np.ones((200, 2), dtype=int))
    assert selector.objective_ == 0.0
    assert selector.support_.sum() == 2
    assert not selector.coef_.any()


def test_class_weight_is_a_sample_weight(cancer):
    X, y = cancer
    one = topk(2, class_weight={0: 2.0, 1: 1.0}).fit(X, y)
    two = topk(2).fit(X, y, sample_weight=np.where(y == 0, 2.0, 1.0))
    assert one.objective_ == pytest.approx(two.objective_, rel=1e-12)


def test_separated_classes_without_a_ridge_are_answered_with_a_warning():
    X = np.random.default_rng(1).standard_normal((20, 10))
    with pytest.warns(UserWarning, match="the choice is arbitrary; take alpha > 0"):
        selector = topk(3, alpha=0.0).fit(X, X[:, 2] > 0)
    assert selector.support_.sum() == 3
    assert np.isfinite(selector.coef_).all()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"task": "regression"}, "loss='logistic' is for classes and labels"),
    ],
)
def test_what_it_refuses(cancer, options, words):
    with pytest.raises(ValueError, match=words) as caught:
        topk(3, **options).fit(*cancer)
    assert "\n" not in str(caught.value)


@pytest.mark.filterwarnings("error::RuntimeWarning", "ignore::UserWarning")
@pytest.mark.parametrize("seed", range(6))
def test_separable_classes_without_a_ridge_stay_within_the_floats(seed):
    X = np.random.default_rng(seed).standard_normal((60, 12))
    selector = TopK(3, loss="logistic", alpha=0.0, random_state=0).fit(X, X[:, 0] > 0)
    assert selector.support_[0]
    assert 0.0 <= selector.objective_ < 1e-9
    assert np.isfinite(selector.coef_).all()


def test_groups_are_selected_as_wholes_and_by_name(cancer):
    pd = pytest.importorskip("pandas")
    X, y = cancer
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(X.shape[1])])
    groups = [["f0", "f2"], ["f1", "f3", "f4"]]
    selector = topk(2, feature_groups=groups, include=["f4"], exclude=["f0"]).fit(frame, y)
    chosen = selector.get_support(indices=True)
    assert {1, 3, 4} <= set(chosen.tolist())
    assert not np.isin([0, 2], chosen).any()
    assert chosen.size == 4
    _, objective = reference(X, y, chosen, 0.05)
    assert selector.objective_ == pytest.approx(objective, rel=1e-8)
    every = [reference(X, y, [1, 3, 4, j], 0.05)[1] for j in range(5, X.shape[1])]
    assert objective == pytest.approx(min(every), rel=1e-8)
