"""The problem of a squared loss from Moments, against that from the samples."""

from __future__ import annotations

import numpy as np
import pytest

from rowsparse import Moments, TopK
from rowsparse.selectors.base.moments import read_moments


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_the_products_are_those_of_the_problem_of_the_samples(
    standardize: bool, fit_intercept: bool
) -> None:
    rng = np.random.default_rng(0)
    X, y, w = rng.standard_normal((50, 6)) + 3.0, rng.standard_normal((50, 2)) + 5.0, rng.random(50)
    selector = TopK(2, standardize=standardize, fit_intercept=fit_intercept)
    expected, mean = selector._problem(selector._read(X, y, w)).squared()
    moments = Moments().update(X, y, w)
    found, own_mean = selector._problem(read_moments(selector, moments)).squared()
    np.testing.assert_allclose(found.design.gram(), expected.design.gram(), atol=1e-10)
    products = [p.design.rmatmul(p.Y) for p in (found, expected)]
    np.testing.assert_allclose(*products, atol=1e-10)
    np.testing.assert_allclose(found.Y.T @ found.Y, expected.Y.T @ expected.Y, atol=1e-10)
    np.testing.assert_allclose(own_mean, mean)
    assert found.n_samples == pytest.approx(w.sum())


def test_constant_columns_and_targets_are_exactly_zero() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 4)), rng.standard_normal((30, 2))
    X[:, 2], y[:, 1] = 0.1, 0.7
    selector = TopK(2)
    moments = Moments().update(X[:7], y[:7]).update(X[7:], y[7:])
    problem = selector._problem(read_moments(selector, moments))
    assert problem.design.column_norms()[2] == 0.0
    assert not problem.Y[:, 1].any()


def test_only_constant_columns() -> None:
    moments = Moments().update(np.full((5, 2), 0.1), [0.5, 1.5, 2.0, 1.0, 0.0])
    with pytest.raises(ValueError, match="Every column of X is constant"):
        TopK(1).fit_moments(moments)
