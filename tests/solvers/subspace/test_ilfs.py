"""ILFS: its ratios, its tokens, and expectation-maximisation."""

from __future__ import annotations

import numpy as np
import pytest

from rowsparse.solvers.subspace import ilfs as module
from rowsparse.solvers.subspace.ilfs import ilfs, most_likely, nearness, token_counts
from tests.solvers.subspace.cases import (
    class_ratios,
    count_tokens,
    design_of,
    expectation_maximisation,
    first_tokens,
    planted,
)


def fixed_tokens(X, y, T):
    options = {"n_tokens": T, "update_tokens": False, "max_iter": 1, "tol": 1e-8}
    return ilfs(design_of(X, scale=True), np.eye(3)[y], **options).probability


def test_the_ratio_says_how_near_the_own_class_is():
    X, y = planted(0, 30, 6)
    r = nearness(X, np.eye(3)[y])
    np.testing.assert_allclose(r, class_ratios(X, y), rtol=1e-9)
    assert r.min() >= 0
    assert r.max() <= 1
    np.testing.assert_array_equal(nearness(np.ones((30, 2)), np.eye(3)[y]), 1 / 3)


@pytest.mark.parametrize("T", [2, 3, 6])
def test_tokens_are_the_intervals_and_the_largest_value(T):
    X, y = planted(1, 40, 8)
    counts = token_counts(nearness(X, np.eye(3)[y]), T)
    np.testing.assert_array_equal(counts, count_tokens(X, y, T))
    np.testing.assert_array_equal(counts.sum(axis=0), 40)
    assert np.all(counts[-1] >= 1)


def test_equal_ratios_are_cut_from_zero_to_one():
    r = np.column_stack([np.zeros(5), np.full(5, 0.5), np.ones(5)])
    counts = token_counts(r, 4)
    np.testing.assert_array_equal(counts.argmax(axis=0), [0, 1, 3])


@pytest.mark.parametrize("T", [3, 4, 6])
def test_fixed_tokens_are_where_expectation_maximisation_ends(T):
    X, y = planted(2, 60, 10)
    counts = count_tokens(X, y, T)
    for prior in (0.05, 0.9):
        ended = expectation_maximisation(counts, prior)
        np.testing.assert_allclose(fixed_tokens(X, y, T), ended, atol=1e-6)


def test_the_likelihood_is_largest_at_the_answer():
    rng = np.random.default_rng(3)
    counts = rng.integers(0, 20, (6, 15)).astype(float)
    first = first_tokens(6)
    g = most_likely(counts, first, first[::-1])
    grid = np.linspace(0, 1, 1001)[:, None, None]
    mixture = first[:, None] * grid + first[::-1][:, None] * (1 - grid)
    values = (counts * np.log(mixture)).sum(axis=1)
    best = (counts * np.log(first[:, None] * g + first[::-1][:, None] * (1 - g))).sum(axis=0)
    assert np.all(best >= values.max(axis=0) - 1e-9)
    # All counts at one end: the largest likelihood is at the end of [0, 1].
    ends = most_likely(np.array([[9.0, 0.0], [0.0, 9.0]]), *(np.array([[0.9, 0.1], [0.1, 0.9]])))
    np.testing.assert_allclose(ends, [1, 0], atol=1e-12)


def test_features_at_the_same_end_are_ordered_by_their_slope():
    # Columns 0 and 1 are at 1; the likelihood of column 1 rises more steeply.
    counts = np.array([[8.0, 9.0, 5.0], [1.0, 0.0, 4.0]])
    first = np.array([0.6, 0.4])
    g = most_likely(counts, first, first[::-1])
    np.testing.assert_allclose(g[:2], 1.0)
    slope = module._slope(counts, first, first[::-1], g)
    assert np.lexsort((-slope, -g)).tolist() == [1, 0, 2]


def test_learnt_tokens_against_loops():
    X, y = planted(6, 40, 7)
    N = count_tokens(X, y, 4)
    first = first_tokens(4)
    second = first[::-1]
    g = np.clip(N[:1].sum(axis=0) / 40, 0.01, 0.99)
    for _ in range(12):
        posterior = np.empty((4, 7))
        for t, f in np.ndindex(4, 7):
            relevant, other = first[t] * g[f], second[t] * (1 - g[f])
            posterior[t, f] = relevant / (relevant + other)
        g = (N * posterior).sum(axis=0) / 40
        first = (N * posterior).sum(axis=1) / (N * posterior).sum()
        second = (N * (1 - posterior)).sum(axis=1) / (N * (1 - posterior)).sum()
    options = {"n_tokens": 4, "update_tokens": True, "tol": 1e-300}
    found = ilfs(design_of(X, scale=True), np.eye(3)[y], max_iter=12, **options)
    np.testing.assert_allclose(found.probability, g, rtol=1e-9)
    assert len(found.history) == 12


def test_columns_in_blocks(monkeypatch):
    X, y = planted(9, 40, 50)
    whole = fixed_tokens(X, y, 6)
    monkeypatch.setattr(module, "_BLOCK_ENTRIES", 300)
    np.testing.assert_array_equal(fixed_tokens(X, y, 6), whole)
