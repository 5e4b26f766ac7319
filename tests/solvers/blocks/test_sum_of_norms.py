"""The primal-dual Newton method for small sums of norms."""

from __future__ import annotations

import numpy as np
import pytest

from rowsparse import TopK
from rowsparse.rows import row_norms
from rowsparse.solvers.blocks.admm import admm_l21
from rowsparse.solvers.blocks.fit import JointProblem
from rowsparse.solvers.blocks.sum_of_norms import newton_l21

OUTLIER = 1e8


def data(seed: int, outlier: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((15, 4))
    Y = Z @ rng.standard_normal((4, 3)) + rng.standard_normal((15, 3))
    Z[0] *= outlier
    return Z, Y


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("gamma", [0.1, 2.0])
@pytest.mark.parametrize("seed", range(3))
def test_newton_steps_reach_the_minimum_of_the_splitting(seed, gamma, fit_intercept):
    Z, Y = data(seed)
    omega = np.random.default_rng(seed).uniform(0.5, 2.0, 15)
    problem = JointProblem(Z, Y, gamma, omega, fit_intercept, 1e-8)
    newton, splitting = newton_l21(problem), admm_l21(problem, max_iter=20000)
    assert newton.converged
    assert newton.objective == pytest.approx(splitting.objective, rel=2e-8)
    residual = Y - Z @ newton.W - newton.b
    value = omega @ row_norms(residual) + gamma * row_norms(newton.W).sum()
    assert newton.objective == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_a_sample_far_off_costs_newton_steps_no_iterations(seed):
    Z, Y = data(seed, OUTLIER)
    Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
    problem = JointProblem(Z, Y, 1.0, np.ones(15), True, 1e-8)
    newton = newton_l21(problem)
    assert newton.converged
    assert newton.n_iter <= 40
    assert newton.objective <= admm_l21(problem, max_iter=500).objective


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("labels", [False, pytest.param(True, marks=pytest.mark.long)])
def test_topk_certifies_its_robust_fit_with_a_sample_far_off(labels):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((15, 25))
    y = rng.integers(0, 3, 15) if labels else X[:, :3] @ rng.standard_normal((3, 3))
    X[4] *= OUTLIER
    selector = TopK(3, loss="l21", gamma=1.0, random_state=0).fit(X, y)
    assert selector.converged_
    assert selector.refit_gap_ <= 1e-8


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_topk_sees_past_a_sample_far_off_in_columns_as_they_are():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((15, 40))
    Y = X[:, :3] @ rng.standard_normal((3, 3))
    X[0] *= OUTLIER
    selector = TopK(
        5, loss="l21", gamma=0.1, standardize=False, fit_intercept=False, random_state=0
    ).fit(X, Y)
    assert set(np.flatnonzero(selector.support_)) >= {0, 1, 2}
    # A splitting ends where nothing but that sample is fitted. How far a fit gets beyond that
    # depends on rounding, and so on the processor.
    assert selector.objective_ < 0.5 * row_norms(Y).sum()
