"""CDLSR: least squares on its support, and the best of its starts."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from rowsparse import CDLSR
from tests.selectors.cases import residuals, three_classes

X, Y = three_classes()


def least_squares(S):
    T = np.eye(3)[Y]
    return np.sum((T - LinearRegression().fit(X[:, S], T).predict(X[:, S])) ** 2)


def test_the_best_start_is_kept_and_refitted():
    selector = CDLSR(2, n_restarts=3, random_state=0).fit(X, Y)
    assert selector.objectives_.shape == (4,)
    assert selector.objective_ == pytest.approx(selector.objectives_.min())
    assert selector.objective_ == pytest.approx(least_squares(selector.support_))
    assert selector.objective_ == pytest.approx(np.sum(residuals(selector, X, Y) ** 2))


def test_published_coefficients_are_not_refitted():
    selector = CDLSR(3, variant="published", n_restarts=3, random_state=0).fit(X, Y)
    assert selector.objective_ == selector.published_objective_
    assert selector.refitted_objective_ <= selector.published_objective_ * (1 + 1e-12)
    assert selector.refitted_objective_ == pytest.approx(least_squares(selector.support_))
