"""FStatistic, FisherScore and TTest against SciPy, scikit-learn and each other."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import stats
from sklearn.datasets import load_iris
from sklearn.feature_selection import f_classif, f_regression

from rowsparse import FisherScore, FStatistic, InformationGain, TTest

ALL = [FStatistic, FisherScore, TTest]
SETTINGS = [
    (FStatistic, {}),
    (FStatistic, {"multilabel": "binary_relevance"}),
    (FisherScore, {}),
    (TTest, {}),
    (TTest, {"equal_var": False, "multiclass": "ovr_mean"}),
    (TTest, {"multiclass": "ovr_max", "ddof": 0}),
    (TTest, {"multiclass": "first_two"}),
]


def problem(classes: int = 3, n: int = 60, d: int = 8, seed: int = 0):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % classes)
    X = rng.standard_normal((n, d)) * rng.uniform(0.5, 2.0, (classes, d))[y]
    return X + rng.standard_normal((classes, d))[y] * np.linspace(0, 1, d), y


def labels(n: int = 60, seed: int = 0):
    rng = np.random.default_rng(seed)
    Y = (rng.random((n, 4)) < [0.1, 0.3, 0.5, 0.8]).astype(int)
    X = rng.standard_normal((n, 8))
    X[:, :4] += Y
    return X, Y


# ------------------------------------------------------------------------- analysis of variance
@pytest.mark.parametrize("classes", [2, 3, 7])
@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_f_is_that_of_scikit_learn(classes, offset):
    X, y = problem(classes)
    F, p = f_classif(X, y)
    selector = FStatistic(3).fit(X + offset, y)
    np.testing.assert_allclose(selector.scores_, F, rtol=1e-10 if offset == 0 else 1e-7)
    np.testing.assert_allclose(selector.pvalues_, p, rtol=1e-9 if offset == 0 else 1e-5)
    np.testing.assert_array_equal(np.flatnonzero(selector.support_), np.sort(np.argsort(-F)[:3]))


def test_f_for_numbers_is_that_of_scikit_learn():
    X, _ = problem()
    y = X @ np.linspace(-1, 1, 8) + np.random.default_rng(1).standard_normal(60)
    for y_used in (y, 1e5 + y, 1e-200 * y):
        F, p = f_regression(X, y)
        selector = FStatistic(3).fit(X, y_used)
        np.testing.assert_allclose(selector.scores_, F, rtol=1e-6)
        np.testing.assert_allclose(selector.pvalues_, p, rtol=1e-6)
    np.testing.assert_allclose(FStatistic(3).fit(X, y).scores_, F, rtol=1e-10)


@pytest.mark.parametrize("layout", [np.asfortranarray, sp.csr_array, sp.csc_array])
def test_f_for_numbers_in_every_layout(layout):
    X, _ = problem()
    X[np.abs(X) < 0.5] = 0.0
    y = np.column_stack([X[:, 0] + X[:, 1] ** 2, np.sin(X[:, 2])])
    expected = FStatistic(3).fit(X, y).scores_
    np.testing.assert_allclose(FStatistic(3).fit(layout(X), y).scores_, expected, rtol=1e-10)


def test_several_numbers_are_averaged():
    X, _ = problem()
    Y = np.column_stack([X[:, 0] + X[:, 1] ** 2, np.sin(X[:, 2]) + X[:, 3], np.full(60, 2.5)])
    each = np.array([f_regression(X, y)[0] for y in Y.T[:2]])
    mean = FStatistic(3, task="regression").fit(X, Y)
    np.testing.assert_allclose(mean.scores_, each.mean(axis=0), rtol=1e-9)
    largest = FStatistic(3, aggregate="max").fit(X, Y)
    np.testing.assert_allclose(largest.scores_, each.max(axis=0), rtol=1e-9)
    assert mean.pvalues_.shape == (3, 8)
    np.testing.assert_array_equal(mean.pvalues_[2], 1.0)


def test_a_column_linear_in_the_numbers_is_infinitely_good():
    X, _ = problem()
    y = X[:, 1].copy()
    X[:, 4] = 3.0 - 2.0 * y
    X[:, 6] = 7.0 * y
    X[:, 7] = y + 1e-6 * X[:, 0]
    selector = FStatistic(2).fit(X, y)
    assert np.isposinf(selector.scores_[[1, 4, 6]]).all()
    # Not quite linear: the residual is 1e-6 of a deviation.
    residual = X[:, 7] - np.polyval(np.polyfit(y, X[:, 7], 1), y)
    expected = (60 - 2) * (X[:, 7].var() / residual.var() - 1)
    np.testing.assert_allclose(selector.scores_[7], expected, rtol=1e-6)
    np.testing.assert_array_equal(np.flatnonzero(selector.support_), [4, 6])
    np.testing.assert_array_equal(selector.pvalues_[[1, 4, 6]], 0.0)


def test_fisher_is_f_without_the_degrees_of_freedom():
    for classes in (2, 3, 5):
        X, y = problem(classes)
        F, fisher = FStatistic(3).fit(X, y), FisherScore(3).fit(X, y)
        np.testing.assert_allclose(F.scores_, fisher.scores_ * (60 - classes) / (classes - 1))
        np.testing.assert_array_equal(F.ranking_, fisher.ranking_)


# --------------------------------------------------------------------------------------- Student
@pytest.mark.parametrize("equal_var", [True, False])
def test_t_of_two_classes_is_that_of_scipy(equal_var):
    X, y = problem(2)
    t = stats.ttest_ind(X[y == 0], X[y == 1], equal_var=equal_var).statistic
    for multiclass in ("pairwise_sum", "ovr_max", "ovr_mean"):
        selector = TTest(3, equal_var=equal_var, multiclass=multiclass).fit(X, y)
        np.testing.assert_allclose(selector.scores_, np.abs(t), rtol=1e-12)


def test_pooled_t_squared_is_f():
    X, y = problem(2)
    t, F = TTest(3).fit(X, y), FStatistic(3).fit(X, y)
    np.testing.assert_allclose(t.scores_**2, F.scores_, rtol=1e-12)
    np.testing.assert_array_equal(t.ranking_, F.ranking_)


def test_population_variances_are_those_of_numpy():
    X, y = problem(2)
    a, b = X[y == 0], X[y == 1]
    difference = a.mean(axis=0) - b.mean(axis=0)
    welch = difference / np.sqrt(a.var(axis=0) / len(a) + b.var(axis=0) / len(b))
    np.testing.assert_allclose(
        TTest(3, equal_var=False, ddof=0).fit(X, y).scores_, np.abs(welch), rtol=1e-12
    )
    pooled = (a.var(axis=0) * len(a) + b.var(axis=0) * len(b)) / len(X)
    pooled = difference / np.sqrt(pooled * (1 / len(a) + 1 / len(b)))
    np.testing.assert_allclose(TTest(3, ddof=0).fit(X, y).scores_, np.abs(pooled), rtol=1e-12)


def test_many_classes_by_pairs_or_against_the_rest():
    X, y = problem(4)

    def t(a, b, equal_var):
        return np.abs(stats.ttest_ind(a, b, equal_var=equal_var).statistic)

    for equal_var in (True, False):
        by_pairs = sum(
            t(X[y == a], X[y == b], equal_var) for a in range(4) for b in range(a + 1, 4)
        )
        scores = TTest(3, equal_var=equal_var).fit(X, y).scores_
        np.testing.assert_allclose(scores, by_pairs, rtol=1e-12)
        rest = np.array([t(X[y == a], X[y != a], equal_var) for a in range(4)])
        largest = TTest(3, multiclass="ovr_max", equal_var=equal_var).fit(X, y).scores_
        np.testing.assert_allclose(largest, rest.max(axis=0), rtol=1e-12)
        mean = TTest(3, multiclass="ovr_mean", equal_var=equal_var).fit(X, y).scores_
        np.testing.assert_allclose(mean, rest.mean(axis=0), rtol=1e-12)
    # By itself: pairs with one variance, the rest with two.
    np.testing.assert_allclose(mean, TTest(3, multiclass="ovr_mean").fit(X, y).scores_)
    np.testing.assert_allclose(
        TTest(3).fit(X, y).scores_, TTest(3, equal_var=True).fit(X, y).scores_
    )


def test_the_first_two_classes_with_the_sign():
    X, y = problem(4)
    a, b = X[y == 0], X[y == 1]
    t = (a.mean(axis=0) - b.mean(axis=0)) / np.sqrt(a.var(axis=0) / len(a) + b.var(axis=0) / len(b))
    selector = TTest(3, multiclass="first_two").fit(X, y)
    np.testing.assert_allclose(selector.scores_, t, rtol=1e-12)
    assert (selector.scores_ < 0).any()
    assert set(np.flatnonzero(selector.support_)) == set(np.argsort(-t)[:3])


def test_classes_too_small_for_a_variance_are_left_out():
    X, _ = problem()
    y = np.array([0] + [1] * 30 + [2] * 29)
    t = np.abs(stats.ttest_ind(X[y == 1], X[y == 2], equal_var=False).statistic)
    np.testing.assert_allclose(TTest(3, equal_var=False).fit(X, y).scores_, t, rtol=1e-12)
    with pytest.raises(ValueError, match="no two classes with enough samples for a variance"):
        TTest(3).fit(X[:2], [0, 1])
    with pytest.raises(ValueError, match="no two classes with enough samples"):
        TTest(3).fit(X, y, sample_weight=np.full(60, 1e-3))


# ---------------------------------------------------------------------------------------- labels
def test_joint_labels_are_the_printed_formula():
    X, Y = labels()
    Y[:, 3] = 0  # a label that no sample has is dropped
    N = Y.sum(axis=0)[:3]
    m = (Y.T @ X)[:3] / N[:, None]
    centre = N @ m / N.sum()
    between = N @ (m - centre) ** 2
    within = sum(((X[Y[:, k] == 1] - m[k]) ** 2).sum(axis=0) for k in range(3))
    expected = (N.sum() - 3) / (3 - 1) * between / within
    np.testing.assert_allclose(FStatistic(2).fit(X, Y).scores_, expected, rtol=1e-12)


def test_one_label_each_is_analysis_of_variance():
    X, y = problem(4)
    joint = FStatistic(3, task="multilabel").fit(X, np.eye(4)[y])
    np.testing.assert_allclose(joint.scores_, f_classif(X, y)[0], rtol=1e-12)


@pytest.mark.parametrize("aggregate", ["mean", "max"])
def test_each_label_is_a_problem_of_two_classes(aggregate):
    X, Y = labels()
    Y = np.column_stack([Y, np.ones(60, dtype=int)])  # a constant label is left out
    reduce = {"mean": np.mean, "max": np.max}[aggregate]
    F = np.array([f_classif(X, y)[0] for y in Y.T[:4]])
    found = FStatistic(2, multilabel="binary_relevance", aggregate=aggregate).fit(X, Y)
    np.testing.assert_allclose(found.scores_, reduce(F, axis=0), rtol=1e-10)
    np.testing.assert_allclose(found.pvalues_[:4], [f_classif(X, y)[1] for y in Y.T[:4]])
    fisher = FisherScore(2, aggregate=aggregate).fit(X, Y)
    np.testing.assert_allclose(fisher.scores_, reduce(F / 58, axis=0), rtol=1e-10)
    pooled = TTest(2, aggregate=aggregate).fit(X, Y)
    np.testing.assert_allclose(pooled.scores_, reduce(np.sqrt(F), axis=0), rtol=1e-10)
    welch = [
        np.abs(stats.ttest_ind(X[y == 1], X[y == 0], equal_var=False).statistic) for y in Y.T[:4]
    ]
    found = TTest(2, equal_var=False, aggregate=aggregate).fit(X, Y)
    np.testing.assert_allclose(found.scores_, reduce(welch, axis=0), rtol=1e-10)


def test_ranks_of_labels_are_averaged():
    X, Y = labels()
    F = np.array([f_classif(X, y)[0] for y in Y.T])
    ranks = np.argsort(np.argsort(-F, axis=1), axis=1) + 1
    found = FStatistic(2, multilabel="binary_relevance", aggregate="mean_rank").fit(X, Y)
    np.testing.assert_allclose(found.scores_, 1.0 / ranks.mean(axis=0))


def test_two_complementary_labels_are_two_classes():
    X, y = problem(2)
    Y = np.eye(2)[y]
    for cls in (FisherScore, TTest):
        np.testing.assert_allclose(
            cls(3, task="multilabel").fit(X, Y).scores_, cls(3).fit(X, y).scores_, rtol=1e-10
        )


def test_labels_without_differences_are_refused():
    X, Y = labels()
    for cls in (FisherScore, TTest):
        with pytest.raises(ValueError, match="Every label of y is constant"):
            cls(2, task="multilabel").fit(X, np.ones((60, 2)))
    Y[:, 1:] = 0
    with pytest.raises(ValueError, match="needs at least two labels that some sample has"):
        FStatistic(2).fit(X, Y)


# ------------------------------------------------------------------------------- what all promise
@pytest.mark.parametrize(("cls", "options"), SETTINGS)
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_a_weight_is_a_repetition(cls, options, kind):
    rng = np.random.default_rng(0)
    weights = rng.integers(0, 4, size=60)
    for X, y in (problem(), labels()):
        weighted = cls(3, **options).fit(kind(X), y, sample_weight=weights)
        repeated = cls(3, **options).fit(
            kind(np.repeat(X, weights, axis=0)), np.repeat(y, weights, axis=0)
        )
        np.testing.assert_allclose(weighted.scores_, repeated.scores_, rtol=1e-9)
        np.testing.assert_array_equal(weighted.support_, repeated.support_)


def test_weights_for_numbers_are_repetitions():
    X, _ = problem()
    y = X[:, 0] + np.random.default_rng(0).standard_normal(60)
    weights = np.arange(60) % 3
    weighted = FStatistic(2).fit(X, y, sample_weight=weights)
    repeated = f_regression(np.repeat(X, weights, axis=0), np.repeat(y, weights))[0]
    np.testing.assert_allclose(weighted.scores_, repeated, rtol=1e-9)


@pytest.mark.parametrize("cls", ALL)
def test_balanced_classes_weigh_the_same(cls):
    X, y = problem()
    y[:15] = 0
    counts = np.bincount(y)
    balanced = cls(3, class_weight="balanced").fit(X, y)
    weighted = cls(3).fit(X, y, sample_weight=(60 / (3 * counts))[y])
    np.testing.assert_allclose(balanced.scores_, weighted.scores_)
    assert not np.allclose(balanced.scores_, cls(3).fit(X, y).scores_)


@pytest.mark.parametrize(("cls", "options"), SETTINGS)
@pytest.mark.parametrize("scale", [1e-250, 3.7, 1e250])
def test_rescaling_a_column_changes_nothing(cls, options, scale):
    for X, y in (problem(), labels()):
        plain = cls(3, **options).fit(X, y)
        X = X.copy()
        X[:, [0, 5]] *= scale
        rescaled = cls(3, **options).fit(X, y)
        np.testing.assert_allclose(rescaled.scores_, plain.scores_, rtol=1e-9)
        np.testing.assert_array_equal(rescaled.support_, plain.support_)


@pytest.mark.parametrize(("cls", "options"), SETTINGS)
def test_permuted_duplicated_and_constant_columns(cls, options):
    for X, y in (problem(), labels()):
        plain = cls(3, **options).fit(X, y)
        order = np.random.default_rng(0).permutation(8)
        permuted = cls(3, **options).fit(X[:, order], y)
        np.testing.assert_allclose(permuted.scores_, plain.scores_[order])
        np.testing.assert_array_equal(permuted.support_, plain.support_[order])
        wider = np.column_stack([X, X[:, 2], np.full(60, 0.1)])
        wider = cls(3, **options).fit(wider, y)
        np.testing.assert_allclose(wider.scores_, [*plain.scores_, plain.scores_[2], 0.0])


@pytest.mark.parametrize("cls", ALL)
@pytest.mark.parametrize("offset", [0.0, 1e8])
@pytest.mark.parametrize("kind", [np.asarray, np.asfortranarray, sp.csr_array])
def test_separating_columns_come_first_by_their_distance(cls, offset, kind):
    X, y = problem()
    X[:, 2] = offset + np.array([0.1, 0.4, 0.3])[y]
    X[:, 6] = offset + np.array([0.1, 0.9, 0.2])[y]
    X[:, 7] = 1.0 / 3.0
    selector = cls(1).fit(kind(X), y)
    np.testing.assert_array_equal(np.flatnonzero(selector.support_), [6])
    assert np.isposinf(selector.scores_[[2, 6]]).all()
    assert np.isfinite(selector.scores_[[0, 1, 3, 4, 5]]).all()
    assert selector.ranking_[2] == 2
    assert selector.ranking_[7] == 8


@pytest.mark.parametrize("cls", ALL)
def test_a_separating_column_of_one_label(cls):
    X, Y = labels()
    X[:, 5] = 0.1 + 0.2 * Y[:, 0]
    options = {"multilabel": "binary_relevance"} if cls is FStatistic else {}
    selector = cls(1, **options).fit(X, Y)
    assert np.isposinf(selector.scores_[5])
    np.testing.assert_array_equal(np.flatnonzero(selector.support_), [5])


@pytest.mark.filterwarnings("ignore:Precision loss")
def test_classes_alike_without_variance_differ_by_nothing():
    X, y = problem(3)
    X[y != 2, 0] = 0.1  # the same constant in classes 0 and 1
    t = stats.ttest_ind(X[y == 0], X[y == 2]).statistic
    u = stats.ttest_ind(X[y == 1], X[y == 2]).statistic
    scores = TTest(3).fit(X, y).scores_
    np.testing.assert_allclose(scores[0], abs(t[0]) + abs(u[0]), rtol=1e-9)


@pytest.mark.parametrize("cls", [*ALL, InformationGain])
@pytest.mark.parametrize("seed", range(3))
def test_five_planted_columns_of_two_hundred_are_found(cls, seed):
    rng = np.random.default_rng(seed)
    y = np.arange(90) % 3
    means = rng.standard_normal((3, 5))
    means -= means.mean(axis=0)
    means *= 1.2 / np.sqrt((means**2).mean(axis=0))
    X = rng.standard_normal((90, 200))
    planted = rng.choice(200, size=5, replace=False)
    X[:, planted] += means[y]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    assert set(np.flatnonzero(cls(5).fit(X, y).support_)) == set(planted)


def test_too_few_samples_for_an_f_are_refused():
    X, y = problem()
    with pytest.raises(ValueError, match="compares 3 means and needs more samples than that"):
        FStatistic(2, task="classification").fit(X[:3], [0, 1, 2])
    with pytest.raises(ValueError, match=r"the sum of their weights, is 0\.6"):
        FStatistic(2).fit(X, y, sample_weight=np.full(60, 0.01))
    with pytest.raises(ValueError, match="compares 2 means"):
        FStatistic(2).fit(X[:2], [0.5, 1.7])
    # The Fisher score has no degrees of freedom.
    assert np.isposinf(FisherScore(2).fit(X[:3], [0, 1, 2]).scores_).all()


def test_numbers_that_are_constant_are_refused():
    X, _ = problem()
    with pytest.raises(ValueError, match="y is constant"):
        FStatistic(2).fit(X, np.full(60, 0.1))


@pytest.mark.parametrize(
    ("cls", "option", "value", "message"),
    [
        (FStatistic, "multilabel", "both", "multilabel must be one of 'joint'"),
        (FStatistic, "aggregate", "median", "aggregate must be one of 'mean'"),
        (FisherScore, "aggregate", None, "aggregate must be one of 'mean'"),
        (TTest, "multiclass", "all", "multiclass must be one of 'pairwise_sum'"),
        (TTest, "equal_var", 1, "equal_var must be True or False, or 'auto'"),
        (TTest, "ddof", 2, "ddof must be an integer of at least 0 and at most 1"),
        (TTest, "ddof", True, "ddof must be an integer of at least 0 and at most 1"),
        (TTest, "aggregate", "sum", "aggregate must be one of 'mean'"),
    ],
)
def test_wrong_options_are_refused(cls, option, value, message):
    X, y = problem()
    with pytest.raises(ValueError, match=message):
        cls(2, **{option: value}).fit(X, y)


def test_reference_values_on_iris():
    # F and its p-values: scikit-learn's f_classif. Pairwise t: scipy.stats.ttest_ind, summed.
    X, y = load_iris(return_X_y=True)
    np.testing.assert_allclose(
        FStatistic(2).fit(X, y).scores_,
        [119.26450218, 49.16004009, 1180.16118225, 960.00714681],
        rtol=1e-9,
    )
    np.testing.assert_allclose(
        FisherScore(2).fit(X, y).scores_,
        [1.62264629, 0.66884408, 16.05661472, 13.06132172],
        rtol=1e-8,
    )
    np.testing.assert_allclose(
        TTest(2).fit(X, y).scores_,
        [31.53634735, 19.11108569, 102.08268509, 91.49150611],
        rtol=1e-8,
    )


def test_reference_values_on_data(benchmark_data):
    X, y = benchmark_data("srbct")
    F = f_classif(X, y)[0]
    selector = FStatistic(10).fit(X, y)
    np.testing.assert_allclose(selector.scores_, F, rtol=1e-9)
    np.testing.assert_array_equal(
        np.sort(np.argsort(-F, kind="stable")[:10]), selector.get_support(indices=True)
    )
