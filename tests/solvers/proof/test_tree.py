"""A subtree loses no choice: each is in an open node or bounded."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from rowsparse._deadline import NO_DEADLINE, Deadline
from rowsparse.solvers.proof import candidates as module
from rowsparse.solvers.proof.nodes import ProofOptions, SubproblemCache, SubtreeTask, root_node
from rowsparse.solvers.proof.tree import Subtree

from .problems import NONE, best_choice, candidates, value_of


def expanded(X, Y, k, ridge, *, objective, max_nodes, include=NONE, deadline=NO_DEADLINE):
    problem = candidates(X, Y, ridge)
    start = np.concatenate([include, np.setdiff1d(np.arange(X.shape[1]), include)])[:k]
    node = root_node(problem, k, start, include)
    task = SubtreeTask(node, objective, np.inf, max_nodes)
    cache = SubproblemCache(problem)
    return cache, Subtree(cache, ProofOptions(k, 1e-6), task).expand(deadline)


def contains(cache, node, S):
    """Whether a choice of features is one of a node's."""
    names = cache.problem(node.subset).features
    chosen, allowed = set(names[node.chosen].tolist()), set(names[node.allowed].tolist())
    return chosen <= set(S) and set(S) - chosen <= allowed


@pytest.mark.parametrize("include", [NONE, np.array([2, 6])])
@pytest.mark.parametrize("max_nodes", [1, 3, 8])
@pytest.mark.parametrize("seed", range(4))
def test_every_choice_is_open_or_bounded(monkeypatch, seed, max_nodes, include):
    # Pairs are tried last, so that nodes are split first.
    monkeypatch.setattr(module, "_FEW_PAIRED", 0)
    monkeypatch.setattr(module, "_MAX_PAIRED", 3)
    rng = np.random.default_rng(seed)
    X, Y, ridge, k = rng.standard_normal((30, 9)), rng.standard_normal((30, 2)), 3.0, 4
    best, support = best_choice(X, Y, k, ridge, include.tolist())
    known = best * (1 + 1e-3)
    cache, result = expanded(X, Y, k, ridge, objective=known, max_nodes=max_nodes, include=include)
    for S in combinations(range(9), k):
        if not set(include) <= set(S):
            continue
        value = value_of(X, Y, S, ridge)
        holders = [node for node in result.open_nodes if contains(cache, node, S)]
        assert len(holders) <= 1
        assert all(node.bound <= value + 1e-9 for node in holders)
        assert holders or result.closed_bound <= value + 1e-9
    if result.support is not None:
        assert result.objective == pytest.approx(value_of(X, Y, result.support, ridge))
        assert result.objective < known
    if not result.open_nodes:
        assert tuple(result.support) == support


def test_small_subproblems_are_compacted_and_still_lose_no_choice(monkeypatch):
    monkeypatch.setattr(module, "_MAX_PAIRED", 0)
    rng = np.random.default_rng(2)
    X = rng.standard_normal((40, 30))
    Y = X[:, :5] @ rng.standard_normal((5, 1)) + rng.standard_normal((40, 1))
    ridge, k = 20.0, 3
    best, support = best_choice(X, Y, k, ridge)
    cache, result = expanded(X, Y, k, ridge, objective=best, max_nodes=1)
    assert result.open_nodes
    assert all(node.subset is not None for node in result.open_nodes)
    assert sum(contains(cache, node, support) for node in result.open_nodes) == 1


def test_nothing_is_expanded_after_the_deadline():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((20, 8)), rng.standard_normal((20, 1))
    _, result = expanded(X, Y, 3, 1.0, objective=50.0, max_nodes=5, deadline=Deadline(0.0))
    assert [node.order for node in result.open_nodes] == [0]
    assert (result.n_bounded, result.closed_bound) == (0, np.inf)


class OneMoreLook(Deadline):
    """A deadline that has passed when it is looked at a second time."""

    def __init__(self):
        super().__init__(None)
        self.looks = 0

    def expired(self):
        self.looks += 1
        return self.looks > 1


def test_the_deadline_ends_a_relaxation_and_what_it_has_still_is_a_bound():
    rng = np.random.default_rng(0)
    X, Y, ridge, k = rng.standard_normal((60, 200)), rng.standard_normal((60, 1)), 5.0, 4
    bounds = []
    for deadline in (OneMoreLook(), NO_DEADLINE):
        _, result = expanded(X, Y, k, ridge, objective=60.0, max_nodes=1, deadline=deadline)
        assert result.n_bounded == 1
        bounds.append(min(node.bound for node in result.open_nodes))
    assert 0 < bounds[0] < bounds[1] < value_of(X, Y, range(k), ridge)
