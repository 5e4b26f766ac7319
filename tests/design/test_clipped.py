"""Designs of clipped columns, against columns that were clipped by hand."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rowsparse.design import SparseDesign, make_design
from rowsparse.design.clipped import ClippedDesign, clip_limits, clipped_design
from rowsparse.design.protocol import ColumnMoments

from .cases import KINDS, N, assert_all, explicit, finite, peak_memory, raw_matrix


def by_hand(X, clip, weights=None):
    """Standardised, limited, and standardised again."""
    return explicit(np.clip(explicit(X, True, True, weights), -clip, clip), True, True, weights)


def clipped(X, clip, weights=None):
    return make_design(X, center=True, scale=True, weights=weights, clip=clip)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("clip", [0.5, 1.5])
@pytest.mark.parametrize("weighted", [False, True])
def test_products_are_those_of_columns_clipped_by_hand(kind, clip, weighted):
    X = raw_matrix()
    w = np.random.default_rng(5).uniform(0.2, 2.0, N) if weighted else None
    held = KINDS[kind](X)
    design, units = clipped(held, clip, w)
    assert isinstance(design, SparseDesign) == sp.issparse(held)
    single = "float32" in kind
    X = X.astype(np.float32) if single else X
    Z = by_hand(X, clip, w)
    assert_all(design, Z, 2e-5 if single else 1e-12)
    np.testing.assert_allclose(
        (np.clip(X, *units.limits) - units.mean) * units.inv_scale,
        Z,
        atol=2e-4 if single else 1e-12,
    )


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


@pytest.mark.parametrize("kind", ["c", "float32", "csr_array", "strict"])
def test_double_columns_and_a_design_in_double_are_clipped_too(kind):
    X = raw_matrix()
    design, _ = clipped(KINDS[kind](X), 1.0)
    Z = by_hand(X, 1.0)
    every = np.arange(X.shape[1])
    np.testing.assert_allclose(design.double_columns(every), Z, atol=1e-5)
    np.testing.assert_allclose(design.in_double().matmul(np.eye(X.shape[1])), Z, atol=1e-5)


@pytest.mark.parametrize("kind", ["c", "float32", "csr_array"])
@pytest.mark.parametrize("offset", [1e4, 1e9])
def test_large_offsets_are_standardised_in_a_copy(kind, offset):
    X = raw_matrix()
    X = X / np.where(X.std(axis=0) > 1e-6, X.std(axis=0), 1.0) + offset
    X = X.astype(np.float32).astype(np.float64) if kind == "float32" else X
    design, _ = clipped(KINDS[kind](X), 1.0)
    tolerance = 1e-2 if kind == "float32" else 1e-6
    np.testing.assert_allclose(design.matmul(np.eye(X.shape[1])), by_hand(X, 1.0), atol=tolerance)


@pytest.mark.parametrize("kind", ["c", "csr_array"])
def test_whole_weights_are_repeated_rows(kind):
    X, counts = raw_matrix(), np.arange(N) % 4
    _, weighted = clipped(KINDS[kind](X), 1.2, counts * 1.0)
    _, repeated = clipped(KINDS[kind](np.repeat(X, counts, axis=0)), 1.2)
    for name in ("mean", "inv_scale", "limits"):
        np.testing.assert_allclose(
            getattr(weighted, name), getattr(repeated, name), rtol=1e-9, atol=1e-12
        )


def test_a_distant_clip_changes_nothing():
    X = raw_matrix()
    design, units = clipped(X, 1e300)
    plain, expected = make_design(X, center=True, scale=True)
    np.testing.assert_array_equal(units.mean, expected.mean)
    every = np.arange(X.shape[1])
    np.testing.assert_array_equal(design.columns(every), plain.columns(every))


def test_the_limits_are_standard_deviations_from_the_mean_and_infinite_for_constants():
    moments = ColumnMoments(*np.array([[1.0, 5.0], [0.0, 0.0], [2.0, 0.0], [3.0, 5.0]]))
    limits = clip_limits(moments, 3.0)
    np.testing.assert_array_equal(limits, [[-5.0, -np.inf], [7.0, np.inf]])


def test_values_that_are_not_stored_become_the_offset():
    X = sp.csc_array(np.array([[0.0, 9.0], [4.0, 9.0], [5.0, 8.0]]))
    limits = np.array([[1.0, 8.5], [4.5, 9.5]])
    design, offset = clipped_design(X, limits, SparseDesign)
    # All values of the second column are stored: there is nothing to offset.
    np.testing.assert_array_equal(offset, [1.0, 0.0])
    np.testing.assert_array_equal(design.matmul(np.eye(2)) + offset, np.clip(X.toarray(), *limits))
    assert X.data.max() == 9.0


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
