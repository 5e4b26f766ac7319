"""Data ready for searches over k: which losses, which sizes, and models of values."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris

from rowsparse import TopK
from rowsparse.selectors.topk.path_problem import (
    LogisticPathProblem,
    SquaredPathProblem,
    path_problem,
)


def prepared(loss="squared", two=False, **options):
    X, y = load_iris(return_X_y=True)
    if two:
        X, y = X[y > 0], y[y > 0]
    return path_problem(TopK(1, loss=loss, random_state=0, **options), X, y, None), X


def test_every_loss_has_its_problem():
    squared, logistic = prepared()[0], prepared("logistic")[0]
    assert isinstance(squared, SquaredPathProblem)
    assert isinstance(logistic, LogisticPathProblem)
    assert (squared.n_columns, logistic.n_columns) == (2, 3)
    assert squared.n == logistic.n == 150


def test_sizes_go_from_what_is_included_to_what_is_left():
    problem, _ = prepared(include=[0, 1], exclude=[2])
    assert problem.smallest == 2
    assert problem.default_largest() == 3
    assert problem.largest(2) == 2
    with pytest.warns(UserWarning, match="k_max=9 is greater"):
        assert problem.largest(9) == 3
    with pytest.raises(ValueError, match="include has 2 columns, more than k_max=1"):
        problem.largest(1)


def test_deviances_fall_with_the_number_of_features():
    for loss in ("squared", "logistic"):
        problem, _ = prepared(loss, two=True)
        points = problem.solve(0.1, 4, n_restarts=0, seed=0)
        assert np.all(np.diff(problem.deviances(points)) < 0)
