"""The l2,1 loss: gradient, majoriser, conjugate, dual points and refits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rowsparse.rows import row_norms
from rowsparse.solvers.losses.l21 import L21Loss, geometric_median

from ..cases import plain, primal, refit, regression

seeds = st.integers(0, 2**32 - 1)


def random_loss(seed, fit_intercept=False):
    """A loss on a few samples, and a generator for points."""
    rng = np.random.default_rng(seed)
    n, d, c = rng.integers(2, 8), rng.integers(1, 8), rng.integers(1, 4)
    X, Y = rng.standard_normal((n, d)), rng.standard_normal((n, c))
    return L21Loss(plain(X), Y, rng.uniform(0.2, 3.0, n), fit_intercept), rng


@settings(max_examples=50, deadline=None)
@given(seeds)
def test_gradient_equals_finite_differences(seed):
    loss, rng = random_loss(seed)
    P, D = rng.standard_normal((2, *loss.Y.shape))
    for f in (loss, loss.smoothed(0.5)):
        difference = (f.value(P + 1e-6 * D) - f.value(P - 1e-6 * D)) / 2e-6
        assert difference == pytest.approx(np.vdot(f.gradient(P), D), abs=1e-4)


@settings(max_examples=50, deadline=None)
@given(seeds)
def test_subgradient_inequality_holds_at_fitted_samples_too(seed):
    loss, rng = random_loss(seed)
    P, Q = loss.Y.copy(), rng.standard_normal(loss.Y.shape)
    P[1:] += rng.standard_normal(P[1:].shape)
    assert loss.value(Q) >= loss.value(P) + np.vdot(loss.gradient(P), Q - P) - 1e-9


@settings(max_examples=50, deadline=None)
@given(seeds)
def test_curvature_gives_a_quadratic_above_the_loss(seed):
    loss, rng = random_loss(seed)
    P, D = rng.standard_normal((2, *loss.Y.shape))
    quadratic = np.vdot(loss.gradient(P), D) + 0.5 * np.sum(loss.curvature(P) * D**2)
    assert loss.value(P + D) <= loss.value(P) + quadratic + 1e-9


@settings(max_examples=50, deadline=None)
@given(seeds, st.floats(0.01, 2.0))
def test_reweighted_least_squares_lies_above_the_smoothed_norms(seed, eps):
    loss, rng = random_loss(seed)
    r, s = np.abs(rng.standard_normal((2, len(loss.Y))))
    v = loss.majorising_weights(r, eps)

    def smooth(norms):
        return loss.omega * np.sqrt(norms**2 + eps**2)

    assert np.all(smooth(s) <= smooth(r) + 0.5 * v * (s**2 - r**2) + 1e-12)


@settings(max_examples=100, deadline=None)
@given(seeds)
def test_fenchel_young(seed):
    """f(P) + <Theta, P> is never below the dual value, and equals it where Theta = -gradient."""
    loss, rng = random_loss(seed)
    P, Theta = rng.standard_normal((2, *loss.Y.shape))
    Theta *= (loss.omega / np.maximum(row_norms(Theta), loss.omega))[:, None]
    assert loss.value(P) + np.vdot(Theta, P) >= loss.dual_value(Theta) - 1e-9
    Theta = -loss.gradient(P)
    assert loss.value(P) + np.vdot(Theta, P) == pytest.approx(loss.dual_value(Theta))


@settings(max_examples=100, deadline=None)
@given(seeds, st.booleans(), st.floats(0.05, 20.0))
def test_weak_duality_is_never_violated(seed, fit_intercept, gamma):
    loss, rng = random_loss(seed, fit_intercept)
    X = loss.design.columns(np.arange(loss.design.shape[1]))
    start = rng.standard_normal(loss.Y.shape) * rng.uniform(0, 5)
    Theta, _, dual = loss.dual_point(start, gamma)
    assert np.all(row_norms(Theta) <= loss.omega * (1 + 1e-12))
    assert np.all(row_norms(X.T @ Theta) <= gamma * (1 + 1e-12))
    W = rng.standard_normal((X.shape[1], loss.Y.shape[1]))
    b = rng.standard_normal(loss.Y.shape[1]) * fit_intercept
    assert dual <= primal(X, loss.Y, W, b, gamma, loss.omega) + 1e-9


@pytest.mark.parametrize("mu", [1.0, 0.1, 0.01])
def test_smoothing_errs_by_at_most_half_mu_a_weight(mu):
    for seed in range(10):
        loss, rng = random_loss(seed)
        P = loss.Y + rng.standard_normal(loss.Y.shape) * 10.0 ** (-seed % 4)
        error = loss.value(P) - loss.smoothed(mu).value(P)
        assert -1e-9 <= error <= mu * loss.omega.sum() / 2 + 1e-9


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("classes", [False, True])
def test_the_null_point_is_the_best_intercept_with_its_dual_point(fit_intercept, classes):
    rng = np.random.default_rng(0)
    Y = np.eye(3)[rng.integers(0, 3, 20)] if classes else rng.standard_normal((20, 3))
    loss = L21Loss(plain(np.eye(20)), Y, rng.uniform(0.5, 2.0, 20), fit_intercept)
    b, Theta = loss.null_point()
    assert np.all(row_norms(Theta) <= loss.omega * (1 + 1e-6))
    value = loss.value(np.broadcast_to(b, Y.shape))
    assert loss.dual_value(Theta) == pytest.approx(value, rel=1e-6)
    if fit_intercept:
        np.testing.assert_allclose(Theta.sum(axis=0), 0.0, atol=1e-9)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_weights_of_least_squares_equal_repeated_rows(fit_intercept):
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((10, 4)) + 1.0, rng.standard_normal((10, 2))
    times = rng.integers(1, 4, 10)
    loss = L21Loss.of(plain(X), Y, None, fit_intercept)
    weighted = loss.least_squares(times.astype(float)).refit(np.arange(4), penalty=0.0, tol=0.0)
    A = np.column_stack([X, np.ones(10)])[:, : 4 + fit_intercept].repeat(times, axis=0)
    expected = np.linalg.lstsq(A, Y.repeat(times, axis=0), rcond=None)
    np.testing.assert_allclose(weighted.W, expected[0][:4], atol=1e-10)
    assert 2 * weighted.objective == pytest.approx(expected[1].sum())


def test_geometric_median_satisfies_its_optimality_condition():
    rng = np.random.default_rng(0)
    Y, w = rng.standard_normal((40, 3)), rng.uniform(0.5, 2, 40)
    m = geometric_median(Y, w)
    slope = (w / np.linalg.norm(Y - m, axis=1)) @ (Y - m)
    assert np.linalg.norm(slope) <= 1e-8 * w.sum()
    labels = np.eye(2)[[0, 0, 0, 1]]
    np.testing.assert_array_equal(geometric_median(labels, np.ones(4)), [1.0, 0.0])


@pytest.mark.parametrize("gamma", [0.0, 0.5])
@pytest.mark.parametrize("c", [1, 3])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_refit_is_certified_by_a_feasible_dual_point(gamma, c, fit_intercept):
    X, Y = regression(30, 50, c, noise=1.0, offset=0.5)
    support = np.array([3, 0, 7])
    omega = np.random.default_rng(2).uniform(0.5, 2.0, 30)
    fit = refit(
        plain(X), Y, support, weights=omega, gamma=gamma, fit_intercept=fit_intercept, tol=1e-8
    )
    value = primal(X[:, support], Y, fit.W, fit.b, gamma, omega)
    assert fit.objective == pytest.approx(value, rel=1e-9)
    assert np.all(np.linalg.norm(fit.Theta, axis=1) <= omega * (1 + 1e-9))
    scores = np.linalg.norm(X[:, support].T @ fit.Theta, axis=1)
    assert np.all(scores <= gamma + 1e-7)
    assert value - np.vdot(Y, fit.Theta) <= 1e-7 * value
    assert fit.converged


def test_refit_with_more_features_than_samples_is_perfect():
    X, Y = regression(10, 30, noise=0.3, offset=0.5)
    fit = refit(plain(X), Y, np.arange(15))
    assert fit.objective <= 1e-7 * np.linalg.norm(Y)
