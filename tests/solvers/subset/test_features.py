"""Local search over single features: growth, removal and what fills up a support."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from rowsparse.solvers.subset.exchange import forward
from rowsparse.solvers.subset.features import FeatureSearch
from rowsparse.solvers.subset.support import SupportState

from .problems import best_of_all, data, design_of, objective_of, problem_of, rules_for


def search_over(X, Y, k, ridge=0.5, **constraints):
    problem = problem_of(X, Y, ridge)
    return FeatureSearch(problem, rules_for(problem, k, **constraints))


def is_optimal(X, Y, S, ridge=0.5, include=()):
    """Whether no exchange of one feature lowers the objective."""
    value = objective_of(X, Y, S, ridge)
    return all(
        objective_of(X, Y, [*(q for q in S if q != out), p], ridge) >= value * (1 - 1e-9)
        for out in set(S) - set(include)
        for p in set(range(X.shape[1])) - set(S)
    )


@pytest.mark.parametrize("start", [((), (), 0), ((3, 7), (), 2), ((1, 2, 5), (0,), 1)])
def test_a_run_ends_where_no_exchange_gains(start):
    X, Y = data(0)
    optimum = search_over(X, Y, 4).run(*start)
    assert len(optimum.units) == 4
    assert list(optimum.units) == sorted(optimum.units)
    assert optimum.objective == pytest.approx(objective_of(X, Y, optimum.units, 0.5))
    assert is_optimal(X, Y, optimum.units)


def test_the_first_feature_added_is_none_of_those_removed():
    X, Y = data(1)
    search = search_over(X, Y, 1)
    best = int(forward(design_of(X), Y, 1, ridge=0.5)[0])
    grown = search._grown((), (best,), 1, 0)
    values = [objective_of(X, Y, [j], 0.5) if j != best else np.inf for j in range(10)]
    assert grown.basis == [int(np.argmin(values))]


def test_the_beam_is_never_worse_than_its_greedy_member():
    for seed in range(5):
        X, Y = data(seed, n=20, d=40)
        beam = search_over(X, Y, 5).run_beam()
        greedy = objective_of(X, Y, forward(design_of(X), Y, 5, ridge=0.5), 0.5)
        assert beam.objective <= greedy * (1 + 1e-9)
        assert is_optimal(X, Y, beam.units)


def test_nearly_all_features_are_found_by_removal():
    X, Y = data(2, d=10)
    search = search_over(X, Y, 9)
    assert search._shrunk() is not None
    assert search.run((), (), 0).objective == pytest.approx(best_of_all(X, Y, 9, 0.5))


def test_shrinking_removes_the_feature_whose_removal_costs_least():
    X, Y = data(3)
    units = (0, 4, 6, 9)
    optimum = search_over(X, Y, 4).shrink(units)
    least = min(objective_of(X, Y, [q for q in units if q != out], 0.5) for out in units)
    assert len(optimum.units) == 3
    assert optimum.objective <= least * (1 + 1e-9)
    assert is_optimal(X, Y, optimum.units)


def test_a_size_that_the_rank_does_not_allow_is_not_reached():
    X, Y = data(4, d=4)
    X = np.hstack([X, X[:, :2]])
    search = search_over(X, Y, 5, ridge=0.0)
    assert search.regrow((0,), (), 4) is not None
    assert search.regrow((0,), (), 5) is None
    assert [len(optimum.units) for optimum in search.greedy_path()] == [0, 1, 2, 3, 4]


def test_included_features_stay_and_dependent_ones_take_no_part():
    X, Y = data(5)
    X[:, 8] = 2.0 * X[:, 3]
    search = search_over(X, Y, 4, ridge=0.0, include=(3, 8))
    assert search.n_fixed == search.size == 2
    optimum = search.run((), (), 0)
    assert len(optimum.units) == 2
    support = search.support(optimum.units, 4)
    assert {3, 8, *optimum.units} == set(support.tolist())
    best = best_of_all(X, Y, 3, 0.0, include=(3,), exclude=(8,))
    assert optimum.objective == pytest.approx(best)


def test_a_support_is_filled_up_by_the_strongest_features():
    X, Y = data(6)
    X[:, 2] = 0.0
    alone = np.sum((X.T @ Y) ** 2, axis=1) / (np.sum(X**2, axis=0) + 0.5)
    alone[[0, 5, 2]] = -1.0
    search = search_over(X, Y, 5, exclude=(5,))
    expected = sorted([0, *np.argsort(-alone)[:2].tolist()])
    assert search.support((0,), 3).tolist() == expected
    assert search.support(range(10), 9).size == 9


def test_the_state_of_the_only_start_is_that_from_scratch():
    X, Y = data(7)
    search = search_over(X, Y, 3)
    support = search.support(search.run((), (), 0).units, 3)
    reused, fresh = search.state(support), SupportState(problem_of(X, Y, 0.5), support)
    assert sorted(reused.basis) == fresh.basis
    np.testing.assert_allclose(reused.addition_gains(), fresh.addition_gains(), rtol=1e-8)


def test_refined_selections_are_local_optima_that_are_never_worse():
    better = 0
    for seed in range(6):
        X, Y = data(seed, n=20, d=40)
        search = search_over(X, Y, 6, 0.0, include=[3], exclude=[0, 1])
        starts = [search.run(kept, (), 0) for kept in ((), (10, 11, 12), (20, 21, 22))]
        for one, other in pairwise(starts):
            refined = search.refine([one], [other], np.random.default_rng(seed))[0]
            assert refined.objective <= one.objective + 1e-9
            assert len(refined.units) == 5
            assert not {0, 1, 3} & set(refined.units)
            S = [3, *refined.units]
            assert refined.objective == pytest.approx(objective_of(X, Y, S, 0.0))
            assert all(
                objective_of(X, Y, [p, *(q for q in S if q != out)], 0.0) > refined.objective - 1e-8
                for out in refined.units
                for p in set(range(2, 40)) - set(S)
            )
            better += refined.objective < min(one.objective, other.objective) - 1e-6
    assert better > 0
