"""A few rows with the products of all."""

from __future__ import annotations

import numpy as np
import pytest

from rowsparse.design.compressed import compressed_design


@pytest.mark.parametrize(("n", "d"), [(40, 6), (4, 9)])
@pytest.mark.parametrize("scale", [1.0, 1e-9])
def test_the_products_are_those_given(n: int, d: int, scale: float) -> None:
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((n, d)), rng.standard_normal((n, 2))
    X[:, 1] *= scale
    X[:, 2], X[:, 3], Y[:, 1] = X[:, 0] - X[:, 4], 0.0, 0.0
    gram = np.asfortranarray(np.triu(X.T @ X))
    design, small = compressed_design(gram, X.T @ Y, Y.T @ Y)
    norms = np.maximum(np.linalg.norm(X, axis=0), 1e-30)
    np.testing.assert_allclose(
        design.gram() / np.outer(norms, norms), X.T @ X / np.outer(norms, norms), atol=1e-13
    )
    np.testing.assert_allclose(design.rmatmul(small), X.T @ Y, atol=1e-13)
    np.testing.assert_allclose(small.T @ small, Y.T @ Y, atol=1e-13)
    # Dependent columns, and targets of zero, take no rows.
    assert design.shape == (min(n, d - 2 + 1), d)


def test_targets_of_zero() -> None:
    X = np.random.default_rng(0).standard_normal((5, 2))
    design, small = compressed_design(
        np.asfortranarray(X.T @ X), np.zeros((2, 1)), np.zeros((1, 1))
    )
    np.testing.assert_allclose(design.gram(), X.T @ X)
    assert not small.any()


@pytest.mark.parametrize("small", [1.0, 1e-3, 1e-6])
def test_errors_of_the_products_are_no_larger_than_it_says(small: float) -> None:
    rng = np.random.default_rng(1)
    X, Y = rng.standard_normal((30, 8)), rng.standard_normal((30, 2))
    Y[:, 1] = Y[:, 0] + small * Y[:, 1]
    X[:, 2] = X[:, 1] + 1e-7 * X[:, 2]
    norms = np.linalg.norm(X, axis=0)
    design, targets = compressed_design(np.asfortranarray(X.T @ X), X.T @ Y, Y.T @ Y, 1e-14)
    assert 1e-14 < design.product_rounding < 1e-12 / small
    error = np.abs(design.gram() - X.T @ X) / np.outer(norms, norms)
    assert error.max() <= design.product_rounding
    error = np.abs(design.rmatmul(targets) - X.T @ Y) / np.outer(norms, np.linalg.norm(Y, axis=0))
    assert error.max() <= design.product_rounding
