"""Logistic regression on many choices at once, against long doubles."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from rowsparse.solvers.proof.logistic_choices import fit_choices

from .problems import logistic_loss, logistic_oracle, random_labels


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("ridge", [1e-3, 2.0, 100.0])
@pytest.mark.parametrize("k", [1, 3])
def test_every_choice_has_its_own_objective_and_bound(fit_intercept, ridge, k):
    rng = np.random.default_rng(k)
    X = rng.standard_normal((20, 5))
    X[:, 4] = X[:, 0]
    Y, omega = random_labels(rng, 20, 2)
    loss, oracle = (
        logistic_loss(X, Y, omega, fit_intercept),
        logistic_oracle(X, Y, k, ridge, omega, fit_intercept),
    )
    choices = np.array(list(combinations(range(5), k)))
    fitted = fit_choices(loss, X, np.sqrt(omega @ X**2), ridge, choices)
    for S, value, bound in zip(choices, fitted.values, fitted.bounds, strict=True):
        exact = oracle.objective(S.tolist())
        assert bound <= exact
        assert value == pytest.approx(float(exact), rel=1e-10)
        assert bound == pytest.approx(float(exact), rel=1e-7)


def test_separated_labels_and_columns_of_any_magnitude_end():
    X = np.linspace(-1, 1, 12)[:, None] * [1e8, 1e-8]
    Y = (X[:, :1] > 0).astype(float)
    loss = logistic_loss(X, Y)
    fitted = fit_choices(loss, X, np.sqrt((X**2).sum(axis=0)), 1e-6, np.array([[0], [1]]))
    oracle = logistic_oracle(X, Y, 1, 1e-6)
    for j in range(2):
        assert fitted.bounds[j] <= oracle.objective([j])
        assert fitted.values[j] == pytest.approx(float(oracle.objective([j])), rel=1e-3, abs=1e-6)
