"""Sizes, means and scatters of groups: against NumPy, in every layout and at every magnitude."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from rowsparse.solvers.filters import class_statistics
from rowsparse.solvers.filters.class_statistics import group_statistics, members
from rowsparse.solvers.filters.univariate import varying

LAYOUTS = {
    "by rows": np.ascontiguousarray,
    "by columns": np.asfortranarray,
    "float32": lambda X: X.astype(np.float32),
    "a view": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "csr": sp.csr_array,
    "csc": sp.csc_matrix,
}


def problem(n: int = 50, d: int = 13) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = np.round(rng.standard_normal((n, d)), 1).astype(np.float32).astype(np.float64)
    X[np.abs(X) < 0.5] = 0.0
    return X, (rng.random((n, 4)) < 0.4).astype(float)


def assert_matches(found, X, groups, weights):
    for g, group in enumerate(groups):
        rows, w = X[group], weights[group]
        mean = w @ rows / w.sum()
        np.testing.assert_allclose(found.weight[g], w.sum())
        np.testing.assert_allclose(found.mean[g] * found.unit, mean, rtol=1e-12, atol=1e-14)
        scatter = w @ (rows - mean) ** 2
        np.testing.assert_allclose(
            found.scatter[g] * found.unit**2, scatter, rtol=1e-10, atol=1e-12
        )


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("weighted", [False, True])
def test_statistics_are_those_of_numpy(layout, weighted, monkeypatch):
    monkeypatch.setattr(class_statistics, "_CHUNK_ENTRIES", 64)
    monkeypatch.setattr(class_statistics, "_TILE_COLUMNS", 8)
    X, Y = problem()
    weights = np.random.default_rng(1).uniform(0.2, 3.0, size=len(X)) if weighted else None
    found = group_statistics(LAYOUTS[layout](X), members(Y), weights)
    assert_matches(found, X, members(Y), np.ones(len(X)) if weights is None else weights)


def test_duplicate_entries_of_a_sparse_matrix_add_up():
    X = sp.csr_array(([1.0, 2.0, 4.0], [0, 0, 1], [0, 2, 3, 3]), shape=(3, 2))
    found = group_statistics(X, [np.arange(3)], None)
    np.testing.assert_allclose(found.mean, [[1.0, 4.0 / 3.0]])
    assert X.nnz == 3


@pytest.mark.parametrize("layout", ["by rows", "by columns", "csr"])
@pytest.mark.parametrize("scale", [1e-300, 1e-170, 1e-120, 1e120, 1e170, 1e300])
def test_extreme_magnitudes_neither_overflow_nor_vanish(layout, scale):
    X, Y = problem()
    X[:, 3] *= scale
    found = group_statistics(LAYOUTS[layout](X), members(Y), None)
    X[:, 3] *= 1.0 / found.unit[3]
    assert np.isfinite(found.scatter).all()
    assert (found.scatter[:, 3] > 0).all()
    assert varying(found).all()
    plain = group_statistics(X, members(Y), None)
    np.testing.assert_allclose(found.scatter, plain.scatter, rtol=1e-12)


@pytest.mark.parametrize("offset", [1e3, 1e6, 1e9])
def test_an_offset_costs_no_more_digits_than_it_must(offset):
    X, Y = problem()
    X = np.round(X * 1024) / 1024  # so that adding the offset is exact
    for layout in ("by rows", "by columns", "csr"):
        shifted = group_statistics(LAYOUTS[layout](X + offset), members(Y), None)
        plain = group_statistics(X, members(Y), None)
        np.testing.assert_allclose(shifted.scatter, plain.scatter, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(shifted.mean - offset, plain.mean, atol=4e-16 * offset)
