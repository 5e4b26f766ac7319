"""Hard thresholding: its steps are the formula, and short ones never raise the loss."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rowsparse.rows import project_l20
from rowsparse.solvers.losses.squared import SquaredLoss
from rowsparse.solvers.sparse.hard_threshold import (
    RowsInUse,
    thresholded_descent,
    thresholded_solution,
)

from ..cases import loss_at, plain, regression


def rows_of(X, Y):
    return RowsInUse(SquaredLoss(plain(X), Y))


@given(st.integers(0, 10**6), st.integers(1, 8), st.floats(0.05, 1.0))
@settings(max_examples=20, deadline=None)
def test_short_steps_never_raise_the_loss(seed, k, share):
    X, Y = regression(15, 8, 2, seed)
    start = project_l20(np.random.default_rng(seed).standard_normal((8, 2)), k)
    L = np.linalg.norm(X, 2) ** 2
    run = thresholded_descent(
        rows_of(X, Y), start, lambda V: project_l20(V, k), step=share / L, tol=0, max_iter=50
    )
    values = [loss_at(X, Y, start), *run.history]
    assert np.all(np.diff(values) <= 1e-12 * values[0])
    assert run.objective == pytest.approx(loss_at(X, Y, run.W), rel=1e-10)
    assert np.count_nonzero(run.W.any(axis=1)) <= k


@pytest.mark.parametrize("shape", [(40, 30, 3), (10, 60, 2)])
def test_steps_are_the_formula(shape):
    X, Y = regression(*shape)
    W = np.random.default_rng(1).standard_normal((shape[1], shape[2]))  # more rows than samples
    run = thresholded_descent(
        rows_of(X, Y), W, lambda V: project_l20(V, 4), step=1e-3, tol=0, max_iter=3
    )
    for _ in range(3):
        W = project_l20(W - 1e-3 * X.T @ (X @ W - Y), 4)
    np.testing.assert_allclose(run.W, W, atol=1e-12)


@pytest.mark.parametrize("shape", [(20, 8, 2), (6, 30, 2)])
def test_loss_and_gradient_are_those_of_all_columns(shape):
    X, Y = regression(*shape)
    rows = rows_of(X, Y)
    W = np.random.default_rng(0).standard_normal((shape[1], 2))
    for kept in (shape[1], 3, 3, 5):
        V = project_l20(W, kept)
        value, half_gradient = rows.at(V)
        assert value == pytest.approx(loss_at(X, Y, V))
        np.testing.assert_allclose(half_gradient, X.T @ (X @ V - Y), atol=1e-10)
        W = W[::-1]


def test_steps_too_long_diverge_and_keep_the_start():
    X, Y = regression(20, 8, 2)
    start, rows = np.zeros((8, 2)), rows_of(X, Y)
    run = thresholded_descent(
        rows, start, lambda V: project_l20(V, 3), step=10.0, tol=1e-8, max_iter=100
    )
    assert run.diverged
    assert not run.converged
    np.testing.assert_array_equal(run.W, start)
    assert run.objective == pytest.approx(np.sum(Y**2))


@pytest.mark.parametrize("charge", [0.0, 0.5])
def test_the_solution_has_the_least_squares_refit(charge):
    X, Y = regression(20, 8, 2)
    rows = rows_of(X, Y)
    run = thresholded_descent(
        rows,
        np.zeros((8, 2)),
        lambda V: project_l20(V, 3),
        step=1e-3,
        tol=0.0,
        max_iter=4,
        charge=charge,
    )
    solution = thresholded_solution(rows, run, k=3, charge=charge)
    S = np.flatnonzero(solution.W.any(axis=1))
    rest = np.linalg.lstsq(X[:, S], Y, rcond=None)[1].sum()
    assert solution.attributes["refitted_objective_"] == pytest.approx(rest + charge * 3)
    assert solution.objective == pytest.approx(loss_at(X, Y, solution.W) + charge * 3)
    assert sorted(solution.support) == S.tolist()
