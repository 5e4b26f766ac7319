"""CRFS: the correntropy objective of its coefficients, and the units of sigma."""

from __future__ import annotations

import numpy as np
import pytest

from rowsparse import CRFS
from tests.selectors.cases import residuals, scaled_rows, three_classes

X, Y = three_classes()


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("sigma", ["adaptive", 0.7])
def test_the_objective_is_that_of_the_coefficients(sigma, fit_intercept):
    selector = CRFS(2, sigma=sigma, gamma=0.3, fit_intercept=fit_intercept).fit(X, Y)
    width = 2 * selector.sigma_**2
    errors = np.sum(residuals(selector, X, Y) ** 2, axis=1)
    penalty = np.sqrt(np.sum(scaled_rows(selector, X) ** 2, axis=1) + 1e-7).sum()
    expected = -width * np.exp(-errors / width).sum() + 4 * 0.3 * penalty
    assert selector.objective_ == pytest.approx(expected)


def test_a_fixed_sigma_has_the_units_of_y_and_never_raises_the_objective():
    y = X[:, :2] @ [1.0, -2.0]
    selector = CRFS(2, sigma=0.7, max_iter=20).fit(X, y)
    assert selector.sigma_ == pytest.approx(0.7)
    assert np.all(np.diff(selector.history_) <= 1e-9 * abs(selector.objective_))
    scaled = CRFS(2, sigma=0.7 * 2.0**200, max_iter=20).fit(X, y * 2.0**200)
    assert scaled.sigma_ == pytest.approx(0.7 * 2.0**200)


def test_the_number_of_rounds_is_no_shortfall():
    selector = CRFS(2).fit(X, Y)
    assert selector.n_iter_ == 5
    assert selector.converged_
    assert selector.order_[:2].tolist() == np.argsort(-selector.scores_)[:2].tolist()
