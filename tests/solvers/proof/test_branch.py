"""Branch and bound: the best choice of all, proven, or a valid bound."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rowsparse._deadline import Deadline
from rowsparse.certificate.proof import Dual, Kind
from rowsparse.design import make_design
from rowsparse.solvers.proof import candidates as module
from rowsparse.solvers.proof.branch import in_order, root_alone
from rowsparse.solvers.proof.nodes import TreeStep
from rowsparse.solvers.subset.exchange import forward

from .problems import best_choice, is_closed, prove, random_problem, random_ridge, value_of


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_proof_equals_exhaustive_search_and_its_bound_is_never_above(seed):
    rng = np.random.default_rng(seed)
    X, Y = random_problem(rng)
    d = X.shape[1]
    k = int(rng.integers(1, d + 1))
    ridge = random_ridge(rng, X)
    best, _ = best_choice(X, Y, k, ridge)
    # The last two by all their pairs: at once, after a relaxation, or never.
    known = module._FEW_PAIRED, module._MAX_PAIRED
    few, pairs = [known, (0, known[1]), (0, 0)][seed % 3]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_FEW_PAIRED", few)
        patch.setattr(module, "_MAX_PAIRED", pairs)
        proof = prove(X, Y, k, ridge)
    total = np.vdot(Y, Y)
    assert proof.lower_bound <= best
    assert is_closed(proof) or best <= 1e-6 * total
    assert proof.objective == pytest.approx(best, rel=2e-6, abs=1e-9 * total)
    assert 0 <= proof.root_bound <= best


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_include_and_exclude_are_honoured_and_the_rest_is_optimal(seed):
    rng = np.random.default_rng(seed)
    X, Y = random_problem(rng, d=7)
    k = int(rng.integers(2, 5))
    order = rng.permutation(7)
    include, exclude = np.sort(order[: k - 1][: rng.integers(0, k)]), np.sort(order[-2:])
    ridge = 0.1 * np.linalg.norm(X) ** 2 / 7
    best, _ = best_choice(X, Y, k, ridge, include.tolist(), exclude.tolist())
    proof = prove(X, Y, k, ridge, include=include, exclude=exclude)
    assert set(include) <= set(proof.support)
    assert not set(exclude) & set(proof.support)
    assert proof.lower_bound <= best
    assert proof.objective == pytest.approx(best, rel=2e-6)


def test_stopped_early_the_bound_is_still_valid():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((40, 14)), rng.standard_normal((40, 2))
    ridge = 2.0
    best, _ = best_choice(X, Y, 4, ridge)
    full = prove(X, Y, 4, ridge)
    bounds = []
    for limit in range(1, full.nodes + 1, max(full.nodes // 8, 1)):
        proof = prove(X, Y, 4, ridge, monitor=lambda p, limit=limit: p.nodes >= limit)
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


def test_time_limit_stops():
    rng = np.random.default_rng(1)
    X, Y = rng.standard_normal((60, 400)), rng.standard_normal((60, 3))
    proof = prove(X, Y, 10, 1.0, deadline=Deadline(0.2))
    assert not is_closed(proof)
    assert 0 < proof.lower_bound < proof.objective


def test_float32_bound_is_below_the_optimum_of_the_same_numbers():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((50, 9)).astype(np.float32)
    Y = rng.standard_normal((50, 2))
    best, _ = best_choice(X, Y, 3, 5.0)
    proof = prove(X, Y, 3, 5.0)
    assert proof.lower_bound <= best
    assert proof.objective == pytest.approx(best)


def test_without_a_ridge_more_samples_than_features_can_be_proven():
    rng = np.random.default_rng(5)
    X, Y = rng.standard_normal((60, 9)), rng.standard_normal((60, 2))
    best, support = best_choice(X, Y, 3, 0.0)
    proof = prove(X, Y, 3, 0.0)
    assert is_closed(proof)
    assert tuple(proof.support) == support
    assert proof.lower_bound <= best
    assert proof.objective == pytest.approx(best, rel=2e-6)


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


def test_the_search_in_between_is_left_out_if_a_few_nodes_are_enough():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((200, 12))
    Y = X[:, :3] @ np.ones((3, 1))

    def search():
        raise AssertionError

    proof = prove(X, Y, 3, 1.0, search=search)
    assert is_closed(proof)
    assert tuple(proof.support) == (0, 1, 2)


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


def test_nothing_is_searched_when_time_is_up_or_the_monitor_stops():
    X, Y, _ = hard_problem()

    def search():
        raise AssertionError

    late = prove(X, Y, 5, 2.0, search=search, deadline=Deadline(0.0))
    stopped = prove(X, Y, 5, 2.0, search=search, monitor=lambda progress: progress.nodes >= 3)
    assert late.stopped
    assert stopped.stopped
    assert not is_closed(stopped)


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


# ------------------------------------------------------------------------ the order of the steps
DUAL = Dual(np.array([0]), np.ones((1, 1)))


def test_steps_come_in_the_order_of_the_stack():
    steps = {
        0: [TreeStep(Kind.SCREEN, DUAL), TreeStep(Kind.SPLIT, feature=7, children=(1, 2))],
        1: [TreeStep(Kind.SPLIT, feature=8, children=(3, 4))],
        3: [TreeStep(Kind.LAST)],
        2: [TreeStep(Kind.BOUND, DUAL)],
    }
    ordered = in_order(steps, {4: None})
    kinds = [Kind.SCREEN, Kind.SPLIT, Kind.SPLIT, Kind.LAST, Kind.OPEN, Kind.BOUND]
    assert [step.kind for step in ordered] == kinds
    assert [step.feature for step in ordered[1:3]] == [7, 8]


def test_a_node_that_was_not_expanded_has_the_bound_of_its_parent():
    steps = {0: [TreeStep(Kind.SPLIT, feature=3, children=(1, 2))]}
    ordered = in_order(steps, {1: DUAL, 2: None})
    assert [step.kind for step in ordered] == [Kind.SPLIT, Kind.BOUND, Kind.OPEN]
    assert ordered[1].dual is DUAL


def test_negative_keys_are_renamed_and_others_stay():
    step = TreeStep(Kind.SPLIT, children=(-1, -2, 5))
    assert step.with_keys(10).children == (11, 12, 5)


def test_before_any_branching_there_is_one_bound_or_none():
    assert [step.kind for step in root_alone({})] == [Kind.OPEN]
    split = {0: [TreeStep(Kind.SCREEN, DUAL), TreeStep(Kind.SPLIT, feature=3, children=(1, 2))]}
    (bound,) = root_alone(split)
    assert (bound.kind, bound.dual) == (Kind.BOUND, DUAL)
    last = {0: [TreeStep(Kind.SCREEN, DUAL), TreeStep(Kind.LAST)]}
    assert root_alone(last) == last[0]
