"""Growth, exchanges, removals and joins, many starts, and walks that leave local optima."""

from itertools import pairwise

import numpy as np
import pytest

from rowsparse._deadline import Deadline
from rowsparse.solvers.problem import Options
from rowsparse.solvers.search import walk as walks
from rowsparse.solvers.search.gram_state import GramState, forward
from rowsparse.solvers.search.starts import run_starts
from rowsparse.solvers.search.walk import walk

from .problems import (
    best_exchange_of,
    best_of,
    best_of_all,
    data,
    design_of,
    each_kind,
    grow_to,
    local_of,
    logistic_loss,
    objective_of,
    posed,
    problem_of,
    small,
    squared,
    units_of,
    value_of,
)


@each_kind
@pytest.mark.parametrize("start", [((), (), 0), ((3, 5), (), 2), ((1, 2, 5), (0,), 1)])
def test_a_run_ends_where_no_exchange_gains(kind, start):
    problem = small(kind, 1, 4)
    found = local_of(problem).run(*start)
    assert len(found.units) == 4
    assert list(found.units) == sorted(found.units)
    assert found.objective == pytest.approx(value_of(problem, found.units), rel=1e-5)
    # Before a loss with a curvature is confirmed, exchanges that promise nothing are not tried.
    slack = 1e-9 if kind[0] == "squared" else 0.02
    assert best_exchange_of(problem, found.units) >= found.objective * (1 - slack)


@each_kind
def test_shrinking_removes_the_unit_whose_removal_costs_least(kind):
    problem = small(kind, 3, 4)
    units = (0, 2, 3, 5)
    found = local_of(problem).shrink(units)
    least = min(value_of(problem, [q for q in units if q != out]) for out in units)
    assert len(found.units) == 3
    assert value_of(problem, found.units) <= least * (1 + 1e-9)


@each_kind
def test_the_second_start_ends_at_the_size(kind):
    problem = small(kind, 1, 3, include=[3])
    local = local_of(problem)
    first = local.run((), (), 0)
    found = local.run_beam(first)
    assert len(found.units) == len(first.units) == 2
    chosen = [*problem.choices.fixed, *found.units]
    assert found.objective == pytest.approx(value_of(problem, chosen), rel=1e-5)


@each_kind
def test_growing_shrinking_and_the_greedy_path_are_consistent(kind):
    problem = small(kind, 2, 4)
    local = local_of(problem)
    path = list(local.greedy_path())
    assert [len(point.units) for point in path] == [0, 1, 2, 3, 4]
    assert path[0].objective == pytest.approx(local.total)
    for point in path[1:]:
        assert point.objective == pytest.approx(value_of(problem, point.units), rel=1e-5)
    assert local.regrow(path[2].units, 3).objective <= path[2].objective
    assert len(local.shrink(path[3].units).units) == 2
    assert len(units_of(problem, local.support(path[1].units, 3))) == 3


@pytest.mark.parametrize("grouped", [False, True])
def test_refined_selections_are_local_optima_that_are_never_worse(grouped):
    better = 0
    groups = [np.arange(j, j + 2) for j in range(0, 60, 2)] if grouped else None
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X, Y = rng.standard_normal((30, 60)), rng.standard_normal((30, 1))
        loss = squared(X - X.mean(0), Y - Y.mean(0))
        problem = posed(loss, 6, include=[3], exclude=[0, 1], groups=groups)
        local = local_of(problem)
        starts = [local.run(kept, (), 0) for kept in ((), (10, 11, 12), (20, 21, 22))]
        for one, other in pairwise(starts):
            refined = local.refine([one], [other], np.random.default_rng(seed))[0]
            assert refined.objective <= one.objective + 1e-9
            assert len(refined.units) == 5
            assert not {*problem.choices.fixed, *problem.choices.barred} & set(refined.units)
            chosen = [*problem.choices.fixed, *refined.units]
            assert refined.objective == pytest.approx(value_of(problem, chosen))
            assert best_exchange_of(problem, chosen) > refined.objective - 1e-8
            better += refined.objective < one.objective - 1e-6
    assert better > 0


# ---------------------------------------------------------------------------------- single features
def test_the_beam_is_never_worse_than_its_greedy_member():
    for seed in range(5):
        X, Y = data(seed, n=20, d=40)
        problem = posed(squared(X, Y), 5, ridge=0.5)
        local = local_of(problem)
        beam = local.run_beam(local.run((), (), 0))
        greedy = objective_of(X, Y, forward(design_of(X), Y, 5, ridge=0.5), 0.5)
        assert beam.objective <= greedy * (1 + 1e-9)
        assert best_exchange_of(problem, beam.units) >= beam.objective * (1 - 1e-9)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_nearly_all_features_are_found_by_removal(loss, monkeypatch):
    problem = small((loss, False), 2, 8)
    local = local_of(problem)
    removed = []
    real = local._shrink_to_size
    local._shrink_to_size = lambda state: removed.append(state.size) or real(state)
    found = local.run((), (), 0)
    assert removed == [9]
    assert value_of(problem, found.units) == pytest.approx(best_of(problem))


# -------------------------------------------------------------------------------------- many starts
def starts(local, n_restarts, *, trusts_agreement=True, goes_on=False, **options):
    options = Options(n_restarts, **options)
    return run_starts(local, options, trusts_agreement=trusts_agreement, goes_on=goes_on)


def refined_starts(local, n_restarts, **settings):
    return starts(local, n_restarts, goes_on=True, **settings)


def hard_data(seed=0):
    """Many columns for few samples: starts end at many selections."""
    rng = np.random.default_rng(seed)
    X, Y = rng.standard_normal((30, 300)), rng.standard_normal((30, 1))
    return X - X.mean(0), Y - Y.mean(0)


def search_over(X, Y, k, groups=None):
    return local_of(posed(squared(X, Y), k, groups=groups))


@pytest.mark.parametrize("goes_on", [False, True])
@pytest.mark.parametrize("grouped", [False, True])
def test_the_answer_does_not_depend_on_the_number_of_workers(grouped, goes_on):
    X, Y = hard_data()
    groups = [np.arange(j, j + 2) for j in range(0, 300, 2)] if grouped else None
    alone, two, all_of_them = (
        starts(search_over(X, Y, 5, groups), 6, seed=7, goes_on=goes_on, n_jobs=n_jobs)
        for n_jobs in (None, 2, -1)
    )
    assert (alone.n_starts > 7) == goes_on
    assert alone == two == all_of_them


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

    real = local.refine

    def refine(optima, others, rng):
        assert len(optima) == len(others) <= 8
        found.append(real(optima, others, rng))
        return found[-1]

    local.refine = refine
    result = refined_starts(local, 20)
    assert result.n_starts == 21 + sum(map(len, found))
    assert not result.stopped_early
    level = result.best.objective + 1e-9
    best = next(i for i, some in enumerate(found) if any(one.objective < level for one in some))
    assert [len(some) for some in found[best:]] == [8, 8, 8, 4]  # the round that found it, and 20
    assert np.all(np.diff(result.history) <= 1e-9)


def test_the_search_does_not_go_on_where_starts_agree():
    X, Y = data(3, n=60, d=20)
    local = search_over(X, Y, 3)

    def refine(optima, others, rng):
        raise AssertionError("went on")

    local.refine = refine
    assert refined_starts(local, 12).n_starts == 3
    alone = search_over(*hard_data(), 8)
    alone.refine = refine
    assert refined_starts(alone, 0).n_starts == 1


def test_no_more_starts_follow_once_all_have_ended_at_one_selection():
    X, Y = data(7, n=40, d=200, c=3)
    few, all_of_them = (
        starts(search_over(X, Y, 8), 13, trusts_agreement=trusts) for trusts in (True, False)
    )
    assert (few.n_starts, all_of_them.n_starts) == (3, 14)
    assert few.best.units == all_of_them.best.units
    assert not few.stopped_early


def test_more_starts_have_to_agree_where_gains_are_not_exact():
    loss = logistic_loss(0, n=60, d=12)
    found = starts(local_of(posed(loss, 3, ridge=5.0)), 20)
    assert found.n_starts == 7


def test_the_deadline_and_the_monitor_end_the_starts():
    X, Y = data(1, n=60, d=100, c=3)
    late = starts(search_over(X, Y, 8), 50, deadline=Deadline(0.0))
    assert (late.n_starts, late.stopped_early) == (1, True)
    values = []

    def monitor(value):
        values.append(value)
        return len(values) == 3

    stopped = starts(search_over(X, Y, 8), 50, trusts_agreement=False, monitor=monitor)
    assert (len(values), stopped.stopped_early) == (3, True)
    assert values == stopped.history
    assert not starts(search_over(X, Y, 8), 2).stopped_early
    # In the first round of one that goes on.
    X, Y = hard_data()
    n_rounds = len(starts(search_over(X, Y, 8), 12).history)
    end = iter([False] * n_rounds + [True])
    stopped = refined_starts(search_over(X, Y, 8), 12, monitor=lambda value: next(end))
    assert (stopped.n_starts, stopped.stopped_early) == (21, True)


# -------------------------------------------------------------------------------------------- walks
def local_optimum(X, Y, k, ridge=0.0):
    state = GramState(problem_of(X, Y, ridge))
    everything = np.ones(X.shape[1], dtype=bool)
    grow_to(state, k, everything)
    state.descend(everything)
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


@pytest.mark.parametrize(("ridge", "c"), [(0.0, 1), (0.7, 3)])
def test_every_step_makes_the_best_exchange_that_is_allowed(moves, ridge, c, monkeypatch):
    X, Y = data(2, n=40, d=30, c=c)
    problem = problem_of(X, Y, ridge)
    steps, step = [], walks._Walks._step

    def checked(self, number, rng):
        for support, until in zip(self._S, self._out_until, strict=True):
            state = GramState(problem, support)
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


def test_a_feature_that_left_does_not_come_back_at_once(moves):
    X, Y = data(3, n=30, d=40)
    state = local_optimum(X, Y, 8)
    everything = np.ones(40, dtype=bool)
    walk(state.problem, [state.basis], everything, rng=np.random.default_rng(0))
    made = [move for (move,) in moves]
    for step, (out, into) in enumerate(made):
        assert out not in {p for _, p in made[step + 1 : step + 5]}  # barred for 4 to 8 steps
        assert into not in {o for o, _ in made[step + 1 : step + 2]}  # kept for 1 to 2


def test_walks_that_do_not_fit_in_memory_together_go_one_after_another(moves, monkeypatch):
    X, Y = data(0, n=30, d=40)
    starts, everything = [[1, 2, 3], [4, 5, 6], [7, 8, 9]], np.ones(40, dtype=bool)
    monkeypatch.setattr(walks, "_BYTES", 1)
    found = walk(problem_of(X, Y), starts, everything, rng=np.random.default_rng(0))
    assert {len(step) for step in moves} == {1}
    for start, basis in zip(starts, found, strict=True):
        assert objective_of(X, Y, basis) < objective_of(X, Y, start)
