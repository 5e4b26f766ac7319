"""The squared loss: gradient, conjugate, dual points, refits and the form for proximal loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Ridge

from rowsparse.solvers.losses.squared import SquaredLoss, least_squares_fit

from ..cases import centred_regression, check_gradient, dense, norm21, plain, regression

seeds = st.integers(0, 2**32 - 1)


def random_loss(seed):
    X, Y = regression(*np.random.default_rng(seed).integers(5, 9, 3), seed)
    return SquaredLoss(plain(X), Y), X, np.random.default_rng(seed)


@settings(max_examples=30, deadline=None)
@given(seeds)
def test_value_gradient_and_curvature_are_a_taylor_expansion(seed):
    loss, _, rng = random_loss(seed)
    P, D = rng.standard_normal((2, *loss.Y.shape))
    expansion = np.vdot(loss.gradient(P), D) + 0.5 * np.sum(loss.curvature(P) * D**2)
    assert loss.value(P + D) == pytest.approx(loss.value(P) + expansion)
    assert loss.value(loss.Y) == 0.0


@settings(max_examples=50, deadline=None)
@given(seeds)
def test_fenchel_young(seed):
    """f(P) + <Theta, P> is never below the dual value, and equals it where Theta = -gradient."""
    loss, _, rng = random_loss(seed)
    P, Theta = rng.standard_normal((2, *loss.Y.shape))
    assert loss.value(P) + np.vdot(Theta, P) >= loss.dual_value(Theta) - 1e-9
    Theta = -loss.gradient(P)
    assert loss.value(P) + np.vdot(Theta, P) == pytest.approx(loss.dual_value(Theta))


@settings(max_examples=50, deadline=None)
@given(seeds, st.floats(0.05, 20.0))
def test_dual_points_are_feasible_and_below_every_objective(seed, penalty):
    loss, X, rng = random_loss(seed)
    Theta, scores, dual = loss.dual_point(rng.standard_normal(loss.Y.shape), penalty)
    assert np.linalg.norm(X.T @ Theta, axis=1).max() <= penalty * (1 + 1e-12)
    assert dual == pytest.approx(loss.dual_value(Theta))
    assert scores.shape == (X.shape[1],)
    W = rng.standard_normal((X.shape[1], loss.Y.shape[1]))
    assert dual <= loss.value(X @ W) + penalty * norm21(W) + 1e-9


def test_the_dual_point_is_the_best_multiple():
    loss, X, rng = random_loss(0)
    start = rng.standard_normal(loss.Y.shape)
    _, scores, dual = loss.dual_point(start, 2.0)
    multiples = np.linspace(-1, 1, 2001) * 2.0 / scores.max()
    assert dual == pytest.approx(max(loss.dual_value(t * start) for t in multiples), rel=1e-5)
    assert scores.max() == pytest.approx(np.linalg.norm(X.T @ start, axis=1).max())


@pytest.mark.parametrize("kept", [2, 30])
def test_residual_by_the_rows_in_use(kept):
    X, Y = regression()
    W = np.random.default_rng(0).standard_normal((30, 3))
    W[kept:] = 0.0
    np.testing.assert_allclose(SquaredLoss(plain(X), Y).residual(W), Y - X @ W, atol=1e-12)


@pytest.mark.parametrize("shape", [(30, 6, 2), (6, 30, 2)])
@pytest.mark.parametrize("ridge", [0.5, 10.0])
def test_refit_equals_ridge_regression(shape, ridge):
    X, Y = regression(*shape)
    S = np.arange(0, shape[1], 2)
    fit = SquaredLoss(plain(X), Y).refit(S, penalty=ridge, tol=0.0)
    theirs = Ridge(ridge, fit_intercept=False).fit(X[:, S], Y).coef_.T
    np.testing.assert_allclose(fit.W, theirs, atol=1e-8)
    value = 0.5 * np.sum((Y - X[:, S] @ theirs) ** 2) + 0.5 * ridge * np.sum(theirs**2)
    assert fit.objective == pytest.approx(value)
    np.testing.assert_allclose(fit.Theta, Y - X[:, S] @ theirs, atol=1e-8)


def test_least_squares_on_dependent_columns_has_the_least_norm():
    X, Y = regression(20, 5, 2)
    X = np.hstack([X, X[:, :1], np.zeros((20, 1))])
    W, value = least_squares_fit(plain(X), Y, np.arange(7))
    rest = np.linalg.lstsq(X[:, :5], Y, rcond=None)[1].sum()
    assert value == pytest.approx(rest)
    np.testing.assert_allclose(W[0], W[5], atol=1e-10)
    np.testing.assert_array_equal(W[6], 0.0)


@pytest.mark.parametrize("d", [40, 600])
def test_gram_and_product_forms_agree_with_dense_formulae(d):
    design, Y = centred_regression(n=8, d=d)
    loss = SquaredLoss(design, Y)
    assert (d > loss.gram_rows) == (d == 600)
    X, W = dense(design), np.random.default_rng(0).standard_normal((d, 3))
    form = loss.composite(np.arange(d), lambda W: 0.0, lambda U, t: U)
    R = Y - X @ W
    assert form.value(W, form.product(W)) == pytest.approx(0.5 * np.sum(R**2))
    np.testing.assert_allclose(form.gradient(W, form.product(W)), -X.T @ R, atol=1e-8)
    assert form.lipschitz == pytest.approx(np.linalg.norm(X, 2) ** 2, rel=1e-4)
    check_gradient(form, (d, 3))
