"""ReliefF as a selector: options, invariances, reference values and another package."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris

from rowsparse import ReliefF

Array = np.ndarray

# From the direct loops of tests/solvers/test_relief.py, which agree to 1e-15.
PAIRWISE = [0.1778176821, 0.1204800048, 0.3683945008, 0.3569328972]
BINARY_RELEVANCE = [0.1955123457, 0.1341851852, 0.3727683616, 0.3576666667]
NUMBERS = [0.0003336264, -0.0020043874, 0.0144907019]
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


def test_reference_values_for_labels_and_numbers():
    X, y = load_iris(return_X_y=True)
    Y = np.column_stack([y == 0, y >= 1, X[:, 0] > 6]).astype(int)
    pairwise = scores(X, Y)
    relevance = scores(X, Y, multilabel="binary_relevance")
    numbers = scores(X[:, :3], X[:, 3])
    np.testing.assert_allclose(pairwise, PAIRWISE, atol=1e-9)
    np.testing.assert_allclose(relevance, BINARY_RELEVANCE, atol=1e-9)
    np.testing.assert_allclose(numbers, NUMBERS, atol=1e-9)


def test_planted_features_are_found():
    X, y = planted()
    assert set(np.flatnonzero(ReliefF(5).fit(X, y).support_)) == set(range(5))


def test_features_that_tell_only_together():
    # The exclusive or of two columns: each alone tells nothing.
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 8))
    y = (X[:, 2] > 0) ^ (X[:, 5] > 0)
    assert ReliefF(2).fit(X, y).get_support(indices=True).tolist() == [2, 5]


# ------------------------------------------------------------------------- invariances
def test_columns_in_another_order():
    X, y = planted()
    order = np.random.default_rng(1).permutation(30)
    np.testing.assert_allclose(scores(X[:, order], y), scores(X, y)[order], atol=1e-14)


def test_positive_factors_and_offsets_change_nothing():
    X, y = planted()
    rng = np.random.default_rng(2)
    moved = X * rng.uniform(0.01, 100, 30) + rng.uniform(-10, 10, 30)
    np.testing.assert_allclose(scores(moved, y), scores(X, y), atol=1e-12)


def test_twins_score_alike_and_constant_columns_change_nothing():
    X, y = planted()
    twins = scores(np.hstack([X, X]), y)
    np.testing.assert_allclose(twins[:30], twins[30:], atol=1e-15)
    np.testing.assert_allclose(twins[:30], scores(X, y), atol=1e-14)
    wider = scores(np.insert(X, 4, 7.0, axis=1), y)
    assert wider[4] == 0.0
    np.testing.assert_allclose(np.delete(wider, 4), scores(X, y), atol=1e-15)


def test_single_precision_and_sparse_data():
    X, y = planted()
    X = np.where(np.abs(X) < 0.8, 0.0, X).astype(np.float32)
    expected = scores(X.astype(np.float64), y)
    np.testing.assert_array_equal(scores(X, y), expected)
    for kind in (sp.csr_array, sp.csc_matrix):
        np.testing.assert_array_equal(scores(kind(X), y), expected)


def test_threads_do_not_change_the_answer():
    X, y = planted(n=600)
    np.testing.assert_array_equal(scores(X, y, n_jobs=2), scores(X, y))


# ----------------------------------------------------------------------------- options
def test_small_classes_and_many_neighbours():
    X, y = planted()
    y = np.append(y[:-1], 3)  # a class of one sample: no hits
    found = ReliefF(3, n_neighbors=1000).fit(X, y)
    assert np.isfinite(found.scores_).all()
    np.testing.assert_array_equal(found.scores_, scores(X, y, n_neighbors=90))


def test_one_neighbour_is_another_choice_than_ten():
    X, y = planted()
    assert not np.allclose(scores(X, y, n_neighbors=1), scores(X, y))
    assert not np.allclose(scores(X, y, sigma=2.0), scores(X, y))
    np.testing.assert_allclose(scores(X, y, sigma=1e-200), scores(X, y, n_neighbors=1), atol=1e-14)


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


def test_binary_relevance_is_each_label_for_itself():
    X, y = planted()
    Y = np.column_stack([y == 0, X[:, 9] > 0, np.ones(90)]).astype(int)
    single = np.array([scores(X, label) for label in Y.T[:2]])
    options = {"multilabel": "binary_relevance"}
    np.testing.assert_allclose(scores(X, Y, **options), single.mean(axis=0), atol=1e-15)
    largest = scores(X, Y, **options, aggregate="max")
    np.testing.assert_allclose(largest, single.max(axis=0), atol=1e-15)
    ranks = scores(X, Y, **options, aggregate="mean_rank")
    expected = (30 - np.argsort(np.argsort(single, axis=1), axis=1)).mean(axis=0)
    np.testing.assert_allclose(1.0 / ranks, expected)


def test_several_columns_of_numbers_are_aggregated():
    X, _ = planted()
    Y = X[:, :2] + 0.1 * X[:, 2:4]
    single = np.array([scores(X, y) for y in Y.T])
    np.testing.assert_allclose(scores(X, Y), single.mean(axis=0), atol=1e-15)
    np.testing.assert_allclose(scores(X, Y, aggregate="max"), single.max(axis=0), atol=1e-15)


def test_numbers_find_what_they_are_made_of():
    rng = np.random.default_rng(4)
    X = rng.uniform(size=(300, 12))
    y = 2 * X[:, 3] + X[:, 8] - 1.5 * X[:, 10]
    assert set(ReliefF(3).fit(X, y).get_support(indices=True)) == {3, 8, 10}
    np.testing.assert_allclose(scores(X, 5 - 3 * y), scores(X, y), atol=1e-12)


# ------------------------------------------------------------------------------- errors
@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_neighbors": 0}, "n_neighbors must be an integer of at least 1"),
        ({"n_neighbors": 2.5}, "n_neighbors must be an integer"),
        ({"sigma": 0.0}, "sigma must be a number above 0"),
        ({"sigma": "wide"}, "sigma must be a number above 0"),
        ({"multilabel": "triples"}, "multilabel must be one of"),
        ({"aggregate": "median"}, "aggregate must be one of"),
        ({"n_jobs": 0}, "n_jobs must be an integer other than 0"),
        ({"categorical_features": [30]}, "categorical_features must be None, a mask of 30"),
        ({"categorical_features": [-1]}, "numbers of columns from 0 to 29"),
        ({"categorical_features": [True, False]}, "categorical_features must be None"),
        ({"categorical_features": 3}, "categorical_features must be None"),
        ({"categorical_features": ["a"]}, "categorical_features must be None"),
    ],
)
def test_bad_parameters_are_refused(params, message):
    X, y = planted()
    with pytest.raises((ValueError, TypeError), match=message):
        ReliefF(3, **params).fit(X, y)


def test_labels_without_a_pair_are_refused():
    X, y = planted()
    nested = np.column_stack([y == 0, y <= 1]).astype(int)
    with pytest.raises(ValueError, match="pass multilabel='binary_relevance'"):
        ReliefF(3).fit(X, nested)
    ReliefF(3, multilabel="binary_relevance").fit(X, nested)
    with pytest.raises(ValueError, match="no label that some samples carry"):
        ReliefF(3, multilabel="binary_relevance").fit(X, np.ones((90, 2), dtype=int))


# --------------------------------------------------------------------------- other code
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
