"""Statistics of rows in parts, and the sums over the rows of a block, against their definitions."""

from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from rowsparse.moments.statistics import Statistics


def data(offset: float = 0.0, n: int = 60, d: int = 5, seed: int = 0) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + offset * rng.random(d)
    return X, np.eye(3)[rng.integers(0, 3, n)], rng.random(n) + 0.1


def gathered(X: Any, Y: Any, w: Any, cuts: list[int], **options: Any) -> Statistics:
    options = {"products": True, "grouped": True} | options
    found = Statistics.empty(X.shape[1], Y.shape[1], **options)
    edges = [0, *sorted(cuts), X.shape[0]]
    for start, stop in pairwise(edges):
        if stop > start:
            part = None if w is None else w[start:stop]
            found.add_rows(X[start:stop], Y[start:stop], part)
    return found


def assert_those_of_all_rows(found: Statistics, X: Any, Y: Any, w: Any, rtol: float) -> None:
    w = np.ones(len(X)) if w is None else w
    Z = X - w @ X / w.sum()
    Z = Z - w @ Z / w.sum()
    V = Y - w @ Y / w.sum()
    scale = np.sqrt(w @ Z**2)
    np.testing.assert_allclose(found.weight, w.sum(), rtol=1e-14)
    # A mean near zero has the rounding errors of its terms.
    np.testing.assert_allclose(found.x_mean, w @ X / w.sum(), rtol=1e-14, atol=2e-15)
    np.testing.assert_allclose(found.x_square, w @ Z**2, rtol=rtol)
    np.testing.assert_allclose(
        found.full_xx() / np.outer(scale, scale), (Z.T * w) @ Z / np.outer(scale, scale), atol=rtol
    )
    np.testing.assert_allclose(found.xy, (Z.T * w) @ V, atol=rtol * scale.max() * np.sqrt(w.sum()))
    np.testing.assert_allclose(found.yy, (V.T * w) @ V, atol=rtol * w.sum())
    for g in range(Y.shape[1]):
        rows = Y[:, g] > 0
        if not rows.any():
            continue
        Z_g = X[rows] - np.average(X[rows], axis=0, weights=w[rows])
        Z_g -= np.average(Z_g, axis=0, weights=w[rows])
        np.testing.assert_allclose(
            found.group_scatter[g], w[rows] @ Z_g**2, rtol=rtol, atol=1e-13 * scale.max() ** 2
        )


@settings(max_examples=40, deadline=None)
@given(
    cuts=st.lists(st.integers(0, 60), max_size=4),
    offset=st.sampled_from([0.0, 1.0, 1e8]),
    weighted=st.booleans(),
    order=st.sampled_from(["C", "F"]),
)
def test_blocks_add_up_whatever_the_cuts_and_the_offsets(
    cuts: list[int], offset: float, weighted: bool, order: Any
) -> None:
    X, Y, w = data(offset)
    found = gathered(np.asarray(X, order=order), Y, w if weighted else None, cuts)
    # Values near 1e8 have eight digits after the point, all of which count.
    assert_those_of_all_rows(found, X, Y, w if weighted else None, 1e-12)


@pytest.mark.parametrize("cuts", [[], [13, 40]])
@pytest.mark.parametrize("weighted", [False, True])
def test_sparse_blocks_have_the_statistics_of_dense_ones(cuts: list[int], weighted: bool) -> None:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, 40)) * (rng.random((60, 40)) < 0.05)
    _, Y, w = data()
    weights = w if weighted else None
    sparse = gathered(sp.csr_array(X), Y, weights, cuts)
    dense = gathered(X, Y, weights, cuts)
    for name in ("x_mean", "x_square", "xy", "yy", "x_low", "x_high", "group_scatter"):
        np.testing.assert_allclose(getattr(sparse, name), getattr(dense, name), atol=1e-12)
    np.testing.assert_allclose(sparse.full_xx(), dense.full_xx(), atol=1e-12)


def test_subtracting_a_part_leaves_the_rest() -> None:
    X, Y, w = data(1e4)
    Y[:20], Y[20:, 0] = [1.0, 0.0, 0.0], 0.0
    whole, part = gathered(X, Y, w, [11]), gathered(X[:20], Y[:20], w[:20], [])
    whole.subtract(part)
    assert_those_of_all_rows(whole, X[20:], Y[20:], w[20:], 1e-10)
    assert whole.n_rows == 40
    # The first class was in the part only.
    assert whole.group_weight[0] == 0.0
    assert not whole.group_scatter[0].any()


def exact_products(X: Any, w: Any) -> Any:
    """Weighted sums of products of deviations from the means, as fractions."""
    Z = np.array([[Fraction(float(x)) for x in row] for row in X], dtype=object)
    w = np.array([Fraction(float(one)) for one in w], dtype=object)
    Z = Z - (w @ Z) / w.sum()
    return (Z * w[:, None]).T @ Z


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    offset=st.sampled_from([0.0, 3.0, 80.0, 1e8]),
    cuts=st.lists(st.integers(0, 30), max_size=4),
    sparse=st.booleans(),
    passing=st.sampled_from([0.0, 1.0, 1e4]),
)
def test_rounding_errors_are_no_larger_than_counted(
    seed: int, offset: float, cuts: list[int], sparse: bool, passing: float
) -> None:
    X, _, w = data(offset, n=30, d=4, seed=seed)
    Y = data(offset, n=30, d=2, seed=seed + 1)[0]
    if sparse:
        X[np.random.default_rng(seed).random(X.shape) < 0.93] = 0.0
    found = gathered(sp.csr_array(X) if sparse else X, Y, w, cuts, grouped=False)
    if passing:  # rows that come and go again
        other = gathered(passing * X + passing, passing**2 * Y - 1.0, w, [], grouped=False)
        found.merge(other)
        found.subtract(other)
    exact, errors = exact_products(np.hstack([X, Y]), w), [found.x_error, found.y_error]
    gathered_products = np.block([[found.full_xx(), found.xy], [found.xy.T, found.yy]])
    error = np.abs(gathered_products.astype(object) - exact).astype(float)
    assert np.all(error <= np.sqrt(np.outer(np.concatenate(errors), np.concatenate(errors))))
