"""CRFS against its formulae, ridge regression and the l2,1 problem that it tends to."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from rowsparse import CRFS
from rowsparse.solvers.sparse.crfs_solver import ROW_EPS, crfs
from rowsparse.solvers.sparse.mtfs_solver import mtfs

from ..cases import plain, planted, regression


def solve(X, Y, gamma, **options):
    options = {"sigma": None, "tol": None, "max_iter": 5, **options}
    return crfs(plain(X), Y, gamma=gamma, **options)


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


def test_a_wide_kernel_tends_to_the_l21_problem():
    X, Y = regression()
    wide = solve(X, Y, 4.0, sigma=1e6, max_iter=1500)
    convex = mtfs(plain(X), Y, gamma=8.0, k=1, penalty="l21", tol=1e-10, max_iter=100)

    def value(W):
        smooth = np.sqrt(np.sum(W**2, axis=1) + ROW_EPS).sum()
        return 0.5 * np.sum((Y - X @ W) ** 2) + 8.0 * smooth

    assert value(wide.W) <= value(convex.W)
    assert convex.objective <= value(wide.W)
    np.testing.assert_allclose(wide.W, convex.W, atol=5e-3)


# ------------------------------------------------------------------------------ the class
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
