"""l2,1-penalised least squares against scikit-learn and against its own dual."""

from __future__ import annotations

import numpy as np
import pytest
from rowsparse.solvers.l21.multitask_lasso import l21_least_squares
from sklearn.linear_model import Lasso, MultiTaskLasso

from rowsparse.design import make_design


def problem_data(n, d, c, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    W = np.zeros((d, c))
    W[:4] = rng.standard_normal((4, c))
    return X, X @ W + 0.5 * rng.standard_normal((n, c))


@pytest.mark.parametrize("shape", [(30, 60, 3), (200, 20, 4), (25, 400, 2)])
@pytest.mark.parametrize("fraction", [0.5, 0.1])
def test_equals_scikit_learns_multi_task_lasso(shape, fraction):
    X, Y = problem_data(*shape)
    penalty = fraction * np.linalg.norm(X.T @ Y, axis=1).max()
    design, _ = make_design(X, center=False, scale=False)
    ours = l21_least_squares(design, Y, penalty, tol=1e-10)
    theirs = MultiTaskLasso(
        alpha=penalty / shape[0], fit_intercept=False, tol=1e-10, max_iter=100000
    ).fit(X, Y)
    np.testing.assert_allclose(ours.W, theirs.coef_.T, atol=2e-5)


def test_one_target_equals_lasso():
    X, Y = problem_data(40, 80, 1)
    penalty = 0.2 * np.abs(X.T @ Y).max()
    design, _ = make_design(X, center=False, scale=False)
    ours = l21_least_squares(design, Y, penalty, tol=1e-10)
    theirs = Lasso(alpha=penalty / 40, fit_intercept=False, tol=1e-12, max_iter=100000).fit(X, Y)
    np.testing.assert_allclose(ours.W[:, 0], theirs.coef_, atol=1e-5)


@pytest.mark.parametrize("shape", [(30, 60, 3), (200, 20, 4)])
def test_gap_recomputed_from_scratch_is_the_one_returned(shape):
    X, Y = problem_data(*shape)
    penalty = 0.2 * np.linalg.norm(X.T @ Y, axis=1).max()
    design, _ = make_design(X, center=False, scale=False)
    s = l21_least_squares(design, Y, penalty)
    T = s.attributes["dual_coef_"]
    assert np.linalg.norm(X.T @ T, axis=1).max() <= penalty * (1 + 1e-12)
    value = 0.5 * np.linalg.norm(Y - X @ s.W) ** 2
    value += penalty * np.linalg.norm(s.W, axis=1).sum()
    assert s.objective == pytest.approx(value, rel=1e-9)
    gap = value - (np.vdot(Y, T) - 0.5 * np.linalg.norm(T) ** 2)
    assert s.attributes["gap_"] == pytest.approx(gap, abs=1e-8 * value)
    assert -1e-9 * value <= gap <= 1e-6 * value


def test_nothing_is_selected_above_the_largest_penalty():
    X, Y = problem_data(30, 60, 3)
    largest = np.linalg.norm(X.T @ Y, axis=1).max()
    design, _ = make_design(X, center=False, scale=False)
    assert not l21_least_squares(design, Y, 1.001 * largest).W.any()
    assert l21_least_squares(design, Y, 0.98 * largest).W.any()
