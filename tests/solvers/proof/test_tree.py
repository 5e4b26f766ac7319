"""Branch and bound: the best choice of all, proven, or a valid bound; no choice is lost."""

from itertools import combinations

import numpy as np
import pytest

from rowsparse._deadline import NO_DEADLINE, Deadline
from rowsparse.design import make_design
from rowsparse.solvers.proof import gram_candidates as module
from rowsparse.solvers.proof.expander import Expander, Known, root_node
from rowsparse.solvers.proof.subtree import Subtree, SubtreeTask
from rowsparse.solvers.search.gram_state import forward

from .problems import NONE, after, best_choice, candidates, is_closed, prove, value_of


def test_stopped_early_the_bound_is_still_valid():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((40, 14)), rng.standard_normal((40, 2))
    ridge = 2.0
    best, _ = best_choice(X, Y, 4, ridge)
    full = prove(X, Y, 4, ridge)
    bounds = []
    for limit in range(1, full.nodes + 1, max(full.nodes // 8, 1)):
        proof = prove(X, Y, 4, ridge, monitor=after(limit))
        assert proof.lower_bound <= best <= proof.objective + 1e-12
        bounds.append(proof.lower_bound)
    assert is_closed(full)
    assert full.nodes > 8
    assert bounds[0] < full.lower_bound


def test_gap_tolerance_is_what_is_proven():
    rng = np.random.default_rng(1)
    X, Y = rng.standard_normal((40, 30)), rng.standard_normal((40, 2))
    loose, tight = prove(X, Y, 5, 2.0, gap_tol=0.02), prove(X, Y, 5, 2.0)
    assert is_closed(loose, 0.02)
    assert loose.nodes < tight.nodes
    assert loose.lower_bound >= 0.98 * loose.objective
    assert tight.lower_bound >= (1 - 1e-6) * tight.objective


@pytest.mark.parametrize(
    ("name", "alpha", "optimum"),
    [
        ("srbct", 2.0, 39.1921),
        ("leu", 2.0, 13.7989),
        ("prostate_ge", 2.0, 26.9465),
        ("lymphoma", 2.0, 53.7138),
        ("carcinom", 2.0, 127.2977),
        ("lung", 2.0, 71.8208),
        ("leu", 0.5, 7.1155),
        ("prostate_ge", 0.5, 16.5523),
    ],
)
def test_known_optima_of_five_features_are_proven(benchmark_data, name, alpha, optimum):
    X, y = benchmark_data(name)
    X = X[:, X.std(axis=0) > 0]
    X = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    Y = np.eye(y.max() + 1)[y]
    Y = Y - Y.mean(axis=0)
    ridge = alpha * len(X)
    design, _ = make_design(X, center=False, scale=False)
    start = forward(design, Y, 5, ridge=ridge)
    proof = prove(X, Y, 5, ridge, start=start, deadline=Deadline(60.0))
    assert is_closed(proof)
    assert proof.objective == pytest.approx(optimum, abs=6e-5)


def hard_problem():
    """A problem whose proof takes hundreds of nodes from a poor start, and its best choice."""
    rng = np.random.default_rng(1)
    X, Y = rng.standard_normal((40, 30)), rng.standard_normal((40, 2))
    return X, Y, prove(X, Y, 5, 2.0).support


@pytest.mark.parametrize("better", [True, False])
def test_the_search_in_between_is_used_once_and_only_if_it_is_better(better):
    X, Y, best = hard_problem()
    plain, calls = prove(X, Y, 5, 2.0), []

    def search():
        calls.append(1)
        support = best[::-1] if better else np.arange(25, 30)
        return support, value_of(X, Y, support, 2.0)

    proof = prove(X, Y, 5, 2.0, search=search)
    assert calls == [1]
    assert is_closed(proof)
    np.testing.assert_array_equal(proof.support, best)
    assert proof.nodes <= plain.nodes if better else proof.nodes == plain.nodes


def test_the_search_has_most_of_the_time():
    rng = np.random.default_rng(1)
    X, Y = rng.standard_normal((60, 400)), rng.standard_normal((60, 3))
    deadline, left = Deadline(2.0), []

    def search():
        left.append(deadline.left())
        return np.arange(10), value_of(X, Y, np.arange(10), 1.0)

    proof = prove(X, Y, 10, 1.0, search=search, deadline=deadline)
    assert 0.5 < left[0] < 2.0
    assert proof.stopped
    assert 0 < proof.lower_bound < proof.objective


def test_ctrl_c_in_the_search_keeps_what_is_proven_if_asked_to():
    X, Y, _ = hard_problem()

    def search():
        raise KeyboardInterrupt

    kept = prove(X, Y, 5, 2.0, search=search, keep_on_interrupt=True)
    assert kept.stopped
    assert 0 < kept.lower_bound < kept.objective
    with pytest.raises(KeyboardInterrupt):
        prove(X, Y, 5, 2.0, search=search)


# ------------------------------------------------------------------------ a subtree loses no choice
def expanded(X, Y, k, ridge, *, objective, max_nodes, include=NONE, deadline=NO_DEADLINE):
    problem = candidates(X, Y, ridge, k, include=include)
    start = np.concatenate([include, np.setdiff1d(np.arange(X.shape[1]), include)])[:k]
    task = SubtreeTask(root_node(problem, start), Known(objective, 0.0, 1e-6), np.inf, max_nodes)
    expander = Expander(problem)
    return expander.cache, Subtree(expander, task).expand(deadline)


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


# ------------------------------------------------------------------------------------ the threshold
@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((30, 12)), rng.standard_normal((30, 2))
    return candidates(X, Y, 2.0, 4, include=[5])


@pytest.mark.parametrize("gap_tol", [0.0, 1e-6, 0.1])
def test_a_bound_at_the_threshold_closes_the_gap(gap_tol):
    threshold = Known(5.0, 0.0, gap_tol).threshold
    assert 5.0 - threshold <= gap_tol * 5.0
    assert 5.0 - threshold >= 0.9 * gap_tol * 5.0
