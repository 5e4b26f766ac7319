"""ReliefF: distances and weights against SciPy and direct loops, categories, and a peer."""

import tracemalloc
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.datasets import load_iris

from rowsparse import ReliefF
from rowsparse.solvers.filters import manhattan, relief
from rowsparse.solvers.filters.manhattan import UnitSamples, neighbourhoods

Array = np.ndarray


def unit(X: Array, categorical: Array | None = None) -> UnitSamples:
    return UnitSamples(X, np.zeros(X.shape[1], bool) if categorical is None else categorical)


def scaled(X: Array) -> Array:
    spread = np.ptp(X, axis=0)
    return (X - X.min(axis=0)) / np.where(spread > 0, spread, 1.0)


def nearest(Z: Array, i: int, among: Array, count: int) -> Array:
    """The nearest of some samples; sums that differ by rounding alone are ties."""
    among = among[among != i]
    distance = np.rint(np.abs(Z[among] - Z[i]).sum(axis=1) * 2**30)
    return among[np.argsort(distance, kind="stable")][:count]


def mixture(seed: int, n: int = 60, d: int = 21) -> tuple[Array, Array]:
    """Numbers of every kind, with ties, and classes of 1, 4 and many samples."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X[:, :7] = rng.integers(0, 2, (n, 7))
    X[:, 7:12] = rng.integers(0, 8, (n, 5))
    y = np.repeat([0, 1, 2, 3], [1, 4, n // 2, n - n // 2 - 5])
    return X, rng.permutation(y)


# ------------------------------------------------------------------------- distances and neighbours
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
    np.testing.assert_array_equal(samples.distances(rows, 5), samples.distances(rows)[:, 5:])


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
    for near in neighbourhoods(samples, rows, samples.distances(rows), groups, count):
        for group in range(groups.max() + 1):
            mine = groups[near.others] == group
            found = near.others[mine][np.argsort(near.ranks[mine])]
            expected = nearest(scaled(X), near.i, np.flatnonzero(groups == group), count)
            np.testing.assert_array_equal(found, expected)


# --------------------------------------------------------------------- weights against direct loops
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


# ------------------------------------------------------------------------------------------ weights
@pytest.mark.parametrize("count", [1, 3, 10, 200])
@pytest.mark.parametrize("seed", [0, 1])
def test_weights_are_those_of_the_definition(seed, count):
    X, y = mixture(seed)
    weights = relief_classes(unit(X), y[None], n_neighbors=count)[0]
    np.testing.assert_allclose(weights, direct_relief(X, y, count), atol=1e-14)


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


# -------------------------------------------------------------------------------------- label pairs
@pytest.mark.parametrize("seed", range(3))
def test_label_pairs_are_those_of_the_definition(seed):
    X, _ = mixture(seed)
    rng = np.random.default_rng(seed)
    Y = (rng.random((60, 5)) < [0.03, 0.2, 0.5, 0.9, 0.0]).astype(float)
    found = relief_label_pairs(unit(X), Y, n_neighbors=4)
    np.testing.assert_allclose(found, direct_pairs(X, Y, 4), atol=1e-13)


# ------------------------------------------------------------------------------- threads and memory
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


# ---------------------------------------------------------------------------- ReliefF as a selector
SRBCT, SRBCT_BEST = [1388, 741, 1954, 245, 544], 0.2636937318


def planted(seed: int = 0, n: int = 90, d: int = 30) -> tuple[Array, Array]:
    """Three classes of unequal size, told apart by columns 0 to 4."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1, 2], [n // 2, n // 3, n - n // 2 - n // 3])
    X = rng.standard_normal((n, d))
    X[:, :5] += 2.0 * rng.standard_normal((3, 5))[y]
    return X, y


def scores(X: Array, y: Array, **params: object) -> Array:
    return ReliefF(3, **params).fit(X, y).scores_


def test_reference_values():
    # From a direct loop over samples and classes.
    X, y = load_iris(return_X_y=True)
    expected = [0.1399074074, 0.1225, 0.3589887006, 0.3755]
    np.testing.assert_allclose(scores(X, y), expected, atol=1e-10)


def test_features_that_tell_only_together():
    # The exclusive or of two columns: each alone tells nothing.
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 8))
    y = (X[:, 2] > 0) ^ (X[:, 5] > 0)
    assert ReliefF(2).fit(X, y).get_support(indices=True).tolist() == [2, 5]


# ------------------------------------------------------------------------------------------ options
@pytest.mark.parametrize("how", ["mask", "numbers"])
def test_categories_differ_or_do_not(how):
    X, y = planted()
    rng = np.random.default_rng(3)
    names = rng.integers(0, 4, 90).astype(float)
    X[:, 7] = names
    chosen = np.arange(30) == 7 if how == "mask" else [7]
    categorical = scores(X, y, categorical_features=chosen)
    assert not np.allclose(categorical, scores(X, y))
    # Names have no order and no size.
    X[:, 7] = np.array([5.0, -3.0, 100.0, 0.5])[names.astype(int)]
    np.testing.assert_allclose(scores(X, y, categorical_features=chosen), categorical, atol=1e-14)
    # Two categories are as far apart as numbers can be.
    X[:, 7] = names > 1
    np.testing.assert_allclose(scores(X, y, categorical_features=chosen), scores(X, y), atol=1e-14)
    np.testing.assert_array_equal(scores(X, y, categorical_features=[]), scores(X, y))


def test_one_label_a_sample_is_classification():
    X, y = planted()
    for params in ({}, {"n_neighbors": 3}, {"sigma": 2.0}):
        labels = scores(X, np.eye(3, dtype=int)[y], **params)
        np.testing.assert_allclose(labels, scores(X, y, **params), atol=1e-15)


# ------------------------------------------------------------------------------------------- errors
@pytest.mark.parametrize("categories", [[30], [-1], [True, False], 3, ["a"]])
def test_categorical_features_are_a_mask_or_numbers_of_columns(categories):
    X, y = planted()
    words = "categorical_features must be None, a mask of 30 .* numbers of columns from 0 to 29"
    with pytest.raises((ValueError, TypeError), match=words):
        ReliefF(3, categorical_features=categories).fit(X, y)


def test_labels_without_a_pair_are_refused():
    X, y = planted()
    nested = np.column_stack([y == 0, y <= 1]).astype(int)
    with pytest.raises(ValueError, match="pass multilabel='binary_relevance'"):
        ReliefF(3).fit(X, nested)
    ReliefF(3, multilabel="binary_relevance").fit(X, nested)
    with pytest.raises(ValueError, match="no label that some samples carry"):
        ReliefF(3, multilabel="binary_relevance").fit(X, np.ones((90, 2), dtype=int))


# --------------------------------------------------------------------------------------- other code
@pytest.mark.peer
@pytest.mark.parametrize("balanced", [True, False])
def test_weights_are_those_of_skrebate(balanced):
    skrebate = pytest.importorskip("skrebate")
    X, _ = planted(n=60)
    # Its miss classes weigh the same: two of any size, or more of one size.
    y = np.arange(60) % 3 if balanced else (np.arange(60) < 18).astype(int)
    peer = skrebate.ReliefF(n_features_to_select=3, n_neighbors=10, n_jobs=1).fit(X, y)
    np.testing.assert_allclose(scores(X, y), peer.feature_importances_, atol=1e-14)


@pytest.mark.peer
def test_skrebate_weighs_classes_alike_whatever_their_size():
    skrebate = pytest.importorskip("skrebate")
    X, y = planted()
    peer = skrebate.ReliefF(n_features_to_select=3, n_neighbors=10, n_jobs=1).fit(X, y)
    ours = scores(X, y)
    assert np.abs(ours - peer.feature_importances_).max() > 1e-3
    assert np.corrcoef(ours, peer.feature_importances_)[0, 1] > 0.9


def test_on_published_data(benchmark_data):
    X, y = benchmark_data("srbct")
    found = ReliefF(5).fit(X, y)
    np.testing.assert_array_equal(found.order_[:5], SRBCT)
    np.testing.assert_allclose(found.scores_[SRBCT[0]], SRBCT_BEST, atol=1e-9)
