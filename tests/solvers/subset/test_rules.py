"""Which features may enter, and the least gain of an exchange."""

from __future__ import annotations

import numpy as np
import pytest

from rowsparse._deadline import Deadline
from rowsparse.solvers.subset.rules import Rules

from .problems import data, problem_of


def test_included_excluded_and_constant_features_may_not_enter():
    X, Y = data(0, d=6)
    X[:, 4] = 3.0
    rules = Rules.of(problem_of(X, Y), 3, [1], [5], 1e-12)
    assert rules.include == (1,)
    assert np.flatnonzero(rules.allowed).tolist() == [0, 2, 3]
    assert np.flatnonzero(rules.excluded).tolist() == [5]
    assert not rules.deadline.expired()
    rules.exclude_all_but(np.array([1, 3]))
    assert np.flatnonzero(rules.allowed).tolist() == [3]
    assert np.flatnonzero(rules.excluded).tolist() == [0, 2, 4, 5]


@pytest.mark.parametrize(("dtype", "least"), [(np.float64, 1e-6), (np.float32, 16 * 2.0**-23)])
def test_the_least_gain_is_the_tolerance_or_rounding(dtype, least):
    X, Y = data(0, d=6)
    problem = problem_of(X.astype(dtype), Y)
    tol = 1e-6 if dtype == np.float64 else 1e-9
    assert Rules.of(problem, 3, (), (), tol).min_gain == pytest.approx(least * np.sum(Y**2))


def test_the_deadline_is_that_of_the_caller():
    X, Y = data(0, d=6)
    assert Rules.of(problem_of(X, Y), 3, (), (), 1e-9, Deadline(0.0)).deadline.expired()
