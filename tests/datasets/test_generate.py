"""Data with planted features: the parameters do what they say."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LinearRegression

from rowsparse import TopK
from rowsparse.datasets import make_row_sparse

TASKS = ("classification", "multilabel", "regression")


def toeplitz(d, rho):
    return rho ** np.abs(np.subtract.outer(np.arange(d), np.arange(d)))


# ----------------------------------------------------------------------------- the support
@pytest.mark.parametrize("correlation", [0.0, 0.6])
@pytest.mark.parametrize("task", TASKS)
def test_planted_features_are_found_when_the_signal_is_strong(task, correlation):
    X, y, planted = make_row_sparse(
        600, 80, 6, 4, task=task, signal=6.0, correlation=correlation, random_state=0
    )
    found = TopK(6, alpha=1e-3, random_state=0).fit(X, y).support_
    np.testing.assert_array_equal(found, planted)


@pytest.mark.parametrize("task", TASKS)
def test_shapes_and_types(task):
    X, y, planted, coef = make_row_sparse(30, 12, 5, 3, task=task, return_coef=True, random_state=1)
    assert X.shape == (30, 12)
    assert X.flags.c_contiguous
    assert (planted.dtype, planted.shape, planted.sum()) == (np.bool_, (12,), 5)
    assert coef.shape == (3, 12)
    np.testing.assert_array_equal(np.any(coef != 0, axis=0), planted)
    norms = np.linalg.norm(coef[:, planted], axis=0)
    np.testing.assert_allclose(norms, norms[0])
    if task == "classification":
        assert y.shape == (30,)
        assert set(y.tolist()) == {0, 1, 2}
        np.testing.assert_allclose(coef.sum(axis=0), 0, atol=1e-12)
    else:
        assert y.shape == (30, 3)
    if task == "multilabel":
        assert set(y.ravel().tolist()) == {0, 1}


def test_one_number_to_predict_has_one_dimension():
    assert make_row_sparse(20, 5, 2, 1, task="regression", random_state=0)[1].shape == (20,)


def test_every_place_can_be_planted():
    hits = sum(make_row_sparse(5, 10, 3, random_state=seed)[2].astype(int) for seed in range(200))
    assert hits.sum() == 600
    # 60 expected with a standard deviation of 6.5.
    assert hits.min() > 30
    assert hits.max() < 90


def test_all_features_may_be_planted():
    assert make_row_sparse(20, 4, 4, random_state=0)[2].all()


# --------------------------------------------------------------------------- the randomness
@pytest.mark.parametrize("task", TASKS)
def test_the_same_seed_gives_the_same_data_and_another_seed_others(task):
    options = {"task": task, "correlation": 0.3, "outliers": 0.1, "return_coef": True}
    one, again, other = (
        make_row_sparse(40, 20, 3, random_state=seed, **options) for seed in (5, 5, 6)
    )
    for a, b in zip(one, again, strict=True):
        np.testing.assert_array_equal(a, b)
    assert not np.array_equal(one[0], other[0])


def test_reference_values():
    X, y, planted, coef = make_row_sparse(
        8, 6, 2, 2, signal=2.0, correlation=0.5, return_coef=True, random_state=0
    )
    # The coefficients by hand: opposite rows for two classes, of distance 2 in the metric Σ.
    rows = coef[:, planted].T
    cov = toeplitz(6, 0.5)[np.ix_(planted, planted)]
    difference = rows[:, 0] - rows[:, 1]
    assert difference @ cov @ difference == pytest.approx(4.0)
    assert np.flatnonzero(planted).tolist() == [1, 2]
    assert y.tolist() == [0, 1, 1, 1, 0, 0, 0, 1]
    np.testing.assert_allclose(X[0, :3], [0.7138, 1.7774, 2.0157], atol=1e-4)


# -------------------------------------------------------------------------- the correlation
@pytest.mark.parametrize("rho", [-0.5, 0.0, 0.7])
def test_columns_have_unit_variance_and_correlation_falling_with_distance(rho):
    X = make_row_sparse(40000, 6, 2, 2, task="regression", correlation=rho, random_state=0)[0]
    np.testing.assert_allclose(np.cov(X.T), toeplitz(6, rho), atol=0.03)
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=0.03)


@pytest.mark.parametrize("rho", [0.0, 0.7])
def test_within_a_class_columns_have_the_same_covariance_and_the_means_are_sigma_w(rho):
    X, y, _, coef = make_row_sparse(
        40000, 6, 2, 3, correlation=rho, signal=2.0, return_coef=True, random_state=3
    )
    for c in range(3):
        np.testing.assert_allclose(np.cov(X[y == c].T), toeplitz(6, rho), atol=0.05)
        np.testing.assert_allclose(X[y == c].mean(axis=0), toeplitz(6, rho) @ coef[c], atol=0.05)


@pytest.mark.parametrize("task", TASKS)
def test_given_the_planted_features_the_others_have_no_coefficient(task):
    X, y, planted, _ = make_row_sparse(
        50000, 8, 2, 3, task=task, correlation=0.8, signal=2.0, return_coef=True, random_state=1
    )
    Y = np.eye(3)[y] if task == "classification" else y
    fitted = np.abs(LinearRegression().fit(X, Y).coef_).max(axis=0)
    assert fitted[~planted].max() < 0.02
    assert fitted[planted].min() > 0.1
    # Alone, the neighbours do resemble them.
    alone = np.abs(np.corrcoef(X.T, Y.T)[:8, 8:]).max(axis=1)
    assert alone[~planted].max() > 0.2


# ------------------------------------------------------------------------------- the signal
@pytest.mark.parametrize("signal", [0.5, 2.0])
@pytest.mark.parametrize("rho", [0.0, 0.5])
def test_two_classes_are_told_apart_with_the_error_of_theory(signal, rho):
    X, y, _, coef = make_row_sparse(
        20000, 10, 4, 2, signal=signal, correlation=rho, return_coef=True, random_state=2
    )
    score = X @ (coef[1] - coef[0])
    error = np.mean((score > 0) != (y == 1))
    # Equal classes and symmetric means: the best rule has its threshold at 0.
    assert error == pytest.approx(norm.cdf(-signal / 2), abs=0.015)
    learned = LinearDiscriminantAnalysis().fit(X, y).score(X, y)
    assert 1 - learned == pytest.approx(error, abs=0.01)


def test_many_classes_have_the_mean_square_distance_asked_for():
    coef = make_row_sparse(
        50, 30, 8, 5, signal=4.0, correlation=0.4, return_coef=True, random_state=0
    )[3]
    cov = toeplitz(30, 0.4)
    pairs = [coef[a] - coef[b] for a in range(5) for b in range(a)]
    assert np.mean([p @ cov @ p for p in pairs]) == pytest.approx(16.0)


@pytest.mark.parametrize("signal", [0.5, 3.0])
def test_numbers_have_the_signal_to_noise_asked_for(signal):
    X, Y, _, coef = make_row_sparse(
        20000,
        10,
        4,
        3,
        task="regression",
        signal=signal,
        correlation=0.5,
        return_coef=True,
        random_state=0,
    )
    fit = X @ coef.T
    np.testing.assert_allclose(fit.std(axis=0) / (Y - fit).std(axis=0), signal, rtol=0.03)


@pytest.mark.parametrize("signal", [0.5, 3.0])
def test_labels_are_the_sign_of_a_noisy_linear_score(signal):
    X, Y, _, coef = make_row_sparse(
        20000, 10, 4, 3, task="multilabel", signal=signal, return_coef=True, random_state=0
    )
    agree = np.mean((X @ coef.T > 0) == Y, axis=0)
    # Two Gaussians of correlation r have equal signs with probability 1/2 + arcsin(r)/pi.
    r = signal / np.sqrt(1 + signal**2)
    np.testing.assert_allclose(agree, 0.5 + np.arcsin(r) / np.pi, atol=0.015)


# ----------------------------------------------------------------------------- the outliers
@pytest.mark.parametrize("share", [0.05, 0.5, 1.0])
@pytest.mark.parametrize("task", TASKS)
def test_outliers_change_just_that_share_of_y_and_nothing_else(task, share):
    options = {"task": task, "correlation": 0.4, "return_coef": True}
    clean = make_row_sparse(200, 20, 3, 4, random_state=7, **options)
    spoilt = make_row_sparse(200, 20, 3, 4, random_state=7, outliers=share, **options)
    for i in (0, 2, 3):  # X, support, coef
        np.testing.assert_array_equal(clean[i], spoilt[i])
    change = (spoilt[1].astype(float) - clean[1].astype(float)).reshape(200, -1)
    wrong = np.any(change != 0, axis=1)
    assert wrong.sum() == round(share * 200)
    if task == "multilabel":
        assert (np.abs(change[wrong]) == 1).all()
    if task == "regression":
        sizes = np.abs(change[wrong]) / clean[1].std(axis=0)
        np.testing.assert_allclose(sizes, 10.0)
        assert {-1.0, 1.0} == set(np.sign(change[wrong]).ravel())


def test_wrong_classes_are_spread_over_the_others():
    _, before, _ = make_row_sparse(3000, 3, 1, 4, random_state=0)
    _, after, _ = make_row_sparse(3000, 3, 1, 4, outliers=1.0, random_state=0)
    shift = np.bincount((after - before) % 4, minlength=4)
    assert shift[0] == 0
    assert shift[1:].min() > 900


# ---------------------------------------------------------------------------- the imbalance
def sizes(n, c, imbalance, **options):
    y = make_row_sparse(n, 5, 2, c, imbalance=imbalance, random_state=0, **options)[1]
    return np.bincount(y) if y.ndim == 1 else y.sum(axis=0)


def test_classes_are_of_equal_size_unless_told_otherwise():
    assert sizes(90, 3, 1).tolist() == [30, 30, 30]
    assert sorted(sizes(91, 3, 1).tolist()) == [30, 30, 31]


def test_a_ratio_makes_class_sizes_fall_geometrically():
    assert sizes(700, 3, 4).tolist() == [400, 200, 100]
    assert sizes(100, 2, 9.0).tolist() == [90, 10]


def test_shares_are_met():
    assert sizes(200, 3, [0.5, 0.2, 0.3]).tolist() == [100, 40, 60]
    labels = sizes(200, 3, (0.1, 0.5, 0.9), task="multilabel")
    assert labels.tolist() == [20, 100, 180]


def test_a_ratio_is_that_of_negative_to_positive_samples_of_each_label():
    assert sizes(200, 3, 9, task="multilabel").tolist() == [20, 20, 20]


def test_no_class_is_left_empty():
    assert sizes(10, 3, 1e6).tolist() == [8, 1, 1]
    assert sizes(3, 3, [0.98, 0.01, 0.01]).tolist() == [1, 1, 1]
    assert sizes(10, 2, 1e6, task="multilabel").tolist() == [1, 1]
    assert sizes(10, 2, [0.999, 0.5], task="multilabel").tolist() == [9, 5]


def test_classes_come_in_random_order():
    y = make_row_sparse(200, 5, 2, 2, random_state=0)[1]
    assert 70 < np.count_nonzero(np.diff(y)) < 130


# ------------------------------------------------------------------------------- bad input
@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"n_samples": 2}, ValueError, "n_samples must be an integer of at least 3"),
        ({"n_samples": 10.0}, ValueError, "n_samples must be an integer"),
        ({"n_samples": "many"}, TypeError, "n_samples must be an integer"),
        ({"n_features": 0}, ValueError, "n_features must be an integer of at least 1"),
        ({"n_informative": 0}, ValueError, "n_informative must be an integer of at least 1"),
        ({"n_informative": 11}, ValueError, r"n_informative must be .* at most 10; got 11"),
        ({"n_targets": 1}, ValueError, "n_targets must be an integer of at least 2"),
        ({"task": "clustering"}, ValueError, "task must be one of 'classification'"),
        ({"signal": 0}, ValueError, "signal must be a number above 0"),
        ({"signal": np.inf}, ValueError, "signal must be a number above 0"),
        ({"correlation": 1.0}, ValueError, "correlation must be between -1 and 1"),
        ({"correlation": -1}, ValueError, "correlation must be between -1 and 1"),
        ({"correlation": np.nan}, ValueError, "correlation must be a number"),
        ({"outliers": 1.5}, ValueError, "outliers must be a number of at least 0 and at most 1"),
        ({"imbalance": 0.5}, ValueError, "imbalance must be a number of at least 1"),
        ({"imbalance": "much"}, TypeError, "imbalance must be a number"),
        ({"imbalance": [0.5, 0.5]}, ValueError, "or 3 shares between 0 and 1"),
        ({"imbalance": [0.5, 0.5, 0.0]}, ValueError, "or 3 shares between 0 and 1"),
        ({"imbalance": [0.5, 0.5, 0.5]}, ValueError, "shares that sum to 1"),
        ({"imbalance": ["a", "b", "c"]}, ValueError, "or 3 shares between 0 and 1"),
        ({"imbalance": 2, "task": "regression"}, ValueError, "imbalance must be 1 for task"),
        ({"imbalance": [0.1] * 3, "task": "regression"}, ValueError, "imbalance must be 1"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(changes, error, words):
    options = {"n_samples": 20, "n_features": 10, "n_informative": 3, "n_targets": 3} | changes
    with pytest.raises(error, match=words) as caught:
        make_row_sparse(**options)
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)
