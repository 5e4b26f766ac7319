"""The joint l2,1 problem on a block: certificates, optimality and warm starts."""

from __future__ import annotations

import numpy as np
import pytest

from rowsparse.rows import row_norms
from rowsparse.solvers.blocks.admm import admm_l21, centred, feasible_dual, first_step

from ..cases import primal, regression


def solve(Z, Y, gamma, *, omega=None, fit_intercept=True, tol=1e-8, state=None):
    omega = np.ones(len(Y)) if omega is None else omega
    options = {"omega": omega, "fit_intercept": fit_intercept, "tol": tol, "state": state}
    return admm_l21(Z, Y, gamma, max_iter=20000, **options)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("shape", [(20, 6, 2), (12, 30, 3)])
def test_gap_recomputed_from_the_dual_point(shape, fit_intercept):
    Z, Y = regression(*shape, offset=0.5)
    omega = np.random.default_rng(1).uniform(0.5, 2.0, shape[0])
    fit = solve(Z, Y, 1.5, omega=omega, fit_intercept=fit_intercept)
    value = primal(Z, Y, fit.W, fit.b, 1.5, omega)
    assert fit.objective == pytest.approx(value, rel=1e-10)
    assert np.all(row_norms(fit.Theta) <= omega * (1 + 1e-12))
    assert np.all(row_norms(Z.T @ fit.Theta) <= 1.5 * (1 + 1e-9))
    if fit_intercept:
        np.testing.assert_allclose(fit.Theta.sum(axis=0), 0.0, atol=1e-9)
    else:
        np.testing.assert_array_equal(fit.b, 0.0)
    assert fit.gap == pytest.approx(value - np.vdot(Y, fit.Theta), abs=1e-8)
    assert fit.converged
    assert -1e-9 <= fit.gap <= 1e-8 * value


def test_optimality_conditions():
    Z, Y = regression(25, 10, 2, noise=1.0)
    fit = solve(Z, Y, 6.0, tol=1e-11)
    active = fit.W.any(axis=1)
    assert 0 < active.sum() < 10
    residual = Y - Z @ fit.W - fit.b
    norms = row_norms(residual)
    off = norms > 1e-4  # a sample that is fitted may have any theta_i in the ball
    np.testing.assert_allclose(fit.Theta[off], residual[off] / norms[off, None], atol=1e-3)
    directions = fit.W[active] / row_norms(fit.W[active])[:, None]
    np.testing.assert_allclose(Z[:, active].T @ fit.Theta, 6.0 * directions, atol=1e-3)
    assert np.all(row_norms(Z[:, ~active].T @ fit.Theta) <= 6.0 * (1 + 1e-9))


def test_a_finished_state_is_resumed_at_once():
    Z, Y = regression(25, 10, 2)
    first = solve(Z, Y, 2.0)
    again = solve(Z, Y, 2.0, state=first.state)
    assert again.n_iter < first.n_iter
    assert again.objective == pytest.approx(first.objective, rel=2e-8)


def test_a_feasible_point_is_the_longest_feasible_multiple():
    rng = np.random.default_rng(0)
    Theta, Z, omega = rng.standard_normal((8, 2)), rng.standard_normal((8, 5)), np.full(8, 0.5)
    scores = row_norms(Z.T @ Theta)
    feasible = feasible_dual(Theta, scores, omega, 0.7)
    limits = [(row_norms(feasible) / omega).max(), (row_norms(Z.T @ feasible) / 0.7).max()]
    assert max(limits) == pytest.approx(1.0)
    short = feasible_dual(1e-3 * Theta, 1e-3 * scores, omega, 0.7)
    np.testing.assert_array_equal(short, 1e-3 * Theta)


def test_columns_are_centred_only_with_an_intercept():
    A = np.array([[1.0, 2.0], [3.0, 6.0]])
    assert centred(A, False) is A
    np.testing.assert_array_equal(centred(A, True), [[-1.0, -2.0], [1.0, 2.0]])
    assert first_step(A[:1]) == pytest.approx(1 / np.sqrt(5))
    assert first_step(np.zeros((3, 2))) == 1.0
