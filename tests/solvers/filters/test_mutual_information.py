"""Mutual information between columns of few states against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import mutual_info_score

from rowsparse.solvers.filters import mutual_information
from rowsparse.solvers.filters.mutual_information import States


def bits(a: np.ndarray, b: np.ndarray) -> float:
    return mutual_info_score(a, b) / np.log(2)


@pytest.mark.parametrize("n_states", [2, 3, 25, 90])
@pytest.mark.parametrize("n_classes", [2, 30])
def test_information_is_that_of_scikit_learn(n_states, n_classes):
    rng = np.random.default_rng(n_states)
    codes = rng.integers(0, n_states, (90, 12)).astype(np.uint8)
    y = rng.integers(0, n_classes, 90)
    states = States(codes)
    np.testing.assert_allclose(
        states.with_classes(y), [bits(column, y) for column in codes.T], atol=1e-13
    )
    np.testing.assert_allclose(
        states.with_column(4), [bits(column, codes[:, 4]) for column in codes.T], atol=1e-13
    )


def test_counting_and_sorting_give_the_same_to_the_bit(monkeypatch):
    rng = np.random.default_rng(0)
    codes = np.column_stack([rng.integers(0, m, 70) for m in (2, 5, 9, 30, 70)])
    y = rng.integers(0, 6, 70)
    by_products = States(codes).with_classes(y)
    monkeypatch.setattr(mutual_information, "_PRODUCT_CELLS", 0)
    by_counts = States(codes).with_classes(y)
    monkeypatch.setattr(mutual_information, "_SORTED_SHARE", 0)
    by_sorting = States(codes).with_classes(y)
    np.testing.assert_array_equal(by_products, by_counts)
    np.testing.assert_array_equal(by_products, by_sorting)


def test_information_on_labels():
    rng = np.random.default_rng(1)
    codes, Y = rng.integers(0, 4, (80, 9)), rng.integers(0, 2, (80, 3)).astype(float)
    found = States(codes).with_labels(Y)
    np.testing.assert_allclose(found, [[bits(f, y) for f in codes.T] for y in Y.T], atol=1e-13)


def test_names_of_states_and_blocks_do_not_matter(monkeypatch):
    rng = np.random.default_rng(2)
    codes, y = rng.integers(0, 3, (50, 20)), rng.integers(0, 4, 50)
    plain = States(codes).with_classes(y)
    np.testing.assert_array_equal(States(2 - codes).with_classes(3 - y), plain)
    monkeypatch.setattr(mutual_information, "_BLOCK_ENTRIES", 128)
    np.testing.assert_array_equal(States(codes).with_classes(y), plain)
    np.testing.assert_array_equal(
        States(codes).take(np.array([3, 7])).with_classes(y), plain[[3, 7]]
    )


def test_golden_information():
    # Eight samples, four in each class: all of the bit, none of it, and 1 - H(1/4).
    y = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    codes = np.array([y, [0, 1, 0, 1, 0, 1, 0, 1], [0, 0, 0, 1, 1, 1, 1, 0]]).T
    quarter = -0.25 * np.log2(0.25) - 0.75 * np.log2(0.75)
    np.testing.assert_allclose(States(codes).with_classes(y), [1.0, 0.0, 1 - quarter], atol=1e-15)
    assert States(codes).with_classes(y)[1] == 0.0


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 60), st.integers(1, 12))
def test_information_is_symmetric_and_between_its_bounds(seed, n, n_states):
    codes = np.random.default_rng(seed).integers(0, n_states, (n, 6))
    states = States(codes)
    table = np.array([states.with_column(j) for j in range(6)])
    np.testing.assert_array_equal(table, table.T)
    own = np.diag(table)
    assert np.all(table >= 0)
    assert np.all(table <= np.minimum(own[:, None], own[None, :]) + 1e-12)
