"""Cuts by minimum description length against a recursive reference."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import mutual_info_score

from rowsparse.solvers.filters.discretize import mdl_bins
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


def problem(seed: int, *, ties: bool, n: int = 80, m: int = 9, classes: int = 3):
    rng = np.random.default_rng(seed)
    y = rng.integers(classes, size=n)
    X = rng.standard_normal((n, m)) + rng.standard_normal((classes, m))[y] * np.arange(m) / 2
    return (np.round(X, 1) if ties else X), y


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


@settings(max_examples=25, deadline=None)
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
        cuts = next(mdl_cuts(x[:, None] + shift, [y], classes, counts_places=False))
        np.testing.assert_allclose(cuts.value - shift, expected)


def test_gain_is_the_mutual_information_of_the_states():
    X, y = problem(3, ties=True)
    cuts = next(mdl_cuts(X, [y], 3, counts_places=False))
    codes = mdl_bins(X, y, 3, counts_places=False)
    expected = [mutual_info_score(codes[:, j], y) / np.log(2) for j in range(X.shape[1])]
    np.testing.assert_allclose(cuts.gain, expected, atol=1e-9)


def test_best_single_cut_is_found_by_trying_all():
    X, y = problem(5, ties=False, n=40)
    best = next(mdl_cuts(X, [y], 3, counts_places=False)).best_gain
    for j, x in enumerate(X.T):
        tried = [
            bits(y) - np.mean(x <= c) * bits(y[x <= c]) - np.mean(x > c) * bits(y[x > c])
            for c in np.sort(x)[:-1]
        ]
        np.testing.assert_allclose(best[j], max(tried), atol=1e-10)


def test_several_labelings_are_independent():
    X, y = problem(8, ties=True)
    labelings = [(y == c).astype(int) for c in range(3)]
    together = list(mdl_cuts(X, labelings, 2, counts_places=False))
    for labels, cuts in zip(labelings, together, strict=True):
        alone = next(mdl_cuts(X, [labels], 2, counts_places=False))
        np.testing.assert_array_equal(cuts.gain, alone.gain)
        np.testing.assert_array_equal(cuts.value, alone.value)
