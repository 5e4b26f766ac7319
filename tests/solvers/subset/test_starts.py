"""Many starts: the best of them, ties, seeds, workers and early ends."""

from __future__ import annotations

import numpy as np
import pytest

from rowsparse._deadline import NO_DEADLINE, Deadline
from rowsparse.solvers.solution import silent
from rowsparse.solvers.subset.groups import local_search
from rowsparse.solvers.subset.local_search import LocalOptimum
from rowsparse.solvers.subset.starts import best_optima, run_starts

from .problems import data, problem_of, rules_for


def starts(local, n_restarts, *, seed=0, n_jobs=None, deadline=NO_DEADLINE, monitor=silent):
    return run_starts(
        local, n_restarts, seed=seed, n_jobs=n_jobs, deadline=deadline, monitor=monitor
    )


def search_over(X, Y, k, groups=None, **constraints):
    problem = problem_of(X, Y)
    return local_search(problem, rules_for(problem, k, **constraints), groups)


def test_the_best_come_first_each_once_and_ties_by_their_units():
    optima = [
        LocalOptimum(3.0, (1, 2)),
        LocalOptimum(2.0, (4, 7)),
        LocalOptimum(2.0 - 1e-14, (5, 6)),
        LocalOptimum(3.0, (1, 2)),
    ]
    assert [best.units for best in best_optima(optima, 1.0)] == [(4, 7), (5, 6), (1, 2)]
    many = [LocalOptimum(float(i), (i,)) for i in range(20)]
    assert [best.units[0] for best in best_optima(many[::-1], 1.0)] == list(range(8))


@pytest.mark.parametrize("grouped", [False, True])
def test_the_answer_does_not_depend_on_the_number_of_workers(grouped):
    X, Y = data(5, n=30, d=60, c=3)
    groups = [np.arange(j, j + 3) for j in range(0, 60, 3)] if grouped else None
    alone = starts(search_over(X, Y, 4, groups), 8, seed=7)
    for n_jobs in (2, -1):
        result = starts(search_over(X, Y, 4, groups), 8, seed=7, n_jobs=n_jobs)
        assert result == alone


def test_every_start_counts_and_the_best_never_gets_worse():
    X, Y = data(7, n=40, d=200, c=3)
    seen = []
    local = search_over(X, Y, 8)
    run = local.run

    def recorded(*start):
        seen.append(run(*start))
        return seen[-1]

    local.run = recorded
    result = starts(local, 13)
    assert result.n_starts == 14
    assert len(seen) == 13  # all but the beam
    assert seen[0] == result.first
    assert all(len(optimum.units) == 8 for optimum in seen)
    assert result.best.objective <= min(optimum.objective for optimum in seen) + 1e-9
    assert np.all(np.diff(result.history) <= 1e-9)


@pytest.mark.parametrize("k", [1, 9])
def test_one_start_is_enough_to_choose_or_to_leave_out_one(k):
    X, Y = data(3, d=10)
    assert starts(search_over(X, Y, k), 20).n_starts == 1


def test_the_deadline_and_the_monitor_end_the_starts():
    X, Y = data(1, n=60, d=100, c=3)
    late = starts(search_over(X, Y, 8), 50, deadline=Deadline(0.0))
    assert (late.n_starts, late.stopped_early) == (1, True)
    values = []

    def monitor(value):
        values.append(value)
        return len(values) == 3

    stopped = starts(search_over(X, Y, 8), 50, monitor=monitor)
    assert (len(values), stopped.stopped_early) == (3, True)
    assert values == stopped.history
    assert not starts(search_over(X, Y, 8), 2).stopped_early
