"""Every choice tried: the best of them, and a bound that no rounding makes false."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from rowsparse._deadline import NO_DEADLINE, Deadline
from rowsparse.solvers.proof.exhaustive import enumerate_choices, few_choices

from .problems import NONE


def values_of(X, Y, ridge, k):
    values = {}
    for S in combinations(range(X.shape[1]), k):
        A = np.vstack([X[:, S], np.sqrt(ridge) * np.eye(k)])
        T = np.vstack([Y, np.zeros((k, Y.shape[1]))])
        R = T - A @ np.linalg.lstsq(A, T, rcond=None)[0]
        values[S] = float(np.vdot(R, R))
    return values


@pytest.mark.parametrize("ridge", [0.0, 1e-9, 2.0])
def test_the_best_of_all_is_found_and_bounded_closely(ridge):
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((15, 7)), rng.standard_normal((15, 2))
    values = values_of(X, Y, ridge, 3)
    best = min(values, key=values.get)
    found = enumerate_choices(
        X, Y, ridge, NONE, np.arange(7), 3, rounding=0.0, deadline=NO_DEADLINE
    )
    assert tuple(found.support) == best
    assert found.tried == 35
    assert values[best] * (1 - 1e-10) <= found.lower_bound <= values[best]


def test_chosen_features_stay():
    rng = np.random.default_rng(1)
    X, Y = rng.standard_normal((15, 7)), rng.standard_normal((15, 2))
    values = {S: v for S, v in values_of(X, Y, 0.5, 3).items() if {2, 5} <= set(S)}
    found = enumerate_choices(
        X,
        Y,
        0.5,
        np.array([2, 5]),
        np.array([0, 1, 3, 4, 6]),
        1,
        rounding=0.0,
        deadline=NO_DEADLINE,
    )
    assert tuple(found.support) == min(values, key=values.get)
    assert found.tried == 5


@pytest.mark.parametrize("columns", [2, 20])
def test_columns_that_may_depend_on_each_other_prove_nothing(columns):
    rng = np.random.default_rng(2)
    X, Y = rng.standard_normal((8, columns)), rng.standard_normal((8, 1))
    X[:, 1] = X[:, 0] * (1 + 1e-15)
    assert (
        enumerate_choices(
            X, Y, 0.0, NONE, np.arange(columns), 2, rounding=0.0, deadline=NO_DEADLINE
        ).lower_bound
        == 0.0
    )


def test_out_of_time_nothing_is_claimed():
    rng = np.random.default_rng(3)
    X, Y = rng.standard_normal((8, 6)), rng.standard_normal((8, 1))
    found = enumerate_choices(
        X, Y, 1.0, NONE, np.arange(6), 2, rounding=0.0, deadline=Deadline(0.0)
    )
    assert (found.support, found.lower_bound, found.tried) == (None, 0.0, 0)


def test_few_are_few():
    assert few_choices(50, 20, 3, 3)
    assert not few_choices(50, 100, 5, 5)
    assert not few_choices(10**9, 20, 3, 3)
