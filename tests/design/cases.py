"""Data of every kind, and every product of a design against the matrix it stands for."""

import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import strategies as st

from rowsparse._arrays import to_host

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


def torch_tensor(X: np.ndarray) -> Any:
    return pytest.importorskip("torch").asarray(X.copy())


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


def assert_products(design: Any, Z: np.ndarray, rtol: float, floor: float = 1e-300) -> None:
    """All that a design can do, on the explicit Z; rtol is relative to the largest entry."""
    rng = np.random.default_rng(0)
    n, d = Z.shape
    assert design.shape == (n, d)
    W, M = rng.standard_normal((d, 2)), rng.standard_normal((n, 3))
    some = rng.permutation(d)[: d // 2 + 1]
    v, w = rng.uniform(0, 2, d), rng.uniform(0, 2, n)
    v[0] = w[0] = 0.0
    H = np.column_stack([w, w[::-1]])
    pairs = {
        "matmul": (design.matmul(W), Z @ W),
        "rmatmul": (design.rmatmul(M), Z.T @ M),
        "columns": (design.columns(some), Z[:, some]),
        "gram_columns": (design.gram_columns(some), Z.T @ Z[:, some]),
        "gram_rows_in_place": (
            np.asarray(to_host(design.gram_rows_in_place(some)), dtype=np.float64),
            Z[:, some].T @ Z,
        ),
        "column_norms": (design.column_norms(), np.sqrt((Z**2).sum(axis=0))),
        "weighted_squares": (design.weighted_squares(H), H.T @ Z**2),
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


finite = st.floats(-100, 100, width=32).filter(lambda v: v == 0 or abs(v) > 1e-3)


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


def gaussian(n: int = 40, d: int = 5) -> np.ndarray:
    return np.random.default_rng(2).standard_normal((n, d))


def exactly_standardised(X, weights=None):
    """Z in long doubles, whose rounding is far below that of what is tested."""
    X = np.asarray(X.toarray() if sp.issparse(X) else X).astype(np.longdouble)
    w = np.ones(len(X)) if weights is None else weights
    share = (w / w.sum()).astype(np.longdouble)
    Z = X - share @ X
    Z = Z - share @ Z
    return Z / np.sqrt(share @ Z**2)
