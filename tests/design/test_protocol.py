"""Every product of every kind of design, against the matrix it stands for."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rowsparse.design import (
    DenseDesign,
    DeviceDesign,
    SparseDesign,
    WithColumn,
    direction_key,
    make_design,
)
from rowsparse.design.protocol import ColumnMoments, binary_units

from .cases import (
    CASES,
    KINDS,
    N,
    assert_all,
    exactly_standardised,
    explicit,
    finite,
    raw_matrix,
)


@pytest.mark.parametrize(("kind", "center", "scale", "weights", "extra"), CASES)
def test_products_are_those_of_the_explicit_matrix(kind, center, scale, weights, extra):
    X = raw_matrix()
    w = None if weights is None else np.random.default_rng(5).uniform(0.2, 2.0, N)
    held = KINDS[kind](X)
    design, units = make_design(held, center=center, scale=scale, weights=w)
    dense = DeviceDesign if kind.startswith("strict") else DenseDesign
    assert isinstance(design, SparseDesign if sp.issparse(held) else dense)
    single = "float32" in kind
    Z = explicit(X.astype(np.float32) if single else X, center, scale, w)
    if extra:
        column = np.linspace(-1.0, 2.0, N)
        design, Z = WithColumn(design, column), np.column_stack([Z, column])
    assert_all(design, Z, 2e-5 if single else 1e-12)
    assert units.x_unit == 1.0


@pytest.mark.parametrize("kind", ["c", "float32", "csc_array", "csr float32"])
@pytest.mark.parametrize("shape", [(350, 310), (310, 350), (12, 400), (400, 12)])
def test_spectral_norm_is_an_upper_bound_at_every_size(kind, shape):
    X = raw_matrix(*shape, seed=3)
    design, _ = make_design(KINDS[kind](X), center=True, scale=True)
    norm = np.linalg.norm(explicit(X, True, True), 2)
    assert norm * (1 - 1e-7) <= design.spectral_norm() <= norm * (1 + 3e-6)


def test_spectral_norm_of_zero():
    for n, d in ((5, 3), (400, 350)):
        design, _ = make_design(np.ones((n, d)), center=True, scale=True)
        assert design.spectral_norm() == 0.0


@settings(max_examples=30, deadline=None)
@given(
    X=arrays(np.float64, st.tuples(st.integers(1, 8), st.integers(1, 6)), elements=finite),
    kind=st.sampled_from(["c", "fortran", "strided", "csr_array", "csc_matrix", "csr duplicates"]),
    center=st.booleans(),
    scale=st.booleans(),
)
def test_any_small_matrix(X, kind, center, scale):
    design, _ = make_design(KINDS[kind](X), center=center, scale=scale)
    assert_all(design, explicit(X, center, scale), 1e-9)


@pytest.mark.parametrize("kind", ["float32", "csr float32", "strict float32", "c"])
def test_products_in_double_precision_on_request(kind):
    X = np.random.default_rng(4).standard_normal((30, 8)) + 3.0
    design, _ = make_design(KINDS[kind](X), center=True, scale=True)
    double = design.in_double()
    assert (double is design) == (kind == "c")
    held = X if kind == "c" else X.astype(np.float32).astype(np.float64)
    expected, _ = make_design(held, center=True, scale=True)
    W = np.random.default_rng(5).standard_normal((8, 2))
    # Mean and scale come from the design itself, and are in double precision there.
    np.testing.assert_allclose(double.matmul(W), expected.matmul(W), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(double.gram(), expected.gram(), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("offset", [0.0, 3.0, 1e4, 1e9])
@pytest.mark.parametrize("kind", [np.float32, np.float64, sp.csc_array, "sparse float32"])
@pytest.mark.parametrize("weighted", [False, True])
def test_double_columns_have_all_the_digits_of_what_is_stored(kind, offset, weighted):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((50, 7)) + offset * rng.uniform(0.5, 1, 7)
    if kind == "sparse float32":
        X = sp.csr_array(np.where(rng.random(X.shape) < 0.5, X, 0).astype(np.float32))
    else:
        X = kind(X)
    weights = rng.uniform(0.5, 2.0, 50) if weighted else None
    keep = np.flatnonzero(np.asarray(exactly_standardised(X)).std(axis=0) > 0.5)
    design, _ = make_design(X, center=True, scale=True, weights=weights)
    Z = design.double_columns(keep)
    assert Z.dtype == np.float64
    np.testing.assert_allclose(
        Z, exactly_standardised(X, weights).astype(float)[:, keep], rtol=0, atol=2e-14
    )
    stored = X.toarray() if sp.issparse(X) else X
    assert np.array_equal(design.stored_columns(keep), stored[:, keep].astype(float))


def test_weighted_views_keep_the_digits():
    rng = np.random.default_rng(4)
    X = (rng.standard_normal((40, 5)) + 1e5).astype(np.float32)
    weights = rng.uniform(0.5, 2.0, 40)
    design, _ = make_design(X, center=True, scale=True, weights=weights)
    view, _ = design.weighted(weights, center=False)
    expected = np.sqrt(weights)[:, None] * exactly_standardised(X, weights)
    np.testing.assert_allclose(
        view.double_columns(np.arange(5)), expected.astype(float), rtol=0, atol=3e-14
    )


def test_units_are_powers_of_two_just_below():
    magnitudes = np.array([5e-324, 0.3, 1.0, 5.0, 2.0**40, 1.7e308, 0.0])
    units = binary_units(magnitudes)
    ratio = magnitudes[:-1] / units[:-1]
    assert np.all((ratio >= 1.0) & (ratio < 2.0))
    np.testing.assert_array_equal(np.frexp(units)[0], 0.5)


def test_columns_of_one_direction_have_one_key():
    x = np.array([0.0, 3.0, -5.0, 0.1])
    assert direction_key(x) == direction_key(-x) == direction_key(8.0 * x)
    assert direction_key(x) != direction_key(x + 1e-15)


def test_moments_are_corrected_by_the_error_of_a_first_mean():
    x = np.array([1.0, 2.0, 6.0])
    off = x.mean() - 2.5
    found = ColumnMoments.corrected(
        *(np.array([v]) for v in (2.5, off, ((x - 2.5) ** 2).mean(), 4, 24))
    )
    np.testing.assert_allclose(found.mean, 4 * x.mean())
    np.testing.assert_allclose(found.sd, 4 * x.std())
    assert not found.constant.any()
