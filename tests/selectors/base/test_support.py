"""A fitted choice reduces arrays of any library."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from rowsparse import TopK


def test_only_after_fit():
    strict = pytest.importorskip("array_api_strict")
    for X in (np.ones((3, 2)), strict.ones((3, 2))):
        with pytest.raises(NotFittedError):
            TopK(1).transform(X)
        with pytest.raises(NotFittedError):
            TopK(1).inverse_transform(X)


def test_fitted_in_host_memory_it_reduces_arrays_elsewhere_too():
    strict = pytest.importorskip("array_api_strict")
    X = np.random.default_rng(0).standard_normal((9, 3))
    selector = TopK(1).fit(X, X[:, 1])
    reduced = selector.transform(strict.asarray(X))
    assert reduced.__array_namespace__() is strict
    np.testing.assert_array_equal(np.from_dlpack(reduced), X[:, 1:2])
