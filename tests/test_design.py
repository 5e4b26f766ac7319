"""Every product of every design, against the matrix it stands for."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rowsparse.design import DenseDesign, SparseDesign, WithColumn, make_design, power_of_two_unit

N, D = 23, 9


def raw_matrix(n: int = N, d: int = D, seed: int = 0) -> np.ndarray:
    """Columns of various scales and offsets, a third of the entries zero, one column constant."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-2, 2, d)
    X[rng.random((n, d)) < 1 / 3] = 0.0
    X[:, 1] += 3.0
    X[:, 4] = 0.1
    return X


def explicit(X: Any, center: bool, scale: bool, weights: np.ndarray | None = None) -> np.ndarray:
    """Z by the definition, in float64."""
    X = np.asarray(X, dtype=np.float64)
    w = np.ones(len(X)) if weights is None else weights
    mean = w @ X / w.sum()
    sd = np.sqrt(w @ (X - mean) ** 2 / w.sum())
    constant = sd <= 1e-13 * np.abs(X).max(axis=0)
    Z = X - mean if center else X.copy()
    if scale:
        Z = Z / np.where(constant, 1.0, sd)
    if center:
        Z[:, constant] = 0.0
    return Z


def read_only(X: np.ndarray) -> np.ndarray:
    X = X.copy()
    X.flags.writeable = False
    return X


def strided(X: np.ndarray) -> np.ndarray:
    wide = np.full((2 * X.shape[0], 3 * X.shape[1]), np.nan, dtype=X.dtype)
    wide[::2, ::3] = X
    return wide[::2, ::3]


def int64_indices(X: np.ndarray) -> Any:
    S = sp.csr_array(X)
    S.indices, S.indptr = S.indices.astype(np.int64), S.indptr.astype(np.int64)
    return S


def with_duplicates(X: np.ndarray) -> Any:
    """Each entry stored as two, which add up to it, in no order."""
    row, column = np.nonzero(X)
    order = np.random.default_rng(1).permutation(2 * row.size)
    half = np.tile(X[row, column] / 2, 2)[order]
    S = sp.coo_array((half, (np.tile(row, 2)[order], np.tile(column, 2)[order])), shape=X.shape)
    indptr = np.append(0, np.cumsum(np.bincount(S.row, minlength=X.shape[0])))
    by_row = np.argsort(S.row, kind="stable")
    S = sp.csr_array((S.data[by_row], S.col[by_row], indptr), shape=X.shape)
    assert S.nnz == 2 * row.size
    return S


def strict(X: np.ndarray) -> Any:
    return pytest.importorskip("array_api_strict").asarray(X.copy())


KINDS: dict[str, Callable[[np.ndarray], Any]] = {
    "c": np.ascontiguousarray,
    "fortran": np.asfortranarray,
    "strided": strided,
    "read-only": read_only,
    "float32": lambda X: X.astype(np.float32),
    "float32 fortran": lambda X: np.asfortranarray(X, dtype=np.float32),
    "csr_array": sp.csr_array,
    "csc_array": sp.csc_array,
    "csr_matrix": sp.csr_matrix,
    "csc_matrix": sp.csc_matrix,
    "csr float32": lambda X: sp.csr_array(X.astype(np.float32)),
    "csr int64": int64_indices,
    "csr duplicates": with_duplicates,
    "strict": strict,
    "strict float32": lambda X: strict(X.astype(np.float32)),
}
ROW_WEIGHTS = (None, "weights")
CASES = list(product(KINDS, (False, True), (False, True), ROW_WEIGHTS, (False, True)))


def assert_products(design: Any, Z: np.ndarray, rtol: float, floor: float = 1e-300) -> None:
    """All that a design can do, on the explicit Z; rtol is relative to the largest entry."""
    rng = np.random.default_rng(0)
    n, d = Z.shape
    assert design.shape == (n, d)
    W, M = rng.standard_normal((d, 2)), rng.standard_normal((n, 3))
    some = rng.permutation(d)[: d // 2 + 1]
    v, w = rng.uniform(0, 2, d), rng.uniform(0, 2, n)
    v[0] = w[0] = 0.0
    pairs = {
        "matmul": (design.matmul(W), Z @ W),
        "rmatmul": (design.rmatmul(M), Z.T @ M),
        "columns": (design.columns(some), Z[:, some]),
        "gram_columns": (design.gram_columns(some), Z.T @ Z[:, some]),
        "column_norms": (design.column_norms(), np.sqrt((Z**2).sum(axis=0))),
        "outer": (design.outer(v), (Z * v) @ Z.T),
        "gram": (design.gram(), Z.T @ Z),
        "weighted gram": (design.gram(w), Z.T @ (w[:, None] * Z)),
        "spectral_norm": (np.array([design.spectral_norm()]), np.linalg.norm(Z, 2, keepdims=True)),
    }
    for name, (got, expected) in pairs.items():
        assert isinstance(got, np.ndarray), name
        assert name == "columns" or got.dtype == np.float64, name
        slack = max(rtol, 2e-6) if name == "spectral_norm" else rtol
        error = np.abs(got.squeeze() - expected.squeeze()).max(initial=0.0)
        assert error <= slack * np.abs(expected).max(initial=floor), name


def assert_all(design: Any, Z: np.ndarray, rtol: float) -> None:
    """The design, and its weighted views with and without centring."""
    # Centring may leave nothing but rounding errors of what was there.
    largest = max(np.abs(Z).max(), 1e-300)
    assert_products(design, Z, rtol)
    w = np.random.default_rng(7).uniform(0.1, 3.0, Z.shape[0])
    for center in (False, True):
        view, shift = design.weighted(w, center=center)
        expected = w @ Z / w.sum() if center else np.zeros(Z.shape[1])
        np.testing.assert_allclose(shift, expected, atol=rtol * largest)
        residual = np.sqrt(w)[:, None] * (Z - expected)
        assert_products(view, residual, 4 * rtol, floor=largest * min(largest, 1.0))


@pytest.mark.parametrize(("kind", "center", "scale", "weights", "extra"), CASES)
def test_products_are_those_of_the_explicit_matrix(kind, center, scale, weights, extra):
    X = raw_matrix()
    w = None if weights is None else np.random.default_rng(5).uniform(0.2, 2.0, N)
    held = KINDS[kind](X)
    design, units = make_design(held, center=center, scale=scale, weights=w)
    assert isinstance(design, SparseDesign if sp.issparse(held) else DenseDesign)
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


@pytest.mark.parametrize("kind", ["c", "float32", "csr_array", "csr float32", "strict"])
@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_constant_columns_become_exactly_zero(kind, scale, weighted):
    n = 30_001
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.standard_normal(n), np.full(n, 0.1), np.full(n, 1e8 / 3), np.zeros(n)])
    weights = rng.uniform(0.0, 3.0, n) if weighted else None
    design, units = make_design(KINDS[kind](X), center=True, scale=scale, weights=weights)
    assert np.all(units.inv_scale[1:] == 0.0)
    assert units.inv_scale[0] > 0.0
    constant = np.array([1, 2, 3])
    assert not design.columns(constant).any()
    assert not design.column_norms()[1:].any()
    assert design.column_norms()[0] > 0
    assert not design.rmatmul(np.ones((n, 1)) * rng.standard_normal((n, 1)))[1:].any()
    assert not design.matmul(np.eye(4))[:, 1:].any()


finite = st.floats(-100, 100, width=32).filter(lambda v: v == 0 or abs(v) > 1e-3)


@settings(max_examples=60, deadline=None)
@given(
    X=arrays(np.float64, st.tuples(st.integers(1, 8), st.integers(1, 6)), elements=finite),
    kind=st.sampled_from(["c", "fortran", "strided", "csr_array", "csc_matrix", "csr duplicates"]),
    center=st.booleans(),
    scale=st.booleans(),
)
def test_any_small_matrix(X, kind, center, scale):
    design, _ = make_design(KINDS[kind](X), center=center, scale=scale)
    assert_all(design, explicit(X, center, scale), 1e-9)


@settings(max_examples=40, deadline=None)
@given(
    X=arrays(np.float64, (7, 3), elements=finite),
    counts=arrays(np.int64, 7, elements=st.integers(0, 3)).filter(np.any),
    scale=st.booleans(),
    kind=st.sampled_from(["c", "csr_array"]),
)
def test_integer_weights_are_repeated_rows(X, counts, scale, kind):
    _, weighted = make_design(KINDS[kind](X), center=True, scale=scale, weights=counts * 1.0)
    repeated = KINDS[kind](np.repeat(X, counts, axis=0))
    _, plain = make_design(repeated, center=True, scale=scale)
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


def test_duplicate_entries_are_summed_in_a_copy():
    S = with_duplicates(raw_matrix())
    before = S.data.copy(), S.indices.copy()
    make_design(S, center=True, scale=True)
    make_design(S.tocsc(), center=True, scale=True)
    np.testing.assert_array_equal(S.data, before[0])
    np.testing.assert_array_equal(S.indices, before[1])


# ------------------------------------------------------------------------------- memory
@contextmanager
def peak_memory() -> Iterator[list[int]]:
    """The most bytes allocated inside, as the only item of the list."""
    peak: list[int] = []
    tracemalloc.start()
    try:
        yield peak
        peak.append(tracemalloc.get_traced_memory()[1])
    finally:
        tracemalloc.stop()


def test_a_sparse_matrix_is_never_made_dense(monkeypatch):
    X = sp.csr_array(sp.random(20_000, 5_000, density=1e-3, random_state=0))

    def refuse(self, *args, **options):
        if np.prod(self.shape) > 1_000_000:
            raise AssertionError(f"a sparse matrix of shape {self.shape} was made dense")
        return original(self, *args, **options)

    for kind in (sp.csr_array, sp.csc_array):
        original = kind.toarray
        monkeypatch.setattr(kind, "toarray", refuse)
        monkeypatch.setattr(kind, "todense", refuse)
    with pytest.raises(AssertionError, match="made dense"):
        X.toarray()
    with peak_memory() as peak:
        design, _ = make_design(X, center=True, scale=True)
        product = design.matmul(np.ones((5_000, 2)))
        back = design.rmatmul(product)
        design.column_norms()
        design.weighted(np.ones(20_000), center=True)[0].column_norms()
        design.columns(np.arange(5))
    assert np.isfinite(back).all()
    assert peak[0] < 20e6  # 800 MB dense, 1.2 MB as it is


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


@pytest.mark.parametrize("layout", [np.ascontiguousarray, np.asfortranarray])
def test_float32_never_becomes_a_float64_copy(layout):
    X = layout(np.random.default_rng(0).standard_normal((6_000, 2_000), dtype=np.float32))
    X[:, 3] += 5.0
    with peak_memory() as peak:
        design, _ = make_design(X, center=True, scale=True)
        design.rmatmul(design.matmul(np.ones((2_000, 2))))
        design.column_norms()
    assert design.columns(np.array([3])).dtype == np.float32
    # Blocks of 8 MB at a time, a few of them; a float64 copy would be 96 MB.
    assert peak[0] < 0.5 * 8 * X.size


def test_float64_is_not_copied_either():
    X = np.random.default_rng(0).standard_normal((6_000, 1_500))
    with peak_memory() as peak:
        design, _ = make_design(X, center=True, scale=True)
        design.rmatmul(design.matmul(np.ones((1_500, 2))))
        design.column_norms()
    assert peak[0] < 0.6 * X.nbytes


# ------------------------------------------------------------------- extreme magnitudes
def gaussian(n: int = 40, d: int = 5) -> np.ndarray:
    return np.random.default_rng(2).standard_normal((n, d))


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize(
    ("kind", "factor"),
    [
        *product(("c", "csr_array", "strict"), (1e150, 1e-150, 1e307, 1e-300)),
        *product(("float32", "csr float32", "strict float32"), (1e30, 1e-30, 1e37)),
    ],
)
def test_extreme_scales_stay_accurate(kind, factor, center, scale):
    X = gaussian()
    with np.errstate(over="raise"):
        design, units = make_design(KINDS[kind](X * factor), center=center, scale=scale)
        Z = explicit(X, center, scale) * (1.0 if scale else factor / units.x_unit)
        assert_all(design, Z, 2e-5 if "float32" in kind else 1e-11)
    W, b = np.ones((5, 2)), np.array([1.0, -1.0])
    coef, intercept = units.coefficients(W, b)
    assert np.isfinite(coef).all()
    assert np.isfinite(intercept).all()


def test_one_extreme_column_among_ordinary_ones():
    X = gaussian()
    factors = np.array([1e150, 1e-150, 1.0, 1e-300, 1e300])
    for kind in ("c", "csr_array"):
        design, _ = make_design(KINDS[kind](X * factors), center=True, scale=True)
        assert_all(design, explicit(X, True, True), 1e-11)


def test_a_constant_of_extreme_size_does_not_drown_the_others():
    X = np.column_stack([gaussian(), np.full(40, 1e200)])
    design, units = make_design(X, center=True, scale=False)
    assert units.x_unit == 1.0
    assert np.all(design.column_norms()[:5] > 1.0)
    assert design.column_norms()[5] == 0.0


def test_spread_below_the_smallest_normal_number_counts_as_none():
    design, units = make_design(gaussian() * 1e-312, center=True, scale=True)
    assert not design.column_norms().any()
    assert np.isfinite(units.inv_scale).all()


@pytest.mark.parametrize("magnitude", [5e-324, 1e-300, 1e-60, 1e60, 1e300, 1.797e308])
def test_power_of_two_unit_and_its_inverse_are_finite(magnitude):
    unit = power_of_two_unit(magnitude)
    assert np.frexp(unit)[0] == 0.5
    assert 0 < 1.0 / unit < np.inf
    assert power_of_two_unit(0.0) == power_of_two_unit(1e20) == 1.0


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


def test_units_bring_coefficients_back_to_the_data():
    X = raw_matrix()
    design, units = make_design(X, center=True, scale=True)
    W, b = np.random.default_rng(0).standard_normal((D, 2)), np.array([1.0, -2.0])
    coef, intercept = units.coefficients(W, b)
    np.testing.assert_allclose(X @ coef.T + intercept, design.matmul(W) + b, rtol=1e-11)


# ------------------------------------------------------------------- columns to the last digits
def exactly_standardised(X, weights=None):
    """Z in long doubles, whose rounding is far below that of what is tested."""
    X = np.asarray(X.toarray() if sp.issparse(X) else X).astype(np.longdouble)
    w = np.ones(len(X)) if weights is None else weights
    share = (w / w.sum()).astype(np.longdouble)
    Z = X - share @ X
    Z = Z - share @ Z
    return Z / np.sqrt(share @ Z**2)


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
