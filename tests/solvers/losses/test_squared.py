"""The squared loss: gradient, conjugate, dual points, refits and the form for proximal loops."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Ridge

from rowsparse.solvers.losses.squared import SquaredLoss, least_squares_fit

from ..cases import centred_regression, check_gradient, dense, plain, regression

seeds = st.integers(0, 2**32 - 1)


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


@settings(max_examples=20, deadline=None)
@given(seeds, st.sampled_from([0.0, 0.3, 20.0]))
def test_least_squares_fit_minimises_its_objective(seed, ridge):
    X, Y = regression(20, 9, 2, seed)
    S = np.array([8, 2, 3])
    W, value = least_squares_fit(plain(X), Y, S, ridge=ridge)
    gradient = X[:, S].T @ (X[:, S] @ W - Y) + ridge * W
    assert np.abs(gradient).max() < 1e-9 * np.linalg.norm(X) * np.linalg.norm(Y)
    assert value == pytest.approx(np.sum((Y - X[:, S] @ W) ** 2) + ridge * np.sum(W**2))


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
