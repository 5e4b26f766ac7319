"""CovarianceThresholding: its default threshold and its ranking by the leading eigenvector."""

from __future__ import annotations

import numpy as np
import pytest

from rowsparse import CovarianceThresholding
from tests.selectors.cases import three_classes

X, _ = three_classes(n=200)


def test_the_ranking_is_the_leading_eigenvector_of_the_thresholded_covariance():
    C = np.corrcoef(X.T)
    kept = np.where(np.abs(C) > 0.05, C, 0.0)
    vector = np.abs(np.linalg.eigh(kept)[1][:, -1])
    selector = CovarianceThresholding(2, threshold=0.05).fit(X)
    reached = vector > 1e-8
    np.testing.assert_allclose(selector.scores_[reached], vector[reached], atol=1e-8)
    assert selector.n_pairs_ == (np.count_nonzero(kept) - 8) / 2


@pytest.mark.parametrize("standardize", [False, True])
def test_the_default_threshold_is_five_over_root_n_mean_variances(standardize):
    data = X * [10, 10, 1, 1, 1, 1, 1, 1]
    selector = CovarianceThresholding(2, standardize=standardize).fit(data)
    mean = 1.0 if standardize else data.var(axis=0).mean()
    assert selector.threshold_ == pytest.approx(5 / np.sqrt(200) * mean)


def test_a_threshold_above_all_covariances_ranks_by_variance_with_a_warning():
    with pytest.warns(UserWarning, match="No covariance is above the threshold 1e\\+03"):
        selector = CovarianceThresholding(2, threshold=1e3, standardize=False).fit(X)
    assert selector.n_pairs_ == 0
    assert selector.order_.tolist() == np.argsort(-X.var(axis=0)).tolist()
