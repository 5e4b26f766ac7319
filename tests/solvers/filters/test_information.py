"""Entropies and gains of tables of counts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import entropy as scipy_entropy
from sklearn.metrics import mutual_info_score

from rowsparse.solvers.filters.information import (
    contingency,
    entropy,
    information_gain,
    mutual_information,
)


def test_entropy_is_that_of_scipy_in_bits():
    counts = np.random.default_rng(0).integers(0, 9, size=(20, 5)) + np.eye(5, dtype=int)[0]
    np.testing.assert_allclose(entropy(counts), scipy_entropy(counts, base=2, axis=1))
    assert entropy(np.zeros((1, 3)))[0] == 0.0


def test_tables_count_states_and_classes():
    codes = np.array([[0, 2], [1, 2], [1, 0]], dtype=np.uint8)
    table = contingency(codes, np.array([0, 1, 0]), 2)
    np.testing.assert_array_equal(table, [[[1, 0], [1, 1], [0, 0]], [[1, 0], [0, 0], [1, 1]]])


@pytest.mark.parametrize("seed", range(3))
def test_gain_of_discrete_columns_is_scikit_learns(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, size=(80, 6)).astype(float)
    y = (X[:, 0] > 0).astype(int) + rng.integers(2, size=80)
    gain, tie_break = information_gain(X, [y], 3, discretization="none", bins=10, bin_width=0.5)
    expected = [mutual_info_score(x, y) / np.log(2) for x in X.T]
    np.testing.assert_allclose(gain[0], expected, atol=1e-12)
    np.testing.assert_array_equal(gain, tie_break)
    counts = contingency((X + 3).astype(int), y, 3)
    np.testing.assert_allclose(
        mutual_information(counts), mutual_information(np.swapaxes(counts, 1, 2)), atol=1e-12
    )
