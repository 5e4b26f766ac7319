"""The logistic loss: derivatives, conjugate and Newton fits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from rowsparse.solvers.losses.logistic import LogisticLoss, VaryingLabels

from ..cases import plain

seeds = st.integers(0, 2**32 - 1)


def labels(seed, n=40, d=6, c=2, fit_intercept=True, weighted=True):
    """Labels that depend on the columns, with noise, and the loss on them."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    Y = (X[:, :c] + rng.standard_normal((n, c)) > 0.3).astype(float)
    Y[:2] = [[0.0], [1.0]]  # no constant column
    omega = rng.uniform(0.5, 2.0, n) if weighted else np.ones(n)
    return LogisticLoss(plain(X), Y, omega, fit_intercept), X, rng


@settings(max_examples=30, deadline=None)
@given(seeds)
def test_gradient_and_curvature_equal_finite_differences(seed):
    loss, _, rng = labels(seed)
    P, D = rng.standard_normal((2, *loss.Y.shape))
    step = 1e-5
    slope = (loss.value(P + step * D) - loss.value(P - step * D)) / (2 * step)
    assert np.vdot(loss.gradient(P), D) == pytest.approx(slope, rel=1e-6, abs=1e-6)
    bend = (loss.gradient(P + step * D) - loss.gradient(P - step * D)) / (2 * step)
    np.testing.assert_allclose(loss.curvature(P) * D, bend, rtol=1e-5, atol=1e-8)


def test_value_is_the_negative_log_likelihood_even_for_extreme_predictions():
    loss, _, rng = labels(0)
    P = rng.standard_normal(loss.Y.shape)
    p = 1 / (1 + np.exp(-P))
    likelihood = loss.Y * np.log(p) + (1 - loss.Y) * np.log(1 - p)
    assert loss.value(P) == pytest.approx(-loss.omega @ likelihood.sum(axis=1))
    assert loss.value(np.where(loss.Y > 0, 1e4, -1e4)) == 0.0
    assert loss.value(np.where(loss.Y > 0, -1e4, 1e4)) == pytest.approx(2e4 * loss.omega.sum())


@settings(max_examples=50, deadline=None)
@given(seeds)
def test_fenchel_young(seed):
    """f(P) + <Theta, P> is never below the dual value, and equals it where Theta = -gradient."""
    loss, _, rng = labels(seed)
    P = 3.0 * rng.standard_normal(loss.Y.shape)
    Theta = loss.omega[:, None] * (loss.Y - rng.uniform(size=loss.Y.shape))
    assert loss.value(P) + np.vdot(Theta, P) >= loss.dual_value(Theta) - 1e-9
    Theta = -loss.gradient(P)
    assert loss.value(P) + np.vdot(Theta, P) == pytest.approx(loss.dual_value(Theta))


@pytest.mark.parametrize("ridge", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_refit_equals_scikit_learn_on_every_column(ridge, fit_intercept):
    loss, X, _ = labels(3, c=3, fit_intercept=fit_intercept)
    S = np.array([0, 2, 5])
    fit = loss.refit(S, penalty=ridge, tol=1e-10)
    assert fit.converged
    for c in range(3):
        model = LogisticRegression(
            C=1 / ridge, tol=1e-12, solver="newton-cholesky", fit_intercept=fit_intercept
        )
        model.fit(X[:, S], loss.Y[:, c], loss.omega)
        np.testing.assert_allclose(fit.W[:, c], model.coef_[0], rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(fit.b[c], model.intercept_, rtol=1e-8, atol=1e-8)
    assert 0 <= fit.gap <= 1e-8 * fit.objective
    P = X[:, S] @ fit.W + fit.b
    assert fit.objective == pytest.approx(loss.value(P) + 0.5 * ridge * np.sum(fit.W**2))
    np.testing.assert_allclose(X[:, S].T @ fit.Theta, ridge * fit.W, atol=1e-8)


def test_a_warm_start_and_a_bad_start_end_at_the_same_fit():
    loss, X, rng = labels(1)
    cold = loss.fit(X, ridge=0.1, tol=1e-12)
    start = 20.0 * rng.standard_normal(cold.W.shape), 20.0 * rng.standard_normal(2)
    far = loss.fit(X, ridge=0.1, tol=1e-12, start=start)
    np.testing.assert_allclose(far.W, cold.W, atol=1e-9)
    assert far.objective == pytest.approx(cold.objective, rel=1e-13)


def test_a_fit_is_given_up_only_if_it_cannot_reach_the_limit():
    loss, X, _ = labels(2)
    best = loss.fit(X, ridge=0.5, tol=1e-12)
    assert loss.fit(X, ridge=0.5, tol=1e-12, limit=best.objective + 1e-6).converged
    given_up = loss.fit(X, ridge=0.5, tol=1e-12, limit=best.objective * 0.99)
    assert not given_up.converged
    assert given_up.objective >= best.objective


def test_separable_labels_have_a_finite_fit():
    X = np.linspace(-1.0, 1.0, 20)[:, None]
    loss = LogisticLoss(plain(X), (X > 0).astype(float), np.ones(20), True)
    ridged = loss.fit(X, ridge=1e-3, tol=1e-10)
    assert ridged.converged
    free = loss.fit(X, ridge=0.0, tol=1e-10)
    assert free.objective <= 1e-8 * loss.at_zero
    assert np.isfinite(free.W).all()
    assert free.W[0, 0] > 100 > ridged.W[0, 0] > 0


def test_dependent_columns_without_a_ridge_still_reach_the_least_loss():
    loss, X, _ = labels(5)
    twice = loss.fit(np.column_stack([X, X[:, :2], np.zeros(len(X))]), ridge=0.0, tol=1e-10)
    assert twice.objective == pytest.approx(loss.fit(X, ridge=0.0, tol=1e-10).objective, rel=1e-9)


def test_the_null_intercept_makes_the_gradient_sum_to_zero():
    loss, _, _ = labels(4)
    P = np.broadcast_to(loss.null_intercept(), loss.Y.shape)
    np.testing.assert_allclose(loss.gradient(P).sum(axis=0), 0.0, atol=1e-12)
    assert loss.at_zero == loss.value(P)


def test_constant_labels_are_left_out_and_predicted_with_certainty():
    Y = np.array([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    labels = VaryingLabels.of(Y, True)
    assert labels.varying.tolist() == [1]
    W, b = labels.expand(np.array([[2.0], [3.0]]), np.array([0.5]))
    assert W.tolist() == [[0, 2, 0], [0, 3, 0]]
    P = np.broadcast_to(b, Y.shape)
    outer = LogisticLoss(plain(Y), Y, np.ones(3), True).column_values(P)[[0, 2]]
    assert np.all(outer < 1e-14)
    assert b[1] == 0.5
    assert VaryingLabels.of(Y, False).varying.tolist() == [0, 1, 2]


@pytest.mark.parametrize("size", [1e-7, 1e8])
def test_the_fit_does_not_depend_on_the_magnitude_of_columns(size):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 4))
    Y = (X[:, :1] + rng.standard_normal((30, 1)) > 0.3).astype(float)
    loss = LogisticLoss(plain(X), Y, np.ones(30), True)
    usual = loss.fit(X, ridge=0.5, tol=1e-12)
    scaled = loss.fit(size * X, ridge=0.5 * size**2, tol=1e-12)
    assert scaled.objective == pytest.approx(usual.objective, rel=1e-9)
    np.testing.assert_allclose(scaled.W * size, usual.W, rtol=1e-5)
    np.testing.assert_allclose(scaled.b, usual.b, rtol=1e-5)
