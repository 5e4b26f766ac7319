"""The convex problems: certified by their dual points, equal to peers, and resumed."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import MultiTaskLasso, QuantileRegressor

from rowsparse.rows import row_norms
from rowsparse.solvers.convex import refit
from rowsparse.solvers.convex.admm import admm_l21
from rowsparse.solvers.convex.fit import JointProblem
from rowsparse.solvers.convex.lasso import admm_lasso, best_multiple
from rowsparse.solvers.convex.refit import lp_l21, newton_l21, refit_l21

from .cases import norm21, primal, regression

splitting = partial(admm_l21, max_iter=20000)


def joint(Z, Y, gamma, *, omega=None, fit_intercept=True, tol=1e-8):
    omega = np.ones(len(Y)) if omega is None else omega
    return JointProblem(Z, Y, gamma, omega, fit_intercept, tol)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("gamma", [0.0, 0.1, 1.5])
@pytest.mark.parametrize("c", [1, 2])
def test_every_solver_is_certified_by_its_dual_point_and_equals_a_general_minimiser(
    c, gamma, fit_intercept
):
    Z, Y = regression(12, 3, c, noise=1.0, offset=0.5)
    omega = np.random.default_rng(1).uniform(0.5, 2.0, 12)
    problem = joint(Z, Y, gamma, omega=omega, fit_intercept=fit_intercept)
    solvers = [refit_l21] + [splitting, newton_l21] * (gamma > 0) + [lp_l21] * (c == 1)

    def value(v):
        return primal(Z, Y, v[: 3 * c].reshape(3, c), fit_intercept * v[3 * c :], gamma, omega)

    for solve in solvers:
        fit = solve(problem)
        found = primal(Z, Y, fit.W, fit.b, gamma, omega)
        assert fit.objective == pytest.approx(found, rel=1e-10)
        assert np.all(row_norms(fit.Theta) <= omega * (1 + 1e-9))
        assert np.all(row_norms(Z.T @ fit.Theta) <= gamma + 1e-8)
        if fit_intercept:
            np.testing.assert_allclose(fit.Theta.sum(axis=0), 0.0, atol=1e-9)
        else:
            np.testing.assert_array_equal(fit.b, 0.0)
        assert fit.gap == pytest.approx(found - np.vdot(Y, fit.Theta), abs=1e-8)
        assert fit.converged
        assert -1e-9 <= fit.gap <= 1e-8 * found
        start = np.concatenate([fit.W.ravel(), fit.b])
        best = minimize(value, start, method="Powell", options={"xtol": 1e-10, "ftol": 1e-14}).fun
        assert fit.objective <= best * (1 + 2e-8)


def test_more_columns_than_samples_are_certified():
    Z, Y = regression(12, 30, 3, offset=0.5)
    problem = joint(Z, Y, 1.5)
    fit = splitting(problem)
    assert np.all(row_norms(Z.T @ fit.Theta) <= 1.5 * (1 + 1e-9))
    assert fit.objective - np.vdot(Y, fit.Theta) <= 1e-8 * fit.objective
    assert newton_l21(problem).objective == pytest.approx(fit.objective, rel=2e-8)


def test_an_iteration_resumes_where_it_ended_and_on_fewer_columns():
    Z, Y = regression(25, 10, 2)
    problem = joint(Z, Y, 6.0)
    whole = splitting(problem)
    again = splitting(problem, state=whole.state)
    assert again.n_iter < whole.n_iter
    assert again.objective == pytest.approx(whole.objective, rel=2e-8)
    keep = whole.W.any(axis=1)
    assert 0 < keep.sum() < 10
    state = whole.state.moved_to(keep, np.zeros((0, 2)))
    part = splitting(replace(problem, Z=Z[:, keep]), state=state)
    assert part.n_iter < whole.n_iter
    np.testing.assert_allclose(part.W, whole.W[keep], atol=1e-3)


# ---------------------------------------------------------------------------------------- lasso
@pytest.mark.parametrize("shape", [(30, 60, 3), (200, 20, 4), (25, 100, 2)])
@pytest.mark.parametrize("share", [0.5, 0.1])
def test_the_lasso_is_scikit_learns_and_its_gap_is_a_true_one(shape, share):
    Z, Y = regression(*shape)
    penalty = share * row_norms(Z.T @ Y).max()
    fit = admm_lasso(Z, Y, penalty, tol=1e-10, state=None)
    theirs = MultiTaskLasso(
        alpha=penalty / shape[0], fit_intercept=False, tol=1e-10, max_iter=100000
    ).fit(Z, Y)
    np.testing.assert_allclose(fit.W, theirs.coef_.T, atol=2e-5)
    assert row_norms(Z.T @ fit.Theta).max() <= penalty * (1 + 1e-12)
    value = 0.5 * np.linalg.norm(Y - Z @ fit.W) ** 2 + penalty * norm21(fit.W)
    assert fit.objective == pytest.approx(value, rel=1e-9)
    gap = value - (np.vdot(Y, fit.Theta) - 0.5 * np.linalg.norm(fit.Theta) ** 2)
    assert fit.gap == pytest.approx(gap, abs=1e-8 * value)
    assert -1e-9 * value <= gap <= 1e-9 * value
    assert fit.converged
    again = admm_lasso(Z, Y, penalty, tol=1e-10, state=fit.state)
    assert again.n_iter < fit.n_iter


def test_best_multiple_is_the_best_of_all_feasible_ones():
    rng = np.random.default_rng(1)
    for _ in range(50):
        T, Y = rng.standard_normal((2, 5, 2))
        square, cross, largest, penalty = *(np.vdot(A, T) for A in (T, Y)), *rng.uniform(0.1, 3, 2)
        multiple, value = best_multiple(square, cross, largest, penalty)
        assert abs(multiple) * largest <= penalty * (1 + 1e-12)
        t = np.linspace(-1, 1, 4001) * penalty / largest
        assert value >= (t * cross - 0.5 * t**2 * square).max() - 1e-12
        assert value == pytest.approx(multiple * cross - 0.5 * multiple**2 * square)
    assert best_multiple(0.0, 0.0, 0.0, 1.0) == (0.0, 0.0)


# ----------------------------------------------------------------------------- one target
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("gamma", [0.0, 2.0])
def test_the_linear_programme_is_median_regression(gamma, fit_intercept):
    Z, Y = regression(21, 4, 1, noise=1.0)
    fit = lp_l21(joint(Z, Y, gamma, fit_intercept=fit_intercept))
    # Its loss is half of ours, and a mean.
    theirs = QuantileRegressor(alpha=gamma / 42, fit_intercept=fit_intercept).fit(Z, Y[:, 0])
    W = theirs.coef_[:, None]
    assert fit.objective == pytest.approx(primal(Z, Y, W, theirs.intercept_, gamma), rel=1e-7)
    for unit in (2.0**-200, 2.0**200):
        scaled = lp_l21(joint(Z, Y * unit, gamma, fit_intercept=fit_intercept))
        np.testing.assert_allclose(scaled.W / unit, fit.W, atol=1e-7)


def test_without_columns_the_intercept_is_a_weighted_median():
    y = np.array([[0.0], [1.0], [5.0], [7.0]])
    fit = lp_l21(joint(np.zeros((4, 0)), y, 0.0, omega=np.array([1.0, 4.0, 1.0, 1.0])))
    assert fit.b[0] == pytest.approx(1.0)
    assert fit.objective == pytest.approx(1 + 4 + 6)


# ------------------------------------------------------------------------------------- refits
@pytest.mark.parametrize("small", [0, 300])
@pytest.mark.parametrize("gamma", [0.0, 0.5])
def test_refits_by_the_splitting_and_by_newton_steps_agree(gamma, small, monkeypatch):
    """With no patience for the splitting, small problems are solved by Newton steps."""
    Z, Y = regression(20, 4, 2, noise=1.0)
    expected = refit_l21(joint(Z, Y, gamma))
    monkeypatch.setattr(refit, "_SMALL", small)
    monkeypatch.setattr(refit, "_PATIENCE", 1)
    fit = refit_l21(joint(Z, Y, gamma))
    assert fit.objective == pytest.approx(expected.objective, rel=2e-8)
    assert fit.converged


def test_refits_on_dependent_columns_and_on_none_at_all():
    Z, Y = regression(15, 3, 2, noise=1.0)
    once, twice = (refit_l21(joint(A, Y, 0.0)) for A in (Z, np.hstack([Z, Z])))
    assert twice.objective == pytest.approx(once.objective, rel=1e-7)
    none = refit_l21(joint(Z[:, :0], Y, 0.0, fit_intercept=False))
    assert none.objective == pytest.approx(row_norms(Y).sum())
    assert none.W.shape == (0, 2)


@pytest.mark.parametrize("seed", range(3))
def test_a_sample_far_off_costs_newton_steps_no_iterations(seed):
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((15, 4))
    Y = Z @ rng.standard_normal((4, 3)) + rng.standard_normal((15, 3))
    Z[0] *= 1e8
    Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
    problem = joint(Z, Y, 1.0)
    newton = newton_l21(problem)
    assert newton.converged
    assert newton.n_iter <= 40
    assert newton.objective <= admm_l21(problem, max_iter=500).objective
