"""One target as a linear programme, against quantiles, scikit-learn and the splitting."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import QuantileRegressor

from rowsparse.solvers.blocks.admm import admm_l21
from rowsparse.solvers.blocks.lp import lp_l21

from ..cases import primal, regression


def solve(Z, Y, gamma, omega=None, fit_intercept=True):
    omega = np.ones(len(Y)) if omega is None else omega
    return lp_l21(Z, Y, gamma, omega=omega, fit_intercept=fit_intercept, tol=1e-8)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("gamma", [0.0, 2.0])
def test_equals_median_regression(gamma, fit_intercept):
    Z, Y = regression(21, 4, 1, noise=1.0)
    fit = solve(Z, Y, gamma, fit_intercept=fit_intercept)
    # Its loss is half of ours, and a mean.
    theirs = QuantileRegressor(alpha=gamma / 42, fit_intercept=fit_intercept).fit(Z, Y[:, 0])
    W = theirs.coef_[:, None]
    assert fit.objective == pytest.approx(primal(Z, Y, W, theirs.intercept_, gamma), rel=1e-7)
    assert fit.objective == pytest.approx(primal(Z, Y, fit.W, fit.b, gamma))
    assert fit.converged
    assert abs(fit.gap) <= 1e-8 * fit.objective


def test_without_columns_the_intercept_is_a_weighted_median():
    y = np.array([[0.0], [1.0], [5.0], [7.0]])
    fit = solve(np.zeros((4, 0)), y, 0.0, omega=np.array([1.0, 4.0, 1.0, 1.0]))
    assert fit.b[0] == pytest.approx(1.0)
    assert fit.objective == pytest.approx(1 + 4 + 6)


def test_agrees_with_the_splitting():
    Z, Y = regression(30, 8, 1, noise=1.0)
    options = {"omega": np.ones(30), "fit_intercept": True, "tol": 1e-5, "max_iter": 20000}
    assert admm_l21(Z, Y, 3.0, **options).objective == pytest.approx(
        solve(Z, Y, 3.0).objective, rel=1e-4
    )


@pytest.mark.parametrize("unit", [2.0**-200, 2.0**200])
def test_the_units_of_the_target_do_not_matter(unit):
    Z, Y = regression(20, 3, 1)
    np.testing.assert_allclose(solve(Z, Y * unit, 1.0).W / unit, solve(Z, Y, 1.0).W, atol=1e-7)
