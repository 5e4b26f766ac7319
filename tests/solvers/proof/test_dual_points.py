"""Dual points of the logistic loss: their sums, their entropy and their bound."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rowsparse.solvers.proof.dual_points import DualPoints

from .problems import logistic_oracle, random_labels


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_any_predictions_bound_every_choice(seed):
    rng = np.random.default_rng(seed)
    n, d, c = int(rng.integers(3, 12)), 4, int(rng.integers(1, 4))
    X, (Y, omega) = rng.standard_normal((n, d)), random_labels(rng, n, c)
    ridge, intercept = 10.0 ** rng.uniform(-4, 2), bool(rng.random() < 0.6)
    P = 10.0 ** rng.uniform(-2, 3) * rng.standard_normal((c, n))
    point = DualPoints.of(P, Y.T, omega, intercept)
    u = np.linalg.norm(point.weighted @ X, axis=0)
    norms = np.sqrt(omega @ X**2)
    q = (u + point.error * norms) ** 2 / (2 * ridge)
    oracle = logistic_oracle(X, Y, 2, ridge, omega, intercept)
    for S in oracle.choices():
        assert point.entropy - q[list(S)].sum() <= oracle.objective(S)


def test_sums_of_probabilities_are_those_of_the_labels():
    rng = np.random.default_rng(0)
    Y, omega = random_labels(rng, 30, 3)
    P = 50.0 * rng.standard_normal((5, 3, 30)) + 1e4
    point = DualPoints.of(P, Y.T, omega, True)
    assert np.abs(point.weighted.sum(axis=-1)).max() <= 1e-9
    assert point.weighted.shape == (5, 3, 30)
    assert point.entropy.shape == point.error.shape == (5,)
    # The residuals of ones are not positive, and those of zeros not negative.
    assert np.all((point.weighted <= 0) | (Y.T == 0))
    assert np.all((point.weighted >= 0) | (Y.T == 1))


def test_entropy_is_that_of_the_definition_and_never_above_it():
    rng = np.random.default_rng(1)
    Y, omega = random_labels(rng, 40, 2)
    P = rng.standard_normal((2, 40))
    point = DualPoints.of(P, Y.T, omega, False)
    p = np.asarray(1 / (1 + np.exp(-P.astype(np.longdouble))))
    exact = float((omega * -(p * np.log(p) + (1 - p) * np.log(1 - p))).sum())
    assert point.entropy == pytest.approx(exact, rel=1e-12)
    assert point.entropy < exact


def test_predictions_that_are_not_numbers_bound_nothing():
    Y, omega = np.array([[0.0, 1.0, 1.0]]), np.ones(3)
    with np.errstate(all="ignore"):
        point = DualPoints.of(np.array([[0.0, np.nan, 1.0]]), Y, omega, True)
    assert not point.entropy > 0
