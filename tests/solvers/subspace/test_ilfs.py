"""ILFS: ratios, tokens, expectation-maximisation, planted features and the sum over paths."""

import numpy as np
import pytest

from rowsparse import ILFS
from rowsparse.solvers.subspace import ilfs_solver as module
from rowsparse.solvers.subspace.ilfs_solver import ilfs, most_likely, nearness, token_counts

from .cases import count_tokens, design_of, expectation_maximisation, first_tokens, planted


def fixed_tokens(X, y, T):
    options = {"n_tokens": T, "update_tokens": False, "max_iter": 1, "tol": 1e-8}
    return ilfs(design_of(X, scale=True), np.eye(3)[y], **options).probability


@pytest.mark.parametrize("T", [2, 3, 6])
def test_tokens_are_the_intervals_and_the_largest_value(T):
    X, y = planted(1, 40, 8)
    counts = token_counts(nearness(X, np.eye(3)[y]), T)
    np.testing.assert_array_equal(counts, count_tokens(X, y, T))
    np.testing.assert_array_equal(counts.sum(axis=0), 40)
    assert np.all(counts[-1] >= 1)


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


# ------------------------------------------------------------------------------------- the selector
def test_the_sum_over_all_paths_is_proportional_to_the_scores():
    X, y = planted(4, 60, 30)
    g = ILFS(5).fit(X, y).scores_
    A = np.outer(g, g)
    paths = np.linalg.inv(np.eye(30) - 0.9 / np.linalg.eigvalsh(A)[-1] * A) - np.eye(30)
    published = paths.sum(axis=1)
    np.testing.assert_allclose(published, 0.9 * g * g.sum() / (0.1 * (g @ g)), rtol=1e-9)


def test_the_likelihood_never_falls():
    X, y = planted(5)
    for T in (3, 6):
        selector = ILFS(5, tokens="plsa", n_tokens=T).fit(X, y)
        assert selector.n_iter_ > 5
        history = selector.history_
        assert np.all(np.diff(history) >= -1e-10 * np.abs(history[1:]))


@pytest.mark.parametrize("tokens", ["fixed", "plsa"])
def test_scales_offsets_twins_and_constants_do_not_matter(tokens):
    X, y = planted(7, 60, 12)
    plain = ILFS(4, tokens=tokens).fit(X, y)
    moved = ILFS(4, tokens=tokens).fit(X * np.geomspace(1e-3, 1e3, 12) + 5.0, y)
    np.testing.assert_allclose(moved.scores_, plain.scores_, rtol=1e-6)
    constant = ILFS(4, tokens=tokens).fit(np.insert(X, 2, 1.0, axis=1), y)
    np.testing.assert_allclose(np.delete(constant.scores_, 2), plain.scores_, rtol=1e-9)
    twin = ILFS(4, tokens=tokens).fit(np.column_stack([X, X[:, 0]]), y)
    assert twin.scores_[0] == pytest.approx(twin.scores_[-1], rel=1e-12)
    order = np.random.default_rng(0).permutation(12)
    permuted = ILFS(4, tokens=tokens).fit(X[:, order], y)
    np.testing.assert_allclose(permuted.scores_, plain.scores_[order], rtol=1e-9)
