"""What the subspace methods share, against dense linear algebra."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse.linalg import aslinearoperator

from rowsparse.design import make_design
from rowsparse.solvers.subspace import subspace
from rowsparse.solvers.subspace.subspace import (
    by_variance,
    captured,
    improved_rows,
    leading_eigenvector,
    leading_spectrum,
    mean_variance,
    subspace_solution,
    with_fixed_signs,
)


@pytest.mark.parametrize("shape", [(30, 10), (8, 25)])
def test_the_step_is_its_formula(shape):
    rng = np.random.default_rng(0)
    X = rng.standard_normal(shape)
    X -= X.mean(axis=0)
    W = np.linalg.qr(rng.standard_normal((shape[1], 3)))[0]
    A = X.T @ X / len(X) + 0.2 * np.eye(shape[1])
    design = make_design(X, center=True, scale=False)[0]
    G, p, rows = improved_rows(design, W, 4, middle=lambda ZW: ZW / len(X), shift=0.2)
    expected = np.diag(A @ W @ np.linalg.pinv(W.T @ A @ W) @ W.T @ A)
    np.testing.assert_allclose(G, A @ W, atol=1e-12)
    np.testing.assert_allclose(p, expected, rtol=1e-10)
    np.testing.assert_array_equal(rows, np.argsort(-expected)[:4])
    assert np.all(p <= np.diag(A) * (1 + 1e-12))


def test_a_singular_inner_matrix_is_inverted_where_it_can_be():
    G = np.array([[1.0, 1.0], [2.0, 2.0], [0.0, 0.0]])
    inner = np.ones((2, 2))
    np.testing.assert_allclose(captured(G, inner), np.diag(G @ np.linalg.pinv(inner) @ G.T))


@pytest.mark.parametrize("shape", [(40, 12), (12, 40)])
def test_leading_spectrum(shape, monkeypatch):
    X = np.random.default_rng(3).standard_normal(shape)
    X -= X.mean(axis=0)
    _, s, Vt = np.linalg.svd(X, full_matrices=False)
    design = make_design(X, center=True, scale=False)[0]
    for dense_size in (1500, 0):
        monkeypatch.setattr(subspace, "_DENSE_SIZE", dense_size)
        values, vectors = leading_spectrum(design, 3)
        np.testing.assert_allclose(values, s[:3] ** 2, rtol=1e-8)
        np.testing.assert_allclose(np.abs(np.sum(vectors * Vt[:3].T, axis=0)), 1.0, rtol=1e-8)
    assert leading_spectrum(design, 100)[0].size == 12 - (shape[0] < shape[1])


@pytest.mark.parametrize("dense_size", [1500, 0])
def test_the_leading_eigenvector_is_that_of_the_dense_matrix(dense_size, monkeypatch):
    monkeypatch.setattr(subspace, "_DENSE_SIZE", dense_size)
    A = np.random.default_rng(0).standard_normal((9, 9))
    A = A + A.T
    value, vector = leading_eigenvector(aslinearoperator(A), lambda: A)
    assert value == pytest.approx(np.linalg.eigvalsh(A)[-1], rel=1e-10)
    np.testing.assert_allclose(A @ vector, value * vector, atol=1e-8)


def test_equal_variances_go_by_the_second_number():
    variances = np.array([0.0, 2.0, 5.0, 2.0 * (1 + 1e-15), 0.0])
    order = by_variance(variances, np.array([1.0, 1.0, 0.0, 2.0, 3.0]), 2.2e-16)
    np.testing.assert_array_equal(order, [2, 3, 1, 4, 0])


def test_signs_are_fixed_by_the_largest_entry_of_a_column():
    W = np.array([[1.0, 0.5], [-2.0, 0.1], [0.0, -0.2]])
    np.testing.assert_array_equal(with_fixed_signs(W), W * [-1.0, 1.0])


def test_the_mean_variance_leaves_constant_columns_out():
    X = np.random.default_rng(1).standard_normal((20, 3))
    X[:, 1] = 4.0
    design = make_design(X, center=True, scale=False)[0]
    assert mean_variance(design) == pytest.approx(X[:, [0, 2]].var(axis=0).mean())


def test_features_outside_the_subspace_are_scored_below_it_by_their_closeness():
    W = np.zeros((4, 2))
    W[[1, 3]] = [[3.0, 4.0], [0.6, 0.8]]
    found = subspace_solution(W, np.array([1, 3]), [1.0, 7.0], np.array([0.2, 0, 0.9, 0]), 2, True)
    assert found.objective == 7.0
    np.testing.assert_array_equal(np.argsort(-found.scores), [1, 3, 2, 0])
    np.testing.assert_allclose(found.scores[[1, 3]], [5.0, 1.0])
