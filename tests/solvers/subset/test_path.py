"""The best supports of all sizes at once, against brute force and greedy selection."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

from rowsparse.solvers.subset.exchange import forward

from .problems import best_of_all, data, design_of, objective_of, path_of

RIDGES = (0.0, 0.5, 20.0)


def test_objectives_reach_the_optimum_of_tiny_problems_and_never_pass_it():
    exact = total = 0
    for seed in range(12):
        ridge = RIDGES[seed % 3]
        X, Y = data(seed, d=9)
        for point in path_of(X, Y, 6, ridge):
            best = best_of_all(X, Y, point.k, ridge)
            assert point.objective >= best * (1 - 1e-9)
            exact += point.objective <= best * (1 + 1e-9)
            total += 1
    assert total == 72
    assert exact >= 0.97 * total


@pytest.mark.parametrize("ridge", RIDGES)
@pytest.mark.parametrize("seed", range(4))
def test_objectives_fall_and_are_at_most_greedy(seed, ridge):
    X, Y = data(seed, n=40, d=60)
    points = path_of(X, Y, 15, ridge, n_restarts=0)
    greedy = forward(design_of(X), Y, 15, ridge=ridge)
    assert [point.k for point in points] == list(range(1, 16))
    assert np.all(np.diff([point.objective for point in points]) <= 0)
    for point in points:
        assert point.objective <= objective_of(X, Y, greedy[: point.k], ridge) * (1 + 1e-9)


def test_no_exchange_improves_any_size():
    X, Y = data(5, n=30, d=14)
    for point in path_of(X, Y, 6, 1.0):
        S = point.support.tolist()
        for out in S:
            for into in set(range(14)) - set(S):
                other = [p for p in S if p != out] + [into]
                assert objective_of(X, Y, other, 1.0) >= point.objective * (1 - 1e-7)


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
    X, Y = data(1, d=9)
    for point in path_of(X, Y, 5, 2.0):
        X_S = X[:, point.support]
        V = np.linalg.solve(X_S.T @ X_S + 2.0 * np.eye(point.k), X_S.T @ Y)
        np.testing.assert_allclose(point.V, V, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(point.loss, np.sum((Y - X_S @ V) ** 2), rtol=1e-9)
        np.testing.assert_allclose(point.objective, point.loss + 2.0 * np.sum(V**2), rtol=1e-9)


def test_included_features_stay_and_excluded_ones_stay_out():
    hits = []
    for seed in range(10):
        X, Y = data(seed, d=9)
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
    X, _ = data(8, d=9)
    points = path_of(X, np.zeros((25, 1)), 4, 0.5)
    assert [point.k for point in points] == [1, 2, 3, 4]
    assert all(point.objective == 0 for point in points)


def test_perturbations_only_improve_and_follow_the_seed():
    improved = False
    for seed in range(3):
        X, Y = data(seed, n=30, d=80, c=3)
        plain = np.array([p.objective for p in path_of(X, Y, 12, 0.0, n_restarts=0)])
        perturbed = path_of(X, Y, 12, 0.0, n_restarts=4, seed=3)
        again = path_of(X, Y, 12, 0.0, n_restarts=4, seed=3)
        objectives = np.array([p.objective for p in perturbed])
        assert np.all(objectives <= plain * (1 + 1e-8))
        improved |= bool(np.any(objectives < plain * (1 - 1e-6)))
        for a, b in zip(perturbed, again, strict=True):
            np.testing.assert_array_equal(a.support, b.support)
    assert improved


def test_sparse_and_dense_designs_agree():
    X, Y = data(9, n=40, d=30)
    X = np.where(np.abs(X) > 1.5, X, 0.0)
    for a, b in zip(path_of(X, Y, 8), path_of(sp.csc_array(X), Y, 8), strict=True):
        np.testing.assert_array_equal(a.support, b.support)
        assert a.objective == pytest.approx(b.objective)
