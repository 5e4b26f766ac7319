"""The search for the best k units and for all sizes at once, against enumeration."""

from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rowsparse.design import make_design
from rowsparse.solvers.losses.l21 import L21Loss
from rowsparse.solvers.losses.logistic import LogisticLoss
from rowsparse.solvers.losses.squared import SquaredLoss
from rowsparse.solvers.problem import Options
from rowsparse.solvers.search.gram_state import forward
from rowsparse.solvers.search.search import path, states_of, with_support

from .problems import (
    KINDS,
    best_exchange_of,
    best_of,
    data,
    design_of,
    each_kind,
    found_in,
    objective_of,
    path_of,
    posed,
    searched,
    small,
    units_of,
    value_of,
)

SEEDS = st.integers(0, 10_000)
RIDGES = st.sampled_from([0.0, 0.3, 20.0])


# ---------------------------------------------------------------------------------------- all kinds
@each_kind
@pytest.mark.parametrize("ridge", [0.02, 0.5, 20.0])
def test_the_search_reaches_the_optimum_by_enumeration(kind, ridge):
    for seed, c in enumerate((1, 2, 3)):
        problem = small(kind, seed, 1 + (seed + c) % 4, n=18, c=c, ridge=ridge)
        result = found_in(problem, seed=seed)
        assert len(units_of(problem, result.support)) == problem.choices.k
        assert result.objective == pytest.approx(
            value_of(problem, units_of(problem, result.support))
        )
        assert result.objective == pytest.approx(best_of(problem), rel=1e-8)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(KINDS), SEEDS, RIDGES, st.integers(1, 5), st.integers(0, 3))
def test_no_exchange_improves_on_the_answer(kind, seed, ridge, k, n_restarts):
    if kind[0] == "logistic":
        ridge = max(ridge, 0.1)  # fits to separable labels may be given up too early
    problem = small(kind, seed, k, ridge=ridge)
    result = found_in(problem, n_restarts=n_restarts, seed=seed)
    units = units_of(problem, result.support)
    assert len(units) == k
    assert best_exchange_of(problem, units) >= result.objective - 1e-7


@each_kind
@pytest.mark.parametrize("seed", range(3))
def test_included_and_excluded_columns_are_honoured_at_the_optimum(kind, seed):
    problem = small(kind, seed, 3, include=[7], exclude=[0, 6])
    result = found_in(problem, seed=seed)
    assert 7 in result.support
    assert not np.isin(result.support, [0, 6]).any()
    assert set(problem.choices.fixed) <= set(units_of(problem, result.support))
    assert result.objective == pytest.approx(best_of(problem), rel=1e-8)


@each_kind
def test_the_answer_does_not_depend_on_the_number_of_workers(kind):
    problem = small(kind, 5, 4, n=40)
    one, two = (found_in(problem, n_restarts=8, n_jobs=n) for n in (1, 2))
    np.testing.assert_array_equal(one.support, two.support)
    np.testing.assert_array_equal(one.history, two.history)
    assert one.n_starts == two.n_starts >= (9 if problem.choices.groups else 3)


@each_kind
def test_an_expired_deadline_still_gives_k_units(kind):
    problem = small(kind, 7, 4)
    result = found_in(problem, time_limit=1e-9)
    assert len(units_of(problem, result.support)) == 4
    assert result.stopped_early


@each_kind
def test_the_monitor_can_end_the_search(kind):
    seen = []
    result = found_in(
        small(kind, 1, 3),
        n_restarts=100,
        monitor=lambda value: seen.append(value) or len(seen) == 2,
    )
    assert result.stopped_early
    assert (len(seen), len(result.history)) == (2, 2)
    assert result.n_starts < 20


@each_kind
@pytest.mark.parametrize("n_restarts", [0, 5])
def test_costs_are_those_of_refits_and_gains_rank_the_other_columns(kind, n_restarts):
    problem = small(kind, 3, 3)
    result = found_in(problem, n_restarts=n_restarts)
    whole = posed(problem.loss, 3, ridge=problem.ridge)
    S = result.support.tolist()
    for cost, out in zip(result.costs, S, strict=True):
        left = value_of(whole, [p for p in S if p != out])
        assert cost == pytest.approx(left - result.objective, rel=1e-6)
    assert np.all(result.gains[S] == 0)
    assert np.all(result.gains >= 0)
    others = np.setdiff1d(np.arange(result.gains.size), S)
    gains = [result.objective - value_of(whole, [*S, p]) for p in others]
    # Those of a loss with a curvature are to second order.
    np.testing.assert_allclose(result.gains[others], gains, 1e-6 if kind[0] == "squared" else 0.5)


@each_kind
def test_the_outcome_for_another_support_is_that_of_its_fit(kind):
    problem = small(kind, 4, 3)
    result = found_in(problem, n_restarts=2)
    units = [
        u for u in range(problem.choices.n_units) if u not in units_of(problem, result.support)
    ]
    support = np.sort(problem.choices.columns(units[:3]))
    other = with_support(problem, result, support)
    assert other.objective == pytest.approx(value_of(problem, units[:3]))
    assert other.history[-1] == other.objective
    assert np.all(np.diff(other.history) <= 0)
    assert other.n_starts == result.n_starts
    np.testing.assert_array_equal(other.support, support)
    back = with_support(problem, other, result.support)
    np.testing.assert_allclose(back.costs, result.costs, rtol=1e-6)
    np.testing.assert_allclose(back.gains, result.gains, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("kind", ["squared", "logistic"])
def test_groups_of_one_give_what_no_groups_give(kind):
    alone = small((kind, False), 12, 4, n=30)
    single = [np.array([j]) for j in range(8)]
    problems = (
        posed(alone.loss, 4, ridge=0.3, exclude=[8]),
        posed(alone.loss, 4, ridge=0.3, groups=single),
    )
    one, two = (found_in(problem, seed=3) for problem in problems)
    np.testing.assert_array_equal(one.support, two.support)
    np.testing.assert_array_equal(one.history, two.history)
    paths = [path(problem, Options(n_restarts=2)) for problem in problems]
    for point, same in zip(*(found.values() for found in paths), strict=True):
        np.testing.assert_array_equal(point.support, same.support)


@pytest.mark.parametrize("kind", ["squared", "logistic"])
@pytest.mark.parametrize("ridge", [0.0, 1.0])
def test_a_group_of_dependent_columns_is_worth_what_its_span_is(kind, ridge):
    rng = np.random.default_rng(0)
    category = rng.integers(0, 3, 60)
    X = np.column_stack([np.eye(3)[category], rng.standard_normal((60, 3))])
    design = make_design(X, center=True, scale=True)[0]
    y = ((category == 1) ^ (rng.uniform(size=60) < 0.2)).astype(float)[:, None]
    loss = LogisticLoss(design, y, np.ones(60), True)
    if kind == "squared":
        loss = SquaredLoss(design, y - y.mean())
    groups = [np.array([0, 1, 2]), np.array([3]), np.array([4]), np.array([5])]
    for k, support in ((1, [0, 1, 2]), (4, list(range(6)))):
        result = found_in(posed(loss, k, ridge=ridge, groups=groups))
        assert result.support.tolist() == support


def test_what_a_loss_lacks_is_said():
    X, Y = data(0)
    problem = posed(L21Loss.from_targets(design_of(X), Y, None, True), 3)
    with pytest.raises(TypeError, match=r"squared loss or one with a curvature.*not L21Loss"):
        states_of(problem)


# --------------------------------------------------------------------------------- the squared loss
def test_dependent_and_constant_columns_can_be_included():
    X, Y = data(2)
    X[:, 5] = X[:, 3]
    X[:, 6] = 0.0
    result = searched(X, Y, 5, include=[3, 5, 6])
    assert {3, 5, 6} <= set(result.support.tolist())
    assert result.support.size == 5
    best = min(objective_of(X, Y, [3, *S]) for S in combinations([0, 1, 2, 4, 7, 8, 9], 2))
    assert result.objective == pytest.approx(best)


def test_a_perfect_fit_is_filled_up_to_exactly_k():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 10))
    X -= X.mean(0)
    Y = X[:, [3, 6]] @ rng.standard_normal((2, 2))
    result = searched(X, Y, 5, exclude=[0])
    # By what the others gain alone.
    alone = np.sum((X.T @ Y) ** 2, axis=1) / np.sum(X**2, axis=0)
    alone[[0, 3, 6]] = -1
    assert set(result.support.tolist()) == {3, 6, *np.argsort(-alone)[:3].tolist()}
    assert result.objective < 1e-20 * np.sum(Y**2)
    for k in (19, 25, 39):
        X, Y = data(5, n=20, d=40)
        result = searched(X, Y, k)
        assert np.unique(result.support).size == k
        assert result.objective < 1e-18 * np.sum(Y**2)


def test_of_duplicates_the_first_is_selected():
    X, Y = data(9, n=40, d=30)
    plain = searched(X, Y, 4)
    doubled = searched(np.hstack([X, X]), Y, 4)
    assert doubled.support.tolist() == plain.support.tolist()


# --------------------------------------------------------------------------------- known objectives
# Rows with a number of restarts of None: what fastcan reaches with a beam of 10.
@pytest.mark.parametrize(
    ("name", "k", "n_restarts", "known"),
    [
        ("srbct", 1, 0, 41.815),
        ("srbct", 5, 0, 9.6213),
        ("srbct", 10, 0, 4.7319),
        ("srbct", 20, 0, 1.6289),
        ("glioma", 5, 0, 11.776),
        ("glioma", 10, 0, 5.3616),
        ("yale", 10, 0, 99.495),
        ("yale", 20, 0, 69.804),
        ("coil20", 10, 0, 893.08),
        ("coil20", 50, 0, 438.59),
        ("isolet", 10, 0, 1114.9),
        ("isolet", 20, 0, 936.72),
        ("srbct", 10, 20, 4.6798),
        ("srbct", 20, 20, 1.2676),
        ("glioma", 5, 20, 10.256),
        ("glioma", 10, 20, 3.4001),
        ("yale", 20, 60, 69.667),
        ("isolet", 10, 20, 1114.6),
        ("isolet", 20, 60, 932.97),
        ("allaml", 5, None, 1.54639),
        ("allaml", 10, None, 0.48537),
        ("allaml", 20, None, 0.04294),
        ("leu", 50, None, 5.8396e-08),
        ("prostate_ge", 5, None, 8.45901),
        ("prostate_ge", 20, None, 0.87771),
        ("warppie10p", 5, None, 116.8016),
    ],
)
def test_known_objectives_of_data_are_reached(benchmark_data, name, k, n_restarts, known):
    X, y = benchmark_data(name)
    X, Y = (X - X.mean(0)) / X.std(0, ddof=1), np.eye(y.max() + 1)[y]
    options = {} if n_restarts is None else {"n_restarts": n_restarts}
    assert searched(X, Y - Y.mean(0), k, **options).objective <= known * (1 + 1e-4)


# -------------------------------------------------------------------------------- all sizes at once
RIDGES_PATH = (0.0, 0.5, 20.0)


@each_kind
@pytest.mark.parametrize("constraints", [{}, {"include": [7, 4], "exclude": [0]}])
def test_every_size_reaches_the_optimum_of_tiny_problems_and_none_passes_it(kind, constraints):
    exact = []
    for seed, ridge in enumerate((0.05, 0.5, 20.0)):
        problem = small(kind, seed, 5, n=30, ridge=ridge, **constraints)
        smallest = max(1, problem.choices.fixed.size)
        points = path(problem, Options(n_restarts=2))
        assert list(points) == list(range(smallest, 6))
        assert all(a.objective >= b.objective for a, b in pairwise(points.values()))
        for k, point in points.items():
            assert len(units_of(problem, point.support)) == k
            best = best_of(replace(problem, choices=problem.choices.with_k(k)))
            assert point.objective >= best * (1 - 1e-8)
            exact.append(point.objective <= best * (1 + 1e-8))
    assert np.mean(exact) >= 0.9


@each_kind
def test_no_exchange_improves_any_size_and_coefficients_are_those_of_the_support(kind):
    problem = small(kind, 5, 5, n=30)
    for point in path(problem, Options()).values():
        units = units_of(problem, point.support)
        assert best_exchange_of(problem, units) >= point.objective * (1 - 1e-7)
        assert point.objective == pytest.approx(value_of(problem, units), rel=1e-9)
        Z = problem.loss.design.double_columns(point.support)
        penalty = 0.5 * problem.ridge * np.sum(point.W**2)
        reached = problem.loss.value(Z @ point.W + point.b) + penalty
        twice = 2.0 if kind[0] == "squared" else 1.0
        assert twice * reached == pytest.approx(point.objective, rel=1e-9)


@pytest.mark.parametrize("ridge", RIDGES_PATH)
@pytest.mark.parametrize("seed", range(4))
def test_objectives_fall_and_are_at_most_greedy(seed, ridge):
    X, Y = data(seed, n=40, d=60)
    points = path_of(X, Y, 15, ridge, n_restarts=0)
    greedy = forward(design_of(X), Y, 15, ridge=ridge)
    assert list(points) == list(range(1, 16))
    assert np.all(np.diff([point.objective for point in points.values()]) <= 0)
    for k, point in points.items():
        assert point.objective <= objective_of(X, Y, greedy[:k], ridge) * (1 + 1e-9)


@pytest.mark.parametrize("ridge", [0.0, 0.5])
def test_duplicates_and_constants_come_last_but_sizes_are_exact(ridge):
    X, Y = data(3, d=4)
    X = np.hstack([X, X[:, :1], np.zeros((25, 2))])  # column 4 repeats 0; 5 and 6 are constant
    points = list(path_of(X, Y, 6, ridge, exclude=[6]).values())
    assert [np.unique(point.support).size for point in points] == [1, 2, 3, 4, 5, 6]
    assert points[4].support.tolist() == [0, 1, 2, 3, 4]
    assert points[5].support.tolist() == [0, 1, 2, 3, 4, 5]
    assert np.all(np.diff([point.objective for point in points]) <= 0)


def test_perturbations_only_improve_and_follow_the_seed():
    improved = False
    for seed in range(3):
        X, Y = data(seed, n=30, d=80, c=3)
        plain = path_of(X, Y, 12, 0.0, n_restarts=0)
        plain = np.array([p.objective for p in plain.values()])
        perturbed = path_of(X, Y, 12, 0.0, n_restarts=4, seed=3)
        again = path_of(X, Y, 12, 0.0, n_restarts=4, seed=3)
        objectives = np.array([p.objective for p in perturbed.values()])
        assert np.all(objectives <= plain * (1 + 1e-8))
        improved |= bool(np.any(objectives < plain * (1 - 1e-6)))
        for a, b in zip(perturbed.values(), again.values(), strict=True):
            np.testing.assert_array_equal(a.support, b.support)
    assert improved
