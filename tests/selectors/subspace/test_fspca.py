"""FSPCA as a selector: its number of components, its warnings and units."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning

from rowsparse import FSPCA
from tests.solvers.subspace.cases import best_variance, mixed_columns, standardised


@pytest.mark.parametrize("standardize", [False, True])
def test_the_objective_is_the_variance_of_orthonormal_components(standardize):
    X = mixed_columns(3, d=8)
    selector = FSPCA(3, n_components=2, standardize=standardize).fit(X)
    W = selector.components_.T
    np.testing.assert_allclose(W.T @ W, np.eye(2), atol=1e-10)
    assert not W[~selector.support_].any()
    Z = standardised(X) if standardize else X
    assert selector.objective_ == pytest.approx(np.sum((Z @ W) ** 2) / len(Z))
    assert selector.objective_ <= best_variance(Z, 3, 2) * (1 + 1e-12)


def test_a_spiked_covariance_is_found():
    rng = np.random.default_rng(1)
    planted = rng.choice(80, 6, replace=False)
    X = rng.standard_normal((100, 80))
    X[:, planted] += 2.0 * rng.standard_normal((100, 2)) @ rng.choice([-1, 1], (2, 6))
    assert set(np.flatnonzero(FSPCA(6, n_components=2).fit(X).support_)) == set(planted)


def test_as_many_components_as_features_are_the_largest_variances():
    X = mixed_columns(5) * np.geomspace(1, 3, 12)
    with pytest.warns(UserWarning, match="n_components=4 for 4 features only takes the largest"):
        selector = FSPCA(4, n_components=4, standardize=False).fit(X)
    largest = np.argsort(-X.var(axis=0))
    assert set(np.flatnonzero(selector.support_)) == set(largest[:4])
    assert selector.objective_ == pytest.approx(X.var(axis=0)[largest[:4]].sum())
    np.testing.assert_array_equal(np.argsort(selector.ranking_, kind="stable")[4:], largest[4:])


def test_equal_variances_are_ordered_by_their_part_in_the_leading_components():
    X = mixed_columns(6)
    Z = standardised(X)
    values, vectors = np.linalg.eigh(Z.T @ Z / len(Z))
    part = (vectors[:, -4:] ** 2 * (values[-4:] + 0.1)).sum(axis=1)
    with pytest.warns(UserWarning, match="largest variances"):
        selector = FSPCA(4).fit(X)
    assert set(np.flatnonzero(selector.support_)) == set(np.argsort(-part)[:4])


def test_number_of_components():
    X = mixed_columns(7, d=30)
    y = np.arange(40) % 3
    assert FSPCA(15).fit(X).components_.shape == (10, 30)
    assert FSPCA(15).fit(X, y).components_.shape == (3, 30)
    assert FSPCA(15).fit(X, y + 0.5).components_.shape == (10, 30)
    labelled = FSPCA(15, task="classification").fit(X, y + 0.5)
    assert labelled.components_.shape == (3, 30)
    assert FSPCA(15, n_components=2).fit(X, y).components_.shape == (2, 30)
    with pytest.raises(ValueError, match="n_components must be at most n_features_to_select=5"):
        FSPCA(5, n_components=6).fit(X)


# Checked here by enumeration of all 715 choices.
def test_wine():
    X, _ = load_wine(return_X_y=True)
    Z = standardised(X)
    selector = FSPCA(4, n_components=2).fit(X)
    np.testing.assert_array_equal(selector.get_support(indices=True), [5, 6, 9, 11])
    assert selector.objective_ == pytest.approx(3.674521138796, rel=1e-10)
    assert selector.objective_ == pytest.approx(best_variance(Z, 4, 2), rel=1e-10)


def test_the_ridge_holds_on_to_the_start():
    X, _ = load_wine(return_X_y=True)
    held = FSPCA(4, n_components=2, ridge=10.0).fit(X)
    np.testing.assert_array_equal(held.get_support(indices=True), [0, 6, 9, 12])
    assert held.objective_ < FSPCA(4, n_components=2, ridge=0.0).fit(X).objective_


def test_too_few_rounds_are_told():
    X = mixed_columns(8, n=30, d=60)
    with pytest.warns(ConvergenceWarning, match="FSPCA did not converge in 1 iterations"):
        FSPCA(10, n_components=2, standardize=False, max_iter=1).fit(X)


def test_permuted_columns_and_a_constant_one():
    X = mixed_columns(8, d=20)
    order = np.random.default_rng(0).permutation(20)
    plain = FSPCA(5, n_components=2).fit(X)
    permuted = FSPCA(5, n_components=2).fit(X[:, order])
    np.testing.assert_array_equal(permuted.support_, plain.support_[order])
    np.testing.assert_allclose(permuted.scores_, plain.scores_[order], atol=1e-10)
    more = FSPCA(5, n_components=2).fit(np.insert(X, 3, 7.0, axis=1))
    np.testing.assert_array_equal(np.delete(more.support_, 3), plain.support_)
    assert more.objective_ == pytest.approx(plain.objective_, rel=1e-10)


@pytest.mark.parametrize("factor", [1e-60, 1e60])
def test_units_only_scale_the_objective(factor):
    X = mixed_columns(9, d=20)
    plain = FSPCA(5, n_components=2, standardize=False).fit(X)
    scaled = FSPCA(5, n_components=2, standardize=False).fit(X * factor)
    np.testing.assert_array_equal(scaled.support_, plain.support_)
    assert scaled.objective_ / factor**2 == pytest.approx(plain.objective_, rel=1e-9)
    np.testing.assert_allclose(scaled.components_, plain.components_, atol=1e-9)


def test_sparse_data_with_more_columns_than_rows():
    X = np.random.default_rng(0).standard_normal((30, 200))
    X = sp.csr_array(np.where(np.abs(X) > 1.6, X, 0.0))
    dense = FSPCA(10, n_components=3).fit(X.toarray())
    np.testing.assert_array_equal(FSPCA(10, n_components=3).fit(X).support_, dense.support_)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_components": 0}, "n_components must be an integer of at least 1 or None"),
        ({"ridge": -0.1}, "ridge must be a number of at least 0"),
        ({"max_iter": 0}, "max_iter must be an integer of at least 1"),
        ({"task": "ranking"}, "task must be one of"),
    ],
)
def test_wrong_parameters_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        FSPCA(3, **options).fit(mixed_columns(0), np.arange(40) % 2)
