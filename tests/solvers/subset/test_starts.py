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


def starts(local, n_restarts, *, seed=0, n_jobs=None, deadline=NO_DEADLINE, **settings):
    settings = {"monitor": silent} | settings
    return run_starts(local, n_restarts, seed=seed, n_jobs=n_jobs, deadline=deadline, **settings)


def refined_starts(local, n_restarts, **settings):
    return starts(local, n_restarts, refine=local.refine, **settings)


def hard_data(seed=0):
    """Many columns for few samples: starts end at many selections."""
    rng = np.random.default_rng(seed)
    X, Y = rng.standard_normal((30, 300)), rng.standard_normal((30, 1))
    return X - X.mean(0), Y - Y.mean(0)


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


@pytest.mark.parametrize("grouped", [False, True])
def test_neither_does_it_when_the_search_goes_on(grouped):
    X, Y = hard_data()
    groups = [np.arange(j, j + 2) for j in range(0, 300, 2)] if grouped else None
    alone = refined_starts(search_over(X, Y, 5, groups), 6, seed=7)
    assert alone.n_starts > 7
    assert refined_starts(search_over(X, Y, 5, groups), 6, seed=7, n_jobs=2) == alone


def test_a_search_that_goes_on_begins_with_the_starts_of_one_that_does_not():
    better = 0
    for seed in range(4):
        X, Y = hard_data(seed)
        plain = starts(search_over(X, Y, 8), 9, seed=seed)
        longer = refined_starts(search_over(X, Y, 8), 9, seed=seed)
        assert longer.history[: len(plain.history)] == plain.history
        assert longer.best.objective <= plain.best.objective + 1e-9
        better += longer.best.objective < 0.999 * plain.best.objective
    assert better > 0


def test_the_search_goes_on_until_as_many_starts_as_asked_for_find_nothing_better():
    X, Y = hard_data(3)
    local = search_over(X, Y, 8)
    found = []

    def refine(optima, others, rng):
        assert len(optima) == len(others) <= 8
        found.append(local.refine(optima, others, rng))
        return found[-1]

    result = starts(local, 20, refine=refine)
    assert result.n_starts == 21 + sum(map(len, found))
    assert not result.stopped_early
    level = result.best.objective + 1e-9
    best = next(i for i, some in enumerate(found) if any(one.objective < level for one in some))
    assert [len(some) for some in found[best:]] == [8, 8, 8, 4]  # the round that found it, and 20
    assert np.all(np.diff(result.history) <= 1e-9)


def test_ten_times_the_restarts_is_the_most():
    X, Y = hard_data()
    local = search_over(X, Y, 8)
    best = local.run((), (), 0)
    fake = iter(range(1000))

    def refine(optima, others, rng):
        drawn = [next(fake) for _ in optima]
        return [LocalOptimum(-float(i), (*best.units[:-1], i)) for i in drawn]

    assert starts(local, 8, refine=refine).n_starts == 81


def test_the_search_does_not_go_on_where_starts_agree():
    X, Y = data(3, n=60, d=20)
    local = search_over(X, Y, 3)

    def refine(optima, others, rng):
        raise AssertionError("went on")

    assert starts(local, 12, refine=refine, agreement=0.5).n_starts == 13
    assert starts(search_over(*hard_data(), 8), 0, refine=refine).n_starts == 1


def test_a_small_share_that_agrees_is_given_a_trial():
    X, Y = data(3, n=60, d=20)
    local = search_over(X, Y, 3)
    refined = starts(local, 10, refine=local.refine, agreement=1.1)
    assert refined.n_starts == 11 + 4
    assert refined.best.units == starts(search_over(X, Y, 3), 10).best.units


def test_a_trial_that_finds_better_goes_on():
    X, Y = data(3, n=60, d=20)
    local = search_over(X, Y, 3)
    rounds = []

    def refine(optima, others, rng):
        rounds.append(len(optima))
        better = LocalOptimum(-1.0, (3, 4, 5))
        return [better, *optima[1:]] if len(rounds) == 1 else list(optima)

    assert starts(local, 10, refine=refine, agreement=1.1).n_starts == 11 + 4 + 10
    assert rounds == [4, 8, 2]


def test_half_of_the_refined_starts_begin_with_what_two_selections_share():
    X, Y = hard_data()
    local = search_over(X, Y, 8)
    begun = []
    run = local.run

    def recorded(kept, removed, exchange_every):
        begun.append((set(kept), tuple(removed)))
        return run(kept, removed, exchange_every)

    local.run = recorded
    result = starts(local, 8, refine=local.refine)
    n_plain = sum(1 for _ in begun) - (result.n_starts - 9)
    refined = begun[n_plain:]
    assert sum(removed == () for _, removed in refined) >= len(refined) // 2
    assert all(len(kept) <= 8 for kept, _ in refined)


def test_the_deadline_and_the_monitor_end_a_search_that_goes_on():
    X, Y = hard_data()
    n_rounds = len(starts(search_over(X, Y, 8), 12).history)
    values = []

    def monitor(value):
        values.append(value)
        return len(values) == n_rounds + 1

    stopped = refined_starts(search_over(X, Y, 8), 12, monitor=monitor)
    assert (len(values), stopped.stopped_early) == (n_rounds + 1, True)
    assert stopped.n_starts == 21


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
