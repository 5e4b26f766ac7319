"""SLAP: the closed forms of its steps, its objective, planted features, data at the limits."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.linalg import eigh

from rowsparse import SLAP
from rowsparse.solvers.subspace.slap_solver import (
    _Tall,
    _Wide,
    laplacian,
    nearest,
    similarities,
    simplex_rows,
    slap,
)

from .cases import design_of, distances, planted, standardised


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
    W, ZW = kind(design_of(X, scale=True)).projection(L, penalty, 3)
    M = 2 * X.T @ (L @ X) + np.diag(penalty)
    theta, V = eigh(X.T @ X, M)
    np.testing.assert_allclose(W.T @ X.T @ X @ W, np.eye(3), atol=1e-9)
    np.testing.assert_allclose(X @ W, ZW, atol=1e-9)
    np.testing.assert_allclose(np.diag(W.T @ M @ W), 1 / theta[-3:][::-1], rtol=1e-8)
    expected = V[:, -3:][:, ::-1] / np.sqrt(theta[-3:][::-1])
    np.testing.assert_allclose(np.abs(W), np.abs(expected), atol=1e-8)


@pytest.mark.parametrize("shape", [(60, 20), (40, 80)])
@pytest.mark.parametrize("alpha", [1e-3, 0.1])
def test_with_a_fixed_alpha_the_objective_never_rises(shape, alpha):
    X, y = planted(0, *shape)
    solution = slap(
        design_of(X, scale=True),
        np.eye(3)[y],
        3,
        gamma=1.0,
        n_neighbors=5,
        similarity_weight=alpha,
        tol=1e-9,
        max_iter=40,
    )
    assert np.all(np.diff(solution.history) <= 1e-9 * solution.history[:-1])


# ------------------------------------------------------------------------------------- the selector
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
