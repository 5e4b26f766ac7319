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
