"""Data with planted features: the parameters do what they say."""

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
    again, other = (
        make_row_sparse(30, 12, 5, 3, task=task, return_coef=True, random_state=seed)
        for seed in (1, 2)
    )
    for one, two in zip((X, y, planted, coef), again, strict=True):
        np.testing.assert_array_equal(one, two)
    assert not np.array_equal(X, other[0])
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
@pytest.mark.parametrize(
    ("n", "imbalance", "task", "sizes"),
    [
        (90, 1, "classification", [30, 30, 30]),
        (91, 1, "classification", [31, 30, 30]),
        (700, 4, "classification", [400, 200, 100]),
        (100, 9.0, "classification", [90, 10]),
        (200, [0.5, 0.2, 0.3], "classification", [100, 40, 60]),
        (200, (0.1, 0.5, 0.9), "multilabel", [20, 100, 180]),
        # A ratio is that of negative to positive samples of each label.
        (200, 9, "multilabel", [20, 20, 20]),
        # No class is left empty.
        (10, 1e6, "classification", [8, 1, 1]),
        (3, [0.98, 0.01, 0.01], "classification", [1, 1, 1]),
        (10, 1e6, "multilabel", [1, 1]),
        (10, [0.999, 0.5], "multilabel", [9, 5]),
    ],
)
def test_classes_have_the_sizes_asked_for_in_random_order(n, imbalance, task, sizes):
    c = len(sizes)
    y = make_row_sparse(n, 5, 2, c, task=task, imbalance=imbalance, random_state=0)[1]
    found = np.bincount(y) if task == "classification" else y.sum(axis=0)
    assert sorted(found.tolist()) == sorted(sizes)
    if n != 91:  # which class has the sample that is left over is drawn
        assert found.tolist() == sizes
    if n > 50 and task == "classification":
        changes = np.count_nonzero(np.diff(y))
        assert changes > min(sizes)


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
