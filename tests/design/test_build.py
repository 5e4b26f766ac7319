"""Designs of data with constant columns, extreme magnitudes and large offsets."""

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rowsparse.design import make_design

from .cases import KINDS, D, N, assert_all, assert_products, explicit, finite, gaussian, raw_matrix


@pytest.mark.parametrize("kind", ["c", "float32", "csr_array", "csr float32", "strict"])
def test_constant_columns_become_exactly_zero(kind):
    n = 3_001
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.standard_normal(n), np.full(n, 0.1), np.full(n, 1e8 / 3), np.zeros(n)])
    for scale, weights in product((False, True), (None, rng.uniform(0.0, 3.0, n))):
        design, units = make_design(KINDS[kind](X), center=True, scale=scale, weights=weights)
        assert np.all(units.inv_scale[1:] == 0.0)
        assert units.inv_scale[0] > 0.0
        assert not design.columns(np.array([1, 2, 3])).any()
        assert not design.column_norms()[1:].any()
        assert design.column_norms()[0] > 0
        assert not design.rmatmul(np.ones((n, 1)) * rng.standard_normal((n, 1)))[1:].any()
        assert not design.matmul(np.eye(4))[:, 1:].any()


@settings(max_examples=20, deadline=None)
@given(
    X=arrays(np.float64, (7, 3), elements=finite),
    counts=arrays(np.int64, 7, elements=st.integers(0, 3)).filter(np.any),
    scale_and_clip=st.sampled_from([(False, None), (True, None), (True, 1.2)]),
    kind=st.sampled_from(["c", "csr_array"]),
)
def test_integer_weights_are_repeated_rows(X, counts, scale_and_clip, kind):
    scale, clip = scale_and_clip
    options = {"center": True, "scale": scale, "clip": clip}
    _, weighted = make_design(KINDS[kind](X), weights=counts * 1.0, **options)
    _, plain = make_design(KINDS[kind](np.repeat(X, counts, axis=0)), **options)
    np.testing.assert_allclose(weighted.mean, plain.mean, atol=1e-12 * np.abs(X).max())
    np.testing.assert_allclose(weighted.inv_scale, plain.inv_scale, rtol=1e-9)


@pytest.mark.parametrize("kind", ["c", "fortran", "float32", "csr_array", "csc_matrix", "strict"])
@pytest.mark.parametrize("offset", [0.0, 1e9])
def test_the_data_are_never_modified(kind, offset):
    X = raw_matrix() + offset
    held = KINDS[kind](X)

    def contents() -> list[np.ndarray]:
        parts = (held.data, held.indices, held.indptr) if sp.issparse(held) else (held,)
        return [np.array(part) for part in parts]

    before = contents()
    design, _ = make_design(held, center=True, scale=True)
    assert_products(design, np.ones((N, D)), np.inf)
    view, _ = design.weighted(np.linspace(0.5, 1.5, N), center=True)
    view.gram(np.ones(N))
    view.columns(np.arange(D))[:] = 7.0
    for was, now in zip(before, contents(), strict=True):
        np.testing.assert_array_equal(was, now)


@pytest.mark.parametrize(
    ("kind", "factors"),
    [
        *product(("c", "csr_array", "strict"), [(1e150, 1e-150, 1e307, 1e-300)]),
        # One extreme column among ordinary ones.
        *product(("c", "csr_array"), [(np.array([1e150, 1e-150, 1.0, 1e-300, 1e300]),)]),
        *product(("float32", "csr float32", "strict float32"), [(1e30, 1e-30, 1e37)]),
    ],
)
def test_extreme_scales_stay_accurate(kind, factors):
    X = gaussian()
    for factor, center, scale in product(factors, (False, True), (False, True)):
        if np.ndim(factor) and not (center and scale):
            continue
        with np.errstate(over="raise"):
            design, units = make_design(KINDS[kind](X * factor), center=center, scale=scale)
            Z = explicit(X, center, scale) * (1.0 if scale else factor / units.x_unit)
            assert_all(design, Z, 2e-5 if "float32" in kind else 1e-11)
        coef, intercept = units.coefficients(np.ones((5, 2)), np.array([1.0, -1.0]))
        assert np.isfinite(coef).all()
        assert np.isfinite(intercept).all()


@pytest.mark.parametrize("kind", ["float32", "csr float32", "c"])
def test_products_with_numbers_beyond_single_precision(kind):
    design, _ = make_design(KINDS[kind](gaussian()), center=True, scale=True)
    M = np.random.default_rng(1).standard_normal((40, 2))
    with np.errstate(over="raise"):
        found = design.rmatmul(M * 2.0**200)
    np.testing.assert_allclose(found / 2.0**200, design.rmatmul(M), rtol=1e-6, atol=1e-5)


def test_a_constant_of_extreme_size_does_not_drown_the_others():
    X = np.column_stack([gaussian(), np.full(40, 1e200)])
    design, units = make_design(X, center=True, scale=False)
    assert units.x_unit == 1.0
    assert np.all(design.column_norms()[:5] > 1.0)
    assert design.column_norms()[5] == 0.0


@pytest.mark.parametrize(
    ("kind", "offset", "rtol"),
    [
        ("c", 1e9, 1.2e-7),
        ("strict", 1e9, 1.2e-7),
        ("csr_array", 1e9, 2e-6),
        ("float32", 1e6, 1e-6),
        ("csr float32", 1e6, 1e-8),
    ],
)
def test_a_large_offset_is_removed_accurately(kind, offset, rtol):
    X = np.random.default_rng(4).standard_normal((500, 6)) + offset
    if "float32" in kind:
        X = X.astype(np.float32).astype(np.float64)
    exact = X - offset  # no rounding: the sum was rounded already
    Z = exact - exact.mean(axis=0)
    Z /= Z.std(axis=0)
    design, units = make_design(KINDS[kind](X), center=True, scale=True)
    if not sp.issparse(KINDS[kind](X)):
        np.testing.assert_allclose(design.columns(np.arange(6)), Z, atol=rtol * 5)
    np.testing.assert_allclose(design.matmul(np.eye(6)), Z, atol=rtol * 5)
    np.testing.assert_allclose(design.column_norms(), np.sqrt(500), rtol=max(rtol, 1e-7))
    ones = design.rmatmul(np.ones((500, 1)))
    np.testing.assert_allclose(ones, 0.0, atol=500 * rtol)
    np.testing.assert_allclose(units.inv_scale, 1 / exact.std(axis=0), rtol=1e-10)
    np.testing.assert_allclose(units.mean - offset, exact.mean(axis=0), atol=2e-16 * offset)
