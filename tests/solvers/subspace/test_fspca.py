"""FSPCA against enumeration and a literal dense version; its components, warnings and units."""

import numpy as np
import pytest

from rowsparse import FSPCA
from rowsparse.rows import top_rows
from rowsparse.solvers.subspace.fspca_solver import fspca

from .cases import best_variance, design_of, mixed_columns, standardised


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


# ------------------------------------------------------------------------------------- the selector
def test_as_many_components_as_features_are_the_largest_variances():
    X = mixed_columns(5) * np.geomspace(1, 3, 12)
    with pytest.warns(UserWarning, match="n_components=4 for 4 features only takes the largest"):
        selector = FSPCA(4, n_components=4, standardize=False).fit(X)
    largest = np.argsort(-X.var(axis=0))
    assert set(np.flatnonzero(selector.support_)) == set(largest[:4])
    assert selector.objective_ == pytest.approx(X.var(axis=0)[largest[:4]].sum())
    np.testing.assert_array_equal(np.argsort(selector.ranking_, kind="stable")[4:], largest[4:])


def test_equal_variances_are_ordered_by_their_part_in_the_leading_components():
    X = mixed_columns(6)
    Z = standardised(X)
    values, vectors = np.linalg.eigh(Z.T @ Z / len(Z))
    part = (vectors[:, -4:] ** 2 * (values[-4:] + 0.1)).sum(axis=1)
    with pytest.warns(UserWarning, match="largest variances"):
        selector = FSPCA(4).fit(X)
    assert set(np.flatnonzero(selector.support_)) == set(np.argsort(-part)[:4])


def test_number_of_components():
    X = mixed_columns(7, d=30)
    y = np.arange(40) % 3
    assert FSPCA(15).fit(X).components_.shape == (10, 30)
    assert FSPCA(15).fit(X, y).components_.shape == (3, 30)
    assert FSPCA(15).fit(X, y + 0.5).components_.shape == (10, 30)
    labelled = FSPCA(15, task="classification").fit(X, y + 0.5)
    assert labelled.components_.shape == (3, 30)
    assert FSPCA(15, n_components=2).fit(X, y).components_.shape == (2, 30)
    with pytest.raises(ValueError, match="n_components must be at most n_features_to_select=5"):
        FSPCA(5, n_components=6).fit(X)
    with pytest.raises(ValueError, match="at most n_features_to_select=6, so that 6 features"):
        FSPCA(0.2, n_components=7).fit(X)
    with pytest.warns(UserWarning, match="all features are kept"):
        assert FSPCA(40, n_components=35).fit(X).components_.shape == (30, 30)
