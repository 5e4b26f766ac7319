"""Every product of every kind of design, on a device too, against the matrix it stands for."""

from itertools import product

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
    build,
    device,
    make_design,
)

from .cases import (
    KINDS,
    D,
    N,
    assert_all,
    exactly_standardised,
    explicit,
    finite,
    raw_matrix,
    strict,
    torch_tensor,
)


@pytest.mark.parametrize("kind", KINDS)
def test_products_are_those_of_the_explicit_matrix(kind):
    X = raw_matrix()
    held, single = KINDS[kind](X), "float32" in kind
    stored, rtol = (X.astype(np.float32), 2e-5) if single else (X, 1e-12)
    dense = DeviceDesign if kind.startswith("strict") else DenseDesign
    column = np.linspace(-1.0, 2.0, N)
    uneven = np.random.default_rng(5).uniform(0.2, 2.0, N)
    for center, scale, weights in product((False, True), (False, True), (None, uneven)):
        design, units = make_design(held, center=center, scale=scale, weights=weights)
        assert isinstance(design, SparseDesign if sp.issparse(held) else dense)
        assert units.x_unit == 1.0
        Z = explicit(stored, center, scale, weights)
        assert_all(design, Z, rtol)
        if kind in ("c", "float32", "csr_array", "strict"):
            assert_all(WithColumn(design, column), np.column_stack([Z, column]), rtol)


@pytest.mark.parametrize("shape", [(350, 310), (310, 350), (12, 400), (400, 12)])
def test_spectral_norm_is_an_upper_bound_at_every_size(shape):
    X = raw_matrix(*shape, seed=3)
    zero, _ = make_design(np.ones(shape), center=True, scale=True)
    assert zero.spectral_norm() == 0.0
    norm = np.linalg.norm(explicit(X, True, True), 2)
    for kind in ("c", "float32", "csc_array", "csr float32"):
        design, _ = make_design(KINDS[kind](X), center=True, scale=True)
        assert norm * (1 - 1e-7) <= design.spectral_norm() <= norm * (1 + 3e-6), kind


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


@pytest.mark.parametrize("kind", [np.float32, np.float64, sp.csc_array, "sparse float32"])
def test_double_columns_have_all_the_digits_of_what_is_stored(kind):
    for offset, weighted in product((0.0, 3.0, 1e4, 1e9), (False, True)):
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
        exact = exactly_standardised(X, weights).astype(float)[:, keep]
        np.testing.assert_allclose(Z, exact, rtol=0, atol=2e-14)
        stored = X.toarray() if sp.issparse(X) else X
        assert np.array_equal(design.stored_columns(keep), stored[:, keep].astype(float))
        if weighted and offset <= 1e4:
            view, _ = design.weighted(weights, center=False)
            root = np.sqrt(weights)[:, None]
            np.testing.assert_allclose(view.double_columns(keep), root * exact, atol=3e-14)


# ------------------------------------------------------------------------------------ X on a device
HELD = {"strict": strict, "torch": torch_tensor}


@pytest.fixture
def tensors_are_on_a_device(monkeypatch):
    """Tensors in host memory are treated as those of a GPU are; blocks are small."""
    monkeypatch.setattr(build, "on_device", lambda X: True)
    monkeypatch.setattr(device, "_BLOCK_ENTRIES", 4 * D)


@pytest.mark.usefixtures("tensors_are_on_a_device")
@pytest.mark.parametrize(
    ("kind", "dtype", "center", "scale"),
    [*product(HELD, (np.float64, np.float32), (False, True), (False, True))],
)
def test_products_on_a_device_are_those_of_the_explicit_matrix(kind, dtype, center, scale):
    X = raw_matrix().astype(dtype)
    design, _ = make_design(HELD[kind](X), center=center, scale=scale)
    assert isinstance(design, DeviceDesign)
    assert design.dtype == dtype
    assert_all(design, explicit(X, center, scale), 1e-9 if dtype == np.float64 else 2e-5)


@pytest.mark.usefixtures("tensors_are_on_a_device")
@pytest.mark.parametrize("kind", HELD)
def test_a_large_offset_makes_a_standardised_copy_with_all_digits(kind):
    X = (np.random.default_rng(3).standard_normal((N, D)) + 5000.0).astype(np.float32)
    design, _ = make_design(HELD[kind](X), center=True, scale=True)
    Z = explicit(X, True, True)
    columns = np.arange(D)
    np.testing.assert_allclose(design.double_columns(columns), Z, atol=1e-7)
    np.testing.assert_allclose(design.columns(columns), Z, atol=1e-5)
    np.testing.assert_array_equal(design.stored_columns(columns), X)
