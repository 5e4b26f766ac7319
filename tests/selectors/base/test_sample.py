"""The user's input becomes a sample: checked, encoded, weighted."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from rowsparse import FSPCA, ILFS, TopK
from rowsparse.selectors.base.sample import number_to_select, read_sample, validated_data
from tests.selectors.cases import three_classes

X, Y = three_classes(n=30, d=4)


def test_samples_of_weight_zero_are_dropped():
    weights = np.where(np.arange(30) < 12, 0.0, 2.0)
    sample = read_sample(TopK(2), X, Y, weights)
    np.testing.assert_array_equal(sample.X, X[12:])
    np.testing.assert_array_equal(sample.required_targets.Y, np.eye(3)[Y[12:]])
    np.testing.assert_array_equal(sample.weights, np.full(18, 2.0))


def test_class_weights_multiply_sample_weights():
    weights = np.linspace(1.0, 2.0, 30)
    sample = read_sample(TopK(2, class_weight={0: 3.0}), X, Y, weights)
    np.testing.assert_allclose(sample.weights, weights * np.where(Y == 0, 3.0, 1.0))
    assert read_sample(TopK(2), X, Y).weights is None


def test_targets_are_optional_where_the_method_needs_none():
    assert read_sample(FSPCA(2), X, None).targets is None
    with pytest.raises(ValueError, match="This TopK estimator requires y to be passed"):
        read_sample(TopK(2), X, None)


def test_a_method_refuses_targets_of_another_task():
    with pytest.raises(ValueError, match=r"ILFS takes targets for classification; y is for regr"):
        read_sample(ILFS(2), X, X[:, 0])


def test_data_are_validated_without_a_copy():
    for data in (X, X.astype(np.float32), sp.csc_array(X)):
        assert validated_data(TopK(2), data) is data
    selector = TopK(2)
    assert validated_data(selector, sp.coo_array(X)).format == "csr"
    assert selector.n_features_in_ == 4


@pytest.mark.parametrize(("asked", "n", "k"), [(3, 9, 3), (0.5, 9, 4), (0.01, 9, 1), (9, 9, 9)])
def test_a_number_or_a_share_of_the_features(asked, n, k):
    assert number_to_select(asked, n) == k


def test_more_than_there_are_is_all_of_them_with_a_warning():
    with pytest.warns(UserWarning, match=r"=7 is greater than n_groups=2: all groups are kept\.$"):
        assert number_to_select(7, 2, "groups") == 2


def test_a_design_needs_a_column_that_varies():
    constant = read_sample(TopK(2), np.ones((30, 4)), Y)
    with pytest.raises(ValueError, match="Every column of X is constant"):
        constant.design(center=True, scale=True)
    tiny = read_sample(TopK(2), X * 1e-310, Y)
    with pytest.raises(ValueError, match="X is too small to compute with"):
        tiny.design(center=True, scale=True)
