"""Manhattan distances and nearest neighbours against SciPy and a stable sort."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from rowsparse.solvers.filters import manhattan
from rowsparse.solvers.filters.manhattan import UnitSamples, neighbourhoods, row_blocks

from .cases import mixture, nearest, scaled, unit


def test_coarse_distances_are_within_their_margin():
    X, _ = mixture(0)
    samples, rows = unit(X), slice(10, 30)
    exact = cdist(scaled(X)[rows], scaled(X), "cityblock") * manhattan.LEVELS
    off = np.abs(samples.coarse_distances(rows).astype(float) - exact)
    assert np.all(2 * off.max(axis=1) <= samples.margin(rows))
    assert off.max() > 1.0


def test_whole_numbers_in_a_range_of_255_are_not_rounded():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 256, (30, 40)).astype(float)
    X[:2] = [[0.0], [255.0]]
    samples, rows = unit(X), slice(0, 30)
    np.testing.assert_array_equal(samples.margin(rows), 0)
    np.testing.assert_array_equal(samples.coarse_distances(rows), 16 * cdist(X, X, "cityblock"))


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, sp.csc_array])
def test_distances_with_categories(kind):
    X, _ = mixture(1)
    X[:, 3] *= 7
    categorical = np.arange(X.shape[1]) % 3 == 0
    Z = scaled(X)
    expected = cdist(Z[:, ~categorical], Z[:, ~categorical], "cityblock")
    expected += (X[:, None, categorical] != X[None, :, categorical]).sum(axis=2)
    samples, rows = UnitSamples(kind(X), categorical), slice(5, 45)
    np.testing.assert_allclose(samples.distances(rows) / 2**30, expected[rows], atol=1e-8)
    coarse = samples.coarse_distances(rows) / manhattan.LEVELS
    np.testing.assert_allclose(coarse, expected[rows], atol=0.02)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 40), st.integers(1, 40), st.integers(1, 9))
def test_neighbours_are_those_of_a_stable_sort(seed, n, d, count):
    rng = np.random.default_rng(seed)
    kind = rng.integers(3)
    X = [rng.standard_normal((n, d)), rng.integers(0, 3, (n, d)), rng.integers(0, 8, (n, d))][kind]
    X = X.astype(float)
    groups = rng.integers(0, 3, n)
    groups[: min(n, 3)] = np.arange(min(n, 3))
    samples, rows = unit(X), slice(n // 3, n)
    coarse = samples.coarse_distances(rows)
    for near in neighbourhoods(samples, rows, coarse, groups, count):
        for group in range(groups.max() + 1):
            mine = (groups[near.others] == group) & (near.ranks < count)
            found = near.others[mine][np.argsort(near.ranks[mine])]
            expected = nearest(scaled(X), near.i, np.flatnonzero(groups == group), count)
            np.testing.assert_array_equal(found, expected)


def test_blocks_cover_all_rows_and_are_bounded():
    for n in (2, 255, 256, 257, 9298, 10**5):
        blocks = row_blocks(n)
        assert blocks[0].start == 0
        assert blocks[-1].stop == n
        assert all(a.stop == b.start for a, b in pairwise(blocks))
        longest = max(block.stop - block.start for block in blocks)
        assert longest * n <= 1 << 22
