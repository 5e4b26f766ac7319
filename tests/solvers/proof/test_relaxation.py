"""The relaxed choices: their set, the derivatives of both relaxations, and their solutions."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rowsparse.solvers.proof import relaxation as module
from rowsparse.solvers.proof.relaxation import (
    ColumnRelaxation,
    GramRelaxation,
    project_capped_simplex,
)

from .problems import logistic_loss, logistic_oracle, random_labels, value_of


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_capped_simplex_projection_satisfies_its_optimality_condition(seed):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(1, 12))
    k = int(rng.integers(0, m + 1))
    v = rng.standard_normal(m) * 10.0 ** rng.uniform(-2, 2)
    s = project_capped_simplex(v, k)
    assert s.sum() == pytest.approx(k, abs=1e-9)
    assert np.all((s >= 0) & (s <= 1))
    # v - s is constant inside, at most that at 0 and at least that at 1.
    shift = v - s
    inside = (s > 1e-9) & (s < 1 - 1e-9)
    low = shift[s <= 1e-9].max(initial=-np.inf)
    high = shift[s >= 1 - 1e-9].min(initial=np.inf)
    assert low <= high + 1e-9
    if inside.any():
        assert np.ptp(shift[inside]) <= 1e-9 * max(1.0, np.abs(v).max())
        assert low - 1e-9 <= shift[inside].mean() <= high + 1e-9


def test_splits_are_the_steepest_ways_to_zero_one_after_the_other():
    rng = np.random.default_rng(5)
    X, Y = rng.standard_normal((20, 7)), rng.standard_normal((20, 2))
    relaxation = GramRelaxation(X.T @ X, X.T @ Y, np.vdot(Y, Y), 4, 4.0, n_fixed=1)
    s = np.array([1.0, 0.6, 0.7, 0.5, 0.4, 0.8, 0.0])
    point, free = relaxation.evaluate(s), np.arange(1, 6)
    hessian = np.empty((5, 5))  # by differences of the gradient, -q
    for column, j in enumerate(free):
        step = np.zeros(7)
        step[j] = 1e-5
        change = relaxation.evaluate(s + step).q - relaxation.evaluate(s - step).q
        hessian[:, column] = -change[free] / 2e-5

    def steepest(ruled_out):
        """Slopes where a further entry is 0, by minimising d'Hd / 2 with sum d = 0; the rise."""
        slopes = np.full(5, -np.inf)
        rises = np.zeros(5)
        for j in set(range(5)) - set(ruled_out):
            zeros = [*ruled_out, j]
            rules = np.vstack([np.eye(5)[zeros], np.ones(5)])
            size = len(rules)
            system = np.block([[hessian, rules.T], [rules, np.zeros((size, size))]])
            solved = np.linalg.solve(system, np.concatenate([np.zeros(5), -s[free][zeros], [0.0]]))
            slopes[j], rises[j] = (
                solved[5 + len(zeros) - 1],
                0.5 * solved[:5] @ hessian @ solved[:5],
            )
        return int(slopes.argmax()), rises

    expected, rise = [], [0.0]
    for _ in range(3):
        j, rises = steepest(expected)
        expected.append(j)
        rise.append(rises[j])
    splits = relaxation.splits(point, np.inf, 3)
    assert splits.units.tolist() == free[expected].tolist()
    # What is expected of s: by the same derivatives, with sum k and zeros where it is ruled out.
    for at in range(4):
        zeros = expected[:at]
        ones = expected[at : at + 1]  # none at the end, where all three are ruled out
        rules = np.vstack([np.eye(5)[[*zeros, *ones]], np.ones(5)])
        system = np.block([[hessian, rules.T], [rules, np.zeros((len(rules), len(rules)))]])
        change = np.concatenate([-s[free][zeros], 1.0 - s[free][ones], [0.0]])
        there = s[free] + np.linalg.solve(system, np.concatenate([np.zeros(5), change]))[:5]
        predicted = splits.rest if at == 3 else splits.inside[at]
        np.testing.assert_allclose(predicted[free], there, atol=1e-4)
        assert predicted[[0, 6]].tolist() == [1.0, 0.0]
    for size in (1, 2, 3):
        between = 0.5 * (rise[size - 1] + rise[size])
        units = relaxation.splits(point, between, 9).units
        assert units.tolist() == free[expected[:size]].tolist()
    alone = relaxation.evaluate(np.array([1.0, 1, 0.5, 0, 0, 0, 0]))
    assert relaxation.splits(alone, np.inf, 9).units.size == 0


@pytest.mark.parametrize("n_fixed", [0, 2])
@pytest.mark.parametrize("ridge", [1e-4, 1e-1, 10.0])
def test_the_barrier_method_has_the_same_minimum(ridge, n_fixed):
    rng = np.random.default_rng(7)
    X, Y = rng.standard_normal((40, 12)), rng.standard_normal((40, 2))
    X[:, 1] = X[:, 0] + 1e-2 * X[:, 1]
    relaxation = GramRelaxation(X.T @ X, X.T @ Y, np.vdot(Y, Y), 5, ridge, n_fixed=n_fixed)
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


def relaxed(loss, k, n_fixed=0, *, fit_intercept=True, ridge=3.0, owner=None, d=6):
    """A relaxation for one of the losses, and the objective of a choice of columns."""
    rng = np.random.default_rng(4)
    X = rng.standard_normal((30, d))
    Y, omega = random_labels(rng, 30, 2)
    if loss == "squared":
        products = X.T @ X, X.T @ Y, float(np.vdot(Y, Y))
        return GramRelaxation(*products, k, ridge, n_fixed, owner), lambda S: value_of(
            X, Y, S, ridge
        )
    oracle = logistic_oracle(X, Y, k, ridge, omega, fit_intercept)
    columns = logistic_loss(X, Y, omega, fit_intercept)
    return ColumnRelaxation(columns, X, ridge, k, n_fixed, owner), oracle.objective


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("owner", [None, np.array([0, 0, 0, 1, 2, 2, 3, 4, 5])])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_derivatives_are_those_of_differences(monkeypatch, loss, owner, fit_intercept):
    monkeypatch.setattr(module, "_FIT_TOL", 1e-12)
    d = 6 if owner is None else owner.size
    relaxation, _ = relaxed(loss, 3, fit_intercept=fit_intercept, owner=owner, d=d)
    s = np.array([0.5, 0.2, 0.9, 0.4, 0.0, 1.0])
    point = relaxation.evaluate(s)
    for free in (np.arange(4), np.array([0, 2])):
        hessian = relaxation.hessian(point, free)
        for column, j in enumerate(free):
            step = np.zeros(6)
            step[j] = 1e-5
            above, below = relaxation.evaluate(s + step), relaxation.evaluate(s - step)
            assert (above.phi - below.phi) / 2e-5 == pytest.approx(-point.q[j], rel=1e-5)
            change = -(above.q - below.q)[free] / 2e-5
            np.testing.assert_allclose(hessian[:, column], change, rtol=1e-4, atol=1e-7)
    assert relaxation._curvature(point) >= np.diag(relaxation.hessian(point, np.arange(4))).max()


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("n_fixed", [0, 1])
def test_both_solutions_are_below_every_choice(loss, n_fixed):
    relaxation, objective = relaxed(loss, 3, n_fixed)
    tol = 1e-7 * relaxation.total
    start = relaxation.project(np.full(6, 0.5))
    point, bound = relaxation.solve(start, tol=tol)
    assert bound <= point.phi <= bound + tol
    _, other = relaxation.solve_by_barrier(start, tol=tol)
    assert other == pytest.approx(bound, abs=3 * tol)
    assert bound <= min(
        objective(S) for S in combinations(range(6), 3) if set(range(n_fixed)) <= {*S}
    )
    # At a choice, the relaxation is that choice's objective.
    at = relaxation.evaluate(np.array([1.0, 0, 0, 1, 0, 1]), point)
    assert at.phi == pytest.approx(float(objective([0, 3, 5])), rel=1e-9)
