"""Dense X is neither copied nor converted, and its moments are those of NumPy."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from rowsparse.design import DenseDesign, dense, make_design

from .cases import KINDS, D, N, peak_memory, raw_matrix


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of half a megabyte in double precision."""
    monkeypatch.setattr(dense, "_BLOCK_ENTRIES", 1 << 16)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("layout", [np.ascontiguousarray, np.asfortranarray])
def test_float32_never_becomes_a_float64_copy(layout):
    X = layout(np.random.default_rng(0).standard_normal((1_500, 800), dtype=np.float32))
    X[:, 3] += 5.0
    with peak_memory() as peak:
        design, _ = make_design(X, center=True, scale=True)
        design.rmatmul(design.matmul(np.ones((800, 2))))
        design.column_norms()
    assert design.columns(np.array([3])).dtype == np.float32
    # A few blocks at a time; a float64 copy would be 9.6 MB.
    assert peak[0] < 0.3 * 8 * X.size


@pytest.mark.usefixtures("small_blocks")
def test_float64_is_not_copied_either():
    X = np.random.default_rng(0).standard_normal((1_500, 800))
    with peak_memory() as peak:
        design, _ = make_design(X, center=True, scale=True)
        design.rmatmul(design.matmul(np.ones((800, 2))))
        design.column_norms()
    assert peak[0] < 0.3 * X.nbytes


@pytest.mark.parametrize(
    ("kind", "factor"),
    [*product(("c", "fortran"), (1.0, 1e-130, 1e150)), ("float32", 1.0)],
)
def test_moments_are_those_of_numpy(kind, factor):
    X, w = raw_matrix(), np.random.default_rng(1).uniform(0.5, 2.0, N)
    held = KINDS[kind](X * factor)
    X = np.asarray(held).astype(np.float64) / factor
    found = DenseDesign(held, mean=None, inv_scale=np.ones(D)).moments(w)
    mean = np.average(X, axis=0, weights=w)
    sd = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=w))
    np.testing.assert_allclose(found.mean / factor, mean, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(found.sd / factor, sd, rtol=1e-11, atol=1e-15)
    assert np.all(found.largest / factor >= np.abs(X).max(axis=0) * (1 - 1e-12))
