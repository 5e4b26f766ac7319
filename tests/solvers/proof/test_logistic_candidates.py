"""The candidates of the logistic loss: bounds in floating point, and columns in blocks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rowsparse.solvers.proof import logistic_candidates as module

from .problems import logistic_candidates, logistic_oracle, random_labels


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_the_bound_of_any_coefficients_is_below_every_choice(seed):
    rng = np.random.default_rng(seed)
    n, d, k = int(rng.integers(3, 12)), 6, 3
    X = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-4, 4, d)
    X[:, 5] = X[:, 0]
    Y, omega = random_labels(rng, n, int(rng.integers(1, 3)))
    ridge, intercept = 10.0 ** rng.uniform(-8, 4), bool(rng.random() < 0.6)
    problem = logistic_candidates(X, Y, ridge, omega, intercept)
    active = np.sort(rng.permutation(d)[:3])
    W, _ = problem.fit(active)
    W = W * rng.uniform(0.5, 1.5, W.shape)
    allowed = np.ones(d, dtype=bool)
    allowed[1] = False
    bound = problem.bound(active, W, np.array([1]), allowed, k)
    oracle = logistic_oracle(X, Y, k, ridge, omega, intercept, include=[1])
    assert bound.value <= oracle.best()


def test_columns_in_blocks_are_the_same_problem(monkeypatch):
    rng = np.random.default_rng(0)
    X, (Y, omega) = rng.standard_normal((15, 7)), random_labels(rng, 15, 2)
    whole = logistic_candidates(X, Y, 2.0, omega)
    monkeypatch.setattr(module, "_BLOCK_ENTRIES", 30)
    parts = logistic_candidates(X, Y, 2.0, omega)
    assert parts.nbytes < whole.nbytes
    np.testing.assert_allclose(parts.norms, whole.norms)
    np.testing.assert_allclose(parts.strengths(), whole.strengths())
    active = np.array([1, 4])
    W, value = parts.fit(active)
    assert value == pytest.approx(whole.fit(active)[1])
    args = active, W, np.array([2]), np.arange(7) != 2, 3
    assert parts.bound(*args).value == pytest.approx(whole.bound(*args).value)
    keep = np.array([1, 4])
    assert parts.restricted(keep).fit(np.arange(2))[1] == pytest.approx(value)


def test_coefficients_beyond_the_floats_bound_nothing():
    rng = np.random.default_rng(0)
    X, (Y, omega) = rng.standard_normal((10, 4)), random_labels(rng, 10, 1)
    problem = logistic_candidates(X, Y, 1.0, omega)
    with np.errstate(all="ignore"):
        bound = problem.bound(
            np.array([0]), np.array([[1e308 * 10]]), np.array([], dtype=int), np.ones(4, bool), 2
        )
    assert bound.value == -np.inf
