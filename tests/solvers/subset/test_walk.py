"""Walks over supports that leave local optima."""

from __future__ import annotations

import numpy as np
import pytest

from rowsparse._deadline import Deadline
from rowsparse.solvers.subset.exchange import descend, grow
from rowsparse.solvers.subset.support import SupportState
from rowsparse.solvers.subset.walk import walk

from .problems import best_of_all, data, objective_of, problem_of


def local_optimum(X, Y, k, ridge=0.0, start=()):
    state = SupportState(problem_of(X, Y, ridge), start)
    everything = np.ones(X.shape[1], dtype=bool)
    grow(state, k, everything, 0.0)
    descend(state, 1e-12, everything, fixed=len(start))
    return state


def test_a_walk_never_ends_worse_and_leaves_local_optima():
    left = 0
    for seed in range(12):
        X, Y = data(seed, n=14, d=12)
        state = local_optimum(X, Y, 4)
        before = state.objective
        basis = walk(state, np.ones(12, dtype=bool), rng=np.random.default_rng(0))
        after = objective_of(X, Y, basis)
        assert len(set(basis)) == 4
        assert best_of_all(X, Y, 4) - 1e-9 <= after <= before + 1e-9
        left += after < before - 1e-6
    assert left > 0


def test_a_walk_from_anywhere_finds_the_best_of_a_tiny_problem():
    hits = 0
    for seed in range(10):
        X, Y = data(seed, n=14, d=10)
        state = SupportState(problem_of(X, Y, 0.5), [7, 8, 9])
        basis = walk(state, np.ones(10, dtype=bool), rng=np.random.default_rng(seed))
        found = objective_of(X, Y, basis, 0.5)
        hits += found == pytest.approx(best_of_all(X, Y, 3, 0.5))
    assert hits == 10


def test_fixed_features_stay_and_only_allowed_ones_come_in():
    for seed in range(5):
        X, Y = data(seed, n=20, d=30)
        state = local_optimum(X, Y, 5, start=(20, 21))
        started = set(state.basis)
        allowed = np.arange(30) % 3 > 0
        seen = []
        exchange = state.exchange
        state.exchange = lambda out, p, done=exchange, to=seen: to.append((out, p)) or done(out, p)
        walk(state, allowed, fixed=2, rng=np.random.default_rng(seed))
        assert state.basis[:2] == [20, 21]
        assert len(seen) >= 120
        assert not {20, 21} & {out for out, _ in seen}
        assert {p for _, p in seen} <= set(np.flatnonzero(allowed)) | started


def test_a_feature_that_left_does_not_come_back_at_once():
    X, Y = data(3, n=30, d=40)
    state = local_optimum(X, Y, 8)
    moves = []
    exchange = state.exchange
    state.exchange = lambda out, p: moves.append((out, p)) or exchange(out, p)
    walk(state, np.ones(40, dtype=bool), rng=np.random.default_rng(0))
    for step, (out, into) in enumerate(moves):
        assert out not in {p for _, p in moves[step + 1 : step + 5]}  # barred for 4 to 8 steps
        assert into not in {o for o, _ in moves[step + 1 : step + 2]}  # kept for 1 to 2


def test_no_time_is_no_walk():
    X, Y = data(0)
    state = local_optimum(X, Y, 3)
    before = list(state.basis)
    rng = np.random.default_rng(0)
    assert walk(state, np.ones(10, dtype=bool), rng=rng, deadline=Deadline(0.0)) == before
    assert state.basis == before


def test_a_walk_is_longer_without_a_ridge():
    X, Y = data(0, n=30, d=40)
    steps = {}
    for ridge in (0.0, 1.0):
        state = local_optimum(X, Y, 4, ridge)
        seen = []
        exchange = state.exchange
        state.exchange = lambda out, p, done=exchange, to=seen: to.append(p) or done(out, p)
        walk(state, np.ones(40, dtype=bool), rng=np.random.default_rng(0))
        steps[ridge] = len(seen)
    assert 30 <= steps[1.0] < 120 <= steps[0.0]
