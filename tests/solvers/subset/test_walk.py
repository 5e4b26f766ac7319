"""Walks over supports that leave local optima."""

from __future__ import annotations

import numpy as np
import pytest

from rowsparse._deadline import Deadline
from rowsparse.solvers.subset import walk as walks
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


@pytest.fixture
def moves(monkeypatch):
    """The exchanges of all walks: those of one step are one entry, pairs (out, into)."""
    made = []
    exchange = walks._Walks._exchange

    def recorded(self, slots, p):
        made.append(list(zip(self._S[self._each, slots].tolist(), p.tolist(), strict=True)))
        exchange(self, slots, p)

    monkeypatch.setattr(walks._Walks, "_exchange", recorded)
    return made


def test_a_walk_never_ends_worse_and_leaves_local_optima():
    left = 0
    for seed in range(12):
        X, Y = data(seed, n=14, d=12)
        state = local_optimum(X, Y, 4)
        everything, rng = np.ones(12, dtype=bool), np.random.default_rng(0)
        (basis,) = walk(state.problem, [state.basis], everything, rng=rng)
        after = objective_of(X, Y, basis)
        assert len(set(basis)) == 4
        assert best_of_all(X, Y, 4) - 1e-9 <= after <= state.objective + 1e-9
        left += after < state.objective - 1e-6
    assert left > 0


def test_walks_from_anywhere_find_the_best_of_a_tiny_problem():
    for seed in range(10):
        X, Y = data(seed, n=14, d=10)
        starts, rng = [[7, 8, 9], [0, 1, 2], [9, 4, 0]], np.random.default_rng(seed)
        everything = np.ones(10, dtype=bool)
        for basis in walk(problem_of(X, Y, 0.5), starts, everything, rng=rng):
            best = best_of_all(X, Y, 3, 0.5)
            assert objective_of(X, Y, basis, 0.5) == pytest.approx(best)


@pytest.mark.parametrize(("ridge", "c"), [(0.0, 1), (0.7, 3)])
def test_every_step_makes_the_best_exchange_that_is_allowed(moves, ridge, c, monkeypatch):
    X, Y = data(2, n=40, d=30, c=c)
    problem = problem_of(X, Y, ridge)
    steps, step = [], walks._Walks._step

    def checked(self, number, rng):
        for support, until in zip(self._S, self._out_until, strict=True):
            state = SupportState(problem, support)
            gains = state.exchange_gains()
            gains[:, until >= number] = -np.inf
            steps.append((support.tolist(), gains, self._in_until[len(steps) % 2] >= number))
        done = step(self, number, rng)
        for (support, gains, held), (out, into) in zip(steps[-2:], moves[-1], strict=True):
            gains[held] = -np.inf
            gained = gains[support.index(out), into]
            assert gained == pytest.approx(gains.max(), rel=1e-6, abs=1e-9)
        return done

    monkeypatch.setattr(walks._Walks, "_step", checked)
    starts = [[2, 5, 7, 9], [20, 21, 22, 23]]
    walk(problem, starts, np.ones(30, dtype=bool), rng=np.random.default_rng(1))
    assert len(moves) >= 30


def test_fixed_features_stay_and_only_allowed_ones_come_in(moves):
    X, Y = data(1, n=20, d=30)
    starts = [[20, 21, 1, 2, 3], [20, 21, 4, 5, 7]]
    allowed = np.arange(30) % 3 > 0
    rng = np.random.default_rng(1)
    found = walk(problem_of(X, Y), starts, allowed, fixed=2, rng=rng)
    assert all(basis[:2] == [20, 21] for basis in found)
    assert len(moves) >= 120
    for one, start in zip(zip(*moves, strict=True), starts, strict=True):
        assert not {20, 21} & {out for out, _ in one}
        assert {p for _, p in one} <= set(np.flatnonzero(allowed)) | set(start)


def test_a_feature_that_left_does_not_come_back_at_once(moves):
    X, Y = data(3, n=30, d=40)
    state = local_optimum(X, Y, 8)
    everything = np.ones(40, dtype=bool)
    walk(state.problem, [state.basis], everything, rng=np.random.default_rng(0))
    made = [move for (move,) in moves]
    for step, (out, into) in enumerate(made):
        assert out not in {p for _, p in made[step + 1 : step + 5]}  # barred for 4 to 8 steps
        assert into not in {o for o, _ in made[step + 1 : step + 2]}  # kept for 1 to 2


def test_no_time_and_nothing_to_exchange_is_no_walk(moves):
    X, Y = data(0)
    problem, rng = problem_of(X, Y), np.random.default_rng(0)
    starts, everything = [[1, 2, 3], [4, 5, 6]], np.ones(10, dtype=bool)
    assert walk(problem, starts, everything, rng=rng, deadline=Deadline(0.0)) == starts
    assert walk(problem, starts, everything, fixed=3, rng=rng) == starts
    assert walk(problem, starts, ~everything, rng=rng) == starts
    assert moves == []


def test_walks_are_longer_without_a_ridge(moves):
    X, Y = data(0, n=30, d=40)
    steps = {}
    for ridge in (0.0, 1.0):
        state = local_optimum(X, Y, 4, ridge)
        moves.clear()
        rng = np.random.default_rng(0)
        walk(state.problem, [state.basis], np.ones(40, dtype=bool), rng=rng)
        steps[ridge] = len(moves)
    assert 30 <= steps[1.0] < 120 <= steps[0.0]


def test_walks_that_do_not_fit_in_memory_together_go_one_after_another(moves, monkeypatch):
    X, Y = data(0, n=30, d=40)
    starts, everything = [[1, 2, 3], [4, 5, 6], [7, 8, 9]], np.ones(40, dtype=bool)
    monkeypatch.setattr(walks, "_BYTES", 1)
    found = walk(problem_of(X, Y), starts, everything, rng=np.random.default_rng(0))
    assert {len(step) for step in moves} == {1}
    for start, basis in zip(starts, found, strict=True):
        assert objective_of(X, Y, basis) < objective_of(X, Y, start)


def test_duplicates_and_constant_columns_are_never_taken():
    X, Y = data(6, n=30, d=20)
    X[:, 10:15] = X[:, 5:10]
    X[:, 15:] = 0.0
    starts, rng = [[0, 1, 2, 3], [5, 6, 7, 8]], np.random.default_rng(0)
    for basis in walk(problem_of(X, Y), starts, np.ones(20, dtype=bool), rng=rng):
        assert np.linalg.matrix_rank(X[:, basis]) == 4
