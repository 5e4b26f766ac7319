"""ILFS: its ratios, its tokens, expectation-maximisation, and the graph that it does not need."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning

from rowsparse import ILFS
from rowsparse.design import make_design
from rowsparse.solvers.subspace import ilfs as module
from rowsparse.solvers.subspace.ilfs import ilfs, most_likely, nearness, token_counts


def planted(seed, n=90, d=200):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    means = rng.standard_normal((3, 5))
    means -= means.mean(axis=0)
    X = rng.standard_normal((n, d))
    X[:, :5] += (1.2 * means / np.sqrt((means**2).mean(axis=0)))[y]
    return X, y


def ratios(X, y):
    """r_if in loops."""
    classes = np.unique(y)
    means = np.array([X[y == c].mean(axis=0) for c in classes])
    r = np.empty(X.shape)
    for i in range(len(X)):
        squares = (X[i] - means) ** 2
        r[i] = squares[np.searchsorted(classes, y[i])] / squares.sum(axis=0)
    return r


def counts_of(X, y, T):
    """MATLAB's histc: left-closed intervals, and the last edge on its own."""
    r = ratios(X, y)
    counts = np.zeros((T, X.shape[1]))
    for f in range(X.shape[1]):
        edges = np.linspace(r[:, f].min(), r[:, f].max(), T)
        token = np.minimum(np.searchsorted(edges, r[:, f], side="right"), T)
        counts[:, f] = np.bincount(token - 1, minlength=T)
    return counts


def expectation_maximisation(counts, g, rounds):
    """The fixed distributions, one feature at a time."""
    T = len(counts)
    first = np.linspace(5000, 1, T) / np.linspace(5000, 1, T).sum()
    second = first[::-1]
    for _ in range(rounds):
        posterior = (first * g / (first * g + second * (1 - g))) if np.isscalar(g) else None
        g = float(counts @ posterior / counts.sum())
    return g


def test_the_ratio_says_how_near_the_own_class_is():
    X, y = planted(0, 30, 6)
    r = nearness(X, np.eye(3)[y])
    np.testing.assert_allclose(r, ratios(X, y), rtol=1e-9)
    assert r.min() >= 0
    assert r.max() <= 1
    np.testing.assert_array_equal(nearness(np.ones((30, 2)), np.eye(3)[y]), 1 / 3)


@pytest.mark.parametrize("T", [2, 3, 6])
def test_tokens_are_the_intervals_and_the_largest_value(T):
    X, y = planted(1, 40, 8)
    counts = token_counts(nearness(X, np.eye(3)[y]), T)
    np.testing.assert_array_equal(counts, counts_of(X, y, T))
    np.testing.assert_array_equal(counts.sum(axis=0), 40)
    assert np.all(counts[-1] >= 1)


def test_equal_ratios_are_cut_from_zero_to_one():
    r = np.column_stack([np.zeros(5), np.full(5, 0.5), np.ones(5)])
    counts = token_counts(r, 4)
    np.testing.assert_array_equal(counts.argmax(axis=0), [0, 1, 3])


@pytest.mark.parametrize("T", [3, 4, 6])
def test_fixed_tokens_are_where_expectation_maximisation_ends(T):
    X, y = planted(2, 60, 10)
    counts = counts_of(X, y, T)
    scores = ILFS(3, n_tokens=T).fit(X, y).scores_
    for f in range(10):
        for prior in (0.05, 0.9):
            ended = expectation_maximisation(counts[:, f], prior, 3000)
            assert scores[f] == pytest.approx(ended, abs=1e-6)


def test_the_likelihood_is_largest_at_the_answer():
    rng = np.random.default_rng(3)
    counts = rng.integers(0, 20, (6, 15)).astype(float)
    first = np.linspace(5000, 1, 6) / np.linspace(5000, 1, 6).sum()
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


def test_learnt_tokens_against_loops():
    X, y = planted(6, 40, 7)
    N = counts_of(X, y, 4)
    first = np.linspace(5000, 1, 4) / np.linspace(5000, 1, 4).sum()
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
    design = make_design(X, center=True, scale=True)[0]
    options = {"n_tokens": 4, "update_tokens": True, "tol": 1e-300}
    found = ilfs(design, np.eye(3)[y], max_iter=12, **options)
    np.testing.assert_allclose(found.probability, g, rtol=1e-9)
    assert len(found.history) == 12


@pytest.mark.parametrize("tokens", ["fixed", "plsa"])
@pytest.mark.parametrize("seed", range(3))
def test_planted_features_are_among_the_first(tokens, seed):
    X, y = planted(seed)
    top = np.argsort(-ILFS(5, tokens=tokens).fit(X, y).scores_, kind="stable")
    assert np.sum(top[:5] < 5) >= 2
    assert np.sum(top[:20] < 5) >= 4


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


def test_a_column_that_is_the_class_comes_first():
    X, y = planted(8)
    X[:, 60] = np.array([3.0, 0.1, -0.7])[y]
    selector = ILFS(1).fit(X, y)
    assert selector.get_support(indices=True).tolist() == [60]
    assert selector.scores_[60] == pytest.approx(1.0)


def test_columns_in_blocks(monkeypatch):
    X, y = planted(9, 40, 50)
    whole = ILFS(5).fit(X, y).scores_
    monkeypatch.setattr(module, "_BLOCK_ENTRIES", 300)
    np.testing.assert_array_equal(ILFS(5).fit(X, y).scores_, whole)


# Checked by expectation-maximisation from the counts, in loops.
@pytest.mark.parametrize(("load", "chosen"), [(load_iris, [2, 3]), (load_wine, [5, 10, 11, 12])])
def test_reference_choices(load, chosen):
    X, y = load(return_X_y=True)
    selector = ILFS(len(chosen)).fit(X, y)
    np.testing.assert_array_equal(selector.get_support(indices=True), chosen)
    counts = counts_of(X, y, 6)
    g = [expectation_maximisation(counts[:, f], 0.5, 3000) for f in range(X.shape[1])]
    np.testing.assert_allclose(selector.scores_, g, atol=1e-6)
    assert set(np.argsort(g)[-len(chosen) :]) == set(chosen)


def test_rounds_and_tolerance():
    X, y = planted(0)
    with pytest.warns(ConvergenceWarning, match="ILFS did not converge in 3 iterations"):
        ILFS(5, tokens="plsa", max_iter=3).fit(X, y)
    loose, tight = (ILFS(5, tokens="plsa", tol=tol).fit(X, y) for tol in (1e-4, 1e-7))
    assert loose.n_iter_ < tight.n_iter_
    assert ILFS(5).fit(X, y).n_iter_ == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tokens": "learnt"}, "tokens must be one of 'fixed', 'plsa'"),
        ({"n_tokens": 1}, "n_tokens must be an integer of at least 2"),
        ({"max_iter": 0}, "max_iter must be an integer of at least 1"),
        ({"tol": 0.0}, "tol must be a number above 0"),
    ],
)
def test_wrong_parameters_are_refused(options, message):
    X, y = planted(0)
    with pytest.raises(ValueError, match=message):
        ILFS(3, **options).fit(X, y)
