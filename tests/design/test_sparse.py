"""Sparse X stays sparse and unchanged."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from rowsparse.design import (
    DenseDesign,
    SparseDesign,
    make_design,
    sparse,
)
from rowsparse.design.sparse import canonical

from .cases import (
    D,
    N,
    peak_memory,
    raw_matrix,
    with_duplicates,
)


def test_duplicate_entries_are_summed_in_a_copy():
    S = with_duplicates(raw_matrix())
    before = S.data.copy(), S.indices.copy()
    make_design(S, center=True, scale=True)
    make_design(S.tocsc(), center=True, scale=True)
    np.testing.assert_array_equal(S.data, before[0])
    np.testing.assert_array_equal(S.indices, before[1])


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


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array])
def test_canonical_arrays_store_each_entry_once(kind):
    S = with_duplicates(raw_matrix())
    found = canonical(S, kind)
    assert isinstance(found, kind)
    assert found.nnz == S.nnz // 2
    np.testing.assert_allclose(found.toarray(), raw_matrix(), rtol=1e-15)


@pytest.mark.parametrize("factor", [1.0, 1e-300, 1e300])
def test_moments_are_those_of_the_dense_matrix(factor):
    X, w = raw_matrix(), np.random.default_rng(1).uniform(0.5, 2.0, N)
    design = SparseDesign(sp.csc_array(X * factor), mean=None, inv_scale=np.ones(D))
    found, plain = design.moments(w), DenseDesign(X, mean=None, inv_scale=np.ones(D)).moments(w)
    np.testing.assert_allclose(found.mean / factor, plain.mean, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(found.sd / factor, plain.sd, rtol=1e-11, atol=1e-15)
    np.testing.assert_array_equal(found.largest, np.abs(X * factor).max(axis=0))


def test_rows_and_columns_give_the_same_and_nothing_is_copied(monkeypatch):
    monkeypatch.setattr(sparse, "_BLOCK_ENTRIES", 7)
    monkeypatch.setattr(sparse, "_PANEL", 3)
    rng = np.random.default_rng(0)
    X = sp.csr_array(rng.random((20, 8)) * (rng.random((20, 8)) < 0.3))
    w = rng.random(20)
    forms = (X, sp.csc_array(X))
    designs = [make_design(form, center=True, scale=True)[0] for form in forms]
    assert np.shares_memory(make_design(X, center=True, scale=True)[0]._X.data, X.data)
    for weights in (None, w):
        np.testing.assert_allclose(*(design.gram(weights) for design in designs), atol=1e-12)
    weighted = [design.weighted(w, center=True)[0] for design in designs]
    np.testing.assert_allclose(*(design.gram() for design in weighted), atol=1e-12)
    Z = weighted[0].columns(np.arange(8))
    np.testing.assert_allclose(weighted[0].gram(), Z.T @ Z, atol=1e-12)
    np.testing.assert_allclose(weighted[1].column_norms(), np.linalg.norm(Z, axis=0))


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
