"""LpInf: its objective, its penalty for k rows, and the gap of the convex case."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

from rowsparse import LpInf
from tests.selectors.cases import residuals, scaled_rows, three_classes

X, Y = three_classes()


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0])
def test_the_objective_is_that_of_the_coefficients_with_k_rows(p):
    selector = LpInf(2, p=p).fit(X, Y)
    largest = np.abs(scaled_rows(selector, X)).max(axis=1)
    rows = largest > 0
    assert rows.sum() == 2
    np.testing.assert_array_equal(rows, selector.support_)
    loss = 0.5 * np.sum(residuals(selector, X, Y) ** 2)
    penalty = selector.gamma_ * np.sum(largest[rows] ** p)
    assert selector.objective_ == pytest.approx(loss + penalty)


def test_no_coefficients_near_the_convex_optimum_are_better_than_its_gap():
    selector = LpInf(2, p=1.0, gamma=3.0).fit(X, Y)
    assert 0.0 <= selector.gap_ <= 1e-6
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    T = np.eye(3)[Y] - np.eye(3)[Y].mean(axis=0)
    W = scaled_rows(selector, X)
    rng = np.random.default_rng(0)
    for size in (1e-3, 1e-1, 1.0):
        V = W + size * rng.standard_normal(W.shape)
        value = 0.5 * np.sum((T - Z @ V) ** 2) + 3.0 * np.abs(V).max(axis=1).sum()
        assert value >= (1 - selector.gap_) * selector.objective_


def test_the_best_start_is_not_above_the_others():
    best = LpInf(2, gamma=3.0).fit(X, Y).objective_
    for init in ("ridge", "continuation"):
        assert best <= LpInf(2, gamma=3.0, init=init).fit(X, Y).objective_ * (1 + 1e-9)


def test_steps_that_end_early_are_not_said_to_be_too_few():
    X, y = load_iris(return_X_y=True)
    with pytest.warns(ConvergenceWarning, match="it ended short of tol, before max_iter=2000"):
        LpInf(4).fit(np.c_[X, X], y)
