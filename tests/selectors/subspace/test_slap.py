"""SLAP as a selector: its objective, planted features, and data at the limits."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning

from rowsparse import SLAP
from rowsparse.solvers.subspace.slap import nearest, simplex_rows
from tests.solvers.subspace.cases import distances, planted, standardised


@pytest.mark.parametrize("alpha", [None, 0.05])
def test_the_objective_is_its_formula(alpha):
    X, y = planted(1, 40, 30)
    Z = standardised(X)
    selector = SLAP(5, gamma=2.0, similarity_weight=alpha).fit(X, y)
    U = Z @ selector.components_.T
    np.testing.assert_allclose(U.T @ U, np.eye(3), atol=1e-9)
    D = np.where((y[:, None] == y) & ~np.eye(40, dtype=bool), distances(U), np.inf)
    a = np.full(40, alpha) if alpha else nearest(D, 5)[2]
    S = simplex_rows(-D / (2 * a[:, None]))
    penalty = 2.0 * np.sqrt((selector.components_**2).sum(axis=0) + 1e-8).sum()
    expected = np.sum(S * np.where(S > 0, D, 0)) + a @ (S**2).sum(axis=1) + penalty
    assert selector.objective_ == pytest.approx(expected, rel=1e-9)
    np.testing.assert_allclose(selector.scores_, np.linalg.norm(selector.components_, axis=0))


@pytest.mark.filterwarnings("ignore:SLAP did not converge")
@pytest.mark.parametrize("standardize", [False, True])
def test_components_whiten_the_columns_that_they_act_on(standardize):
    X, y = planted(1, 40, 30)
    X *= np.linspace(1.0, 3.0, 30)
    selector = SLAP(2, standardize=standardize, max_iter=5).fit(X, y)
    U = (standardised(X) if standardize else X - X.mean(axis=0)) @ selector.components_.T
    np.testing.assert_allclose(U.T @ U, np.eye(3), atol=1e-8)


def test_wide_and_tall_data_meet():
    # The same data once with as many rows as columns, once with one column more, of zeros.
    X, y = planted(2, 30, 30)
    tall = SLAP(5).fit(X, y)
    wide = SLAP(5).fit(np.column_stack([X, np.ones(30)]), y)
    np.testing.assert_allclose(wide.scores_[:-1], tall.scores_, rtol=1e-5, atol=1e-8)
    assert wide.scores_[-1] == 0


@pytest.mark.parametrize(("seed", "gamma"), [(0, 0.1), (1, 1.0), (2, 10.0)])
def test_planted_features_are_among_the_first(seed, gamma):
    X, y = planted(seed, 90, 200)
    top = np.argsort(-SLAP(5, gamma=gamma, max_iter=100).fit(X, y).scores_)
    assert np.sum(top[:5] < 5) >= 2
    assert np.sum(top[:20] < 5) >= 4


def test_a_heavier_penalty_leaves_fewer_rows():
    X, y = planted(3, 60, 80)
    share = [
        np.mean(s.scores_ > 0.01 * s.scores_.max())
        for s in (SLAP(5, gamma=g, max_iter=200).fit(X, y) for g in (0.01, 1.0, 100.0))
    ]
    assert share[0] > share[1] > share[2]


@pytest.mark.parametrize("shape", [(40, 12), (12, 40)])
@pytest.mark.parametrize("gamma", [1e-300, 1e-9, 1e12])
@pytest.mark.filterwarnings("ignore:.*did not converge")
def test_extreme_penalties_on_dependent_columns(shape, gamma):
    X, y = planted(4, *shape)
    X[:, 6] = X[:, 3] + X[:, 4]
    X[:, 7] = X[:, 3]
    for alpha in (None, 1e-9, 1e9):
        scores = SLAP(3, gamma=gamma, similarity_weight=alpha).fit(X, y).scores_
        assert np.isfinite(scores).all()
        assert scores[3] == pytest.approx(scores[7], abs=1e-3 * scores.max())


def test_dimension_and_neighbours():
    X, y = planted(4, 30, 12)
    assert SLAP(3).fit(X, y).components_.shape == (3, 12)
    assert SLAP(3, n_components=1).fit(X, y).components_.shape == (1, 12)
    # No more than the rank of the data.
    flat = X[:, :2] @ np.random.default_rng(0).standard_normal((2, 12))
    assert SLAP(3, n_components=5).fit(flat, y).components_.shape == (2, 12)
    few = SLAP(3, n_neighbors=1).fit(X, y)
    assert not np.allclose(few.scores_, SLAP(3, n_neighbors=8).fit(X, y).scores_)


def test_repeated_samples_and_small_classes():
    X, y = planted(5, 24, 40)
    X[3] = X[0]
    X[6] = X[0]
    y = np.where(np.arange(24) < 22, y, [*y[:22], 7, 8])
    selector = SLAP(4, max_iter=100).fit(X, y)
    assert selector.components_.shape == (5, 40)
    U = standardised(X) @ selector.components_.T
    np.testing.assert_allclose(U.T @ U, np.eye(5), atol=1e-9)


def test_where_every_class_has_one_sample_only_the_penalty_is_left():
    X = np.random.default_rng(0).standard_normal((6, 10))
    selector = SLAP(2, n_components=2, max_iter=100).fit(X, np.arange(6))
    assert selector.objective_ == pytest.approx(np.sqrt(selector.scores_**2 + 1e-8).sum())


# Three of them are among the four best by the F statistic.
def test_wine():
    X, y = load_wine(return_X_y=True)
    selector = SLAP(4, n_components=2).fit(X, y)
    np.testing.assert_array_equal(selector.get_support(indices=True), [0, 6, 9, 12])
    assert selector.objective_ == pytest.approx(0.2406688777, rel=1e-6)
    assert selector.n_iter_ == 9


def test_rounds_and_tolerance():
    X, y = planted(6, 60, 80)
    with pytest.warns(ConvergenceWarning, match="SLAP did not converge in 2 iterations"):
        SLAP(5, max_iter=2).fit(X, y)
    assert SLAP(5, tol=0.5).fit(X, y).n_iter_ < SLAP(5, tol=0.05).fit(X, y).n_iter_


@pytest.mark.parametrize("factor", [1e-60, 1e60])
def test_units_do_not_matter(factor):
    X, y = planted(7, 40, 20)
    plain = SLAP(4, standardize=False, gamma=2.0).fit(X, y)
    scaled = SLAP(4, standardize=False, gamma=2.0).fit(X * factor, y)
    np.testing.assert_array_equal(scaled.support_, plain.support_)
    np.testing.assert_allclose(scaled.components_ * factor, plain.components_, atol=1e-8)
    assert scaled.objective_ == pytest.approx(plain.objective_, rel=1e-8)


def test_permuted_columns():
    X, y = planted(8, 50, 15)
    order = np.random.default_rng(0).permutation(15)
    plain, permuted = SLAP(4).fit(X, y), SLAP(4).fit(X[:, order], y)
    np.testing.assert_allclose(permuted.scores_, plain.scores_[order], rtol=1e-5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gamma": 0.0}, "gamma must be a number above 0"),
        ({"n_components": 0}, "n_components must be an integer of at least 1 or None"),
        ({"n_neighbors": 0}, "n_neighbors must be an integer of at least 1"),
        ({"similarity_weight": 0.0}, "similarity_weight must be a number above 0 or None"),
        ({"max_iter": 0}, "max_iter must be an integer of at least 1"),
        ({"tol": 0.0}, "tol must be a number above 0"),
    ],
)
def test_wrong_parameters_are_refused(options, message):
    X, y = planted(0, 60, 80)
    with pytest.raises(ValueError, match=message):
        SLAP(3, **options).fit(X, y)
