"""The refitted state of a support and its changes, against fits from scratch."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rowsparse.solvers.subset.support import SupportState

from .problems import data, objective_of, problem_of

SEEDS = st.integers(0, 10_000)
RIDGES = st.sampled_from([0.0, 0.3, 20.0])


def assert_same_state(state, other):
    order = [other.basis.index(p) for p in state.basis]
    for name in ("T", "V"):
        np.testing.assert_allclose(
            getattr(state, name), getattr(other, name)[order], rtol=1e-7, atol=1e-8
        )
    np.testing.assert_allclose(state.M, other.M[np.ix_(order, order)], rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(state.s, other.s, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(state.R, other.R, rtol=1e-7, atol=1e-8)


@settings(max_examples=25, deadline=None)
@given(SEEDS, RIDGES, st.integers(1, 5))
def test_exchange_gains_equal_refitted_differences(seed, ridge, k):
    X, Y = data(seed, n=20, d=9)
    S = np.random.default_rng(seed).choice(9, k, replace=False)
    state = SupportState(problem_of(X, Y, ridge), S)
    before = objective_of(X, Y, S, ridge)
    gains = state.exchange_gains()
    for i, out in enumerate(state.support):
        for p in range(9):
            if p in S:
                assert gains[i, p] == -np.inf
            else:
                after = objective_of(X, Y, [*(q for q in S if q != out), p], ridge)
                assert gains[i, p] == pytest.approx(before - after, rel=1e-7, abs=1e-8)


@settings(max_examples=25, deadline=None)
@given(SEEDS, RIDGES)
def test_addition_gains_and_removal_costs_equal_refitted_differences(seed, ridge):
    X, Y = data(seed, n=20, d=9)
    S = [4, 1, 7]
    state = SupportState(problem_of(X, Y, ridge), S)
    before = objective_of(X, Y, S, ridge)
    assert state.objective == pytest.approx(before)
    for p in set(range(9)) - set(S):
        after = objective_of(X, Y, [*S, p], ridge)
        assert state.addition_gains()[p] == pytest.approx(before - after, abs=1e-8)
    for i, out in enumerate(S):
        after = objective_of(X, Y, [q for q in S if q != out], ridge)
        assert state.removal_costs()[i] == pytest.approx(after - before, abs=1e-8)


@settings(max_examples=25, deadline=None)
@given(SEEDS, RIDGES, st.lists(st.integers(0, 8), min_size=1, max_size=50))
def test_adding_and_removing_equals_the_state_from_scratch(seed, ridge, toggles):
    X, Y = data(seed, n=20, d=9)
    problem = problem_of(X, Y, ridge)
    state = SupportState(problem)
    for p in toggles:
        if p in state.support:
            state.remove(p)
        else:
            state.add(p)
    assert_same_state(state, SupportState(problem, state.support))
    assert state.objective == pytest.approx(objective_of(X, Y, state.support, ridge), abs=1e-8)


def test_exchanges_with_duplicates_in_the_support_equal_refits():
    X, Y = data(3, n=20, d=9)
    X[:, 5] = X[:, 2]
    X[:, 7] = 0.0
    S = [2, 5, 0, 7]
    state = SupportState(problem_of(X, Y), S)
    assert sorted(state.inert) == [5, 7]
    before = objective_of(X, Y, S)
    gains, costs = state.exchange_gains(), state.removal_costs()
    for i, out in enumerate(state.support):
        left = [q for q in S if q != out]
        assert costs[i] == pytest.approx(objective_of(X, Y, left) - before, abs=1e-8)
        for p in (1, 3, 4, 6, 8):
            after = objective_of(X, Y, [*left, p])
            assert gains[i, p] == pytest.approx(before - after, abs=1e-8)


def test_removing_a_feature_wakes_its_inert_duplicate():
    X, Y = data(4, n=20, d=9)
    X[:, 5] = 3.0 * X[:, 2]
    problem = problem_of(X, Y)
    state = SupportState(problem, [2, 0])
    state.add(5)
    assert state.inert == [5]
    state.remove(2)
    assert sorted(state.basis) == [0, 5]
    assert state.inert == []
    assert_same_state(state, SupportState(problem, [0, 5]))


@settings(max_examples=40, deadline=None)
@given(SEEDS, RIDGES, st.integers(1, 6), st.integers(0, 2))
def test_best_exchange_is_the_best_of_all_exchange_gains(seed, ridge, k, fixed):
    X, Y = data(seed, n=20, d=9)
    rng = np.random.default_rng(seed)
    S = rng.choice(9, k, replace=False)
    allowed = rng.random(9) < 0.8
    state = SupportState(problem_of(X, Y, ridge), S)
    gains = state.exchange_gains()
    gains[:, ~allowed] = -np.inf
    gains[:fixed] = -np.inf
    found = state.best_exchange(1e-10, allowed, fixed=fixed)
    if gains.max() <= 1e-10:
        assert found is None
    else:
        assert found.gain == pytest.approx(gains.max(), rel=1e-8)
        assert gains[list(S).index(found.out), found.into] == pytest.approx(gains.max(), rel=1e-8)


def test_pruning_leaves_the_best_exchange_of_many_columns():
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X, Y = rng.standard_normal((40, 3000)) + rng.standard_normal((40, 1)), data(seed, n=40)[1]
        S = rng.choice(3000, 6, replace=False)
        state = SupportState(problem_of(X, Y, float(seed % 2)), S)
        gains = state.exchange_gains()
        found = state.best_exchange(0.0, np.ones(3000, dtype=bool))
        assert found.gain == pytest.approx(gains.max(), rel=1e-10)
        quick = state.best_exchange(0.0, np.ones(3000, dtype=bool), effort="quick")
        assert 0.0 < quick.gain <= gains.max() * (1 + 1e-10)


@settings(max_examples=25, deadline=None)
@given(SEEDS, RIDGES, st.lists(st.integers(0, 8), min_size=1, max_size=50))
def test_exchanging_at_once_equals_the_state_from_scratch(seed, ridge, entering):
    X, Y = data(seed, n=20, d=9)
    problem = problem_of(X, Y, ridge)
    state = SupportState(problem, [0, 1, 2])
    for turn, p in enumerate(entering):
        if p not in state.basis:
            assert state.exchange(state.basis[turn % 3], p)
    assert_same_state(state, SupportState(problem, state.support))


def test_an_exchange_for_a_dependent_column_is_refused():
    X, Y = data(1, n=20, d=9)
    X[:, 4] = X[:, 0] + X[:, 1]
    problem = problem_of(X, Y)
    state = SupportState(problem, [0, 1, 2])
    assert not state.exchange(2, 4)
    assert state.basis == [0, 1, 2]
    assert_same_state(state, SupportState(problem, [0, 1, 2]))
    found = state.best_exchange(0.0, np.arange(9) == 4)
    assert found is None or found.gain < 1e-10


def test_ties_between_exchanges_go_to_the_lowest_column():
    X, Y = data(0, n=30, d=50)
    state = SupportState(problem_of(X, Y), [10, 20])
    p = state.best_exchange(0.0, np.ones(50, dtype=bool)).into
    for copy in (3, 45):
        Z = X.copy()
        Z[:, copy] = Z[:, p]
        tied = SupportState(problem_of(Z, Y), [10, 20])
        assert tied.best_exchange(0.0, np.ones(50, dtype=bool)).into == min(copy, p)


def test_without_a_least_gain_the_smallest_loss_is_found():
    X, Y = data(4, d=12)
    state = SupportState(problem_of(X, Y), [2, 5, 7, 9])
    allowed = np.ones(12, dtype=bool)
    while (best := state.best_exchange(1e-10, allowed)) is not None:
        state.exchange(best.out, best.into)
    gains = state.exchange_gains()
    found = state.best_exchange(-np.inf, allowed, effort="glance")
    assert found.gain == pytest.approx(gains.max())
    assert found.gain < 0
    i, p = np.unravel_index(np.argmax(gains), gains.shape)
    assert (found.out, found.into) == (state.basis[i], p)
    assert state.best_exchange(-np.inf, allowed, fixed=4) is None
