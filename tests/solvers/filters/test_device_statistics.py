"""Sums on a device are those of NumPy, in blocks of any size."""

from __future__ import annotations

import numpy as np
import pytest

from rowsparse.solvers.filters import device_statistics
from rowsparse.solvers.filters.device_statistics import (
    device_columns,
    device_moments,
    device_products,
    rescaled_device_columns,
)

strict = pytest.importorskip("array_api_strict")


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(device_statistics, "_BLOCK_ENTRIES", 12)


@pytest.mark.parametrize("weighted", [False, True])
def test_means_and_scatters_of_some_rows(weighted):
    rng = np.random.default_rng(0)
    X, rows = rng.standard_normal((20, 4)) + 1e6, np.array([0, 3, 4, 8, 15, 16, 19])
    weights = rng.uniform(0.5, 2, rows.size) if weighted else np.ones(rows.size)
    mean, scatter = device_moments(strict.asarray(X), rows, weights if weighted else None)
    expected = np.average(X[rows], axis=0, weights=weights)
    np.testing.assert_allclose(mean, expected, rtol=1e-14)
    np.testing.assert_allclose(scatter, weights @ (X[rows] - expected) ** 2, rtol=1e-8)


def test_products_and_columns():
    rng = np.random.default_rng(1)
    X, V = rng.standard_normal((20, 4)), rng.standard_normal((20, 2))
    unit, mean = np.array([1.0, 2.0, 4.0, 0.5]), rng.standard_normal(4)
    held = strict.asarray(X)
    np.testing.assert_allclose(device_products(held, unit, mean, V), V.T @ (X / unit - mean))
    np.testing.assert_array_equal(device_columns(held, np.array([3, 0])), X[:, [3, 0]])


def test_columns_are_divided_by_powers_of_two():
    X = np.array([[3e200, 0.0, 1.0], [-5e200, 0.0, 1.0]])
    block, unit = rescaled_device_columns(strict.asarray(X), np.array([0, 1]))
    assert np.log2(unit[0]) % 1 == 0
    np.testing.assert_array_equal(np.from_dlpack(block) * unit, X[:, :2])
    assert rescaled_device_columns(strict.asarray(X), np.array([1]))[0] is None
