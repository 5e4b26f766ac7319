"""The logistic loss: its value, Newton fits and dual points."""

import warnings
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from rowsparse.solvers.losses.logistic import LogisticLoss
from rowsparse.solvers.losses.newton import VaryingColumns

from ..cases import plain
from ..proof.problems import logistic_loss, logistic_oracle, random_labels


def labels(seed, n=40, d=6, c=2, fit_intercept=True, weighted=True):
    """Labels that depend on the columns, with noise, and the loss on them."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    Y = (X[:, :c] + rng.standard_normal((n, c)) > 0.3).astype(float)
    Y[:2] = [[0.0], [1.0]]  # no constant column
    omega = rng.uniform(0.5, 2.0, n) if weighted else np.ones(n)
    return LogisticLoss(plain(X), Y, omega, fit_intercept), X, rng


def test_value_is_the_negative_log_likelihood_even_for_extreme_predictions():
    loss, _, rng = labels(0)
    P = rng.standard_normal(loss.Y.shape)
    p = 1 / (1 + np.exp(-P))
    likelihood = loss.Y * np.log(p) + (1 - loss.Y) * np.log(1 - p)
    assert loss.value(P) == pytest.approx(-loss.omega @ likelihood.sum(axis=1))
    assert loss.value(np.where(loss.Y > 0, 1e4, -1e4)) == 0.0
    assert loss.value(np.where(loss.Y > 0, -1e4, 1e4)) == pytest.approx(2e4 * loss.omega.sum())


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
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        beyond = loss.fit(X, ridge=0.1, tol=1e-12, start=(np.full(cold.W.shape, 1e308), start[1]))
    assert beyond.objective == cold.objective


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


def test_constant_labels_are_left_out_and_predicted_with_certainty():
    Y = np.array([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    loss = LogisticLoss.from_targets(plain(Y), Y, np.ones(3), True, "multilabel")
    assert loss.Y.tolist() == [[0], [1], [0]]
    W, b = loss.expand(np.array([[2.0], [3.0]]), np.array([0.5]))
    assert W.tolist() == [[0, 2, 0], [0, 3, 0]]
    P = np.broadcast_to(b, Y.shape)
    outer = LogisticLoss(plain(Y), Y, np.ones(3), True).column_values(P)[[0, 2]]
    assert np.all(outer < 1e-14)
    assert b[1] == 0.5
    assert VaryingColumns.from_targets(Y, False, b).varying.tolist() == [0, 1, 2]


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


# -------------------------------------------------------------------------------------- dual points
@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_any_predictions_bound_every_choice(seed):
    rng = np.random.default_rng(seed)
    n, d, c = int(rng.integers(3, 12)), 4, int(rng.integers(1, 4))
    X, (Y, omega) = rng.standard_normal((n, d)), random_labels(rng, n, c)
    ridge, intercept = 10.0 ** rng.uniform(-4, 2), bool(rng.random() < 0.6)
    P = 10.0 ** rng.uniform(-2, 3) * rng.standard_normal((c, n))
    point = logistic_loss(X, Y, omega, intercept).dual(P)
    u = np.linalg.norm(point.Theta @ X, axis=0)
    norms = np.sqrt(omega @ X**2)
    q = (u + point.error * norms) ** 2 / (2 * ridge)
    oracle = logistic_oracle(X, Y, 2, ridge, omega, intercept)
    for S in oracle.choices():
        assert point.value - q[list(S)].sum() <= oracle.objective(S)


def bounds_of(loss, X, ridge, choices, P):
    points, norms = loss.dual(P), np.sqrt(loss.omega @ X**2)
    u = np.linalg.norm(points.Theta @ X, axis=1) + points.error[:, None] * norms
    q = np.take_along_axis(u**2 / (2 * ridge), choices, axis=1).sum(axis=1)
    return points.value - q * (1 + 1e-12)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("ridge", [1e-3, 2.0, 100.0])
@pytest.mark.parametrize("k", [1, 3])
def test_every_choice_has_its_own_objective_and_bound(fit_intercept, ridge, k):
    rng = np.random.default_rng(k)
    X = rng.standard_normal((20, 5))
    X[:, 4] = X[:, 0]
    Y, omega = random_labels(rng, 20, 2)
    loss, oracle = (
        logistic_loss(X, Y, omega, fit_intercept),
        logistic_oracle(X, Y, k, ridge, omega, fit_intercept),
    )
    choices = np.array(list(combinations(range(5), k)))
    values, P = loss.fit_many(X[:, choices].transpose(1, 0, 2), ridge=ridge)
    bounds = bounds_of(loss, X, ridge, choices, P)
    for S, value, bound in zip(choices, values, bounds, strict=True):
        exact = oracle.objective(S.tolist())
        assert bound <= exact
        assert value == pytest.approx(float(exact), rel=1e-10)
        assert bound == pytest.approx(float(exact), rel=1e-7)


def test_separated_labels_and_columns_of_any_magnitude_end():
    X = np.linspace(-1, 1, 12)[:, None] * [1e8, 1e-8]
    Y = (X[:, :1] > 0).astype(float)
    loss = logistic_loss(X, Y)
    choices = np.array([[0], [1]])
    values, P = loss.fit_many(X[:, choices].transpose(1, 0, 2), ridge=1e-6)
    bounds = bounds_of(loss, X, 1e-6, choices, P)
    oracle = logistic_oracle(X, Y, 1, 1e-6)
    for j in range(2):
        assert bounds[j] <= oracle.objective([j])
        assert values[j] == pytest.approx(float(oracle.objective([j])), rel=1e-3, abs=1e-6)
