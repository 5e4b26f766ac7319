"""What is stored is neither copied nor converted, and its moments and products are exact."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from rowsparse.design import DenseDesign, DeviceDesign, SparseDesign, dense, device, make_design
from rowsparse.design.build import compressed_design

from .cases import KINDS, D, N, peak_memory, raw_matrix, torch_tensor


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_dense_matrix_is_neither_copied_nor_converted(monkeypatch, order, dtype):
    monkeypatch.setattr(dense, "_BLOCK_ENTRIES", 1 << 16)  # half a megabyte in double precision
    X = np.random.default_rng(0).standard_normal((1_500, 800))
    X = np.asarray(X, dtype=dtype, order=order)
    X[:, 3] += 5.0
    with peak_memory() as peak:
        design, _ = make_design(X, center=True, scale=True)
        design.rmatmul(design.matmul(np.ones((800, 2))))
        design.column_norms()
    assert design.columns(np.array([3])).dtype == dtype
    # A few blocks at a time; a copy in double precision would be 9.6 MB.
    assert peak[0] < 0.3 * 8 * X.size


@pytest.mark.parametrize("factor", [1.0, 1e-130, 1e150, "offset"])
@pytest.mark.parametrize("kind", ["c", "fortran", "float32", "csc_array", "strict", "torch"])
def test_moments_are_those_of_numpy(monkeypatch, kind, factor):
    monkeypatch.setattr(device, "_BLOCK_ENTRIES", 4 * D)
    X, w = raw_matrix(), np.random.default_rng(1).uniform(0.5, 2.0, N)
    if factor == "offset" or kind == "float32":
        X, factor = X + 1e7 * (kind in ("strict", "torch")), 1.0
    held = torch_tensor(X * factor) if kind == "torch" else KINDS[kind](X * factor)
    if kind == "float32":
        X = held.astype(np.float64)
    design = SparseDesign if kind == "csc_array" else DenseDesign
    design = DeviceDesign if kind in ("strict", "torch") else design
    found = design(held, mean=None, inv_scale=np.ones(D)).moments(w)
    mean = np.average(X, axis=0, weights=w)
    sd = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=w))
    rounding = 1e-15 * (1 + np.abs(mean).max())
    np.testing.assert_allclose(found.mean / factor, mean, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(found.sd / factor, sd, rtol=1e-11, atol=rounding)
    assert np.all(found.largest / factor >= np.abs(X).max(axis=0) * (1 - 1e-12))


# ----------------------------------------------------------------------------------------- sparse X
def test_a_sparse_matrix_is_never_made_dense(monkeypatch):
    n, d = 2_000, 1_500
    rng = np.random.default_rng(0)
    where = rng.integers(0, n, 3_000), rng.integers(0, d, 3_000)
    X = sp.csr_array(sp.coo_array((rng.random(3_000), where), shape=(n, d)))

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
        design.rmatmul(design.matmul(np.ones((d, 2))))
        design.column_norms()
        design.weighted(np.ones(n), center=True)[0].column_norms()
        design.columns(np.arange(5))
    assert peak[0] < 3e6  # dense: 24 MB


@pytest.mark.parametrize("form", ["csr", "csc"])
@pytest.mark.parametrize("weighted", [False, True])
def test_columns_of_the_gram_matrix_come_from_stored_rows_only(monkeypatch, form, weighted):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 40)) * (rng.random((300, 40)) < 0.04)
    X[:, 7] += 30.0  # all stored
    r = rng.random(300) + 0.5 if weighted else None
    design = SparseDesign(
        sp.csr_array(X).asformat(form),
        mean=rng.standard_normal(40),  # not that of the columns
        inv_scale=rng.random(40) + 0.5,
        row_scale=r,
    )
    Z = design.columns(np.arange(40))
    products = []
    real = SparseDesign._tdot
    monkeypatch.setattr(
        SparseDesign, "_tdot", lambda self, M: products.append(M.shape[1]) or real(self, M)
    )
    for some in ([3, 1], [5], [2, 30, 11]):
        np.testing.assert_allclose(design.gram_columns(np.array(some)), Z.T @ Z[:, some])
    assert products == [1]  # the sums of the columns
    np.testing.assert_allclose(design.gram_columns(np.array([7, 2])), Z.T @ Z[:, [7, 2]])
    assert products == [1, 2]
    other, _ = design.weighted(rng.random(300), center=False)
    Z = other.columns(np.arange(40))
    np.testing.assert_allclose(other.gram_columns(np.array([4])), Z.T @ Z[:, [4]])


# ------------------------------------------------------------------------------- products in blocks
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float64, np.int64])
def test_the_gram_matrix_of_blocks_is_that_of_all_rows(
    order: Any, dtype: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dense, "_PART_ENTRIES", 50)
    rng = np.random.default_rng(0)
    X = np.asarray(1e4 * rng.standard_normal((33, 7)), dtype=dtype, order=order)
    mean, inv_scale = X.mean(axis=0), rng.random(7)
    off = rng.standard_normal(7)
    Z = (X - mean) * inv_scale
    found = dense.centred_gram([X[:20], X[20:]], mean + off, -off, inv_scale)
    np.testing.assert_allclose(found, Z.T @ Z, rtol=1e-10, atol=1e-4)
    np.testing.assert_array_equal(found, found.T)


# -------------------------------------------------------------- a few rows with the products of all
@pytest.mark.parametrize(("n", "d"), [(40, 6), (4, 9)])
@pytest.mark.parametrize("scale", [1.0, 1e-9])
def test_the_products_are_those_given(n: int, d: int, scale: float) -> None:
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((n, d)), rng.standard_normal((n, 2))
    X[:, 1] *= scale
    X[:, 2], X[:, 3], Y[:, 1] = X[:, 0] - X[:, 4], 0.0, 0.0
    gram = np.asfortranarray(np.triu(X.T @ X))
    design, small = compressed_design(gram, X.T @ Y, Y.T @ Y)
    norms = np.maximum(np.linalg.norm(X, axis=0), 1e-30)
    np.testing.assert_allclose(
        design.gram() / np.outer(norms, norms), X.T @ X / np.outer(norms, norms), atol=1e-13
    )
    np.testing.assert_allclose(design.rmatmul(small), X.T @ Y, atol=1e-13)
    np.testing.assert_allclose(small.T @ small, Y.T @ Y, atol=1e-13)
    # Dependent columns, and targets of zero, take no rows.
    assert design.shape == (min(n, d - 2 + 1), d)


@pytest.mark.parametrize("small", [1.0, 1e-3, 1e-6])
def test_errors_of_the_products_are_no_larger_than_it_says(small: float) -> None:
    rng = np.random.default_rng(1)
    X, Y = rng.standard_normal((30, 8)), rng.standard_normal((30, 2))
    Y[:, 1] = Y[:, 0] + small * Y[:, 1]
    X[:, 2] = X[:, 1] + 1e-7 * X[:, 2]
    norms = np.linalg.norm(X, axis=0)
    design, targets = compressed_design(np.asfortranarray(X.T @ X), X.T @ Y, Y.T @ Y, 1e-14)
    assert 1e-14 < design.product_rounding < 1e-12 / small
    error = np.abs(design.gram() - X.T @ X) / np.outer(norms, norms)
    assert error.max() <= design.product_rounding
    error = np.abs(design.rmatmul(targets) - X.T @ Y) / np.outer(norms, np.linalg.norm(Y, axis=0))
    assert error.max() <= design.product_rounding
