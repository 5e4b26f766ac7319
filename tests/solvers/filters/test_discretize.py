"""Columns as states: equal widths, mean and deviation, minimum description length."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from rowsparse.solvers.filters.discretize import (
    as_codes,
    column_blocks,
    discretize,
    equal_width_bins,
    mdl_bins,
    mean_std_bins,
)


def problem(seed: int, *, ties: bool, n: int = 120, m: int = 9, classes: int = 3):
    rng = np.random.default_rng(seed)
    y = rng.integers(classes, size=n)
    X = rng.standard_normal((n, m)) + rng.standard_normal((classes, m))[y] * np.arange(m) / 2
    return (np.round(X, 1) if ties else X), y


def mdl_states(X, y, n_classes):
    return mdl_bins(X, y, n_classes, counts_places=False)


def test_a_class_that_does_not_occur_changes_nothing():
    X, y = problem(1, ties=False)
    np.testing.assert_array_equal(mdl_states(X, y, 3), mdl_states(X, y, 9))


def test_a_cut_separates_neighbouring_floats():
    low = 1.0
    x = np.array([low] * 20 + [np.nextafter(low, 2.0)] * 20)
    codes = mdl_states(x[:, None], np.repeat([0, 1], 20), 2)
    np.testing.assert_array_equal(codes[:, 0], np.repeat([0, 1], 20))


def test_many_classes_do_not_overflow():
    n = 1500
    codes = mdl_states(np.arange(float(n))[:, None] // 2, np.arange(n) // 2, n // 2)
    assert np.all(np.diff(codes[:, 0].astype(int)) >= 0)
    assert codes.max() > 0


@pytest.mark.parametrize("scale", [1e-300, 0.37, 1e300])
def test_rescaling_a_column_leaves_its_states(scale):
    X, y = problem(2, ties=False)
    np.testing.assert_array_equal(mdl_states(X * scale, y, 3), mdl_states(X, y, 3))
    np.testing.assert_array_equal(mean_std_bins(X * scale, 0.5), mean_std_bins(X, 0.5))
    np.testing.assert_array_equal(equal_width_bins(X * scale, 7), equal_width_bins(X, 7))


def test_mean_and_deviation_make_three_states():
    X, _ = problem(4, ties=False)
    distance = (X - X.mean(axis=0)) / X.std(axis=0)
    low, high = distance < -0.5, distance > 0.5
    codes = mean_std_bins(X, 0.5)
    assert codes.dtype == np.int8
    np.testing.assert_array_equal(codes, 1 + high.astype(int) - low.astype(int))


def test_a_constant_column_has_one_state():
    X = np.full((30, 2), [0.1, 1e9 / 3])
    y = np.arange(30) % 2
    for codes in (
        mean_std_bins(X, 0.5),
        equal_width_bins(X, 5),
        as_codes(X),
        mdl_states(X, y, 2),
    ):
        assert (codes == codes[0]).all()


def test_equal_widths_are_those_of_numpy():
    X, _ = problem(6, ties=False)
    codes = equal_width_bins(X, 8)
    for j, x in enumerate(X.T):
        edges = np.linspace(x.min(), x.max(), 9)[1:-1]
        np.testing.assert_array_equal(codes[:, j], np.digitize(x, edges))


def test_distinct_values_are_numbered_in_order():
    X, _ = problem(7, ties=True)
    for j, x in enumerate(X.T):
        np.testing.assert_array_equal(as_codes(X)[:, j], np.unique(x, return_inverse=True)[1])


@pytest.mark.parametrize("method", ["mdl", "weka", "equal_width", "mean_std", "none"])
@pytest.mark.parametrize("kind", [np.asarray, np.asfortranarray, sp.csr_array, sp.csc_matrix])
def test_all_of_x_at_once_dense_or_sparse(kind, method):
    X, y = problem(9, ties=True)
    X[np.abs(X) < 0.6] = 0.0
    codes = discretize(kind(X), method, labels=y, bins=4, bin_width=0.7)
    expected = {
        "mdl": lambda: mdl_states(X, y, 3),
        "weka": lambda: mdl_bins(X, y, 3, counts_places=True),
        "equal_width": lambda: equal_width_bins(X, 4),
        "mean_std": lambda: mean_std_bins(X, 0.7),
        "none": lambda: as_codes(X),
    }[method]()
    np.testing.assert_array_equal(codes, expected)
    assert codes.dtype.itemsize == 1


def test_blocks_are_copies_that_cover_all_columns():
    X = np.arange(60, dtype=np.float32).reshape(3, 20)
    seen = []
    for columns, block in column_blocks(X, entries=9, least=2):
        np.testing.assert_array_equal(block, X[:, columns])
        block[:] = -1.0
        seen += range(columns.start, columns.stop)
    assert seen == list(range(20))
    np.testing.assert_array_equal(X, np.arange(60).reshape(3, 20))
