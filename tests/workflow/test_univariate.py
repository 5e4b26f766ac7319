"""Tests of single features are those of SciPy and scikit-learn."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from scipy import stats
from sklearn.feature_selection import f_classif

from rowsparse.workflow.messages import InputError
from rowsparse.workflow.settings import TableSettings
from rowsparse.workflow.table import Table, read_table
from rowsparse.workflow.univariate import (
    CORRELATION,
    DIFFERENCE,
    FOLD_CHANGE,
    UnivariateTests,
    amount_columns,
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
    m = expected.size
    rates = [
        min(min(q * m / np.sum(expected <= q) for q in expected if q >= p), 1) for p in expected
    ]
    np.testing.assert_allclose(found.fdr, rates)
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


AMOUNTS = 2.0 ** np.random.default_rng(1).normal(8, 2, size=(40, 12))


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_which_columns_are_amounts(convert: Any) -> None:
    def found(*columns: Any) -> list[bool] | None:
        amounts = amount_columns(convert(np.column_stack([AMOUNTS, *columns])))
        return None if amounts is None else amounts[AMOUNTS.shape[1] :].tolist()

    n = len(AMOUNTS)
    assert found() == []
    # what is joined changes nothing for the others: a sex, a batch, a standardised column
    assert found(np.arange(n) % 2, np.arange(n) % 3, np.linspace(-1, 1, n)) == [True, True, False]
    for none in (np.log2(AMOUNTS), AMOUNTS - AMOUNTS.mean(axis=0), AMOUNTS > 256):
        assert amount_columns(convert(none.astype(float))) is None
    assert amount_columns(convert(AMOUNTS.clip(0.1, 70))) is not None


def test_a_joined_batch_leaves_the_fold_changes_of_the_others(tmp_path: Path) -> None:
    table = make(tmp_path, goal=["no", "yes"] * (N // 2))
    amounts = 2.0 ** (3 * np.asarray(table.X) + 6)
    alone = results_of(table, X=amounts)
    batch = np.column_stack([amounts, np.arange(N) % 3, np.linspace(-1, 1, N)])
    joined = results_of(table, X=batch, names=[*table.names, "batch", "score"])
    assert joined.effect_name == FOLD_CHANGE
    np.testing.assert_array_equal(joined.effects[:-2], alone.effects)
    assert np.isnan(joined.effects[-1])


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


# ------------------------------------------------------------------------------ the design
def with_groups(table: Table, groups: Any) -> Table:
    reading = replace(table.reading, groups_column="patient")
    return replace(table, sample_groups=np.asarray(groups), reading=reading)


def partial_f(x: Any, targets: Any, covariates: Any) -> float:
    """The F test of two nested linear models."""
    small = np.column_stack([np.ones(len(x)), covariates])
    large = np.column_stack([small, targets])
    left = [
        np.sum((x - design @ np.linalg.lstsq(design, x, rcond=None)[0]) ** 2)
        for design in (small, large)
    ]
    q, degrees = large.shape[1] - small.shape[1], len(x) - large.shape[1]
    return float(stats.f.sf((left[0] - left[1]) / q / (left[1] / degrees), q, degrees))


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_covariates_make_the_tests_partial(classes: Table, convert: Any) -> None:
    found = univariate(replace(classes, X=convert(classes.X)), [2, 7])
    assert found is not None
    assert (found.test, found.covariates) == ("partial F test", ("f2", "f7"))
    indicators = (classes.y[:, None] == np.array(["b", "c"])).astype(float)
    Z = classes.X[:, [2, 7]]
    for j in (0, 5, 9):
        assert found.p[j] == pytest.approx(partial_f(classes.X[:, j], indicators, Z))
        # of the class that differs most, its coefficient given the covariates
        one = classes.y == "abc"[found.groups[j]]
        design = np.column_stack([one, np.ones(N), Z])
        coefficient = np.linalg.lstsq(design, classes.X[:, j], rcond=None)[0][0]
        assert np.sign(found.effects[j]) == np.sign(coefficient)
    assert np.isnan(found.p[[2, 7]]).all()
    assert found.n_tested == found.p.size - 2
    rest = np.delete(np.arange(found.p.size), [2, 7])
    np.testing.assert_allclose(found.fdr[rest], stats.false_discovery_control(found.p[rest]))


def test_of_numbers_the_partial_correlation(numbers: Table) -> None:
    found = univariate(numbers, [2])
    assert found is not None
    Z = np.column_stack([np.ones(N), numbers.X[:, 2]])

    def left(v: Any) -> Any:
        return v - Z @ np.linalg.lstsq(Z, v, rcond=None)[0]

    expected = stats.pearsonr(left(numbers.X[:, 5]), left(numbers.y)).statistic
    assert found.effects[5] == pytest.approx(expected)
    assert found.p[5] == pytest.approx(partial_f(numbers.X[:, 5], numbers.y, numbers.X[:, 2]))


def test_means_of_groups_are_tested_where_the_target_is_theirs(tmp_path: Path) -> None:
    patients = np.repeat(np.arange(N // 4), 4)
    table = make(tmp_path, goal=np.where(patients % 2, "ill", "well"))
    found = results_of(with_groups(table, patients))
    mean = np.array([table.X[patients == p].mean(axis=0) for p in range(N // 4)])
    expected = stats.ttest_ind(mean[1::2], mean[::2])
    assert (found.unit, found.n_groups) == ("means", N // 4)
    np.testing.assert_allclose(found.p, expected.pvalue)


def test_two_classes_in_each_group_are_the_paired_test(tmp_path: Path) -> None:
    table = make(tmp_path, goal=["well", "ill"] * (N // 2))
    found = results_of(with_groups(table, np.repeat(np.arange(N // 2), 2)))
    assert found.unit == "clusters"
    np.testing.assert_allclose(found.p, stats.ttest_rel(table.X[::2], table.X[1::2]).pvalue)


def test_groups_with_other_targets_have_the_variance_of_bell_and_mccaffrey(numbers: Table) -> None:
    rng = np.random.default_rng(0)
    clusters = rng.integers(0, 15, N)
    found = univariate(with_groups(numbers, clusters), [3])
    assert found is not None
    D = np.column_stack([numbers.y, np.ones(N), numbers.X[:, 3]])
    inverse = np.linalg.inv(D.T @ D)
    for j in (0, 5):
        b = inverse @ D.T @ numbers.X[:, j]
        middle = np.zeros((3, 3))
        for g in range(15):
            part = D[clusters == g]
            hat = part @ inverse @ part.T
            e = (numbers.X[:, j] - D @ b)[clusters == g]
            u = part.T @ np.linalg.solve(np.eye(len(e)) - hat, e)
            middle += np.outer(u, u)
        variance = (14 / 15) * (inverse @ middle @ inverse)[0, 0]
        t = b[0] / np.sqrt(variance)
        assert found.p[j] == pytest.approx(2 * stats.t.sf(abs(t), 14), rel=1e-6)


@pytest.mark.parametrize("own_target", [True, False])
def test_rows_of_one_group_are_no_independent_samples(tmp_path: Path, own_target: bool) -> None:
    rng = np.random.default_rng(5)
    patients = np.repeat(np.arange(20), N // 20)
    table = make(tmp_path, goal=["no", "yes"] * (N // 2))
    of_patient = rng.permutation(20) % 2
    y = of_patient[patients] if own_target else (rng.random(N) < 0.1 + 0.8 * of_patient[patients])
    X = rng.standard_normal((20, 2000))[patients] + 0.3 * rng.standard_normal((N, 2000))
    names = [f"g{j}" for j in range(2000)]
    target = replace(table.target, y=np.where(y, "yes", "no"))
    grouped = results_of(with_groups(table, patients), X=X, names=names, target=target)
    apart = results_of(table, X=X, names=names, target=target)
    assert np.mean(grouped.p < 0.05) < 0.07
    assert grouped.count() == 0
    assert np.mean(apart.p < 0.05) > 0.15


# --------------------------------------------------------------------------- other tests
def test_welch(tmp_path: Path) -> None:
    table = make(tmp_path, goal=["no", "yes", "no", "no"] * (N // 4))
    found = univariate(table, test="welch")
    assert found is not None
    yes, no = table.X[table.y == "yes"], table.X[table.y == "no"]
    np.testing.assert_allclose(found.p, stats.ttest_ind(yes, no, equal_var=False).pvalue)
    three = make(tmp_path, goal=["a", "b", "c", "a"] * (N // 4))
    found = univariate(three, test="welch")
    assert found is not None
    assert found.test == "Welch F test"
    # as R's oneway.test computes it
    parts = [three.X[three.y == name][:, 4] for name in "abc"]
    w = np.array([len(part) / part.var(ddof=1) for part in parts])
    m = np.array([part.mean() for part in parts])
    spread = np.sum((1 - w / w.sum()) ** 2 / (np.array([len(part) for part in parts]) - 1)) / 8
    ratio = np.sum(w * (m - np.sum(w * m) / w.sum()) ** 2) / (2 * (1 + 2 * spread))
    assert found.p[4] == pytest.approx(stats.f.sf(ratio, 2, 1 / (3 * spread)))


def test_ranks(tmp_path: Path, numbers: Table, classes: Table) -> None:
    found = univariate(numbers, test="rank")
    assert found is not None
    pairs = [stats.spearmanr(x, numbers.y) for x in np.asarray(numbers.X).T]
    np.testing.assert_allclose(found.p, [pair.pvalue for pair in pairs])
    np.testing.assert_allclose(found.effects, [pair.statistic for pair in pairs])
    ranked = univariate(classes, test="rank")
    assert ranked is not None
    np.testing.assert_allclose(ranked.p, f_classif(stats.rankdata(classes.X, axis=0), classes.y)[1])
    # the effect is that of the values
    np.testing.assert_array_equal(ranked.effects, results_of(classes).effects)


def test_tests_that_the_targets_do_not_allow(numbers: Table, classes: Table) -> None:
    with pytest.raises(InputError, match="--test welch is for classes"):
        univariate(numbers, test="welch")
    one = replace(classes, target=replace(classes.target, y=np.array(["a", *["b"] * (N - 1)])))
    with pytest.raises(InputError, match="needs two samples of each class"):
        univariate(one, test="welch")


def test_logarithms_have_fold_changes_given_covariates_too(tmp_path: Path) -> None:
    amounts = 2.0 ** (3 * np.asarray(make(tmp_path, goal=["no", "yes"] * (N // 2)).X) + 6)
    path = tmp_path / "amounts.csv"
    columns = {f"g{j}": amounts[:, j] for j in range(6)}
    age = np.linspace(30, 80, N)
    pl.DataFrame({"age": age, **columns, "goal": ["no", "yes"] * (N // 2)}).write_csv(path)
    table = read_table(path, TableSettings(target="goal", log="g*"))
    found = univariate(table, [0])
    assert found is not None
    assert found.effect_name == FOLD_CHANGE
    y = np.array([0.0, 1.0] * (N // 2))
    design = np.column_stack([y, np.ones(N), age])
    expected = np.linalg.lstsq(design, np.log2(1 + amounts[:, :6]), rcond=None)[0][0]
    np.testing.assert_allclose(found.effects[1:], expected, atol=1e-12)
