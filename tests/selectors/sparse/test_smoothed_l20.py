"""SmoothedL20: its objective with k rows, and with a price for each row."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from rowsparse import SmoothedL20
from tests.selectors.cases import residuals, three_classes

X, Y = three_classes()


def test_the_objective_is_the_loss_a_little_above_least_squares():
    selector = SmoothedL20(2).fit(X, Y)
    S, T = selector.support_, np.eye(3)[Y]
    assert selector.objective_ == pytest.approx(np.sum(residuals(selector, X, Y) ** 2))
    least = np.sum((T - LinearRegression().fit(X[:, S], T).predict(X[:, S])) ** 2)
    assert selector.refitted_objective_ == pytest.approx(least)
    assert least <= selector.objective_ * (1 + 1e-12)
    assert np.all(np.diff(selector.history_) <= 1e-9)


@pytest.mark.filterwarnings("ignore:.*non-zero rows")
def test_a_price_for_each_row_is_part_of_the_objective():
    selector = SmoothedL20(3, gamma=0.5).fit(X, Y)
    rows = np.count_nonzero(selector.coef_.any(axis=0))
    loss = np.sum(residuals(selector, X, Y) ** 2)
    assert selector.objective_ == pytest.approx(loss + 2 * 0.5 * rows)
