"""Tests of single features are those of SciPy and scikit-learn."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.feature_selection import f_classif

from rowsparse.workflow.table import Table
from rowsparse.workflow.univariate import (
    CORRELATION,
    DIFFERENCE,
    FOLD_CHANGE,
    UnivariateTests,
    adjusted,
    has_linear_scale,
    univariate,
)

from .planted import N, make


def results_of(table: Table, **changes: Any) -> UnivariateTests:
    found = univariate(replace(table, **changes))
    assert found is not None
    return found


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_of_several_classes_the_f_test(classes: Table, convert: Any) -> None:
    found = results_of(classes, X=convert(classes.X))
    _, expected = f_classif(classes.X, classes.y)
    assert (found.test, found.effect_name) == ("F test", DIFFERENCE)
    np.testing.assert_allclose(found.p, expected)
    np.testing.assert_allclose(found.fdr, stats.false_discovery_control(expected))
    one = classes.y == np.array(list("abc"))[found.groups[2]]
    x = classes.X[:, 2]
    within = [np.sum((x[classes.y == c] - x[classes.y == c].mean()) ** 2) for c in "abc"]
    sd = np.sqrt(np.sum(within) / (N - 3))
    assert found.effects[2] == pytest.approx((x[one].mean() - x[~one].mean()) / sd)


def test_of_two_classes_the_t_test(tmp_path: Path) -> None:
    table = make(tmp_path, goal=["no", "yes"] * (N // 2))
    table = replace(table, X=np.asarray(table.X, dtype=np.float64))
    found = results_of(table)
    yes, no = table.X[table.y == "yes"], table.X[table.y == "no"]
    expected = stats.ttest_ind(yes, no)
    assert found.test == "t test"
    np.testing.assert_allclose(found.p, expected.pvalue)
    np.testing.assert_array_equal(np.sign(found.effects), np.sign(expected.statistic))
    np.testing.assert_allclose(found.effects, expected.statistic * np.sqrt(2 / (N / 2)))
    assert [found.group_names[at] for at in found.groups] == ["yes"] * len(table.names)


def test_amounts_have_fold_changes(tmp_path: Path) -> None:
    table = make(tmp_path, goal=["no", "yes"] * (N // 2))
    amounts = 2.0 ** (3 * np.asarray(table.X) + 6)
    found = results_of(table, X=amounts)
    yes, no = (amounts[table.y == name].mean(axis=0) for name in ("yes", "no"))
    assert found.effect_name == FOLD_CHANGE
    np.testing.assert_allclose(found.effects, np.log2(yes / no))
    np.testing.assert_allclose(found.p, f_classif(amounts, table.y)[1])
    three = results_of(make(tmp_path, goal=["a", "b", "c", "d"] * (N // 4)), X=amounts)
    a = amounts[0::4].mean(axis=0)
    rest = np.delete(amounts, np.s_[0::4], axis=0).mean(axis=0)
    of_a = three.groups == 0
    assert of_a.any()
    np.testing.assert_allclose(three.effects[of_a], np.log2(a / rest)[of_a])


@pytest.mark.parametrize(
    ("X", "linear"),
    [
        ([[10.0, 300.0], [40.0, 900.0]], True),
        ([[10.0, -300.0], [40.0, 900.0]], False),  # negative
        ([[1.0, 300.0], [0.0, 900.0]], False),  # a column of 0 and 1
        ([[3.1, 9.2], [5.5, 14.0]], False),  # as logarithms are
        ([[3.1, 40.0], [5.5, 60.0]], True),
    ],
)
def test_which_values_are_amounts(X: list[list[float]], linear: bool) -> None:
    assert has_linear_scale(np.array(X)) == linear
    assert has_linear_scale(sp.csr_array(np.array(X))) == linear


def test_of_numbers_the_correlation(numbers: Table) -> None:
    found = results_of(numbers)
    pairs = [stats.pearsonr(x, numbers.y) for x in np.asarray(numbers.X).T]
    assert (found.test, found.effect_name) == ("correlation test", CORRELATION)
    np.testing.assert_allclose(found.p, [pair.pvalue for pair in pairs])
    np.testing.assert_allclose(found.effects, [pair.statistic for pair in pairs])


def test_of_labels_the_smallest_p_times_their_number(labels: Table) -> None:
    Y = labels.y.copy()
    Y[:, 1] = 1 - (Y[:, 1] * (np.arange(N) % 3 == 0))  # most samples have it
    found = results_of(labels, target=replace(labels.target, y=Y))
    every = [stats.ttest_ind(labels.X[y == 1], labels.X[y == 0]) for y in Y.T]
    p = np.array([one.pvalue for one in every])
    np.testing.assert_allclose(found.p, np.minimum(p.min(axis=0) * 3, 1.0))
    np.testing.assert_array_equal(found.groups, p.argmin(axis=0))
    t = np.array([one.statistic for one in every])[found.groups, np.arange(p.shape[1])]
    np.testing.assert_array_equal(np.sign(found.effects), np.sign(t))


def test_of_several_numbers_too(numbers: Table) -> None:
    Y = np.column_stack([numbers.X[:, 1] + 0.1 * numbers.y, numbers.y])
    found = results_of(numbers, target=replace(numbers.target, y=Y, names=("first", "second")))
    pairs = [[stats.pearsonr(x, y) for x in np.asarray(numbers.X).T] for y in Y.T]
    p = np.array([[pair.pvalue for pair in row] for row in pairs])
    np.testing.assert_allclose(found.p, np.minimum(2 * p.min(axis=0), 1.0))
    assert found.of(1)["effect_in"] == "first"
    assert found.of(1)["effect"] == pytest.approx(pairs[0][1].statistic)
    assert found.n_targets == 2


def test_constant_and_perfect_features(tmp_path: Path) -> None:
    table = make(tmp_path, goal=["no", "yes"] * (N // 2))
    X = np.column_stack([np.ones(N), table.y == "yes", table.X[:, 0]])
    found = results_of(table, X=X, names=["constant", "copy", "f0"])
    assert (found.p[0], found.effects[0]) == (1.0, 0.0)
    assert (found.p[1], found.effects[1]) == (0.0, np.inf)
    assert found.fdr[1] == 0.0
    assert found.count() == 1
    assert found.threshold() == pytest.approx(0.05 / 3)


def test_the_threshold_parts_the_features(classes: Table) -> None:
    found = results_of(classes)
    np.testing.assert_array_equal(found.p <= found.threshold(), found.fdr <= 0.05)
    assert 0 < found.count() < found.p.size
    assert np.isnan(found.threshold(0.0))


def test_too_few_samples(tmp_path: Path) -> None:
    table = make(tmp_path, goal=["no", "yes"] * (N // 2))
    two = replace(table, X=table.X[:2], target=replace(table.target, y=table.y[:2]))
    assert univariate(two) is None


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
@settings(max_examples=50, deadline=None)
def test_false_discovery_rates_by_brute_force(values: list[float]) -> None:
    p = np.array(values)
    m = p.size
    expected = [min(min(q * m / np.sum(p <= q) for q in p if q >= value), 1.0) for value in p]
    np.testing.assert_allclose(adjusted(p), expected)
