"""Whole groups of features, against enumeration of all choices of groups."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rowsparse.solvers.subset.features import FeatureSearch
from rowsparse.solvers.subset.groups import GroupSearch, local_search

from .problems import (
    GROUPS,
    best_of_groups,
    data,
    objective_of,
    path_of,
    problem_of,
    rules_for,
    searched,
)

RIDGES = (0.0, 0.5, 20.0)


def groups_of(support):
    """The groups that make up a support, which must be whole ones."""
    inside = set(support.tolist())
    chosen = [g for g, group in enumerate(GROUPS) if set(group.tolist()) <= inside]
    assert sum(GROUPS[g].size for g in chosen) == len(inside)
    return chosen


def features_of(groups):
    return np.concatenate([GROUPS[g] for g in groups])


@pytest.mark.parametrize("ridge", RIDGES)
@pytest.mark.parametrize("dependent", [False, True])
def test_block_gains_equal_refitted_differences(ridge, dependent):
    X, Y = data(4, n=30, d=12)
    if dependent:
        X[:, 4] = X[:, 3] + X[:, 1]
    problem = problem_of(X, Y, ridge)
    search = GroupSearch(problem, rules_for(problem, 3), GROUPS)
    chosen = [1, 3, 5]
    before = objective_of(X, Y, features_of(chosen), ridge)
    gains = search._gains(chosen)
    state = search._state(chosen)
    for i, exchanged in search._exchange_gains(chosen, state):
        left = [g for g in chosen if g != chosen[i]]
        for g in set(range(7)) - set(chosen):
            added = objective_of(X, Y, features_of([*chosen, g]), ridge)
            assert gains[g] == pytest.approx(before - added, rel=1e-7, abs=1e-8)
            swapped = objective_of(X, Y, features_of([*left, g]), ridge)
            assert exchanged[g] == pytest.approx(before - swapped, rel=1e-7, abs=1e-8)


@pytest.mark.parametrize("dependent", [False, True])
def test_shrinking_removes_the_group_whose_removal_costs_least(dependent):
    X, Y = data(6, n=30, d=12)
    if dependent:
        X[:, 4] = X[:, 1]
    problem = problem_of(X, Y, 0.0 if dependent else 1.0)
    search = GroupSearch(problem, rules_for(problem, 4), GROUPS)
    units = (1, 2, 3, 5)
    optimum = search.shrink(units)
    smaller = [[g for g in units if g != out] for out in units]
    least = min(objective_of(X, Y, features_of(some), problem.ridge) for some in smaller)
    assert len(optimum.units) == 3
    assert optimum.objective <= least * (1 + 1e-9)


def test_features_or_groups_by_the_size_of_the_groups():
    X, Y = data(0)
    problem = problem_of(X, Y)
    pairs = [np.array([j, j + 1]) for j in range(0, 10, 2)]
    assert isinstance(local_search(problem, rules_for(problem, 2), pairs), GroupSearch)
    single = local_search(problem, rules_for(problem, 2), [np.array([3]), np.array([7])])
    assert isinstance(single, FeatureSearch)
    assert single.units.tolist() == [3, 7]


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(RIDGES))
def test_the_search_reaches_the_optimum_by_enumeration(seed, ridge):
    X, Y = data(seed, n=20, d=12)
    result = searched(X, Y, 3, ridge=ridge, groups=GROUPS, seed=seed)
    assert len(groups_of(result.support)) == 3
    assert result.objective == pytest.approx(best_of_groups(X, Y, GROUPS, 3, ridge), rel=1e-9)


def test_included_and_excluded_features_stand_for_their_groups():
    X, Y = data(11, n=20, d=12)
    result = searched(X, Y, 3, groups=GROUPS, include=[7], exclude=[0, 6])
    chosen = groups_of(result.support)
    assert 2 in chosen
    assert not {0, 4} & set(chosen)
    best = best_of_groups(X, Y, GROUPS, 3, fixed=(2,), barred=(0, 4))
    assert result.objective == pytest.approx(best)


def test_groups_of_one_give_what_no_groups_give():
    X, Y = data(12, n=30, d=80, c=3)
    alone = searched(X, Y, 6, ridge=0.3, seed=3)
    single = [np.array([j]) for j in range(80)]
    grouped = searched(X, Y, 6, ridge=0.3, seed=3, groups=single)
    assert grouped.support.tolist() == alone.support.tolist()
    assert grouped.objective == alone.objective
    for point, same in zip(path_of(X, Y, 5), path_of(X, Y, 5, groups=single), strict=True):
        np.testing.assert_array_equal(point.support, same.support)


def test_a_group_with_duplicates_gains_what_its_span_gains():
    X, Y = data(13)
    X[:, 9] = X[:, 0]
    groups = [np.array([0, 9]), np.array([1, 2]), np.array([3, 4]), np.array([5, 6])]
    result = searched(X, Y, 2, groups=groups)
    assert result.objective == pytest.approx(best_of_groups(X, Y, groups, 2))


def test_every_size_of_a_path_has_whole_groups_and_reaches_the_optimum():
    exact = []
    for seed in range(6):
        ridge = RIDGES[seed % 3]
        X, Y = data(seed, n=30, d=12)
        points = path_of(X, Y, 6, ridge, groups=GROUPS)
        assert [len(groups_of(point.support)) for point in points] == [1, 2, 3, 4, 5, 6]
        assert all(a.objective >= b.objective for a, b in pairwise(points))
        for point in points:
            best = best_of_groups(X, Y, GROUPS, point.k, ridge)
            assert point.objective >= best * (1 - 1e-9)
            exact.append(point.objective <= best * (1 + 1e-9))
    assert np.mean(exact) >= 0.95


def test_no_exchange_of_groups_improves_any_size_of_a_path():
    X, Y = data(5, n=30, d=12)
    for point in path_of(X, Y, 5, 0.5, groups=GROUPS, n_restarts=0):
        chosen = groups_of(point.support)
        for out in chosen:
            for into in set(range(len(GROUPS))) - set(chosen):
                S = features_of([g for g in chosen if g != out] + [into])
                assert objective_of(X, Y, S, 0.5) >= point.objective * (1 - 1e-7)


def test_included_and_excluded_features_stand_for_their_groups_at_every_size():
    X, Y = data(2, n=30, d=12)
    points = path_of(X, Y, 5, 0.5, groups=GROUPS, include=[7, 4, 2], exclude=[0])
    assert [point.k for point in points] == [2, 3, 4, 5]
    for point in points:
        chosen = groups_of(point.support)
        assert {2, 3} <= set(chosen)
        assert 0 not in chosen
        best = best_of_groups(X, Y, GROUPS, point.k, 0.5, fixed=(2, 3), barred=(0,))
        assert point.objective == pytest.approx(best, rel=1e-9)


def test_groups_that_add_nothing_fill_up():
    X, Y = data(3, n=30, d=12)
    X[:, [3, 4, 8, 9, 10]] = 0.0
    points = path_of(X, Y, 7, 0.5, groups=GROUPS)
    assert [len(groups_of(point.support)) for point in points] == [1, 2, 3, 4, 5, 6, 7]
    assert points[3].objective == pytest.approx(points[6].objective)


@pytest.mark.parametrize("ridge", [0.0, 0.5])
def test_groups_that_depend_on_each_other(ridge):
    exact = []
    for seed in range(3):
        X, Y = data(seed, n=30, d=12)
        X[:, 5] = X[:, 1]
        X[:, 9] = X[:, 2] - X[:, 7]
        points = path_of(X, Y, 5, ridge, groups=GROUPS)
        assert [len(groups_of(point.support)) for point in points] == [1, 2, 3, 4, 5]
        for point in points:
            best = best_of_groups(X, Y, GROUPS, point.k, ridge)
            assert point.objective >= best * (1 - 1e-9)
            exact.append(point.objective <= best * (1 + 1e-9))
    assert np.mean(exact) >= 0.9


def test_refined_selections_of_groups_are_never_worse_and_respect_the_constraints():
    better = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X, Y = rng.standard_normal((30, 60)), rng.standard_normal((30, 1))
        X, Y = X - X.mean(0), Y - Y.mean(0)
        groups = [np.arange(j, j + 2) for j in range(0, 60, 2)]
        problem = problem_of(X, Y)
        search = GroupSearch(problem, rules_for(problem, 5, [3], [0]), groups)
        one, other = (search.run(kept, (), 0) for kept in ((4, 5, 6), (10, 11, 12)))
        refined = search.refine([one], [other], rng)[0]
        assert refined.objective <= one.objective + 1e-9
        assert len(refined.units) == 4
        assert not {0, 1} & set(refined.units)
        S = np.concatenate([groups[g] for g in (1, *refined.units)])
        assert refined.objective == pytest.approx(objective_of(X, Y, S))
        better += refined.objective < one.objective - 1e-6
    assert better > 0
