"""AllFeatures: nothing is left out."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from rowsparse import AllFeatures, get_selector

X = np.column_stack([np.arange(5.0), np.full(5, 0.1), np.arange(5.0) ** 2])


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_every_column_stays_and_nobody_warns(kind):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        selector = AllFeatures().fit(kind(X))
    assert selector.support_.all()
    np.testing.assert_array_equal(selector.ranking_, 1)
    np.testing.assert_array_equal(selector.scores_, [1.0, 0.0, 1.0])
    assert (selector.transform(kind(X)) != kind(X)).sum() == 0


@pytest.mark.parametrize("k", [1, 2, 100, 0.3, None])
def test_the_number_of_features_is_ignored(k):
    assert get_selector("allfeatures", k).fit(X).support_.sum() == 3


def test_constant_data_stay_too():
    assert AllFeatures().fit(np.ones((4, 2))).support_.all()
