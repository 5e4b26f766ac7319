"""MTFS against scikit-learn, the alternation of Argyriou et al. and its own dual."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import MultiTaskLasso
from sklearn.preprocessing import StandardScaler

from rowsparse import MTFS
from rowsparse.solvers.sparse.mtfs_solver import mtfs

from ..cases import norm21, plain, planted, regression

PENALTIES = ["l21", "l21_squared"]


def solve(X, Y, gamma, **options):
    options = {"k": 1, "penalty": "l21", "tol": 1e-6, "max_iter": 100, **options}
    return mtfs(plain(X), Y, gamma=gamma, **options)


def alternation(X, Y, gam, rounds=4000, eps=1e-26):
    """D_j = ||w_j|| / ||W||_21, W = D X'(X D X' + gam I)^-1 Y, of Argyriou et al."""
    D = np.full(X.shape[1], 1.0 / X.shape[1])
    for _ in range(rounds):
        W = D[:, None] * (X.T @ np.linalg.solve((X * D) @ X.T + gam * np.eye(len(X)), Y))
        norms = np.sqrt(np.sum(W**2, axis=1) + eps)
        last, D = D, norms / norms.sum()
        if np.abs(D - last).max() < 1e-12:
            break
    return W


# ------------------------------------------------------------------------ the solution
@pytest.mark.parametrize("share", [0.6, 0.1])
def test_is_scikit_learns_multi_task_lasso(share):
    X, y = load_iris(return_X_y=True)
    Z, Y = StandardScaler().fit_transform(X), np.eye(3)[y]
    gamma = share * np.linalg.norm(Z.T @ (Y - Y.mean(axis=0)), axis=1).max()
    ours = MTFS(2, gamma=gamma, tol=1e-12).fit(X, y)
    theirs = MultiTaskLasso(alpha=gamma / len(y), tol=1e-12, max_iter=100000).fit(Z, Y)
    np.testing.assert_allclose(ours.coef_ * X.std(axis=0), theirs.coef_, atol=1e-6)
    np.testing.assert_allclose(
        X @ ours.coef_.T + ours.intercept_, Z @ theirs.coef_.T + theirs.intercept_, atol=1e-6
    )
    assert ours.gamma_ == gamma


@pytest.mark.parametrize("penalty", PENALTIES)
def test_gap_recomputed_from_scratch(penalty):
    X, Y = regression()
    gamma = 8.0 if penalty == "l21" else 1.5
    solution = solve(X, Y, gamma, penalty=penalty, tol=1e-6)
    W, T = solution.W, solution.attributes["dual_coef_"]
    value = 0.5 * np.sum((Y - X @ W) ** 2)
    dual = np.vdot(Y, T) - 0.5 * np.sum(T**2)
    peak = np.linalg.norm(X.T @ T, axis=1).max()
    if penalty == "l21":
        value += gamma * norm21(W)
        assert peak <= gamma * (1 + 1e-12)
    else:
        value += 0.5 * gamma * norm21(W) ** 2
        dual -= 0.5 * peak**2 / gamma
    assert solution.objective == pytest.approx(value, rel=1e-12)
    assert solution.attributes["gap_"] == pytest.approx(value - dual, abs=1e-9 * value)
    assert solution.converged
    assert -1e-12 * value <= value - dual <= 1e-6 * value


@pytest.mark.parametrize("gam", [3.0, 10.0])
def test_squared_norm_agrees_with_the_alternation(gam):
    X, Y = regression()
    W = solve(X, Y, gam, penalty="l21_squared", tol=1e-14).W
    np.testing.assert_allclose(W, alternation(X, Y, gam), atol=1e-6)


def test_squared_norm_has_the_same_path():
    X, Y = regression()
    squared = solve(X, Y, 1.5, penalty="l21_squared", tol=1e-13)
    same = solve(X, Y, 1.5 * norm21(squared.W), tol=1e-13)
    np.testing.assert_allclose(squared.W, same.W, atol=1e-6)
    tuned, tuned_squared = (solve(X, Y, None, k=4, penalty=p) for p in PENALTIES)
    np.testing.assert_array_equal(tuned.W, tuned_squared.W)
    factor = tuned.attributes["gamma_"] / tuned_squared.attributes["gamma_"]
    assert factor == pytest.approx(norm21(tuned.W))
    assert tuned_squared.attributes["gap_"] <= 2e-6 * tuned_squared.objective


# ------------------------------------------------------------------------- exactly k rows
@pytest.mark.parametrize("k", [1, 3, 5, 12, 40])
def test_gamma_is_tuned_to_exactly_k_rows(k):
    X, y = planted()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        selector = MTFS(k).fit(X, y)
    assert selector.n_active_ == k == np.count_nonzero(selector.coef_.any(axis=0))
    np.testing.assert_array_equal(selector.support_, selector.coef_.any(axis=0))
    assert selector.gap_ <= 1e-6
    again = MTFS(k, gamma=selector.gamma_).fit(X, y)
    np.testing.assert_array_equal(again.support_, selector.support_)


def test_rows_that_enter_together_are_cut_by_their_norm():
    X, y = planted()
    twice = np.hstack([X, X[:, :5]])
    selector = MTFS(3).fit(twice, y)
    assert selector.n_active_ == 4
    assert selector.support_.sum() == 3
    assert set(np.flatnonzero(selector.support_)) < set(np.flatnonzero(selector.coef_.any(axis=0)))


def test_a_penalty_that_leaves_too_few_rows_warns():
    X, y = planted()
    with pytest.warns(UserWarning, match="MTFS has 0 non-zero rows at this penalty"):
        selector = MTFS(2, gamma=1e4).fit(X, y)
    assert selector.n_active_ == 0
    Yc = np.eye(3)[y] - 1 / 3
    strongest = np.argsort(-np.linalg.norm(X.T @ Yc, axis=1))[:2]
    assert set(np.flatnonzero(selector.support_)) == set(strongest)


# ------------------------------------------------------------------------------- the rest
@pytest.mark.parametrize("penalty", PENALTIES)
def test_a_given_penalty_is_in_the_units_of_the_data(penalty):
    X, Y = regression()
    x, y = 2.0**300, 2.0**-250
    factor = x * y if penalty == "l21" else x * x
    options = {"penalty": penalty, "standardize": False, "tol": 1e-10}
    ordinary = MTFS(3, gamma=2.0, **options).fit(X, Y)
    extreme = MTFS(3, gamma=2.0 * factor, **options).fit(X * x, Y * y)
    assert extreme.gamma_ == pytest.approx(2.0 * factor)
    np.testing.assert_allclose(extreme.coef_ * x / y, ordinary.coef_, atol=1e-5)
    assert extreme.objective_ / y / y == pytest.approx(ordinary.objective_, rel=1e-8)
    np.testing.assert_allclose(extreme.dual_coef_ / y, ordinary.dual_coef_, atol=1e-3)
