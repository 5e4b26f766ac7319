"""Descents of the l_{p,inf} method: where they begin and end, and the search for k rows."""

from __future__ import annotations

import numpy as np
import pytest

from rowsparse.rows import prox_lpinf, row_norms
from rowsparse.solvers.losses.squared import SquaredLoss
from rowsparse.solvers.solution import silent
from rowsparse.solvers.sparse.lpinf_descents import LpInfDescents, Trial, gamma_max

from ..cases import centred_regression, dense, lpinf_objective, n_rows


def descents(design, Y, tol=1e-6, max_iter=5000):
    return LpInfDescents(SquaredLoss(design, Y), float(len(Y)), tol, max_iter, silent)


@pytest.mark.parametrize("p", [0.0, 0.5])
def test_a_descent_ends_where_no_row_gains_on_its_own(p):
    design, Y = centred_regression(d=30)
    X, gamma = dense(design), 0.05 * gamma_max(SquaredLoss(design, Y), p)
    run = descents(design, Y).descend(np.zeros((30, 3)), gamma, p)
    assert run.converged
    F = lpinf_objective(design, Y, run.W, gamma, p)
    assert run.objective == pytest.approx(F)
    squares = np.sum(X**2, axis=0)
    for j in range(30):
        R = Y - X @ run.W + np.outer(X[:, j], run.W[j])
        alone = prox_lpinf((X[:, [j]].T @ R) / squares[j], gamma / squares[j], p)
        V = run.W.copy()
        V[j] = alone
        assert lpinf_objective(design, Y, V, gamma, p) >= F * (1 - 1e-5)


def test_without_growth_no_zero_row_enters():
    design, Y = centred_regression(d=30)
    start = np.zeros((30, 3))
    start[[2, 7]] = 0.5
    run = descents(design, Y).descend(start, 0.1, 0.5, grow=False)
    assert set(np.flatnonzero(run.W.any(axis=1))) <= {2, 7}


@pytest.mark.parametrize("k", [2, 5])
def test_the_trial_with_k_rows_of_the_convex_problem(k):
    design, Y = centred_regression()
    trial = descents(design, Y).k_rows("zero", 1.0, k, None)
    assert trial.n_rows == n_rows(trial.run.W) == k
    score = np.abs(dense(design).T @ (Y - dense(design) @ trial.run.W)).sum(axis=1)
    active = trial.run.W.any(axis=1)
    np.testing.assert_allclose(score[active], trial.gamma, rtol=1e-2)
    assert np.all(score[~active] <= trial.gamma * 1.01)


def test_a_few_rows_above_k_count_as_k():
    design, Y = centred_regression()
    run = descents(design, Y).descend(np.zeros((60, 3)), 0.5, 0.5)
    rows = n_rows(run.W)
    assert Trial(0.5, run).n_rows == rows
    assert Trial(0.5, run, k=rows - 2, slack=2).n_rows == rows - 2
    assert Trial(0.5, run, k=rows - 3, slack=2).n_rows == rows
    assert Trial(0.5, run, k=rows + 1, slack=2).n_rows == rows


def test_the_ridge_start_is_a_ridge_of_one_on_standardised_columns():
    design, Y = centred_regression(n=40, d=10)
    X = dense(design)
    expected = np.linalg.solve(X.T @ X + np.eye(10), X.T @ Y)
    np.testing.assert_allclose(descents(design, Y)._ridge_start(), expected, atol=1e-8)
    assert np.all(row_norms(expected) > 0)
