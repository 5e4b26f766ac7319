"""Steps of the logistic search: each lowers the objective, and confirmed ends are optimal."""

from __future__ import annotations

import numpy as np
import pytest

from rowsparse.solvers.subset.logistic_descent import LogisticDescent, LogisticProblem
from rowsparse.solvers.subset.newton import ColumnPool

from .problems import logistic_loss, logistic_objective, logistic_rules


def descent(seed, support, *, k=3, pool=None, ridge=1.0, n_fixed=0, **options):
    loss = logistic_loss(seed, **options)
    problem = LogisticProblem.of(loss, ridge)
    rules = logistic_rules(problem, k, include=support[:n_fixed])
    columns = np.arange(loss.design.shape[1]) if pool is None else np.array(pool)
    start = np.array(support, dtype=np.intp)
    return LogisticDescent(problem, rules, ColumnPool(loss.design, columns), start, n_fixed), loss


def neighbours(loss, S, ridge, fixed=()):
    d = loss.design.shape[1]
    return [
        logistic_objective(loss, [*np.setdiff1d(S, [i]), j], ridge)
        for i in S
        if i not in fixed
        for j in range(d)
        if j not in S
    ]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("ridge", [0.05, 3.0])
def test_a_confirmed_support_has_no_better_neighbour(seed, ridge):
    at, loss = descent(seed, [7, 8, 9], ridge=ridge, c=2)
    before = at.objective
    while at.confirm():
        assert at.objective < before
        before = at.objective
        at.exchange()
    assert at.objective == pytest.approx(logistic_objective(loss, at.features, ridge), rel=1e-9)
    assert at.objective <= min(neighbours(loss, at.features.tolist(), ridge)) + 1e-8


def test_fixed_features_stay_and_others_are_still_optimal():
    at, loss = descent(0, [9, 8, 7], n_fixed=1)
    while at.confirm():
        at.exchange()
    assert at.features[0] == 9
    assert at.objective <= min(neighbours(loss, at.features.tolist(), 1.0, fixed=(9,))) + 1e-8


def test_an_addition_is_the_best_one_and_a_removal_goes_back():
    at, loss = descent(1, [2])
    allowed = np.ones(10, dtype=bool)
    assert at.add(allowed)
    best = min(logistic_objective(loss, [2, j], 1.0) for j in range(10) if j != 2)
    assert at.objective == pytest.approx(best, rel=1e-9)
    at.remove()
    least = min(logistic_objective(loss, [j], 1.0) for j in (2, *at.features))
    assert at.objective == pytest.approx(least, rel=1e-9)


def test_a_narrow_pool_is_widened_until_no_column_of_the_design_gains():
    at, loss = descent(2, [7, 8, 9], pool=[7, 8, 9], c=2)
    assert not at.complete
    while at.confirm():
        at.exchange()
    assert at.objective <= min(neighbours(loss, at.features.tolist(), 1.0)) + 1e-8
    other, _ = descent(2, [7], pool=[7], c=2)
    other.widen_for_growth()
    assert other.pool.size > 1


def test_growth_estimates_are_the_newton_gains_on_standardised_columns_without_features():
    loss = logistic_loss(3, c=2)
    problem = LogisticProblem.of(loss, 0.5)
    fit = problem.fit(np.empty((30, 0)))
    X = loss.design.double_columns(np.arange(10))
    h = loss.curvature(fit.P)
    gains = (X.T @ loss.gradient(fit.P)) ** 2 / ((X**2).T @ h + 0.5) / 2
    np.testing.assert_allclose(problem.growth_estimates(fit), gains.sum(axis=1), rtol=1e-10)
    assert fit.objective == pytest.approx(problem.total)


def test_a_large_support_grows_by_blocks_that_each_gain():
    growing, loss = descent(5, list(range(16)), k=24, n=60, d=30, c=2)
    sizes, objectives = [16], [growing.objective]
    allowed = np.ones(30, dtype=bool)
    while growing.features.size < 24 and growing.add_block(allowed, 24 - sizes[-1]):
        sizes.append(growing.features.size)
        objectives.append(growing.objective)
    assert sizes == [16, 18, 20, 22, 24]
    assert np.all(np.diff(objectives) < 0)
    exact = logistic_objective(loss, growing.features, 1.0)
    assert growing.objective == pytest.approx(exact, rel=1e-4)
