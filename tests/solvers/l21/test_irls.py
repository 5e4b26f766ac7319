"""IRLS: its weighted ridge problem in both forms, its descent and its gap."""

from __future__ import annotations

import numpy as np
import pytest

from rowsparse.solvers.l21.irls import irls, weighted_ridge
from rowsparse.solvers.losses.l21 import L21Loss

from ..cases import plain, primal, regression, solve_rfs


def loss_of(X, Y, fit_intercept=True, weights=None):
    return L21Loss.of(plain(X), Y, weights, fit_intercept)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("shape", [(12, 5), (5, 12)])
def test_weighted_ridge_is_stationary(shape, fit_intercept):
    X, Y = regression(*shape, 2, offset=0.5)
    rng = np.random.default_rng(0)
    p, r = rng.uniform(0.5, 2.0, shape[1]), rng.uniform(0.5, 2.0, shape[0])
    W, b, Theta = weighted_ridge(loss_of(X, Y, fit_intercept), 0.7, p, r, ridge=0.0)
    residual = Y - X @ W - b
    np.testing.assert_allclose(Theta, residual / r[:, None], atol=1e-7)
    np.testing.assert_allclose(X.T @ Theta, 0.7 * W / p[:, None], atol=1e-7)
    if fit_intercept:
        np.testing.assert_allclose(Theta.sum(axis=0), 0.0, atol=1e-7)
    else:
        np.testing.assert_array_equal(b, 0.0)


@pytest.mark.parametrize("shape", [(25, 60), (80, 12)])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_ends_at_the_objective_of_the_working_set(shape, fit_intercept):
    X, Y = regression(*shape, 3, offset=0.5)
    loss = loss_of(X, Y, fit_intercept)
    result = irls(loss, 4.0, tol=1e-3, max_iter=1000, published=False)
    assert result.converged
    value = primal(X, Y, result.W, result.b, 4.0)
    assert result.objective == pytest.approx(value)
    assert result.gap == pytest.approx(value - np.vdot(Y, result.Theta), abs=1e-8)
    exact = solve_rfs(plain(X), Y, 4.0, fit_intercept=fit_intercept).objective
    assert exact * (1 - 1e-6) <= result.objective <= exact * (1 + 2e-3)


def test_published_steps_never_raise_the_objective_without_an_intercept():
    X, Y = regression(25, 60, 3)
    loss = loss_of(X, Y, False, np.random.default_rng(0).uniform(0.5, 2.0, 25))
    result = irls(loss, 2.0, tol=1e-9, max_iter=200, published=True)
    assert np.all(np.diff(result.history) <= 1e-9 * result.history[0])
    assert result.objective == result.history[-1]
    assert result.gap >= -1e-9


def test_the_monitor_stops_the_rounds():
    X, Y = regression(20, 10, 2)
    seen = []
    result = irls(
        loss_of(X, Y),
        2.0,
        tol=1e-9,
        max_iter=100,
        published=True,
        monitor=lambda value: seen.append(value) or len(seen) == 3,
    )
    assert result.history == seen
    assert not result.converged
