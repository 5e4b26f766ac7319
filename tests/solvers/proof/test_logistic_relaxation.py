"""The relaxation of the logistic loss: derivatives and its solutions."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from rowsparse.solvers.proof import logistic_relaxation
from rowsparse.solvers.proof.logistic_relaxation import LogisticRelaxation

from .problems import logistic_loss, logistic_oracle, random_labels


def relaxed(seed, k, n_fixed=0, *, fit_intercept=True, ridge=3.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, 6))
    Y, omega = random_labels(rng, 30, 2)
    loss = logistic_loss(X, Y, omega, fit_intercept)
    oracle = logistic_oracle(X, Y, k, ridge, omega, fit_intercept)
    return LogisticRelaxation(loss, X, ridge, k, n_fixed), oracle


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_gradient_and_hessian_agree_with_differences(monkeypatch, fit_intercept):
    monkeypatch.setattr(logistic_relaxation, "_FIT_TOL", 1e-12)
    relaxation, _ = relaxed(0, 3, fit_intercept=fit_intercept)
    s = np.array([0.5, 0.2, 0.9, 0.4, 0.0, 1.0])
    point = relaxation.evaluate(s)
    free = np.arange(4)
    hessian = relaxation.hessian(point, free)
    for j in free:
        step = np.zeros(6)
        step[j] = 1e-5
        above, below = relaxation.evaluate(s + step), relaxation.evaluate(s - step)
        assert (above.phi - below.phi) / 2e-5 == pytest.approx(-point.q[j], rel=1e-5)
        np.testing.assert_allclose(hessian[:, j], -(above.q - below.q)[free] / 2e-5, rtol=1e-4)


@pytest.mark.parametrize("n_fixed", [0, 1])
def test_both_solutions_are_below_every_choice(n_fixed):
    relaxation, oracle = relaxed(4, 3, n_fixed)
    tol = 1e-7 * relaxation.total
    start = relaxation.project(np.full(6, 0.5))
    point, bound = relaxation.solve(start, tol=tol)
    assert bound <= point.phi <= bound + tol
    _, other = relaxation.solve_by_barrier(start, tol=tol)
    assert other == pytest.approx(bound, abs=3 * tol)
    values = [oracle.objective(S) for S in combinations(range(6), 3) if set(range(n_fixed)) <= {*S}]
    assert bound <= min(values)
    # At a choice, the relaxation is that choice's objective.
    at = relaxation.evaluate(np.array([1.0, 0, 0, 1, 0, 1]), point)
    assert at.phi == pytest.approx(float(oracle.objective([0, 3, 5])), rel=1e-9)
