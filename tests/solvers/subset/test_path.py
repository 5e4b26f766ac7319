"""The best supports of all sizes at once, against brute force and greedy selection."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest
import scipy.sparse as sp

from rowsparse.design import make_design
from rowsparse.solvers.subset.exchange import forward
from rowsparse.solvers.subset.gram import GramProblem, reduced_targets
from rowsparse.solvers.subset.path import solve_path

RIDGES = (0.0, 0.5, 20.0)


def data(seed, n=25, d=9, c=2):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) @ (np.eye(d) + 0.7 * rng.standard_normal((d, d)))
    Y = X[:, :4] @ rng.standard_normal((4, c)) + 2 * rng.standard_normal((n, c))
    return X - X.mean(0), Y - Y.mean(0)


def path_of(X, Y, k_max, ridge=0.5, **options):
    design, _ = make_design(X, center=True, scale=False)
    problem = GramProblem.of(design, reduced_targets(Y), ridge=ridge)
    return solve_path(problem, Y, k_max, **options)


def naive_objective(X, Y, S, ridge):
    S = list(S)
    X_S = np.vstack([X[:, S], np.sqrt(ridge) * np.eye(len(S))])
    target = np.vstack([Y, np.zeros((len(S), Y.shape[1]))])
    W = np.linalg.lstsq(X_S, target, rcond=1e-10)[0]
    return np.sum((target - X_S @ W) ** 2)


def best_of_all(X, Y, k, ridge, include=(), exclude=()):
    free = [p for p in range(X.shape[1]) if p not in include and p not in exclude]
    choices = combinations(free, k - len(include))
    return min(naive_objective(X, Y, [*include, *S], ridge) for S in choices)


def test_objectives_reach_the_optimum_of_tiny_problems_and_never_pass_it():
    exact = total = 0
    for seed in range(40):
        ridge = RIDGES[seed % 3]
        X, Y = data(seed)
        for point in path_of(X, Y, 6, ridge):
            best = best_of_all(X, Y, point.k, ridge)
            assert point.objective >= best * (1 - 1e-9)
            exact += point.objective <= best * (1 + 1e-9)
            total += 1
    assert total == 240
    assert exact >= 0.97 * total


@pytest.mark.parametrize("ridge", RIDGES)
@pytest.mark.parametrize("seed", range(4))
def test_objectives_fall_and_are_at_most_greedy(seed, ridge):
    X, Y = data(seed, n=40, d=60)
    design, _ = make_design(X, center=True, scale=False)
    points = path_of(X, Y, 15, ridge, n_restarts=0)
    greedy = forward(design, Y, 15, ridge=ridge)
    assert [point.k for point in points] == list(range(1, 16))
    assert np.all(np.diff([point.objective for point in points]) <= 0)
    for point in points:
        assert point.objective <= naive_objective(X, Y, greedy[: point.k], ridge) * (1 + 1e-9)


def test_no_exchange_improves_any_size():
    X, Y = data(5, n=30, d=14)
    for point in path_of(X, Y, 6, 1.0):
        S = point.support.tolist()
        for out in S:
            for into in set(range(14)) - set(S):
                other = [p for p in S if p != out] + [into]
                assert naive_objective(X, Y, other, 1.0) >= point.objective * (1 - 1e-7)


def explained(X, Y, supports, ridge):
    """What each of many supports of one size takes off ||Y||^2."""
    supports = np.asarray(supports)
    A, B = X.T @ X + ridge * np.eye(X.shape[1]), X.T @ Y
    B_S = B[supports]
    V = np.linalg.solve(A[supports[:, :, None], supports[:, None, :]], B_S)
    return np.sum(B_S * V, axis=(1, 2))


def after_exchanges(X, Y, S, ridge):
    """The objective after the best exchanges from S, all of them tried."""
    value = explained(X, Y, [S], ridge)[0]
    while True:
        others = [p for p in range(X.shape[1]) if p not in S]
        trials = [[q for q in S if q != out] + [p] for out in S for p in others]
        values = explained(X, Y, trials, ridge)
        if values.max() <= value * (1 + 1e-9):
            return np.sum(Y**2) - value
        value, S = values.max(), trials[values.argmax()]


@pytest.mark.parametrize("seed", [0, 2, 5, 6])
def test_no_size_gains_from_exchanges_that_start_at_its_neighbours(seed):
    X, Y = data(seed, n=30, d=80, c=3)
    for smaller, larger in pairwise(path_of(X, Y, 10, 0.5, n_restarts=0)):
        S, L = smaller.support.tolist(), larger.support.tolist()
        added = max(
            ([*S, p] for p in range(80) if p not in S),
            key=lambda T: explained(X, Y, [T], 0.5)[0],
        )
        removed = max(
            ([q for q in L if q != p] for p in L), key=lambda T: explained(X, Y, [T], 0.5)[0]
        )
        assert larger.objective <= after_exchanges(X, Y, added, 0.5) * (1 + 1e-7)
        assert smaller.objective <= after_exchanges(X, Y, removed, 0.5) * (1 + 1e-7)


def test_objective_loss_and_coefficients_are_those_of_the_support():
    X, Y = data(1)
    for point in path_of(X, Y, 5, 2.0):
        X_S = X[:, point.support]
        V = np.linalg.solve(X_S.T @ X_S + 2.0 * np.eye(point.k), X_S.T @ Y)
        np.testing.assert_allclose(point.V, V, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(point.loss, np.sum((Y - X_S @ V) ** 2), rtol=1e-9)
        np.testing.assert_allclose(point.objective, point.loss + 2.0 * np.sum(V**2), rtol=1e-9)


def test_another_ridge_on_shared_gram_rows_is_the_problem_built_anew():
    X, Y = data(2, n=20, d=30)
    design, _ = make_design(X, center=True, scale=False)
    shared = GramProblem.of(design, reduced_targets(Y))
    for ridge in RIDGES:
        ours = solve_path(shared.with_ridge(ridge), Y, 6)
        assert shared.with_ridge(ridge).gram is shared.gram
        for a, b in zip(ours, path_of(X, Y, 6, ridge), strict=True):
            np.testing.assert_array_equal(a.support, b.support)
            assert a.objective == pytest.approx(b.objective)


def test_included_features_stay_and_excluded_ones_stay_out():
    hits = []
    for seed in range(10):
        X, Y = data(seed)
        include, exclude = [8, 2], [0, 5]
        points = path_of(X, Y, 5, 0.5, include=include, exclude=exclude)
        assert [point.k for point in points] == [2, 3, 4, 5]
        for point in points:
            assert set(include) <= set(point.support.tolist())
            assert set(exclude).isdisjoint(point.support.tolist())
            best = best_of_all(X, Y, point.k, 0.5, include, exclude)
            assert point.objective >= best * (1 - 1e-9)
            hits.append(point.objective <= best * (1 + 1e-9))
    assert np.mean(hits) >= 0.95


@pytest.mark.parametrize("ridge", [0.0, 0.5])
def test_duplicates_and_constants_come_last_but_sizes_are_exact(ridge):
    X, Y = data(3, d=4)
    X = np.hstack([X, X[:, :1], np.zeros((25, 2))])  # column 4 repeats 0; 5 and 6 are constant
    points = path_of(X, Y, 6, ridge, exclude=[6])
    assert [np.unique(point.support).size for point in points] == [1, 2, 3, 4, 5, 6]
    assert points[4].support.tolist() == [0, 1, 2, 3, 4]
    assert points[5].support.tolist() == [0, 1, 2, 3, 4, 5]
    assert np.all(np.diff([point.objective for point in points]) <= 0)


def test_dependent_included_features_count():
    X, Y = data(4, d=6)
    X = np.hstack([X, X[:, :1]])
    points = path_of(X, Y, 4, 0.0, include=[0, 6])
    assert [point.support.size for point in points] == [2, 3, 4]
    assert all({0, 6} <= set(point.support.tolist()) for point in points)


def test_a_perfect_fit_stays_perfect():
    X, Y = data(7, n=6, d=20, c=1)
    points = path_of(X, Y, 9, 0.0)
    total = np.sum(Y**2)
    assert [point.k for point in points] == list(range(1, 10))
    assert all(point.objective <= 1e-10 * total for point in points[4:])


def test_targets_without_any_signal_still_give_every_size():
    X, _ = data(8)
    points = path_of(X, np.zeros((25, 1)), 4, 0.5)
    assert [point.k for point in points] == [1, 2, 3, 4]
    assert all(point.objective == 0 for point in points)


def test_kicks_only_improve_and_follow_the_seed():
    improved = False
    for seed in range(6):
        X, Y = data(seed, n=30, d=80, c=3)
        plain = np.array([p.objective for p in path_of(X, Y, 12, 0.0, n_restarts=0)])
        kicked = path_of(X, Y, 12, 0.0, n_restarts=4, seed=3)
        again = path_of(X, Y, 12, 0.0, n_restarts=4, seed=3)
        objectives = np.array([p.objective for p in kicked])
        assert np.all(objectives <= plain * (1 + 1e-8))
        improved |= bool(np.any(objectives < plain * (1 - 1e-6)))
        for a, b in zip(kicked, again, strict=True):
            np.testing.assert_array_equal(a.support, b.support)
    assert improved


def test_sparse_and_dense_designs_agree():
    X, Y = data(9, n=40, d=30)
    X = np.where(np.abs(X) > 1.5, X, 0.0)
    for a, b in zip(path_of(X, Y, 8), path_of(sp.csc_array(X), Y, 8), strict=True):
        np.testing.assert_array_equal(a.support, b.support)
        assert a.objective == pytest.approx(b.objective)


GROUPS = [np.array(group) for group in ([0, 5], [1], [2, 7, 11], [3, 4], [6], [8, 9], [10])]


def groups_of(point):
    """The groups that make up a support, which must be whole ones."""
    inside = set(point.support.tolist())
    chosen = [g for g, group in enumerate(GROUPS) if set(group.tolist()) <= inside]
    assert sum(GROUPS[g].size for g in chosen) == len(inside)
    return chosen


def best_of_groups(X, Y, k, ridge, fixed=(), barred=()):
    free = [g for g in range(len(GROUPS)) if g not in fixed and g not in barred]
    choices = combinations(free, k - len(fixed))
    return min(
        naive_objective(X, Y, np.concatenate([GROUPS[g] for g in (*fixed, *chosen)]), ridge)
        for chosen in choices
    )


def test_groups_come_and_go_together_and_reach_the_optimum():
    exact = []
    for seed in range(12):
        ridge = RIDGES[seed % 3]
        X, Y = data(seed, n=30, d=12)
        points = path_of(X, Y, 6, ridge, groups=GROUPS)
        assert [len(groups_of(point)) for point in points] == [1, 2, 3, 4, 5, 6]
        assert all(a.objective >= b.objective for a, b in pairwise(points))
        for point in points:
            best = best_of_groups(X, Y, point.k, ridge)
            assert point.objective >= best * (1 - 1e-9)
            exact.append(point.objective <= best * (1 + 1e-9))
    assert np.mean(exact) >= 0.95


def test_no_exchange_of_groups_improves_any_size():
    X, Y = data(5, n=30, d=12)
    for point in path_of(X, Y, 5, 0.5, groups=GROUPS, n_restarts=0):
        chosen = groups_of(point)
        for out in chosen:
            for into in set(range(len(GROUPS))) - set(chosen):
                other = [g for g in chosen if g != out] + [into]
                S = np.concatenate([GROUPS[g] for g in other])
                assert naive_objective(X, Y, S, 0.5) >= point.objective * (1 - 1e-7)


def test_included_and_excluded_features_speak_for_their_groups():
    X, Y = data(2, n=30, d=12)
    points = path_of(X, Y, 5, 0.5, groups=GROUPS, include=[7, 4, 2], exclude=[0])
    assert [point.k for point in points] == [2, 3, 4, 5]
    for point in points:
        chosen = groups_of(point)
        assert {2, 3} <= set(chosen)
        assert 0 not in chosen
        best = best_of_groups(X, Y, point.k, 0.5, fixed=(2, 3), barred=(0,))
        assert point.objective == pytest.approx(best, rel=1e-9)


def test_groups_of_one_are_features():
    X, Y = data(1)
    alone = [np.array([j]) for j in range(9)]
    for point, same in zip(path_of(X, Y, 5), path_of(X, Y, 5, groups=alone), strict=True):
        np.testing.assert_array_equal(point.support, same.support)


def test_groups_that_add_nothing_fill_up():
    X, Y = data(3, n=30, d=12)
    X[:, [3, 4, 8, 9, 10]] = 0.0
    points = path_of(X, Y, 7, 0.5, groups=GROUPS)
    assert [len(groups_of(point)) for point in points] == [1, 2, 3, 4, 5, 6, 7]
    assert points[3].objective == pytest.approx(points[6].objective)


@pytest.mark.parametrize("ridge", [0.0, 0.5])
def test_groups_that_depend_on_each_other(ridge):
    exact = []
    for seed in range(6):
        X, Y = data(seed, n=30, d=12)
        X[:, 5] = X[:, 1]
        X[:, 9] = X[:, 2] - X[:, 7]
        points = path_of(X, Y, 5, ridge, groups=GROUPS)
        assert [len(groups_of(point)) for point in points] == [1, 2, 3, 4, 5]
        for point in points:
            best = best_of_groups(X, Y, point.k, ridge)
            assert point.objective >= best * (1 - 1e-9)
            exact.append(point.objective <= best * (1 + 1e-9))
    assert np.mean(exact) >= 0.9
