"""CRFS against its formulae, ridge regression and the l2,1 problem that it tends to."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler

from rowsparse import CRFS
from rowsparse.solvers.sparse.crfs import ROW_EPS, crfs
from rowsparse.solvers.sparse.mtfs import mtfs

from ..cases import plain, planted, regression


def solve(X, Y, gamma, **options):
    options = {"sigma": None, "tol": None, "max_iter": 5, **options}
    return crfs(plain(X), Y, gamma, **options)


def objective(X, Y, W, gamma, sigma):
    e = np.sum((Y - X @ W) ** 2, axis=1)
    fit = -2 * sigma**2 * np.exp(-e / (2 * sigma**2)).sum()
    return fit + 4 * gamma * np.sqrt(np.sum(W**2, axis=1) + 1e-7).sum()


def printed_rounds(X, Y, gamma, rounds, sigma=None, form="primal"):
    """The authors' rounds, in the d x d form or in the n x n form."""
    p, q = np.ones(len(X)), np.ones(X.shape[1])
    for _ in range(rounds):
        if form == "primal":
            W = np.linalg.solve((X.T * p) @ X + gamma * np.diag(q), (X.T * p) @ Y)
        else:
            K = (X / q) @ X.T + gamma * np.diag(1 / p)
            W = (X / q).T @ np.linalg.solve(K, Y)
        e = np.sum((Y - X @ W) ** 2, axis=1)
        width = 4 * e.mean() if sigma is None else 2 * sigma**2
        p, q = np.exp(-e / width), 2 / np.sqrt(np.sum(W**2, axis=1) + 1e-7)
    return W, np.sqrt(width / 2)


@pytest.mark.parametrize("shape", [(40, 15, 3), (15, 40, 3)])
@pytest.mark.parametrize("sigma", [None, 1.5])
@pytest.mark.parametrize("form", ["primal", "dual"])
def test_rounds_are_those_of_the_authors(shape, sigma, form):
    X, Y = regression(*shape)
    solution = solve(X, Y, 0.5, sigma=sigma)
    W, width = printed_rounds(X, Y, 0.5, 5, sigma, form)
    np.testing.assert_allclose(solution.W, W, atol=1e-9)
    assert solution.attributes["sigma_"] == pytest.approx(width)
    assert solution.objective == pytest.approx(objective(X, Y, W, 0.5, width))
    assert solution.n_iter == 5 == len(solution.history)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("shape", [(40, 15, 3), (15, 40, 2)])
def test_a_fixed_width_never_raises_the_objective(shape, seed):
    X, Y = regression(*shape, seed)
    history = solve(X, Y, 0.3, sigma=1.0, max_iter=40).history
    assert np.all(np.diff(history) <= 1e-9 * np.abs(history[0]))
    assert history[-1] < history[0]


def test_the_first_round_is_ridge_regression():
    X, Y = regression()
    ridge = Ridge(alpha=0.7, fit_intercept=False).fit(X, Y)
    np.testing.assert_allclose(solve(X, Y, 0.7, max_iter=1).W, ridge.coef_.T, atol=1e-10)


def test_a_wide_kernel_tends_to_the_l21_problem():
    X, Y = regression()
    wide = solve(X, Y, 4.0, sigma=1e6, max_iter=1500)
    convex = mtfs(plain(X), Y, 8.0, k=1, penalty="l21", tol=1e-10, max_iter=100)

    def value(W):
        smooth = np.sqrt(np.sum(W**2, axis=1) + ROW_EPS).sum()
        return 0.5 * np.sum((Y - X @ W) ** 2) + 8.0 * smooth

    assert value(wide.W) <= value(convex.W)
    assert convex.objective <= value(wide.W)
    np.testing.assert_allclose(wide.W, convex.W, atol=5e-3)


def test_weights_are_inside_the_sum_and_not_inside_the_kernel():
    X, Y = regression()
    omega = np.random.default_rng(0).integers(1, 4, len(X)).astype(float)
    rows = np.repeat(np.arange(len(X)), omega.astype(int))
    for sigma in (None, 1.0):
        weighted = solve(X, Y, 0.5, weights=omega, sigma=sigma)
        repeated = solve(X[rows], Y[rows], 0.5, sigma=sigma)
        np.testing.assert_allclose(weighted.W, repeated.W, atol=1e-9)
        assert weighted.objective == pytest.approx(repeated.objective)


def test_weights_that_underflow_do_no_harm():
    X, Y = regression()
    Y[:5] += 1e4
    solution = solve(X, Y, 0.5, sigma=1.0)
    assert np.isfinite(solution.W).all()
    np.testing.assert_array_equal(solve(X, 0 * Y, 0.5).W, 0.0)


# ------------------------------------------------------------------------------ the class
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_planted_features_are_found(seed):
    X, y = planted(seed)
    assert CRFS(5).fit(X, y).support_[:5].sum() >= 4
    flipped = y.copy()
    wrong = np.random.default_rng(seed).choice(90, 13, replace=False)
    flipped[wrong] = (y[wrong] + 1) % 3
    assert CRFS(5).fit(X, flipped).support_[:5].sum() >= 2


def test_outliers_pull_less_with_a_narrow_kernel():
    X, Y = regression(60, 10, 1)
    clean = solve(X, Y, 0.1, sigma=1.0, max_iter=30).W
    Y[:4] += 50.0
    narrow = solve(X, Y, 0.1, sigma=1.0, max_iter=30).W
    wide = solve(X, Y, 0.1, sigma=1e5, max_iter=30).W
    assert np.abs(narrow - clean).max() < 0.2 * np.abs(wide - clean).max()


def test_intercept_is_centring_once():
    X, Y = regression()
    Y = Y + 7.0
    plain_fit = CRFS(4, standardize=False).fit(X, Y)
    np.testing.assert_array_equal(plain_fit.intercept_, 0.0)
    centred = CRFS(4, standardize=False, fit_intercept=True).fit(X, Y)
    same = CRFS(4, standardize=False).fit(X - X.mean(axis=0), Y - Y.mean(axis=0))
    np.testing.assert_allclose(centred.coef_, same.coef_, atol=1e-10)
    residual = Y - X @ centred.coef_.T - centred.intercept_
    np.testing.assert_allclose(residual.mean(axis=0), 0, atol=1e-10)


def test_five_rounds_are_the_method_and_no_shortfall():
    X, y = planted()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        selector = CRFS(5).fit(X, y)
    assert selector.converged_
    assert selector.n_iter_ == 5
    assert CRFS(5, max_iter=9).fit(X, y).n_iter_ == 9
    with pytest.warns(ConvergenceWarning, match="did not converge in 5 iterations"):
        CRFS(5, tol=1e-12).fit(X, y)
    assert CRFS(5, tol=1e-3, max_iter=500).fit(X, y).n_iter_ < 500


def test_sigma_is_in_the_units_of_the_targets():
    X, Y = regression()
    Z = StandardScaler().fit_transform(X)
    selector = CRFS(4, sigma=2.0).fit(X, Y)
    assert selector.sigma_ == pytest.approx(2.0)
    W = selector.coef_.T * X.std(axis=0)[:, None]
    # X is centred and b is zero: the intercept only undoes the centring.
    assert selector.objective_ == pytest.approx(objective(Z, Y, W, 0.01, 2.0))
    huge = CRFS(4, sigma=2.0 * 2.0**300).fit(X, Y * 2.0**300)
    assert huge.sigma_ == pytest.approx(2.0 * 2.0**300)
    np.testing.assert_array_equal(huge.support_, selector.support_)


def test_reference_values():
    # Both from the authors' d x d formula on standardised data, see printed_rounds.
    X, y = load_iris(return_X_y=True)
    Z, Y = StandardScaler().fit_transform(X), np.eye(3)[y]
    selector = CRFS(2).fit(X, y)
    W, sigma = printed_rounds(Z, Y, 0.01, 5)
    assert selector.objective_ == pytest.approx(-285.5682011897)
    assert selector.objective_ == pytest.approx(objective(Z, Y, W, 0.01, sigma))
    expected = [0.0646014252, 0.2541147029, 0.6219609932, 0.6508582670]
    np.testing.assert_allclose(selector.scores_, expected, atol=1e-8)
    np.testing.assert_allclose(np.linalg.norm(W, axis=1), expected, atol=1e-8)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gamma": 0.0}, "gamma must be a number above 0"),
        ({"sigma": "wide"}, "sigma must be 'adaptive', or a number above 0"),
        ({"sigma": 0.0}, "sigma must be 'adaptive', or a number above 0"),
        ({"sigma": None}, "sigma must be 'adaptive', or a number above 0"),
        ({"tol": 0.0}, "tol must be a number above 0 or None"),
        ({"max_iter": 0}, "max_iter must be an integer of at least 1"),
    ],
)
def test_wrong_parameters_are_refused(options, message):
    X, y = planted()
    with pytest.raises((TypeError, ValueError), match=message):
        CRFS(2, **options).fit(X, y)
