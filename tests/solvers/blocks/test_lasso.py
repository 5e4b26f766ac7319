"""l2,1-penalised least squares on a block, against scikit-learn and against its own dual."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import Lasso, MultiTaskLasso

from rowsparse.solvers.blocks.lasso import admm_lasso, best_multiple

from ..cases import norm21, regression


def solve(Z, Y, penalty, tol=1e-6, state=None):
    return admm_lasso(Z, Y, penalty, tol=tol, state=state)


@pytest.mark.parametrize("shape", [(30, 60, 3), (200, 20, 4), (25, 100, 2)])
@pytest.mark.parametrize("share", [0.5, 0.1])
def test_equals_scikit_learns_multi_task_lasso(shape, share):
    Z, Y = regression(*shape)
    penalty = share * np.linalg.norm(Z.T @ Y, axis=1).max()
    theirs = MultiTaskLasso(
        alpha=penalty / shape[0], fit_intercept=False, tol=1e-10, max_iter=100000
    ).fit(Z, Y)
    np.testing.assert_allclose(solve(Z, Y, penalty, 1e-10).W, theirs.coef_.T, atol=2e-5)


def test_one_target_equals_lasso():
    Z, Y = regression(40, 80, 1)
    penalty = 0.2 * np.abs(Z.T @ Y).max()
    theirs = Lasso(alpha=penalty / 40, fit_intercept=False, tol=1e-12, max_iter=100000).fit(Z, Y)
    np.testing.assert_allclose(solve(Z, Y, penalty, 1e-10).W[:, 0], theirs.coef_, atol=1e-5)


@pytest.mark.parametrize("shape", [(30, 60, 3), (200, 20, 4)])
def test_gap_recomputed_from_scratch_is_the_one_returned(shape):
    Z, Y = regression(*shape)
    penalty = 0.2 * np.linalg.norm(Z.T @ Y, axis=1).max()
    fit = solve(Z, Y, penalty)
    assert np.linalg.norm(Z.T @ fit.Theta, axis=1).max() <= penalty * (1 + 1e-12)
    value = 0.5 * np.linalg.norm(Y - Z @ fit.W) ** 2 + penalty * norm21(fit.W)
    assert fit.objective == pytest.approx(value, rel=1e-9)
    gap = value - (np.vdot(Y, fit.Theta) - 0.5 * np.linalg.norm(fit.Theta) ** 2)
    assert fit.gap == pytest.approx(gap, abs=1e-8 * value)
    assert -1e-9 * value <= gap <= 1e-6 * value
    assert fit.converged


def test_a_finished_state_is_resumed_at_once():
    Z, Y = regression(40, 30)
    first = solve(Z, Y, 5.0, 1e-8)
    again = solve(Z, Y, 5.0, 1e-8, first.state)
    assert again.n_iter < first.n_iter
    np.testing.assert_allclose(again.W, first.W, atol=1e-4)


def test_best_multiple_is_the_best_of_all_feasible_ones():
    rng = np.random.default_rng(1)
    for _ in range(50):
        T, Y = rng.standard_normal((2, 5, 2))
        square, cross, largest, penalty = *(np.vdot(A, T) for A in (T, Y)), *rng.uniform(0.1, 3, 2)
        multiple, value = best_multiple(square, cross, largest, penalty)
        assert abs(multiple) * largest <= penalty * (1 + 1e-12)
        t = np.linspace(-1, 1, 4001) * penalty / largest
        values = t * cross - 0.5 * t**2 * square
        assert value >= values.max() - 1e-12
        assert value == pytest.approx(multiple * cross - 0.5 * multiple**2 * square)
    assert best_multiple(0.0, 0.0, 0.0, 1.0) == (0.0, 0.0)
