"""The refitted state of a support, its exchanges, and greedy forward selection."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from rowsparse.design import make_design
from rowsparse.solvers.subset.exchange import (
    descend,
    forward,
    least_squares_fit,
    least_squares_objective,
)
from rowsparse.solvers.subset.gram import GramProblem, GramRows, independent, reduced_targets
from rowsparse.solvers.subset.support import SupportState

SEEDS = st.integers(0, 10_000)
RIDGES = st.sampled_from([0.0, 0.3, 20.0])


def data(seed, n=20, d=9, c=2):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) @ (np.eye(d) + 0.5 * rng.standard_normal((d, d)))
    Y = X[:, :3] @ rng.standard_normal((3, c)) + rng.standard_normal((n, c))
    return X - X.mean(0), Y - Y.mean(0)


def design_of(X):
    return make_design(X, center=True, scale=False)[0]


def naive_objective(X, Y, S, ridge=0.0):
    S = list(S)
    X_S = np.vstack([X[:, S], np.sqrt(ridge) * np.eye(len(S))])
    target = np.vstack([Y, np.zeros((len(S), Y.shape[1]))])
    W = np.linalg.lstsq(X_S, target, rcond=1e-10)[0]
    return np.sum((target - X_S @ W) ** 2)


def naive_forward(X, Y, k, ridge=0.0):
    S = []
    for _ in range(k):
        rest = [p for p in range(X.shape[1]) if p not in S]
        S.append(min(rest, key=lambda p: naive_objective(X, Y, [*S, p], ridge)))
    return S


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
    X, Y = data(seed)
    S = np.random.default_rng(seed).choice(9, k, replace=False)
    state = SupportState(GramProblem.of(design_of(X), Y, ridge=ridge), S)
    before = naive_objective(X, Y, S, ridge)
    gains = state.exchange_gains()
    for i, out in enumerate(state.support):
        for p in range(9):
            if p in S:
                assert gains[i, p] == -np.inf
            else:
                after = naive_objective(X, Y, [*(q for q in S if q != out), p], ridge)
                assert gains[i, p] == pytest.approx(before - after, rel=1e-7, abs=1e-8)


@settings(max_examples=25, deadline=None)
@given(SEEDS, RIDGES)
def test_addition_gains_and_removal_costs_equal_refitted_differences(seed, ridge):
    X, Y = data(seed)
    S = [4, 1, 7]
    state = SupportState(GramProblem.of(design_of(X), Y, ridge=ridge), S)
    before = naive_objective(X, Y, S, ridge)
    assert state.objective == pytest.approx(before)
    for p in set(range(9)) - set(S):
        after = naive_objective(X, Y, [*S, p], ridge)
        assert state.addition_gains()[p] == pytest.approx(before - after, abs=1e-8)
    for i, out in enumerate(S):
        after = naive_objective(X, Y, [q for q in S if q != out], ridge)
        assert state.removal_costs()[i] == pytest.approx(after - before, abs=1e-8)


@settings(max_examples=25, deadline=None)
@given(SEEDS, RIDGES, st.lists(st.integers(0, 8), min_size=1, max_size=50))
def test_adding_and_removing_equals_the_state_from_scratch(seed, ridge, toggles):
    X, Y = data(seed)
    problem = GramProblem.of(design_of(X), Y, ridge=ridge)
    state = SupportState(problem)
    for p in toggles:
        if p in state.support:
            state.remove(p)
        else:
            state.add(p)
    assert_same_state(state, SupportState(problem, state.support))
    assert state.objective == pytest.approx(naive_objective(X, Y, state.support, ridge), abs=1e-8)


def test_exchanges_with_duplicates_in_the_support_equal_refits():
    X, Y = data(3)
    X[:, 5] = X[:, 2]
    X[:, 7] = 0.0
    S = [2, 5, 0, 7]
    state = SupportState(GramProblem.of(design_of(X), Y), S)
    assert sorted(state.inert) == [5, 7]
    before = naive_objective(X, Y, S)
    gains, costs = state.exchange_gains(), state.removal_costs()
    for i, out in enumerate(state.support):
        left = [q for q in S if q != out]
        assert costs[i] == pytest.approx(naive_objective(X, Y, left) - before, abs=1e-8)
        for p in (1, 3, 4, 6, 8):
            after = naive_objective(X, Y, [*left, p])
            assert gains[i, p] == pytest.approx(before - after, abs=1e-8)


def test_removing_a_feature_wakes_its_inert_duplicate():
    X, Y = data(4)
    X[:, 5] = 3.0 * X[:, 2]
    problem = GramProblem.of(design_of(X), Y)
    state = SupportState(problem, [2, 0])
    state.add(5)
    assert state.inert == [5]
    state.remove(2)
    assert sorted(state.basis) == [0, 5]
    assert state.inert == []
    assert_same_state(state, SupportState(problem, [0, 5]))


@settings(max_examples=20, deadline=None)
@given(SEEDS, RIDGES, st.booleans())
def test_forward_equals_naive_greedy_least_squares(seed, ridge, sparse):
    X, Y = data(seed)
    design = design_of(sp.csc_array(X) if sparse else X)
    assert forward(design, Y, 5, ridge=ridge).tolist() == naive_forward(X, Y, 5, ridge)


def test_forward_with_n_less_than_d_equals_naive_greedy_least_squares():
    X, Y = data(1, n=15, d=60, c=3)
    assert forward(design_of(X), Y, 10).tolist() == naive_forward(X, Y, 10)


def test_forward_ties_go_to_the_lowest_index():
    X, Y = data(0, n=30, d=50)
    first = int(forward(design_of(X), Y, 1)[0])
    for copy in set(range(50)) - {first}:
        Z = X.copy()
        Z[:, copy] = Z[:, first]
        assert forward(design_of(Z), Y, 1).tolist() == [min(copy, first)]


def test_forward_skips_duplicates_and_takes_constant_columns_last():
    X, Y = data(2)
    X = np.hstack([np.full((20, 1), 7.0), X, X[:, :2]])
    picked = forward(design_of(X), Y, 12)
    assert sorted(picked[:9] % 9) == sorted(np.arange(1, 10) % 9)  # one of each pair
    assert sorted(picked[9:11] % 9) == [1, 2]  # then the other
    assert picked[11] == 0


def test_forward_fills_up_once_the_objective_is_zero():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 10))
    X -= X.mean(0)
    Y = X[:, [3, 6]] @ rng.standard_normal((2, 2))
    alone = np.sum((X.T @ Y) ** 2, axis=1) / np.sum(X**2, axis=0)
    alone[[3, 6]] = -1
    picked = forward(design_of(X), Y, 5)
    assert sorted(picked[:2]) == [3, 6]
    assert picked[2:].tolist() == np.argsort(-alone)[:3].tolist()


@pytest.mark.parametrize("k", [19, 25, 40])
def test_forward_beyond_the_rank_gives_k_distinct_features_and_a_perfect_fit(k):
    X, Y = data(5, n=20, d=40)
    picked = forward(design_of(X), Y, k)
    assert np.unique(picked).size == k
    assert least_squares_objective(design_of(X), Y, picked) < 1e-18 * np.sum(Y**2)


def test_forward_without_targets_takes_the_first_live_columns():
    X, _ = data(0)
    X[:, 0] = 1.0
    assert forward(design_of(X), np.zeros((20, 2)), 3).tolist() == [1, 2, 3]


def test_float32_design_selects_as_float64():
    X, Y = data(6, n=60, d=200, c=3)
    X[:, 150] = X[:, 20]
    single, double = design_of(X.astype(np.float32)), design_of(X)
    picked = forward(double, Y, 15)
    assert forward(single, Y, 15).tolist() == picked.tolist()
    state = SupportState(GramProblem.of(single, Y), picked)
    assert state.M.dtype == np.float64
    assert state.objective == pytest.approx(naive_objective(X, Y, picked), rel=1e-4)


def test_independent_columns_are_a_largest_set():
    X, _ = data(7)
    X = np.column_stack([X[:, 0], 2 * X[:, 0], X[:, 1], X[:, 0] + X[:, 1], np.zeros(20), X[:, 2]])
    kept = independent(X.T @ X, 1e-10)
    assert kept.size == 3
    assert np.linalg.matrix_rank(X[:, kept]) == 3


@settings(max_examples=20, deadline=None)
@given(SEEDS, RIDGES)
def test_least_squares_fit_minimises_its_objective(seed, ridge):
    X, Y = data(seed)
    S = np.array([8, 2, 3])
    W, value = least_squares_fit(design_of(X), Y, S, ridge=ridge)
    gradient = X[:, S].T @ (X[:, S] @ W - Y) + ridge * W
    assert np.abs(gradient).max() < 1e-9 * np.linalg.norm(X) * np.linalg.norm(Y)
    direct = np.sum((Y - X[:, S] @ W) ** 2) + ridge * np.sum(W**2)
    assert value == pytest.approx(direct)


def test_bounded_gram_rows_equal_the_gram_matrix():
    X, _ = data(8, n=10, d=600)
    gram = GramRows(design_of(X), max_bytes=8 * 600 * 4)
    for features in ([5, 1], [1, 9, 2], [3], [5, 1, 9, 2, 3, 7, 8]):
        np.testing.assert_allclose(gram(np.array(features)), (X.T @ X)[features], atol=1e-10)
    assert len(gram._kept) <= 4


def test_a_returned_gram_row_is_the_callers_own():
    X, _ = data(8, n=10, d=600)
    gram = GramRows(design_of(X))
    gram(np.array([3]))[:] = 0.0
    np.testing.assert_allclose(gram(np.array([3]))[0], X.T @ X[:, 3], atol=1e-10)


@pytest.mark.parametrize(
    ("name", "k", "greedy", "exchanged"),
    [("srbct", 5, 9.6213, 9.6213), ("srbct", 20, 1.7794, 1.6289), ("yale", 10, 100.66, 99.495)],
)
def test_best_exchanges_after_forward_reach_the_known_objective(
    benchmark_data, name, k, greedy, exchanged
):
    X, y = benchmark_data(name)
    X = (X - X.mean(0)) / X.std(0, ddof=1)
    Y = np.eye(y.max() + 1)[y]
    design, Y = design_of(X), Y - Y.mean(0)
    problem = GramProblem.of(design, Y)
    state = SupportState(problem, forward(design, Y, k))
    assert state.objective == pytest.approx(greedy, rel=1e-4)
    for _ in range(50):
        gains = state.exchange_gains()
        i, p = np.unravel_index(np.argmax(gains), gains.shape)
        if gains[i, p] <= 1e-9 * problem.total:
            break
        state.remove(int(state.support[i]))
        state.add(int(p))
    assert least_squares_objective(design, Y, state.support) == pytest.approx(exchanged, rel=1e-4)


@settings(max_examples=40, deadline=None)
@given(SEEDS, RIDGES, st.integers(1, 6), st.integers(0, 2))
def test_best_exchange_is_the_best_of_all_exchange_gains(seed, ridge, k, fixed):
    X, Y = data(seed)
    rng = np.random.default_rng(seed)
    S = rng.choice(9, k, replace=False)
    allowed = rng.random(9) < 0.8
    state = SupportState(GramProblem.of(design_of(X), Y, ridge=ridge), S)
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
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, Y = rng.standard_normal((40, 3000)) + rng.standard_normal((40, 1)), data(seed, n=40)[1]
        S = rng.choice(3000, 6, replace=False)
        state = SupportState(GramProblem.of(design_of(X), Y, ridge=float(seed % 2)), S)
        gains = state.exchange_gains()
        found = state.best_exchange(0.0, np.ones(3000, dtype=bool))
        assert found.gain == pytest.approx(gains.max(), rel=1e-10)
        quick = state.best_exchange(0.0, np.ones(3000, dtype=bool), effort="quick")
        assert 0.0 < quick.gain <= gains.max() * (1 + 1e-10)


@settings(max_examples=25, deadline=None)
@given(SEEDS, RIDGES, st.lists(st.integers(0, 8), min_size=1, max_size=50))
def test_exchanging_at_once_equals_the_state_from_scratch(seed, ridge, entering):
    X, Y = data(seed)
    problem = GramProblem.of(design_of(X), Y, ridge=ridge)
    state = SupportState(problem, [0, 1, 2])
    for turn, p in enumerate(entering):
        if p not in state.basis:
            assert state.exchange(state.basis[turn % 3], p)
    assert_same_state(state, SupportState(problem, state.support))


def test_an_exchange_for_a_dependent_column_is_refused():
    X, Y = data(1)
    X[:, 4] = X[:, 0] + X[:, 1]
    problem = GramProblem.of(design_of(X), Y)
    state = SupportState(problem, [0, 1, 2])
    assert not state.exchange(2, 4)
    assert state.basis == [0, 1, 2]
    assert_same_state(state, SupportState(problem, [0, 1, 2]))
    found = state.best_exchange(0.0, np.arange(9) == 4)
    assert found is None or found.gain < 1e-10


def test_ties_between_exchanges_go_to_the_lowest_column():
    X, Y = data(0, n=30, d=50)
    state = SupportState(GramProblem.of(design_of(X), Y), [10, 20])
    p = state.best_exchange(0.0, np.ones(50, dtype=bool)).into
    for copy in (3, 45):
        Z = X.copy()
        Z[:, copy] = Z[:, p]
        tied = SupportState(GramProblem.of(design_of(Z), Y), [10, 20])
        assert tied.best_exchange(0.0, np.ones(50, dtype=bool)).into == min(copy, p)


def test_descending_ends_where_no_exchange_gains():
    X, Y = data(3, n=40, d=60, c=2)
    problem = GramProblem.of(design_of(X), Y)
    for effort in ("best", "quick"):
        state = SupportState(problem, [1, 2, 3, 4])
        assert descend(state, 1e-9 * problem.total, np.ones(60, dtype=bool), effort=effort)
        assert state.exchange_gains().max() <= 1e-9 * problem.total


def test_descending_stops_when_it_is_late():
    X, Y = data(3, n=40, d=60, c=2)
    problem = GramProblem.of(design_of(X), Y)
    state = SupportState(problem, [1, 2, 3, 4])
    assert not descend(state, 0.0, np.ones(60, dtype=bool), late=lambda: True)
    assert state.basis == [1, 2, 3, 4]


def test_reduced_targets_have_the_same_products_and_fewer_columns():
    Y = np.eye(4)[np.arange(20) % 4]
    Y -= Y.mean(0)
    reduced = reduced_targets(Y)
    assert reduced.shape == (20, 3)
    np.testing.assert_allclose(reduced @ reduced.T, Y @ Y.T, atol=1e-12)
    assert reduced_targets(np.zeros((5, 3))).shape == (5, 1)


def test_the_gram_matrix_is_formed_once_many_rows_were_asked_for():
    X, _ = data(8, n=700, d=600)
    gram = GramRows(design_of(X))
    gram(np.array([5]))
    assert gram._all is None
    np.testing.assert_allclose(gram(np.arange(100)), (X.T @ X)[:100], atol=1e-9)
    assert gram._all is not None
    np.testing.assert_allclose(gram.row(7), X.T @ X[:, 7], atol=1e-9)


def test_rows_computed_ahead_save_passes_and_change_no_pick(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 600))
    Y = X[:, :30] @ rng.standard_normal((30, 2)) + rng.standard_normal((80, 2))
    design, Y = design_of(X), Y - Y.mean(0)
    passes = []
    single = type(design).gram_columns
    monkeypatch.setattr(
        type(design),
        "gram_columns",
        lambda self, columns: passes.append(columns.size) or single(self, columns),
    )
    plain = forward(design, Y, 20)
    assert passes == [1] * 20
    passes.clear()
    monkeypatch.setattr("rowsparse.solvers.subset.gram._AHEAD_ENTRIES", 0)
    assert forward(design, Y, 20).tolist() == plain.tolist()
    assert len(passes) < 15


def test_rows_are_no_longer_computed_ahead_once_few_were_used(monkeypatch):
    monkeypatch.setattr("rowsparse.solvers.subset.gram._AHEAD_ENTRIES", 0)
    X, _ = data(8, n=10, d=600)
    gram = GramRows(design_of(X))
    scores = np.arange(600.0)
    gram.fetch(3, scores)
    assert sorted(gram._kept) == [3, *range(584, 600)]
    for p in (599, 598):
        gram.fetch(p, scores)
    gram.fetch(5, scores)
    assert 5 not in gram._kept
    np.testing.assert_allclose(gram.row(5), X.T @ X[:, 5], atol=1e-10)
