"""Greedy forward selection, descent by exchanges, and the final fit."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from rowsparse._deadline import Deadline
from rowsparse.solvers.losses.squared import least_squares_fit, least_squares_objective
from rowsparse.solvers.subset.exchange import (
    descend,
    fill,
    forward,
    grow,
)
from rowsparse.solvers.subset.support import SupportState

from .problems import data, design_of, objective_of, problem_of

SEEDS = st.integers(0, 10_000)
RIDGES = st.sampled_from([0.0, 0.3, 20.0])


def naive_forward(X, Y, k, ridge=0.0):
    S = []
    for _ in range(k):
        rest = [p for p in range(X.shape[1]) if p not in S]
        S.append(min(rest, key=lambda p: objective_of(X, Y, [*S, p], ridge)))
    return S


@settings(max_examples=20, deadline=None)
@given(SEEDS, RIDGES, st.booleans())
def test_forward_equals_naive_greedy_least_squares(seed, ridge, sparse):
    X, Y = data(seed, n=20, d=9)
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
    X, Y = data(2, n=20, d=9)
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
    X, _ = data(0, n=20, d=9)
    X[:, 0] = 1.0
    assert forward(design_of(X), np.zeros((20, 2)), 3).tolist() == [1, 2, 3]


def test_float32_design_selects_as_float64():
    X, Y = data(6, n=60, d=200, c=3)
    X[:, 150] = X[:, 20]
    single, double = design_of(X.astype(np.float32)), design_of(X)
    picked = forward(double, Y, 15)
    assert forward(single, Y, 15).tolist() == picked.tolist()
    state = SupportState(problem_of(X.astype(np.float32), Y), picked)
    assert state.M.dtype == np.float64
    assert state.objective == pytest.approx(objective_of(X, Y, picked), rel=1e-4)


@settings(max_examples=20, deadline=None)
@given(SEEDS, RIDGES)
def test_least_squares_fit_minimises_its_objective(seed, ridge):
    X, Y = data(seed, n=20, d=9)
    S = np.array([8, 2, 3])
    W, value = least_squares_fit(design_of(X), Y, S, ridge=ridge)
    gradient = X[:, S].T @ (X[:, S] @ W - Y) + ridge * W
    assert np.abs(gradient).max() < 1e-9 * np.linalg.norm(X) * np.linalg.norm(Y)
    direct = np.sum((Y - X[:, S] @ W) ** 2) + ridge * np.sum(W**2)
    assert value == pytest.approx(direct)


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
    problem = problem_of(X, Y)
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


def test_descending_ends_where_no_exchange_gains():
    X, Y = data(3, n=40, d=60, c=2)
    problem = problem_of(X, Y)
    for effort in ("best", "quick"):
        state = SupportState(problem, [1, 2, 3, 4])
        assert descend(state, 1e-9 * problem.total, np.ones(60, dtype=bool), effort=effort)
        assert state.exchange_gains().max() <= 1e-9 * problem.total


def test_descending_stops_at_the_deadline():
    X, Y = data(3, n=40, d=60, c=2)
    problem = problem_of(X, Y)
    state = SupportState(problem, [1, 2, 3, 4])
    assert not descend(state, 0.0, np.ones(60, dtype=bool), deadline=Deadline(0.0))
    assert state.basis == [1, 2, 3, 4]


def test_growing_stops_where_nothing_gains():
    X, Y = data(1, n=20, d=4)
    X = np.hstack([X, X[:, :2]])
    state = SupportState(problem_of(X, Y))
    assert grow(state, 3, np.ones(6, dtype=bool), 1e-12)
    assert not grow(state, 5, np.ones(6, dtype=bool), 1e-12)
    assert len(state.basis) == 4
    only = SupportState(problem_of(X, Y))
    assert not grow(only, 2, np.arange(6) == 3, 1e-12)
    assert only.basis == [3]


def test_others_fill_up_by_strength_and_zeros_last():
    strength, live = np.array([1.0, 5.0, 3.0, 4.0]), np.array([True, False, True, True])
    assert fill([2], strength, live, 4).tolist() == [2, 3, 0, 1]
    assert fill([2, 0], strength, live, 1).tolist() == [2]
