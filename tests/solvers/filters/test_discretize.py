"""Columns as states: equal widths, mean and deviation, minimum description length."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from rowsparse.solvers.filters.discretize import (
    as_codes,
    column_blocks,
    discretize,
    equal_width_bins,
    mdl_bins,
    mean_std_bins,
)
from rowsparse.solvers.filters.mdl import mdl_cuts


def bits(labels: np.ndarray) -> float:
    _, counts = np.unique(labels, return_counts=True)
    p = counts / counts.sum()
    return float(-(p * np.log2(p)).sum())


def reference_cuts(x: np.ndarray, y: np.ndarray, counts_places: bool = False) -> list[float]:
    """Fayyad and Irani's rule, one column and one segment at a time."""
    n, values = x.size, np.unique(x)
    if values.size < 2:
        return []
    middles = (values[1:] + values[:-1]) / 2
    left = [(np.mean(x <= m) * bits(y[x <= m]) + np.mean(x > m) * bits(y[x > m])) for m in middles]
    # Entropies that are equal but for rounding are ties.
    best = int(np.flatnonzero(np.array(left) <= min(left) + 1e-12)[0])
    low = x <= middles[best]
    gain = bits(y) - left[best]
    q, q1, q2 = (np.unique(part).size for part in (y, y[low], y[~low]))
    price = np.log2(3.0**q - 2) - (q * bits(y) - q1 * bits(y[low]) - q2 * bits(y[~low]))
    price += np.log2(middles.size if counts_places else n - 1)
    if gain * n <= price:
        return []
    parts = [reference_cuts(x[part], y[part], counts_places) for part in (low, ~low)]
    return sorted([*parts[0], float(middles[best]), *parts[1]])


def problem(seed: int, *, ties: bool, n: int = 120, m: int = 9, classes: int = 3):
    rng = np.random.default_rng(seed)
    y = rng.integers(classes, size=n)
    X = rng.standard_normal((n, m)) + rng.standard_normal((classes, m))[y] * np.arange(m) / 2
    return (np.round(X, 1) if ties else X), y


# ------------------------------------------------------------------ minimum description length
@pytest.mark.parametrize("counts_places", [False, True])
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("classes", [2, 3, 7])
def test_cuts_are_those_of_the_recursive_rule(classes, ties, counts_places):
    X, y = problem(classes, ties=ties, classes=classes)
    cuts = next(mdl_cuts(X, [y], classes, counts_places=counts_places))
    assert cuts.column.size > 5
    for j in range(X.shape[1]):
        expected = reference_cuts(X[:, j], y, counts_places)
        np.testing.assert_allclose(cuts.value[cuts.column == j], expected, rtol=1e-14)


@settings(max_examples=60, deadline=None)
@given(
    values=st.lists(st.integers(-3, 6), min_size=2, max_size=40),
    seed=st.integers(0, 10**6),
    classes=st.integers(2, 4),
)
def test_counted_and_sorted_columns_agree_with_the_rule(values, seed, classes):
    x = np.array(values, dtype=np.float64)
    y = np.random.default_rng(seed).integers(classes, size=x.size)
    y[x > 2] = 0  # so that some cuts pay
    expected = reference_cuts(x, y)
    # Shifted by a half, integers are no longer integers: the columns are sorted, not counted.
    for shift in (0.0, 0.5):
        cuts = next(mdl_cuts(x[:, None] + shift, [y], classes))
        np.testing.assert_allclose(cuts.value - shift, expected)


def test_gain_is_the_mutual_information_of_the_states():
    from sklearn.metrics import mutual_info_score

    X, y = problem(3, ties=True)
    cuts = next(mdl_cuts(X, [y], 3))
    codes = mdl_bins(X, y, 3)
    expected = [mutual_info_score(codes[:, j], y) / np.log(2) for j in range(X.shape[1])]
    np.testing.assert_allclose(cuts.gain, expected, atol=1e-9)


def test_best_single_cut_is_found_by_trying_all():
    X, y = problem(5, ties=False, n=40)
    best = next(mdl_cuts(X, [y], 3)).best_gain
    for j, x in enumerate(X.T):
        tried = [bits(y) - np.mean(x <= c) * bits(y[x <= c]) - np.mean(x > c) * bits(y[x > c])
                 for c in np.sort(x)[:-1]]  # fmt: skip
        np.testing.assert_allclose(best[j], max(tried), atol=1e-10)


def test_several_labelings_are_independent():
    X, y = problem(8, ties=True)
    labelings = [(y == c).astype(int) for c in range(3)]
    together = list(mdl_cuts(X, labelings, 2))
    for labels, cuts in zip(labelings, together, strict=True):
        alone = next(mdl_cuts(X, [labels], 2))
        np.testing.assert_array_equal(cuts.gain, alone.gain)
        np.testing.assert_array_equal(cuts.value, alone.value)


def test_a_class_that_does_not_occur_changes_nothing():
    X, y = problem(1, ties=False)
    np.testing.assert_array_equal(mdl_bins(X, y, 3), mdl_bins(X, y, 9))


def test_a_cut_separates_neighbouring_floats():
    low = 1.0
    x = np.array([low] * 20 + [np.nextafter(low, 2.0)] * 20)
    codes = mdl_bins(x[:, None], np.repeat([0, 1], 20), 2)
    np.testing.assert_array_equal(codes[:, 0], np.repeat([0, 1], 20))


def test_many_classes_do_not_overflow():
    n = 1500
    codes = mdl_bins(np.arange(float(n))[:, None] // 2, np.arange(n) // 2, n // 2)
    assert np.isfinite(codes).all()


@pytest.mark.parametrize("scale", [1e-300, 0.37, 1e300])
def test_rescaling_a_column_leaves_its_states(scale):
    X, y = problem(2, ties=False)
    np.testing.assert_array_equal(mdl_bins(X * scale, y, 3), mdl_bins(X, y, 3))
    np.testing.assert_array_equal(mean_std_bins(X * scale, 0.5), mean_std_bins(X, 0.5))
    np.testing.assert_array_equal(equal_width_bins(X * scale, 7), equal_width_bins(X, 7))


# --------------------------------------------------------------------------- simpler states
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
    for codes in (mean_std_bins(X, 0.5), equal_width_bins(X, 5), as_codes(X), mdl_bins(X, y, 2)):
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
    codes = discretize(kind(X), method, labels=y, bins=4, alpha=0.7)
    expected = {
        "mdl": lambda: mdl_bins(X, y, 3),
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
