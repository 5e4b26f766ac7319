"""Sums over the rows of a block against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from rowsparse.moments.sums import chunks, joint_range, scatter, sparse_moments, sum_error


@pytest.mark.parametrize(("n", "d"), [(0, 3), (5, 3), (1500, 5000), (3000, 1)])
def test_chunks_are_all_rows_in_order(n: int, d: int) -> None:
    rows = [i for part in chunks(n, d) for i in range(part.start, part.stop)]
    assert rows == list(range(n))


@pytest.mark.parametrize("offset", [0.0, 50.0])
def test_sparse_and_dense_columns_have_the_same_squares(offset: float) -> None:
    rng = np.random.default_rng(0)
    X, w = rng.standard_normal((40, 3)) + offset, rng.random(40) + 0.1
    X[:, 0][rng.random(40) < 0.8] = 0.0
    mean, square = sparse_moments(sp.csr_array(X), w)
    np.testing.assert_allclose(mean, w @ X / w.sum())
    np.testing.assert_allclose(square, w @ (X - mean) ** 2, rtol=1e-10)
    np.testing.assert_allclose(scatter(X.copy(), w), square, rtol=1e-10)
    assert not scatter(X[:0], w[:0]).any()


def test_a_range_has_both() -> None:
    low, high = joint_range(*(np.array([v]) for v in (1.0, 2.0, 0.0, 1.5)))
    assert (low, high) == (0.0, 2.0)


def test_a_sum_of_many_products_is_within_its_error() -> None:
    x = np.full(100_000, 0.1, dtype=np.float64)
    total = 0.0
    for one in x:
        total += one * one
    assert abs(total - 1000.0) <= sum_error(x.size) * 1000.0
