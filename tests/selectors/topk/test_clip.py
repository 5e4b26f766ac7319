"""TopK with clipped columns, against columns that were clipped by hand."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from rowsparse import TopK, TopKCV, topk_path
from rowsparse.certificate import verify


def counts(n=60, d=12, seed=0):
    """Counts with a few large values, and classes that depend on whether words occur."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.4, (n, d)) * rng.geometric(0.2, (n, d)) * 1.0
    X[:, 3] += 5.0
    y = ((X[:, 0] > 0) + 2 * (X[:, 1] > 0) + rng.integers(0, 2, n)) % 3
    return X, y


def standardised(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


def by_hand(X, clip):
    return standardised(np.clip(standardised(X), -clip, clip))


OPTIONS = [
    {},
    {"loss": "l21", "n_restarts": 0},
    {"loss": "logistic", "alpha": 0.05, "n_restarts": 0},
    {"feature_groups": [[0, 5], [1, 2]]},
    {"certify": True, "alpha": 0.1},
    {"certify": True, "alpha": 0.125, "loss": "logistic", "n_restarts": 0},
]


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array, lambda X: X.astype(np.float32)])
def test_equals_columns_clipped_by_hand(make, options):
    X, y = counts()
    selector = TopK(3, clip=1.0, random_state=0, **options).fit(make(X), y)
    Z = by_hand(X, 1.0)
    expected = TopK(3, random_state=0, **options).fit(Z, y)
    np.testing.assert_array_equal(selector.support_, expected.support_)
    assert selector.objective_ == pytest.approx(expected.objective_, rel=1e-5)
    assert selector.status_ == expected.status_
    assert selector.objective_ != pytest.approx(TopK(3, **options).fit(X, y).objective_, rel=1e-3)
    values = np.clip(X, *selector.clip_limits_) @ selector.coef_.T + selector.intercept_
    np.testing.assert_allclose(values, Z @ expected.coef_.T + expected.intercept_, atol=1e-3)
    np.testing.assert_array_equal(selector.transform(X), X[:, expected.support_])


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_whole_weights_are_repeated_samples(make):
    X, y = counts()
    weights = np.arange(len(y)) % 4
    weighted = TopK(3, clip=1.5, random_state=0).fit(make(X), y, sample_weight=weights)
    repeated = TopK(3, clip=1.5, random_state=0)
    repeated.fit(make(np.repeat(X, weights, axis=0)), np.repeat(y, weights))
    np.testing.assert_array_equal(weighted.support_, repeated.support_)
    np.testing.assert_allclose(weighted.clip_limits_, repeated.clip_limits_)
    assert weighted.objective_ == pytest.approx(repeated.objective_)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_a_proof_without_a_ridge_names_its_limit_in_a_file_too(make, tmp_path):
    X, y = counts(d=8)
    X[:, 7] = -2 * X[:, 6]  # without a ridge one of the two is left out
    options = {"loss": "squared", "alpha": 0.0, "certify": True}
    selector = TopK(2, clip=1.0, random_state=0, **options).fit(make(X), y)
    assert selector.status_ == "optimal"
    proof = type(selector.proof_).load(selector.proof_.save(tmp_path / "proof"))
    assert proof.statement.clip == 1.0
    assert float(verify(make(X), y, proof)) == pytest.approx(selector.lower_bound_)


def test_a_proof_is_checked_with_the_limit_that_it_names():
    X, y = counts()
    proof = TopK(2, clip=1.0, certify=True, random_state=0).fit(X, y).proof_
    for clip in (0.3, 3.0, None):
        # Its diagonal is that of other columns.
        other = replace(proof, statement=replace(proof.statement, clip=clip), diagonal=None)
        least = TopK(2, clip=clip, certify=True, random_state=0).fit(X, y).objective_
        assert float(verify(X, y, other)) <= least
    for changes in ({"clip": -1.0}, {"clip": np.inf}, {"standardize": False}):
        wrong = replace(proof, statement=replace(proof.statement, **changes))
        with pytest.raises(ValueError, match="its statement has values that are invalid"):
            verify(X, y, wrong)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_a_path_is_of_clipped_columns(loss):
    X, y = counts()
    path = topk_path(X, y, 4, clip=1.0, loss=loss, random_state=0)
    Z = by_hand(X, 1.0)
    expected = topk_path(Z, y, 4, loss=loss, random_state=0)
    np.testing.assert_allclose(path.objectives, expected.objectives)
    values = np.clip(X, *path.clip_limits) @ path.coef(3).T + path.intercepts[2]
    np.testing.assert_allclose(values, Z @ expected.coef(3).T + expected.intercepts[2])
    assert expected.clip_limits is None


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_folds_score_models_within_the_limits_of_their_training_samples(make, loss):
    X, y = counts(90)
    train, test = np.arange(60), np.arange(60, 90)
    selector = TopKCV(k_max=3, clip=1.0, loss=loss, cv=[(train, test)], random_state=0)
    selector.fit(make(X), y)
    path = topk_path(X[train], y[train], 3, clip=1.0, loss=loss, n_restarts=0)
    seen = np.clip(X[test], *path.clip_limits)
    values = [seen @ path.coef(k).T + path.intercepts[k - 1] for k in (1, 2, 3)]
    accuracy = [np.mean(v.argmax(axis=1) == y[test]) for v in values]
    np.testing.assert_allclose(selector.cv_results_["mean_test_score"], accuracy)
    assert selector.clip_limits_.shape == (2, 12)


def test_a_limit_needs_standardised_columns():
    for selector in (TopK(2, clip=2.0, standardize=False), TopKCV(clip=2.0, standardize=False)):
        with pytest.raises(ValueError, match=r"^clip is for standardised columns: set standardiz"):
            selector.fit(*counts())
