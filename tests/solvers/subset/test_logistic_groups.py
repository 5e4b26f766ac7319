"""Whole groups of features with the logistic loss, against enumeration of all choices."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from rowsparse._deadline import Deadline
from rowsparse.design import make_design
from rowsparse.solvers.losses.logistic import LogisticLoss
from rowsparse.solvers.subset.local_search import LocalOptimum
from rowsparse.solvers.subset.logistic import solve_logistic_path
from rowsparse.solvers.subset.logistic_descent import LogisticProblem
from rowsparse.solvers.subset.logistic_groups import LogisticGroupSearch

from .problems import (
    GROUPS,
    logistic_loss,
    logistic_objective,
    logistic_rules,
    searched_logistic,
)


def features_of(groups):
    return np.concatenate([GROUPS[g] for g in groups])


def best_of_all(loss, k, ridge, fixed=(), barred=()):
    free = [g for g in range(len(GROUPS)) if g not in fixed and g not in barred]
    return min(
        logistic_objective(loss, features_of([*fixed, *chosen]), ridge)
        for chosen in combinations(free, k - len(fixed))
    )


def local_search(loss, k, ridge=1.0):
    problem = LogisticProblem.of(loss, ridge)
    return LogisticGroupSearch(problem, logistic_rules(problem, k), GROUPS)


@pytest.mark.parametrize("c", [1, 3])
@pytest.mark.parametrize("ridge", [0.05, 2.0])
def test_reaches_the_optimum_of_all_choices_of_groups(c, ridge):
    loss = logistic_loss(1, d=12, c=c, weighted=True)
    for k in (1, 2, 4):
        result = searched_logistic(loss, k, ridge=ridge, groups=GROUPS, n_restarts=6)
        assert result.objective == pytest.approx(best_of_all(loss, k, ridge), rel=1e-8)
        assert any(
            set(features_of(chosen)) == set(result.support.tolist())
            for chosen in combinations(range(len(GROUPS)), k)
        )


def test_included_and_excluded_features_stand_for_their_groups():
    loss = logistic_loss(2, d=12)
    result = searched_logistic(loss, 3, include=[7], exclude=[0], groups=GROUPS, n_restarts=6)
    assert {2, 7, 11} <= set(result.support.tolist())
    assert not np.isin(result.support, [0, 5]).any()
    least = best_of_all(loss, 3, 1.0, fixed=[2], barred=[0])
    assert result.objective == pytest.approx(least, rel=1e-8)


def test_groups_of_one_feature_are_features():
    loss = logistic_loss(3, d=8)
    single = [np.array([j]) for j in range(7)]
    one = searched_logistic(loss, 3, groups=single)
    two = searched_logistic(loss, 3, exclude=[7])
    np.testing.assert_array_equal(one.support, two.support)
    assert one.objective == two.objective


def test_the_columns_of_a_category_depend_on_each_other():
    rng = np.random.default_rng(0)
    category = rng.integers(0, 3, 60)
    X = np.column_stack([np.eye(3)[category], rng.standard_normal((60, 3))])
    design = make_design(X, center=True, scale=True)[0]
    Y = ((category == 1) ^ (rng.uniform(size=60) < 0.2)).astype(float)[:, None]
    loss = LogisticLoss(design, Y, np.ones(60), True)
    groups = [np.array([0, 1, 2]), np.array([3]), np.array([4]), np.array([5])]
    for ridge in (0.0, 1.0):
        result = searched_logistic(loss, 1, ridge=ridge, groups=groups)
        assert result.support.tolist() == [0, 1, 2]


def test_gains_are_those_of_the_second_order_model():
    loss = logistic_loss(4, d=12, c=2, weighted=True)
    search = local_search(loss, 3)
    choice = search._fitted((1, 3))
    gains = search._gains(choice)
    assert np.all(gains[[1, 3]] == -np.inf)
    for g in (0, 2, 4, 5, 6):
        larger = features_of([1, 3, g])
        Z = loss.design.double_columns(larger)
        W = np.vstack([choice.fit.W, np.zeros((GROUPS[g].size, 2))])
        expected = quadratic_gain(loss, Z, W, choice.fit, 1.0)
        assert gains[g] == pytest.approx(expected, rel=1e-6)


def quadratic_gain(loss, Z, W, fit, ridge):
    """What a Newton step from W takes off the second-order model."""
    total = 0.0
    design = np.column_stack([Z, np.ones(len(Z))])
    H, slope = loss.curvature(fit.P), loss.gradient(fit.P)
    for c in range(H.shape[1]):
        weights = np.append(np.full(Z.shape[1], ridge), 0.0)
        A = (design.T * H[:, c]) @ design + np.diag(weights)
        b = design.T @ slope[:, c] + weights * np.append(W[:, c], 0.0)
        total += 0.5 * b @ np.linalg.solve(A, b)
    return total


def test_shrinking_removes_the_group_that_costs_least():
    loss = logistic_loss(5, d=12)
    search = local_search(loss, 4)
    units = (0, 2, 3, 5)
    optimum = search.shrink(units)
    fewer = [[g for g in units if g != out] for out in units]
    least = min(logistic_objective(loss, features_of(some), 1.0) for some in fewer)
    assert len(optimum.units) == 3
    assert optimum.objective <= least * (1 + 1e-9)


def test_confirmed_choices_have_no_better_exchange():
    loss = logistic_loss(6, d=12, c=2)
    optimum, settled = local_search(loss, 3).confirmed(LocalOptimum(np.inf, (1, 4, 6)))
    assert settled
    reached = logistic_objective(loss, features_of(optimum.units), 1.0)
    for out in optimum.units:
        for into in set(range(7)) - set(optimum.units):
            others = [g for g in optimum.units if g != out]
            assert logistic_objective(loss, features_of([*others, into]), 1.0) > reached - 1e-6


def test_paths_over_groups_never_rise_and_reach_the_optima():
    loss = logistic_loss(7, d=12)
    points = solve_logistic_path(
        loss, 4, ridge=1.0, include=[3], exclude=(), groups=GROUPS, n_restarts=2, seed=0
    )
    assert [point.k for point in points] == [1, 2, 3, 4]
    assert np.all(np.diff([point.objective for point in points]) <= 0)
    for point in points:
        assert {3, 4} <= set(point.support.tolist())
        least = best_of_all(loss, point.k, 1.0, fixed=[3])
        assert point.objective == pytest.approx(least, rel=1e-6)


def test_an_expired_deadline_still_gives_k_groups():
    loss = logistic_loss(8, d=12)
    result = searched_logistic(loss, 3, groups=GROUPS, deadline=Deadline(0.0))
    assert any(
        set(features_of(chosen)) == set(result.support.tolist())
        for chosen in combinations(range(len(GROUPS)), 3)
    )
    assert result.stopped_early
