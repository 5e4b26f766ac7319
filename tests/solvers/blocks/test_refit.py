"""Refits on a support, with and without a penalty, by all of the ways to them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from rowsparse.rows import row_norms
from rowsparse.solvers.blocks import refit
from rowsparse.solvers.blocks.refit import refit_l21

from ..cases import primal, regression


def solve(Z, Y, gamma, omega=None, fit_intercept=True, tol=1e-8):
    omega = np.ones(len(Y)) if omega is None else omega
    return refit_l21(Z, Y, gamma, omega=omega, fit_intercept=fit_intercept, tol=tol)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("gamma", [0.0, 0.5])
@pytest.mark.parametrize("c", [1, 2])
def test_no_other_point_is_better(c, gamma, fit_intercept):
    Z, Y = regression(12, 3, c, noise=1.0, offset=0.5)
    fit = solve(Z, Y, gamma, fit_intercept=fit_intercept)

    def value(v):
        return primal(Z, Y, v[: 3 * c].reshape(3, c), fit_intercept * v[3 * c :], gamma)

    start = np.concatenate([fit.W.ravel(), fit.b])
    best = minimize(value, start, method="Powell", options={"xtol": 1e-10, "ftol": 1e-14}).fun
    assert value(start) == pytest.approx(fit.objective, rel=1e-10)
    assert fit.objective <= best * (1 + 2e-8)


@pytest.mark.parametrize("small", [0, 300])
@pytest.mark.parametrize("gamma", [0.0, 0.5])
def test_the_splitting_and_the_newton_steps_agree(gamma, small, monkeypatch):
    """With no patience for the splitting, small problems are solved by Newton steps."""
    Z, Y = regression(20, 4, 2, noise=1.0)
    expected = solve(Z, Y, gamma)
    monkeypatch.setattr(refit, "_SMALL", small)
    monkeypatch.setattr(refit, "_PATIENCE", 1)
    fit = solve(Z, Y, gamma)
    assert fit.objective == pytest.approx(expected.objective, rel=2e-8)
    assert fit.converged


def test_dependent_columns_and_none_at_all():
    Z, Y = regression(15, 3, 2, noise=1.0)
    once, twice = solve(Z, Y, 0.0), solve(np.hstack([Z, Z]), Y, 0.0)
    assert twice.objective == pytest.approx(once.objective, rel=1e-7)
    none = solve(Z[:, :0], Y, 0.0, fit_intercept=False)
    assert none.objective == pytest.approx(row_norms(Y).sum())
    assert none.W.shape == (0, 2)


@pytest.mark.parametrize("gamma", [0.0, 0.5])
def test_weights_equal_repeated_rows(gamma):
    Z, Y = regression(15, 3, 2, noise=1.0)
    times = np.random.default_rng(0).integers(1, 4, 15)
    weighted = solve(Z, Y, gamma, times.astype(float))
    repeated = solve(Z.repeat(times, axis=0), Y.repeat(times, axis=0), gamma)
    assert weighted.objective == pytest.approx(repeated.objective, rel=1e-7)
