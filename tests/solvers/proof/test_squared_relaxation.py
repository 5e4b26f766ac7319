"""The relaxation of the squared loss: derivatives and its two solutions."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from rowsparse.solvers.proof.relaxation import largest
from rowsparse.solvers.proof.squared_relaxation import SquaredRelaxation

from .problems import value_of


def test_slopes_at_zero_are_those_of_the_best_way_there():
    rng = np.random.default_rng(5)
    X, Y = rng.standard_normal((20, 7)), rng.standard_normal((20, 2))
    relaxation = SquaredRelaxation(X.T @ X, X.T @ Y, np.vdot(Y, Y), 4, 4.0, n_fixed=1)
    s = np.array([1.0, 0.6, 0.7, 0.5, 0.4, 0.8, 0.0])
    slope = relaxation.slopes_at_zero(relaxation.evaluate(s))
    free = np.arange(1, 6)
    hessian = np.empty((5, 5))  # by differences of the gradient, -q
    for column, j in enumerate(free):
        step = np.zeros(7)
        step[j] = 1e-5
        change = relaxation.evaluate(s + step).q - relaxation.evaluate(s - step).q
        hessian[:, column] = -change[free] / 2e-5
    for at, j in enumerate(free):
        # Minimise d'Hd / 2 with d_j = -s_j and sum d = 0; the multiplier of d_j is the slope.
        rules = np.vstack([np.eye(5)[at], np.ones(5)])
        system = np.block([[hessian, rules.T], [rules, np.zeros((2, 2))]])
        solved = np.linalg.solve(system, np.concatenate([np.zeros(5), [-s[j], 0.0]]))
        assert slope[j] == pytest.approx(solved[5], rel=1e-3)
    assert slope[0] == slope[6] == 0.0
    alone = relaxation.slopes_at_zero(relaxation.evaluate(np.array([1.0, 1, 0.5, 0, 0, 0, 0])))
    assert not alone.any()


def test_relaxation_gradient_and_hessian_agree_with_differences():
    rng = np.random.default_rng(3)
    X, Y = rng.standard_normal((20, 6)), rng.standard_normal((20, 2))
    relaxation = SquaredRelaxation(X.T @ X, X.T @ Y, np.vdot(Y, Y), 3, 4.0)
    s = np.full(6, 0.5)
    point = relaxation.evaluate(s)
    for j in range(6):
        step = np.zeros(6)
        step[j] = 1e-6
        slope = (relaxation.evaluate(s + step).phi - relaxation.evaluate(s - step).phi) / 2e-6
        assert slope == pytest.approx(-point.q[j], rel=1e-5)
    # The Newton direction solves H d = q - level: check H d by differences of q.
    direction = relaxation._newton_direction(point)
    change = (
        relaxation.evaluate(s + 1e-6 * direction).q - relaxation.evaluate(s - 1e-6 * direction).q
    ) / 2e-6
    np.testing.assert_allclose(np.ptp(change + point.q), 0, atol=1e-4 * np.abs(point.q).max())


@pytest.mark.parametrize("n_fixed", [0, 2])
@pytest.mark.parametrize("ridge", [1e-4, 1e-1, 10.0])
def test_the_barrier_method_has_the_same_minimum(ridge, n_fixed):
    rng = np.random.default_rng(7)
    X, Y = rng.standard_normal((40, 12)), rng.standard_normal((40, 2))
    X[:, 1] = X[:, 0] + 1e-2 * X[:, 1]
    relaxation = SquaredRelaxation(X.T @ X, X.T @ Y, np.vdot(Y, Y), 5, ridge, n_fixed=n_fixed)
    start = relaxation.project(np.full(12, 0.4))
    total = np.vdot(Y, Y)
    inside, bound = relaxation.solve_by_barrier(start, tol=1e-6 * total)
    outside, other = relaxation.solve(start, tol=1e-6 * total)
    assert inside.phi - bound <= 1e-6 * total
    assert bound == pytest.approx(other, abs=3e-6 * total)
    assert inside.s.sum() == pytest.approx(5)
    assert np.all((inside.s >= 0) & (inside.s <= 1))
    assert np.all(inside.s[:n_fixed] == 1)
    assert outside.phi >= bound - 1e-9 * total


def test_the_relaxation_is_between_its_bound_and_every_choice():
    rng = np.random.default_rng(4)
    X, Y = rng.standard_normal((25, 7)), rng.standard_normal((25, 2))
    total = np.vdot(Y, Y)
    relaxation = SquaredRelaxation(X.T @ X, X.T @ Y, total, 3, 2.0)
    point, bound = relaxation.solve(relaxation.project(np.full(7, 3 / 7)), tol=1e-8 * total)
    values = [value_of(X, Y, S, 2.0) for S in combinations(range(7), 3)]
    assert bound <= point.phi <= bound + 1e-8 * total
    assert bound <= min(values)
    # At a choice, the relaxation is that choice's objective.
    S = np.array([1.0, 0, 0, 1, 0, 1, 0])
    assert relaxation.evaluate(S).phi == pytest.approx(value_of(X, Y, [0, 3, 5], 2.0))
    assert sorted(largest(point.q, 3)) == sorted(point.q)[-3:]
