"""IPFS: least squares on the features it chose, and the best of its starts."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from rowsparse import IPFS
from tests.selectors.cases import residuals, three_classes

X, Y = three_classes()


def test_the_coefficients_are_least_squares_on_the_support():
    selector = IPFS(2, rho=1.2).fit(X, Y)
    S, T = selector.support_, np.eye(3)[Y]
    model = LinearRegression().fit(X[:, S], T)
    np.testing.assert_allclose(selector.coef_[:, S], model.coef_, atol=1e-10)
    np.testing.assert_allclose(selector.intercept_, model.intercept_)
    assert selector.objective_ == pytest.approx(np.sum(residuals(selector, X, Y) ** 2))


def test_the_best_start_is_kept_and_meets_the_constraints():
    selector = IPFS(2, rho=1.2, n_restarts=2, random_state=0).fit(X, Y)
    assert selector.objectives_.shape == (3,)
    assert selector.objective_ == pytest.approx(selector.objectives_.min())
    assert selector.violation_ <= selector.tol
