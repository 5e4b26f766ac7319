"""Nodes, their order, and the cache of their problems."""

from __future__ import annotations

import numpy as np
import pytest

from rowsparse.solvers.proof.nodes import (
    CandidateSubset,
    ProofOptions,
    SubproblemCache,
    largest_first,
    root_node,
)

from .problems import NONE, candidates


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    return candidates(rng.standard_normal((30, 12)), rng.standard_normal((30, 2)), 2.0)


def test_equal_subsets_have_equal_keys():
    one, same, other = (CandidateSubset.of(np.array(kept)) for kept in ([1, 5], [1, 5], [5, 1]))
    assert one.key == same.key != other.key


def test_a_cached_problem_is_that_of_its_candidates(problem):
    cache = SubproblemCache(problem)
    assert cache.problem(None) is problem
    subset = CandidateSubset.of(np.array([1, 4, 7]))
    found = cache.problem(subset)
    assert found.features.tolist() == [1, 4, 7]
    np.testing.assert_array_equal(found.gram, problem.gram[np.ix_([1, 4, 7], [1, 4, 7])])
    assert cache.problem(subset) is found


def test_the_least_recently_used_problems_are_dropped(problem):
    subsets = [CandidateSubset.of(np.array([j, j + 1, j + 2])) for j in range(3)]
    size = problem.restricted(subsets[0].kept).nbytes
    cache = SubproblemCache(problem, max_bytes=2 * size)
    first, second = (cache.problem(subset) for subset in subsets[:2])
    assert cache.problem(subsets[0]) is first
    cache.problem(subsets[2])
    assert cache.problem(subsets[0]) is first
    assert cache.problem(subsets[1]) is not second


def test_the_root_allows_all_choices_that_contain_the_included_features(problem):
    node = root_node(problem, 4, np.array([2, 3, 5, 8]), np.array([5]))
    assert node.chosen.tolist() == [5]
    assert np.flatnonzero(~node.allowed).tolist() == [5]
    assert {2, 3, 8} <= set(node.working.tolist())
    assert node.s.sum() == pytest.approx(3)
    assert node.bound == 0.0


def test_nodes_are_sorted_by_bound_and_then_by_age(problem):
    nodes = [root_node(problem, 3, NONE, NONE) for _ in range(3)]
    for node, (bound, order) in zip(nodes, [(2.0, 1), (1.0, 3), (1.0, 2)], strict=True):
        node.bound, node.order = bound, order
    assert [node.order for node in sorted(nodes)] == [2, 3, 1]


@pytest.mark.parametrize("gap_tol", [0.0, 1e-6, 0.1])
def test_a_bound_at_the_threshold_closes_the_gap(gap_tol):
    threshold = ProofOptions(3, gap_tol).threshold(5.0)
    assert 5.0 - threshold <= gap_tol * 5.0
    assert 5.0 - threshold >= 0.9 * gap_tol * 5.0


def test_largest_first_breaks_ties_by_index():
    assert largest_first(np.array([1.0, 3.0, 2.0, 3.0])).tolist() == [1, 3, 2, 0]
