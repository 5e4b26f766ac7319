"""Covariance thresholding against dense matrices, principal components and enumeration."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.linalg import block_diag

from rowsparse import CovarianceThresholding
from rowsparse.solvers.subspace import covariance_thresholding_solver as module
from rowsparse.solvers.subspace import subspace
from rowsparse.solvers.subspace.covariance_thresholding_solver import (
    covariance_thresholding,
    surviving,
)

from .cases import design_of, three_groups, thresholded


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("entries", [1 << 21, 400])
def test_survivors_are_those_of_the_dense_matrix(soft, entries, monkeypatch):
    monkeypatch.setattr(module, "_BLOCK_ENTRIES", entries)
    X = three_groups(0) * np.linspace(0.5, 2, 30)
    for t in (0.0, 0.3, 1.0):
        expected = np.triu(thresholded(X, t, soft))
        for kind in (np.asarray, sp.csr_array):
            found = surviving(design_of(kind(X)), t, soft=soft).toarray()
            np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("dense_size", [1500, 0])
def test_the_leading_eigenvector(soft, dense_size, monkeypatch):
    monkeypatch.setattr(subspace, "_DENSE_SIZE", dense_size)
    X = three_groups(2)
    C = thresholded(X, 0.15, soft)
    values, vectors = np.linalg.eigh(C)
    found = covariance_thresholding(design_of(X), 0.15, soft=soft)
    leading = np.abs(vectors[:, -1])
    reached = leading > 1e-8
    np.testing.assert_allclose(found.scores[reached], leading[reached], rtol=1e-6)
    assert found.eigenvalue == pytest.approx(values[-1], rel=1e-8)
    assert found.n_pairs == np.count_nonzero(np.triu(C, 1))
    assert found.scores[~reached].max(initial=0.0) < found.scores[reached].min()


# ------------------------------------------------------------------------------------- the selector
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
