"""SLAP: the closed forms of its two steps, and what holds for the whole."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.linalg import eigh
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning

from rowsparse import SLAP
from rowsparse.design import make_design
from rowsparse.solvers.subspace.slap import (
    _Tall,
    _Wide,
    laplacian,
    nearest,
    similarities,
    simplex_rows,
    slap,
)


def design_of(X):
    return make_design(X, center=True, scale=True)[0]


def planted(seed, n=60, d=80):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    means = rng.standard_normal((3, 5))
    means -= means.mean(axis=0)
    X = rng.standard_normal((n, d))
    X[:, :5] += (1.2 * means / np.sqrt((means**2).mean(axis=0)))[y]
    return X, y


def standardised(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


def distances(points):
    return ((points[:, None] - points) ** 2).sum(axis=2)


# ----------------------------------------------------------------------------- similarities
@given(arrays(np.float64, (4, 6), elements=st.floats(-5, 5)))
@settings(max_examples=50, deadline=None)
def test_projections_on_the_simplex(V):
    P = simplex_rows(V)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    assert P.min() >= 0
    # Optimal: v - p is one number where p > 0, and no larger elsewhere.
    for v, p in zip(V, P, strict=True):
        level = (v - p)[p > 0]
        assert np.ptp(level) <= 1e-10
        assert np.all((v - p)[p == 0] <= level.max() + 1e-10)


@pytest.mark.parametrize("K", [1, 3, 5])
def test_the_nearest_are_those_of_the_alpha_that_has_so_many(K):
    D = distances(np.random.default_rng(0).standard_normal((12, 3)))
    np.fill_diagonal(D, np.inf)
    near, weight, alpha = nearest(D, K)
    S = np.zeros((12, 12))
    np.put_along_axis(S, near, weight, axis=1)
    np.testing.assert_allclose(S, simplex_rows(-D / (2 * alpha[:, None])), atol=1e-12)
    np.testing.assert_array_equal((S > 0).sum(axis=1), K)


def test_equal_distances_share():
    D = np.full((5, 5), 2.0)
    np.fill_diagonal(D, np.inf)
    _, weight, alpha = nearest(D, 3)
    np.testing.assert_array_equal(weight, 1 / 3)
    np.testing.assert_array_equal(alpha, 0.0)


def test_similarities_stay_within_classes_of_any_size():
    points = np.random.default_rng(1).standard_normal((12, 2))
    y = np.array([0] * 6 + [1] * 3 + [2] * 2 + [3])
    groups = [np.flatnonzero(y == c) for c in range(4) if (y == c).sum() > 1]
    for alpha in (None, 0.5):
        S, alphas = similarities(points, groups, 4, alpha)
        S = S.toarray()
        assert not S[y[:, None] != y].any()
        assert not np.diag(S).any()
        np.testing.assert_allclose(S.sum(axis=1), y < 3)
        assert alphas[-1] == 0
        if alpha is None:
            np.testing.assert_array_equal((S > 0).sum(axis=1), [4] * 6 + [1] * 3 + [1] * 2 + [0])
        else:
            D = distances(points)[:6, :6]
            np.fill_diagonal(D, np.inf)
            np.testing.assert_allclose(S[:6, :6], simplex_rows(-D / (2 * alpha)), atol=1e-12)


def test_the_laplacian_sums_the_distances():
    rng = np.random.default_rng(2)
    S, U = rng.random((8, 8)), rng.standard_normal((8, 3))
    L = laplacian(sp.csr_array(S))
    assert np.sum(S * distances(U)) == pytest.approx(2 * np.trace(U.T @ L @ U))


# ------------------------------------------------------------------------------ projections
def some_laplacian(n):
    S = np.random.default_rng(3).random((n, n)) * (np.arange(n)[:, None] % 2 == np.arange(n) % 2)
    return laplacian(sp.csr_array(S / n))


@pytest.mark.parametrize("kind", [_Tall, _Wide])
@pytest.mark.parametrize("shape", [(25, 9), (9, 25)])
def test_both_projections_are_the_generalised_eigenvectors(kind, shape):
    rng = np.random.default_rng(4)
    X = standardised(rng.standard_normal(shape))
    L = some_laplacian(shape[0])
    penalty = rng.uniform(0.1, 3.0, shape[1])
    W, ZW = kind(design_of(X)).projection(L, penalty, 3)
    M = 2 * X.T @ (L @ X) + np.diag(penalty)
    theta, V = eigh(X.T @ X, M)
    np.testing.assert_allclose(W.T @ X.T @ X @ W, np.eye(3), atol=1e-9)
    np.testing.assert_allclose(X @ W, ZW, atol=1e-9)
    np.testing.assert_allclose(np.diag(W.T @ M @ W), 1 / theta[-3:][::-1], rtol=1e-8)
    expected = V[:, -3:][:, ::-1] / np.sqrt(theta[-3:][::-1])
    np.testing.assert_allclose(np.abs(W), np.abs(expected), atol=1e-8)


# -------------------------------------------------------------------------------- the whole
@pytest.mark.parametrize("shape", [(60, 20), (40, 80)])
@pytest.mark.parametrize("alpha", [1e-3, 0.1])
def test_with_a_fixed_alpha_the_objective_never_rises(shape, alpha):
    X, y = planted(0, *shape)
    solution = slap(
        design_of(X),
        np.eye(3)[y],
        3,
        gamma=1.0,
        n_neighbors=5,
        similarity_weight=alpha,
        tol=1e-9,
        max_iter=40,
    )
    assert np.all(np.diff(solution.history) <= 1e-9 * solution.history[:-1])


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


def test_wide_and_tall_data_meet():
    # The same data once with as many rows as columns, once with one column more, of zeros.
    X, y = planted(2, 30, 30)
    tall = SLAP(5).fit(X, y)
    wide = SLAP(5).fit(np.column_stack([X, np.ones(30)]), y)
    np.testing.assert_allclose(wide.scores_[:-1], tall.scores_, rtol=1e-5, atol=1e-8)
    assert wide.scores_[-1] == 0


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("gamma", [0.1, 1.0, 10.0])
def test_planted_features_are_among_the_first(seed, gamma):
    X, y = planted(seed, 90, 200)
    top = np.argsort(-SLAP(5, gamma=gamma, max_iter=100).fit(X, y).scores_)
    assert np.sum(top[:5] < 5) >= 2
    assert np.sum(top[:20] < 5) >= 4


def test_a_heavier_penalty_leaves_fewer_rows():
    X, y = planted(3)
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
    assert np.isfinite(selector.scores_).all()
    assert selector.components_.shape == (5, 40)


def test_every_class_has_one_sample():
    X = np.random.default_rng(0).standard_normal((6, 10))
    selector = SLAP(2, n_components=2, max_iter=100).fit(X, np.arange(6))
    assert np.isfinite(selector.scores_).all()


# Three of them are among the four best by the F statistic; the projection was compared with
# generalised eigenvectors above.
def test_wine():
    X, y = load_wine(return_X_y=True)
    selector = SLAP(4, n_components=2).fit(X, y)
    np.testing.assert_array_equal(selector.get_support(indices=True), [0, 6, 9, 12])
    assert selector.objective_ == pytest.approx(0.2406688777, rel=1e-6)
    assert selector.n_iter_ == 9


def test_rounds_and_tolerance():
    X, y = planted(6)
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
    X, y = planted(0)
    with pytest.raises(ValueError, match=message):
        SLAP(3, **options).fit(X, y)
