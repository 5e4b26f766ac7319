"""Columns as states and their bits: the cuts and the mutual information of InformationGain."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.metrics import mutual_info_score

from rowsparse import InformationGain
from rowsparse.solvers.filters.discretize import (
    as_codes,
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


def reference_cuts(x: np.ndarray, y: np.ndarray, counts_places: bool) -> list[float]:
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


@settings(max_examples=50, deadline=None)
@given(
    values=st.lists(st.integers(-3, 6), min_size=2, max_size=40),
    seed=st.integers(0, 10**6),
    classes=st.integers(2, 7),
    counts_places=st.booleans(),
)
def test_cuts_of_counted_and_sorted_columns_are_those_of_the_rule(
    values, seed, classes, counts_places
):
    x = np.array(values, dtype=np.float64)
    y = np.random.default_rng(seed).integers(classes, size=x.size)
    y[x > 2] = 0  # so that some cuts pay
    expected = reference_cuts(x, y, counts_places)
    # Shifted by a half, integers are no longer integers: the columns are sorted, not counted.
    for shift in (0.0, 0.5):
        cuts = next(mdl_cuts(x[:, None] + shift, [y], classes, counts_places=counts_places))
        np.testing.assert_allclose(cuts.value - shift, expected)


def test_best_single_cut_is_found_by_trying_all():
    X, y = problem(5, ties=False, n=40)
    best = next(mdl_cuts(X, [y], 3, counts_places=False)).best_gain
    for j, x in enumerate(X.T):
        tried = [
            bits(y) - np.mean(x <= c) * bits(y[x <= c]) - np.mean(x > c) * bits(y[x > c])
            for c in np.sort(x)[:-1]
        ]
        np.testing.assert_allclose(best[j], max(tried), atol=1e-10)


# -------------------------------------------------------------------------------- columns as states
def mdl_states(X, y, n_classes):
    return mdl_bins(X, y, n_classes, counts_places=False)


def test_a_cut_separates_neighbouring_floats():
    low = 1.0
    x = np.array([low] * 20 + [np.nextafter(low, 2.0)] * 20)
    codes = mdl_states(x[:, None], np.repeat([0, 1], 20), 2)
    np.testing.assert_array_equal(codes[:, 0], np.repeat([0, 1], 20))


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


def states_by_numpy(x, y, method):
    """The states of a column by the definition of a method."""
    if method == "equal_width":
        return np.digitize(x, np.linspace(x.min(), x.max(), 5)[1:-1])
    if method == "mean_std":
        distance = (x - x.mean()) / x.std()
        return 1 + (distance > 0.7).astype(int) - (distance < -0.7)
    if method == "none":
        return np.unique(x, return_inverse=True)[1]
    return mdl_bins(x[:, None], y, 3, counts_places=method == "weka")[:, 0]


@pytest.mark.parametrize("method", ["mdl", "weka", "equal_width", "mean_std", "none"])
@pytest.mark.parametrize("kind", [np.asarray, np.asfortranarray, sp.csr_array, sp.csc_matrix])
@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
def test_states_are_those_of_the_definition(kind, method, scale):
    X, y = problem(9, ties=False)
    X[np.abs(X) < 0.6] = 0.0
    codes = discretize(kind(X * scale), method, labels=y, bins=4, bin_width=0.7)
    expected = np.column_stack([states_by_numpy(x, y, method) for x in X.T])
    np.testing.assert_array_equal(codes, expected)
    assert codes.dtype.itemsize == 1


# ---------------------------------------------------------------------------------- InformationGain
METHODS = ("mdl", "weka", "equal_width", "mean_std", "none")


def mutual_information(codes, y):
    return np.array([mutual_info_score(code, y) for code in codes.T]) / np.log(2)


@pytest.mark.parametrize("method", METHODS)
def test_scores_are_the_mutual_information_of_the_states(method):
    X, y = problem(0, ties=True)
    selector = InformationGain(3, discretize=method, bins=6, bin_width=0.8).fit(X, y)
    codes = discretize(X, method, labels=y, bins=6, bin_width=0.8)
    np.testing.assert_allclose(selector.scores_, mutual_information(codes, y), atol=1e-9)
    assert hasattr(selector, "best_cut_gains_") == (method in ("mdl", "weka"))


def test_ties_go_to_the_better_single_cut():
    y = np.arange(90) % 3
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((90, 8))
    noise[:, 5] += 0.3 * y  # too little for a cut to pay, more than nothing
    selector = InformationGain(1).fit(noise, y)
    assert not selector.scores_.any()
    best = int(selector.best_cut_gains_.argmax())
    np.testing.assert_array_equal(np.flatnonzero(selector.support_), [best])
    order = np.argsort(-selector.best_cut_gains_, kind="stable")
    np.testing.assert_array_equal(np.argsort(selector.ranking_, kind="stable"), order)
    assert best > 0
    by_index = InformationGain(1, tie_break="index").fit(noise, y)
    np.testing.assert_array_equal(np.flatnonzero(by_index.support_), [0])


def test_reference_values_on_iris():
    # Weka prints 0.698, 0.376, 1.418 and 1.378 for its copy of these data, which has two samples
    # other than scikit-learn's.
    X, y = load_iris(return_X_y=True)
    X[34], X[37] = [4.9, 3.1, 1.5, 0.1], [4.9, 3.1, 1.5, 0.1]
    weka = InformationGain(2, discretize="weka").fit(X, y)
    np.testing.assert_allclose(weka.scores_, [0.698, 0.376, 1.418, 1.378], atol=5e-4)
    # By hand, petal length: cuts at 2.45 and 4.75 leave classes (50), (44, 1) and (6, 49).
    counts = [np.array([50.0]), np.array([44.0, 1.0]), np.array([6.0, 49.0])]
    left = sum(-(c * np.log2(c / c.sum())).sum() for c in counts) / 150
    np.testing.assert_allclose(
        InformationGain(2).fit(X, y).scores_[2], np.log2(3) - left, rtol=1e-9
    )
