"""The weights of ReliefF against direct loops."""

from __future__ import annotations

import tracemalloc
from functools import partial

import numpy as np
import pytest

from rowsparse.solvers.filters import manhattan, relief

from .cases import Array, mixture, nearest, scaled, unit

# Equal weights of the neighbours and one thread, where a test does not say otherwise.
PLAIN = {"sigma": None, "n_jobs": None}
relief_classes = partial(relief.relief_classes, **PLAIN)
relief_numbers = partial(relief.relief_numbers, **PLAIN)
relief_label_pairs = partial(relief.relief_label_pairs, **PLAIN)


def direct_relief(X: Array, y: Array, count: int) -> Array:
    """The definition, sample by sample and class by class."""
    Z, P = scaled(X), np.bincount(y) / y.size
    w = np.zeros(X.shape[1])
    for i in range(y.size):
        for c in range(P.size):
            near = nearest(Z, i, np.flatnonzero(y == c), count)
            factor = -1.0 if c == y[i] else P[c] / (1 - P[y[i]])
            if near.size:
                w += factor * np.abs(Z[near] - Z[i]).mean(axis=0)
    return w / y.size


def direct_pairs(X: Array, Y: Array, count: int) -> Array:
    """The definition, label pair by label pair; a sample without hits has its misses only."""
    Z, P, Y = scaled(X), Y.mean(axis=0), Y.astype(bool)
    w = np.zeros(X.shape[1])
    for p, q in np.ndindex(P.size, P.size):
        with_p, with_q = (np.flatnonzero(Y[:, a] & ~Y[:, b]) for a, b in ((p, q), (q, p)))
        if not with_q.size:
            continue
        for i in with_p:
            hits, misses = nearest(Z, i, with_p, count), nearest(Z, i, with_q, count)
            change = np.abs(Z[misses] - Z[i]).mean(axis=0)
            if hits.size:
                change -= np.abs(Z[hits] - Z[i]).mean(axis=0)
            w += P[q] / (P.sum() - P[p]) * change
    return w / Y.shape[0]


def direct_numbers(X: Array, y: Array, weights: Array) -> Array:
    """RReliefF as printed by its authors, with three running sums."""
    Z, t = scaled(X), (y - y.min()) / np.ptp(y)
    n_c, n_a, n_ca = 0.0, np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for i in range(y.size):
        near = nearest(Z, i, np.arange(y.size), weights.size)
        for j, weight in zip(near, weights / weights.sum(), strict=True):
            n_c += abs(t[i] - t[j]) * weight
            n_a += np.abs(Z[i] - Z[j]) * weight
            n_ca += abs(t[i] - t[j]) * np.abs(Z[i] - Z[j]) * weight
    return n_ca / n_c - (n_a - n_ca) / (y.size - n_c)


def test_extreme_magnitudes_and_offsets():
    X, y = mixture(2)
    plain = relief_classes(unit(X), y[None], n_neighbors=3)[0]
    big = X * np.ldexp(1.0, np.arange(X.shape[1]) * 60 - 600)
    np.testing.assert_allclose(relief_classes(unit(big), y[None], n_neighbors=3)[0], plain)
    far = relief_classes(unit(X + 2.0**20), y[None], n_neighbors=3)[0]
    np.testing.assert_allclose(far, plain, atol=1e-8)
    signs = np.where(X > 0, 1.0, -1.0)
    widest = relief_classes(unit(1.7e308 * signs), y[None], n_neighbors=3)
    np.testing.assert_array_equal(widest, relief_classes(unit(signs), y[None], n_neighbors=3))


def test_equal_distances_do_not_depend_on_the_order_of_the_columns():
    # Sevenths are not exact in binary: sums in another order differ in the last bits.
    rng = np.random.default_rng(5)
    X = rng.integers(0, 8, (80, 50)).astype(float)
    X[:2] = [[0.0], [7.0]]
    y = rng.integers(0, 2, 80)
    order = rng.permutation(50)
    plain = relief_classes(unit(X), y[None], n_neighbors=4)[0]
    permuted = relief_classes(unit(X[:, order]), y[None], n_neighbors=4)[0]
    np.testing.assert_allclose(permuted, plain[order], rtol=1e-12)
    np.testing.assert_allclose(plain, direct_relief(X, y, 4), atol=1e-13)


# ----------------------------------------------------------------------------- weights
@pytest.mark.parametrize("count", [1, 3, 10, 200])
@pytest.mark.parametrize("seed", [0, 1])
def test_weights_are_those_of_the_definition(seed, count):
    X, y = mixture(seed)
    weights = relief_classes(unit(X), y[None], n_neighbors=count)[0]
    np.testing.assert_allclose(weights, direct_relief(X, y, count), atol=1e-14)


def test_weights_by_hand():
    # Ranges 4 and 1; the nearest hits are 1, 0, 3, 2 and the nearest misses 3, 2, 1, 0: sample 0
    # is at distance 1 + 0 from 3 and at 3/4 + 1 from 2.
    X = np.array([[0.0, 0.0], [1.0, 1.0], [3.0, 1.0], [4.0, 0.0]])
    weights = relief_classes(unit(X), np.array([[0, 0, 1, 1]]), n_neighbors=1)[0]
    misses = np.array([[1.0, 0.0], [0.5, 0.0], [0.5, 0.0], [1.0, 0.0]])
    np.testing.assert_allclose(weights, misses.mean(axis=0) - [0.25, 1.0])


def test_several_labelings_at_once():
    X, y = mixture(3)
    other = (y > 1).astype(int)
    both = relief_classes(unit(X), np.array([y, other]), n_neighbors=4)
    for weights, labels in zip(both, (y, other), strict=True):
        np.testing.assert_allclose(weights, direct_relief(X, labels, 4), atol=1e-14)


def test_rank_weights_of_a_wide_sigma_are_equal_weights():
    X, y = mixture(4)
    plain = relief_classes(unit(X), y[None], n_neighbors=5)
    np.testing.assert_allclose(
        relief_classes(unit(X), y[None], n_neighbors=5, sigma=1e6), plain, atol=1e-11
    )
    narrow = relief_classes(unit(X), y[None], n_neighbors=5, sigma=0.01)
    nearest_only = relief_classes(unit(X), y[None], n_neighbors=1)
    np.testing.assert_allclose(narrow, nearest_only, atol=1e-14)


@pytest.mark.parametrize("sigma", [None, 2.0])
def test_numbers_as_printed(sigma):
    X, _ = mixture(6)
    y = X[:, 15] ** 2 + X[:, 0]
    rank = np.arange(1, 8)
    weights = np.ones(7) if sigma is None else np.exp(-((rank / sigma) ** 2))
    found = relief_numbers(unit(X), np.column_stack([y, -2 * y]), n_neighbors=7, sigma=sigma)
    np.testing.assert_allclose(found[0], direct_numbers(X, y, weights), atol=1e-14)
    np.testing.assert_allclose(found[1], found[0], atol=1e-14)


def test_numbers_without_any_difference_or_with_nothing_else():
    X = np.random.default_rng(0).standard_normal((12, 3))
    constant = relief_numbers(unit(X), np.full((12, 1), 5.0), n_neighbors=3)
    assert np.all(constant < 0)
    # Two samples: every column differs as much as the numbers do.
    two = relief_numbers(unit(X[:2]), np.array([[0.0], [1.0]]), n_neighbors=1)
    np.testing.assert_array_equal(two, 1.0)


# --------------------------------------------------------------------------- label pairs
@pytest.mark.parametrize("seed", range(3))
def test_label_pairs_are_those_of_the_definition(seed):
    X, _ = mixture(seed)
    rng = np.random.default_rng(seed)
    Y = (rng.random((60, 5)) < [0.03, 0.2, 0.5, 0.9, 0.0]).astype(float)
    found = relief_label_pairs(unit(X), Y, n_neighbors=4)
    np.testing.assert_allclose(found, direct_pairs(X, Y, 4), atol=1e-13)


@pytest.mark.parametrize("sigma", [None, 1.5])
@pytest.mark.parametrize("count", [2, 10])
def test_label_pairs_of_classes_are_classes(count, sigma):
    X, y = mixture(7)
    pairs = relief_label_pairs(unit(X), np.eye(5)[y], n_neighbors=count, sigma=sigma)
    classes = relief_classes(unit(X), y[None], n_neighbors=count, sigma=sigma)[0]
    np.testing.assert_allclose(pairs, classes, atol=1e-14)


# ------------------------------------------------------------------- threads and memory
@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(manhattan, "_ROWS_IN_BLOCK", 7)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("n_jobs", [2, 3, -1])
def test_threads_do_not_change_a_bit(n_jobs):
    X, y = mixture(8)
    samples = unit(X)
    Y = (np.random.default_rng(0).random((60, 4)) < 0.4).astype(float)
    for solve, target in (
        (relief_classes, y[None]),
        (relief_numbers, X[:, :2]),
        (relief_label_pairs, Y),
    ):
        alone = solve(samples, target, n_neighbors=5)
        np.testing.assert_array_equal(solve(samples, target, n_neighbors=5, n_jobs=n_jobs), alone)


@pytest.mark.usefixtures("small_blocks")
def test_each_pair_once_or_twice_is_the_same(monkeypatch):
    X, y = mixture(9)
    samples = unit(X, np.arange(X.shape[1]) == 8)
    once = relief_classes(samples, y[None], n_neighbors=5)
    monkeypatch.setattr(relief, "_PAIRS_IN_MEMORY", 0)
    np.testing.assert_array_equal(relief_classes(samples, y[None], n_neighbors=5), once)


def test_memory_is_that_of_the_data_and_a_block():
    rng = np.random.default_rng(0)
    n, d, count = 240, 600, 110
    X, y = rng.standard_normal((n, d)), np.arange(n) % 2
    data, all_neighbours = X.nbytes, n * 2 * count * d * 8
    tracemalloc.start()
    relief_classes(unit(X), y[None], n_neighbors=count)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * data + (16 << 20) < all_neighbours / 10
