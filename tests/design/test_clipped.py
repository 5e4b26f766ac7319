"""Designs of clipped columns, against columns that were clipped by hand."""

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rowsparse.design import SparseDesign, make_design
from rowsparse.design.build import ClippedDesign

from .cases import KINDS, N, assert_all, explicit, finite, peak_memory, raw_matrix


def by_hand(X, clip, weights=None):
    """Standardised, limited, and standardised again."""
    return explicit(np.clip(explicit(X, True, True, weights), -clip, clip), True, True, weights)


def clipped(X, clip, weights=None):
    return make_design(X, center=True, scale=True, weights=weights, clip=clip)


@pytest.mark.parametrize("kind", KINDS)
def test_products_are_those_of_columns_clipped_by_hand(kind):
    X = raw_matrix()
    held, single = KINDS[kind](X), "float32" in kind
    X = X.astype(np.float32) if single else X
    for clip, w in product((0.5, 1.5), (None, np.random.default_rng(5).uniform(0.2, 2.0, N))):
        design, units = clipped(held, clip, w)
        assert isinstance(design, SparseDesign) == sp.issparse(held)
        Z = by_hand(X, clip, w)
        assert_all(design, Z, 2e-5 if single else 1e-12)
        again = (np.clip(X, *units.limits) - units.mean) * units.inv_scale
        np.testing.assert_allclose(again, Z, atol=2e-4 if single else 1e-12)


@settings(max_examples=50, deadline=None)
@given(
    X=arrays(np.float64, (7, 3), elements=finite),
    clip=st.floats(0.25, 4.0),
    kind=st.sampled_from(["c", "fortran", "csr_array"]),
)
def test_products_with_any_data(X, clip, kind):
    design, _ = clipped(KINDS[kind](X), clip)
    np.testing.assert_allclose(design.matmul(np.eye(3)), by_hand(X, clip), atol=1e-7)
    np.testing.assert_allclose(design.rmatmul(np.eye(7)).T, by_hand(X, clip), atol=1e-7)


@pytest.mark.parametrize("kind", ["c", "float32", "csr_array"])
@pytest.mark.parametrize("offset", [1e4, 1e9])
def test_large_offsets_are_standardised_in_a_copy(kind, offset):
    X = raw_matrix()
    X = X / np.where(X.std(axis=0) > 1e-6, X.std(axis=0), 1.0) + offset
    X = X.astype(np.float32).astype(np.float64) if kind == "float32" else X
    design, _ = clipped(KINDS[kind](X), 1.0)
    tolerance = 1e-2 if kind == "float32" else 1e-6
    np.testing.assert_allclose(design.matmul(np.eye(X.shape[1])), by_hand(X, 1.0), atol=tolerance)


def test_neither_a_dense_nor_a_sparse_matrix_is_copied_whole():
    rng = np.random.default_rng(0)
    dense = rng.standard_normal((400, 5000))
    where = rng.integers(4000, size=200_000), rng.integers(5000, size=200_000)
    held = sp.csc_array((rng.random(200_000), where), shape=(4000, 5000))
    for X, size in ((dense, dense.nbytes), (held, 8 * 4000 * 5000)):
        with peak_memory() as peak:
            design, _ = clipped(X, 2.0)
            design.rmatmul(design.matmul(np.ones((5000, 2))))
        assert peak[0] < size / 4
    assert isinstance(clipped(dense, 2.0)[0], ClippedDesign)
