"""CovarianceThresholding against principal components and covariances made by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import block_diag
from sklearn.datasets import load_wine

from rowsparse import CovarianceThresholding
from tests.solvers.subspace.cases import standardised, three_groups, thresholded


def with_covariance(C, n=50):
    """Centred data whose covariance is C exactly."""
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((n, len(C)))
    Q = np.linalg.qr(noise - noise.mean(axis=0))[0]
    values, vectors = np.linalg.eigh(C)
    return np.sqrt(n) * Q @ (np.sqrt(np.maximum(values, 0))[:, None] * vectors.T)


def test_no_threshold_is_the_first_principal_component():
    X = three_groups(1)
    first = np.abs(np.linalg.svd(X)[2][0])
    selector = CovarianceThresholding(5, threshold=0.0).fit(X)
    np.testing.assert_allclose(selector.scores_, first, rtol=1e-8)
    assert selector.n_pairs_ == 30 * 29 // 2
    tiny = CovarianceThresholding(5, threshold=1e-12).fit(X)
    np.testing.assert_allclose(tiny.scores_, first, rtol=1e-6)


def test_components_follow_one_another_by_hand():
    # Eigenvalues 1.9 (columns 0, 1), 3.0 (2, 3, 4), 2.0 (5 alone) and 0.5 (6 alone).
    pair = np.array([[1.0, 0.9], [0.9, 1.0]])
    triple = np.array([[2.0, 0.8, 0.6], [0.8, 2.0, 0.0], [0.6, 0.0, 2.0]])
    C = block_diag(pair, triple, [[2.0]], [[0.5]])
    C[0, 6] = C[6, 0] = 0.1
    selector = CovarianceThresholding(1, threshold=0.2, standardize=False)
    selector.fit(with_covariance(C))
    # The triple's eigenvector is (sqrt(1/2), 0.8 sqrt(1/2), 0.6 sqrt(1/2)); the pair is even.
    np.testing.assert_allclose(selector.scores_[2:5], np.sqrt(0.5) * np.array([1, 0.8, 0.6]))
    order = np.argsort(-selector.scores_, kind="stable").tolist()
    assert order[:4] == [2, 3, 4, 5]
    assert set(order[4:6]) == {0, 1}
    assert order[6] == 6
    assert selector.n_pairs_ == 3
    for k in range(1, 8):
        chosen = selector.set_params(n_features_to_select=k).fit(with_covariance(C)).support_
        if k != 5:
            assert set(np.flatnonzero(chosen)) == set(order[:k])


def test_features_below_the_threshold_come_last_by_variance():
    C = block_diag([[1.0, 0.9], [0.9, 1.0]], np.diag([0.1, 0.3, 0.2]))
    selector = CovarianceThresholding(2, threshold=0.4, standardize=False).fit(with_covariance(C))
    assert selector.ranking_.tolist() == [1, 1, 4, 2, 3]


@pytest.mark.parametrize("seed", range(3))
def test_a_spiked_covariance_is_found(seed):
    rng = np.random.default_rng(seed)
    planted = rng.choice(200, 5, replace=False)
    X = rng.standard_normal((100, 200))
    X[:, planted] += 2.0 * rng.standard_normal((100, 1)) * rng.choice([-1, 1], 5)
    for soft in (False, True):
        selector = CovarianceThresholding(5, soft=soft).fit(X)
        assert set(np.flatnonzero(selector.support_)) == set(planted)


def test_the_default_threshold():
    X = three_groups(3, n=64)
    assert CovarianceThresholding(3).fit(X).threshold_ == pytest.approx(5 / 8)
    units = np.linspace(1.0, 5.0, 30)
    uneven = CovarianceThresholding(3, standardize=False).fit(X * units)
    assert uneven.threshold_ == pytest.approx(5 / 8 * (units**2).mean())
    raw = CovarianceThresholding(3, standardize=False).fit(3.0 * X)
    assert raw.threshold_ == pytest.approx(9 * 5 / 8)
    np.testing.assert_allclose(raw.scores_, CovarianceThresholding(3).fit(X).scores_, atol=1e-9)


@pytest.mark.parametrize("soft", [False, True])
def test_nothing_survives(soft):
    X = three_groups(4, n=20, d=12) * np.linspace(2, 1, 12)
    with pytest.warns(UserWarning, match=r"No covariance is above the threshold 1.12: features"):
        equal = CovarianceThresholding(4, soft=soft).fit(X)
    first = np.abs(np.linalg.svd(X / X.std(axis=0))[2][0])
    assert set(np.flatnonzero(equal.support_)) == set(np.argsort(-first)[:4])
    with pytest.warns(UserWarning, match="Lower the threshold"):
        raw = CovarianceThresholding(4, threshold=100.0, standardize=False, soft=soft).fit(X)
    np.testing.assert_array_equal(np.flatnonzero(raw.support_), [0, 1, 2, 3])
    assert raw.n_pairs_ == 0


# The eigenvector of the matrix without |entries| <= 5/sqrt(178), also computed densely here.
def test_wine():
    X, y = load_wine(return_X_y=True)
    C = thresholded(standardised(X), 5 / np.sqrt(178))
    first = np.abs(np.linalg.eigh(C)[1][:, -1])
    selector = CovarianceThresholding(4).fit(X, y)
    np.testing.assert_array_equal(
        np.flatnonzero(selector.support_), np.sort(np.argsort(-first)[:4])
    )
    np.testing.assert_array_equal(selector.get_support(indices=True), [5, 6, 10, 11])
    assert selector.scores_.max() == pytest.approx(first.max(), rel=1e-9)
    assert selector.n_pairs_ == np.count_nonzero(np.triu(C, 1)) == 23


def test_permuted_columns_and_a_constant_one():
    X = three_groups(5)
    order = np.random.default_rng(0).permutation(30)
    plain = CovarianceThresholding(8).fit(X)
    permuted = CovarianceThresholding(8).fit(X[:, order])
    np.testing.assert_array_equal(permuted.support_, plain.support_[order])
    more = CovarianceThresholding(8).fit(np.insert(X, 3, 7.0, axis=1))
    np.testing.assert_array_equal(np.delete(more.support_, 3), plain.support_)


@pytest.mark.parametrize("factor", [1e-60, 1e60])
def test_units_scale_the_threshold(factor):
    X = three_groups(6) * np.linspace(1, 2, 30)
    for threshold in (None, 0.5):
        plain = CovarianceThresholding(8, threshold=threshold, standardize=False).fit(X)
        scaled = CovarianceThresholding(
            8, threshold=threshold and threshold * factor**2, standardize=False
        ).fit(X * factor)
        np.testing.assert_array_equal(scaled.support_, plain.support_)
        assert scaled.threshold_ == pytest.approx(plain.threshold_ * factor**2, rel=1e-9)
        assert scaled.n_pairs_ == plain.n_pairs_


@pytest.mark.parametrize("threshold", [-1.0, np.inf, "high"])
def test_wrong_parameters_are_refused(threshold):
    with pytest.raises((ValueError, TypeError), match="threshold must be a number of at least 0"):
        CovarianceThresholding(3, threshold=threshold).fit(three_groups(0))
