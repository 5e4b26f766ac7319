"""Correlations of chosen columns, and what is closest to them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from rowsparse.design import make_design
from rowsparse.plotting.correlation_display import closest_left_out, correlations_with


@pytest.fixture
def X() -> np.ndarray:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 6)) + 1e4
    X[:, 4] = -2 * X[:, 0]
    return X


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csc_array])
def test_correlations_are_those_of_numpy(X: np.ndarray, form: object) -> None:
    found = correlations_with(form(X), np.array([3, 0]))
    assert np.allclose(found, np.corrcoef(X.T)[[3, 0]], atol=1e-9)
    assert found[1, 4] == pytest.approx(-1)
    units = make_design(form(X), center=True, scale=True)[1]
    assert np.array_equal(found, correlations_with(form(X), np.array([3, 0]), units))


def test_constant_columns_are_uncorrelated(X: np.ndarray) -> None:
    X[:, 1] = 7.0
    found = correlations_with(X, np.array([0, 1]))
    assert found[0, 1] == 0
    assert not found[1].any()


def test_the_closest_are_not_among_those_taken(X: np.ndarray) -> None:
    every = correlations_with(X, np.array([0, 3]))
    found = closest_left_out(every, np.array([0, 3]), 2)
    assert found.shape == (2, 2)
    assert found[0, 0] == 4
    for row, columns in zip(every, found, strict=True):
        others = np.setdiff1d(np.arange(6), [0, 3, *columns])
        assert np.abs(row[columns]).min() >= np.abs(row[others]).max()
    assert closest_left_out(every, np.array([0, 3]), 99).shape == (2, 4)
    assert closest_left_out(every, np.arange(6), 2).shape == (2, 0)
