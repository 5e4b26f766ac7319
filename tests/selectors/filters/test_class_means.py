"""FStatistic, FisherScore and TTest against SciPy, scikit-learn and each other."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import stats
from sklearn.feature_selection import f_classif, f_regression

from rowsparse import FisherScore, FStatistic, InformationGain, TTest
from tests.selectors.cases import labels_of_columns as labels
from tests.selectors.cases import unequal_classes as problem

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


# ----------------------------------------------------------------------------- analysis of variance
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


# ------------------------------------------------------------------------------------------ Student
@pytest.mark.parametrize("equal_var", [True, False])
def test_t_of_two_classes_is_that_of_scipy(equal_var):
    X, y = problem(2)
    t = stats.ttest_ind(X[y == 0], X[y == 1], equal_var=equal_var).statistic
    for multiclass in ("pairwise_sum", "ovr_max", "ovr_mean"):
        selector = TTest(3, equal_var=equal_var, multiclass=multiclass).fit(X, y)
        np.testing.assert_allclose(selector.scores_, np.abs(t), rtol=1e-12)


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


# ------------------------------------------------------------------------------------------- labels
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


def test_each_label_has_its_p_values():
    X, Y = labels()
    found = FStatistic(2, multilabel="binary_relevance").fit(X, Y)
    np.testing.assert_allclose(found.pvalues_, [f_classif(X, y)[1] for y in Y.T])


def test_labels_without_differences_are_refused():
    X, Y = labels()
    for cls in (FisherScore, TTest, InformationGain):
        with pytest.raises(ValueError, match="Every label of y is constant"):
            cls(2, task="multilabel").fit(X, np.ones((60, 2)))
    Y[:, 1:] = 0
    with pytest.raises(ValueError, match="needs at least two labels that some sample has"):
        FStatistic(2).fit(X, Y)


# --------------------------------------------------------------------------------- what all promise
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


@pytest.mark.filterwarnings("ignore:Precision loss")
def test_classes_alike_without_variance_differ_by_nothing():
    X, y = problem(3)
    X[y != 2, 0] = 0.1  # the same constant in classes 0 and 1
    t = stats.ttest_ind(X[y == 0], X[y == 2]).statistic
    u = stats.ttest_ind(X[y == 1], X[y == 2]).statistic
    scores = TTest(3).fit(X, y).scores_
    np.testing.assert_allclose(scores[0], abs(t[0]) + abs(u[0]), rtol=1e-9)


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
