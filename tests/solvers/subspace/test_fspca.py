"""FSPCA against enumeration and a literal dense version."""

from __future__ import annotations

import numpy as np
import pytest

from rowsparse.rows import top_rows
from rowsparse.solvers.subspace.fspca import fspca
from tests.solvers.subspace.cases import best_variance, design_of, mixed_columns


def solve(X, k, m, **options):
    return fspca(design_of(X), k, m, ridge=0.1, max_iter=100, **options)


def literal(X, k, m, eps, rounds=100):
    """Go and IPU on A = C + eps I, formed."""
    A = X.T @ X / len(X) + eps * np.eye(X.shape[1])
    values, vectors = np.linalg.eigh(A)
    rows = top_rows((vectors[:, -m:] ** 2 * values[-m:]).sum(axis=1), k)
    for _ in range(rounds):
        W = np.zeros((X.shape[1], m))
        W[rows] = np.linalg.eigh(A[np.ix_(rows, rows)])[1][:, -m:]
        p = np.diag(A @ W @ np.linalg.pinv(W.T @ A @ W) @ W.T @ A)
        new = top_rows(p, k)
        if set(new) == set(rows):
            break
        rows = new
    return np.sort(rows), np.trace(W.T @ A @ W) - eps * m


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("shape", [(60, 15), (15, 60)])
def test_it_is_the_published_algorithm(shape, seed):
    X = mixed_columns(seed, *shape)
    X /= np.sqrt((X**2).mean())
    eps = 0.1 * (X**2).mean()
    rows, objective = literal(X, 6, 2, eps)
    solution = solve(X, 6, 2)
    np.testing.assert_array_equal(np.sort(solution.support), rows)
    assert solution.objective == pytest.approx(objective, rel=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_the_variance_never_falls_and_is_that_of_the_components(seed):
    X = mixed_columns(seed, n=30, d=40)
    solution = solve(X, 8, 3)
    assert np.all(np.diff(solution.history) > 0)
    np.testing.assert_allclose(solution.W.T @ solution.W, np.eye(3), atol=1e-12)
    assert set(np.flatnonzero(solution.W.any(axis=1))) <= set(solution.support)
    captured_variance = np.sum((X @ solution.W) ** 2) / len(X)
    assert solution.objective == pytest.approx(captured_variance, rel=1e-10)


@pytest.mark.parametrize("seed", range(10))
def test_data_of_few_dimensions_are_solved_exactly(seed):
    X = mixed_columns(seed, d=10, rank=3)
    assert solve(X, 4, 3).objective == pytest.approx(best_variance(X, 4, 3), rel=1e-10)


def test_enumeration_is_an_upper_bound_that_is_often_attained():
    attained = 0
    for seed in range(20):
        X = mixed_columns(seed)
        best, found = best_variance(X, 4, 2), solve(X, 4, 2).objective
        assert found <= best * (1 + 1e-10)
        attained += found >= best * (1 - 1e-8)
    assert attained >= 10


def test_the_monitor_can_stop_it():
    X = mixed_columns(8, n=30, d=60)
    assert solve(X, 10, 2).n_iter > 2
    told = []
    solution = solve(X, 10, 2, monitor=lambda value: told.append(value) or True)
    assert solution.n_iter == len(told) == 1
