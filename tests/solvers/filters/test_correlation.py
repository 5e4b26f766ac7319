"""Squared correlations with targets against NumPy and exact arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from rowsparse.solvers.filters import class_statistics
from rowsparse.solvers.filters.correlation import explained_ratio, varying_targets


def problem() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 9))
    X[np.abs(X) < 0.4] = 0.0
    return X, X[:, :2] @ rng.standard_normal((2, 3)) + rng.standard_normal((40, 3))


def expected_ratio(X: np.ndarray, Y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    C = np.cov(np.column_stack([X, Y]).T, aweights=weights)
    d = X.shape[1]
    squared = C[d:, :d] ** 2 / np.outer(np.diag(C)[d:], np.diag(C)[:d])
    return squared / (1 - squared)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", [np.asarray, np.asfortranarray, sp.csr_array, sp.csc_array])
def test_ratios_are_those_of_numpy(kind, weighted, monkeypatch):
    monkeypatch.setattr(class_statistics, "_CHUNK_ENTRIES", 64)
    X, Y = problem()
    weights = np.linspace(0.5, 2.0, 40) if weighted else np.ones(40)
    ratio, columns = explained_ratio(kind(X), Y, weights if weighted else None)
    np.testing.assert_allclose(ratio, expected_ratio(X, Y, weights), rtol=1e-9)
    np.testing.assert_allclose(columns.weight, [weights.sum()])


def test_constant_columns_explain_nothing_and_linear_ones_everything():
    X, Y = problem()
    X[:, 3] = 0.1
    X[:, 5] = 2.0 - 3.0 * Y[:, 1]
    ratio, _ = explained_ratio(X, Y, None)
    np.testing.assert_array_equal(ratio[:, 3], 0.0)
    assert np.isposinf(ratio[1, 5])
    assert np.isfinite(ratio[[0, 2]]).all()


def test_a_column_that_is_nearly_linear_keeps_its_digits():
    x = np.arange(20.0)
    y = x.copy()
    y[7] += 2.0**-16
    exact_x, exact_y = ([Fraction(v) for v in column] for column in (x, y))

    def product(a, b):
        return sum(s * t for s, t in zip(a, b, strict=True)) - sum(a) * sum(b) / len(a)

    squared = product(exact_x, exact_y) ** 2
    squared /= product(exact_x, exact_x) * product(exact_y, exact_y)
    ratio, _ = explained_ratio(x[:, None], y[:, None], None)
    np.testing.assert_allclose(ratio[0, 0], float(squared / (1 - squared)), rtol=1e-6)


def test_targets_that_are_constant_up_to_rounding_do_not_vary():
    Y = np.column_stack([np.full(30, 0.1), np.arange(30.0), np.full(30, 1e9 / 3)])
    np.testing.assert_array_equal(varying_targets(Y, None), [1])
