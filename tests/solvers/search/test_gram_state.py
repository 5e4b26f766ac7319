"""The state of a support for the squared loss, against fits from scratch; forward selection."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from rowsparse.solvers.search import residuals
from rowsparse.solvers.search.gram_state import GramState, forward

from .problems import (
    GROUPS,
    data,
    design_of,
    local_of,
    objective_of,
    posed,
    problem_of,
    squared,
    value_of,
)

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
    state = GramState(problem_of(X, Y, ridge), S)
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
    state = GramState(problem_of(X, Y, ridge), S)
    before = objective_of(X, Y, S, ridge)
    assert state.objective == pytest.approx(before)
    for p in set(range(9)) - set(S):
        after = objective_of(X, Y, [*S, p], ridge)
        assert state.addition_gains()[p] == pytest.approx(before - after, abs=1e-8)
    for i, out in enumerate(S):
        after = objective_of(X, Y, [q for q in S if q != out], ridge)
        assert state.removal_costs()[i] == pytest.approx(after - before, abs=1e-8)


@settings(max_examples=25, deadline=None)
@given(SEEDS, RIDGES, st.lists(st.integers(0, 8), min_size=1, max_size=50), st.booleans())
def test_changes_of_a_state_lead_to_the_state_from_scratch(seed, ridge, features, in_blocks):
    X, Y = data(seed, n=20, d=9)
    problem = problem_of(X, Y, ridge)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("_BLOCK", "_UPDATE_BLOCK"):
            patch.setattr(residuals, name, 4 if in_blocks else 8192)
        state = GramState(problem)
        for turn, p in enumerate(features):
            if p in state.support:
                state.remove(p)
            elif turn % 3 == 2 and state.basis:
                assert state.exchange(state.basis[0], p)
            else:
                state.add(p)
        assert_same_state(state, GramState(problem, state.support))
    assert state.objective == pytest.approx(objective_of(X, Y, state.support, ridge), abs=1e-8)


def test_exchanges_with_duplicates_in_the_support_equal_refits():
    X, Y = data(3, n=20, d=9)
    X[:, 5] = X[:, 2]
    X[:, 7] = 0.0
    S = [2, 5, 0, 7]
    state = GramState(problem_of(X, Y), S)
    assert sorted(state.inert) == [5, 7]
    before = objective_of(X, Y, S)
    gains, costs = state.exchange_gains(), state.removal_costs()
    for i, out in enumerate(state.support):
        left = [q for q in S if q != out]
        assert costs[i] == pytest.approx(objective_of(X, Y, left) - before, abs=1e-8)
        for p in (1, 3, 4, 6, 8):
            after = objective_of(X, Y, [*left, p])
            assert gains[i, p] == pytest.approx(before - after, abs=1e-8)


@settings(max_examples=40, deadline=None)
@given(SEEDS, RIDGES, st.integers(1, 6), st.integers(0, 2))
def test_best_exchange_is_the_best_of_all_exchange_gains(seed, ridge, k, fixed):
    X, Y = data(seed, n=20, d=9)
    rng = np.random.default_rng(seed)
    S = rng.choice(9, k, replace=False)
    allowed = rng.random(9) < 0.8
    state = GramState(problem_of(X, Y, ridge), S, n_fixed=min(fixed, k))
    gains = state.exchange_gains()
    gains[:, ~allowed] = -np.inf
    gains[:fixed] = -np.inf
    found = state.best_exchange(1e-10, allowed)
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
        state = GramState(problem_of(X, Y, float(seed % 2)), S)
        gains = state.exchange_gains()
        found = state.best_exchange(0.0, np.ones(3000, dtype=bool))
        assert found.gain == pytest.approx(gains.max(), rel=1e-10)
        quick = state.best_exchange(0.0, np.ones(3000, dtype=bool), effort="quick")
        assert 0.0 < quick.gain <= gains.max() * (1 + 1e-10)


def test_ties_between_exchanges_go_to_the_lowest_column():
    X, Y = data(0, n=30, d=50)
    state = GramState(problem_of(X, Y), [10, 20])
    p = state.best_exchange(0.0, np.ones(50, dtype=bool)).into
    for copy in (3, 45):
        Z = X.copy()
        Z[:, copy] = Z[:, p]
        tied = GramState(problem_of(Z, Y), [10, 20])
        assert tied.best_exchange(0.0, np.ones(50, dtype=bool)).into == min(copy, p)


# ------------------------------------------------------------------------- growth, descent, forward
def naive_forward(X, Y, k, ridge=0.0):
    S = []
    for _ in range(k):
        rest = [p for p in range(X.shape[1]) if p not in S]
        S.append(min(rest, key=lambda p: objective_of(X, Y, [*S, p], ridge)))
    return S


@settings(max_examples=20, deadline=None)
@given(SEEDS, RIDGES, st.booleans(), st.sampled_from([9, 30]))
def test_forward_equals_naive_greedy_least_squares(seed, ridge, sparse, d):
    X, Y = data(seed, n=20, d=d)
    design = design_of(sp.csc_array(X) if sparse else X)
    assert forward(design, Y, 5, ridge=ridge).tolist() == naive_forward(X, Y, 5, ridge)


def test_forward_skips_duplicates_and_takes_constant_columns_last():
    X, Y = data(2, n=20, d=9)
    X = np.hstack([np.full((20, 1), 7.0), X, X[:, :2]])
    picked = forward(design_of(X), Y, 12)
    assert sorted(picked[:9] % 9) == sorted(np.arange(1, 10) % 9)  # one of each pair
    assert sorted(picked[9:11] % 9) == [1, 2]  # then the other
    assert picked[11] == 0


def test_float32_design_selects_as_float64():
    X, Y = data(6, n=60, d=200, c=3)
    X[:, 150] = X[:, 20]
    single, double = design_of(X.astype(np.float32)), design_of(X)
    picked = forward(double, Y, 15)
    assert forward(single, Y, 15).tolist() == picked.tolist()
    state = GramState(problem_of(X.astype(np.float32), Y), picked)
    assert state.M.dtype == np.float64
    assert state.objective == pytest.approx(objective_of(X, Y, picked), rel=1e-4)


# -------------------------------------------------------------------- rows of the Gram matrix ahead
def test_rows_computed_ahead_save_passes_and_change_no_pick(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 600))
    Y = X[:, :30] @ rng.standard_normal((30, 2)) + rng.standard_normal((80, 2))
    design, Y = design_of(X), Y - Y.mean(0)
    passes = []
    single = type(design).gram_rows_in_place
    monkeypatch.setattr(
        type(design),
        "gram_rows_in_place",
        lambda self, columns: passes.append(columns.size) or single(self, columns),
    )
    plain = forward(design, Y, 20)
    assert passes == [1] * 20
    passes.clear()
    monkeypatch.setattr("rowsparse.solvers.search.gram._AHEAD_ENTRIES", 0)
    assert forward(design, Y, 20).tolist() == plain.tolist()
    assert len(passes) < 15


# ---------------------------------------------------------------------------- gains of whole groups
@pytest.mark.parametrize("ridge", [0.0, 0.5, 20.0])
@pytest.mark.parametrize("dependent", [False, True])
def test_block_gains_equal_refitted_differences(ridge, dependent):
    X, Y = data(4, n=30, d=12)
    if dependent:
        X[:, 4] = X[:, 3] + X[:, 1]
    problem = posed(squared(X, Y), 3, ridge=ridge, groups=GROUPS)
    states = local_of(problem).states
    state = states.start((1, 3, 5), 3)
    before = value_of(problem, state.units)
    gains = states.blocks.gains(state.fitted)
    for i, exchanged in state.exchange_gains():
        left = [g for g in state.units if g != state.units[i]]
        for g in {0, 2, 4, 6}:
            added = value_of(problem, [*state.units, g])
            assert gains[g] == pytest.approx(before - added, rel=1e-7, abs=1e-8)
            swapped = value_of(problem, [*left, g])
            assert exchanged[g] == pytest.approx(before - swapped, rel=1e-7, abs=1e-8)
