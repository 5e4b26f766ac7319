"""SFS: fixed points, its start, brute force, and the penalty on the count."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

from rowsparse import MTFS, SmoothedL20
from rowsparse.rows import project_l20
from rowsparse.solvers.sparse.smoothed_l20 import smoothed_l20

from ..cases import best_loss, loss_at, plain, planted, regression

slow_steps = pytest.mark.filterwarnings("ignore:.*did not converge")


def solve(X, Y, k, **options):
    options = {"gamma": None, "tol": 1e-8, "max_iter": 1000, **options}
    return smoothed_l20(plain(X), Y, k, **options)


@pytest.mark.parametrize("options", [{}, {"gamma": 2.0}])
def test_ends_in_a_fixed_point(options):
    X, Y = regression()
    L = np.linalg.norm(X, 2) ** 2
    solution = solve(X, Y, 4, tol=1e-15, max_iter=20000, **options)
    V = solution.W - X.T @ (X @ solution.W - Y) / L
    if options:
        kept = np.sum(V**2, axis=1) > 2 * options["gamma"] / L
        V = V * kept[:, None]
        charge = 2 * options["gamma"] * kept.sum()
    else:
        V, charge = project_l20(V, 4), 0.0
    np.testing.assert_allclose(V, solution.W, atol=1e-6)
    assert solution.objective == pytest.approx(loss_at(X, Y, solution.W) + charge, rel=1e-10)
    assert np.all(np.diff(solution.history) <= 1e-12 * solution.history[0])


def test_is_projected_gradient_with_the_same_start_and_step():
    X, y = planted()
    Y = np.eye(3)[y] - 1 / 3
    solution = solve(X, Y, 5, tol=1e-300, max_iter=200)
    start = project_l20(MTFS(5, standardize=False).fit(X, y).coef_.T, 5)
    W, L = start, plain(X).spectral_norm() ** 2
    for _ in range(200):
        W = project_l20(W - X.T @ (X @ W - Y) / L, 5)
    np.testing.assert_allclose(solution.W, W, atol=1e-5)


def test_all_features_give_least_squares():
    X, Y = regression(60, 6, 2)
    B = np.linalg.lstsq(X, Y, rcond=None)[0]
    solution = solve(X, Y, 6, tol=1e-14, max_iter=5000)
    np.testing.assert_allclose(solution.W, B, atol=1e-5)
    least = solution.attributes["refitted_objective_"]
    assert least == pytest.approx(loss_at(X, Y, B), rel=1e-10)


@pytest.mark.parametrize("k", [1, 2, 4])
def test_the_answer_is_never_better_than_the_best_subset(k):
    X, Y = regression(25, 9, 2, seed=3)
    solution = solve(X, Y, k)
    refitted = solution.attributes["refitted_objective_"]
    assert best_loss(X, Y, k) - 1e-9 <= refitted <= solution.objective + 1e-9
    assert np.count_nonzero(solution.W.any(axis=1)) == k


@slow_steps
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_planted_features_are_found(seed):
    X, y = planted(seed)
    assert SmoothedL20(5).fit(X, y).support_[:5].all()


def test_starts_at_the_l21_solution():
    X, y = planted()
    start = MTFS(5).fit(X, y)
    with pytest.warns(ConvergenceWarning):
        one = SmoothedL20(5, max_iter=1).fit(X, y)
    Y = np.eye(3)[y] - 1 / 3
    W = start.coef_.T * X.std(axis=0)[:, None]
    L = np.linalg.norm(X, 2) ** 2
    expected = project_l20(W - X.T @ (X @ W - Y) / L, 5)
    np.testing.assert_allclose(one.coef_.T, expected, atol=1e-5)
    assert one.refitted_objective_ < one.objective_


@pytest.mark.filterwarnings("ignore:.*non-zero rows at this penalty")
def test_a_heavier_count_leaves_fewer_rows():
    X, y = planted()
    counts = []
    for gamma in (1e-4, 1e-2, 0.1):
        selector = SmoothedL20(8, gamma=gamma, tol=1e-5, max_iter=20000).fit(X, y)
        active = np.count_nonzero(selector.coef_.any(axis=0))
        counts.append(active)
        R = np.eye(3)[y] - X @ selector.coef_.T - selector.intercept_
        assert selector.objective_ == pytest.approx(np.sum(R**2) + 2 * gamma * active, rel=1e-9)
        assert selector.support_.sum() == 8
    assert counts[0] > counts[1] > counts[2]


def test_a_count_that_leaves_too_few_rows_warns():
    X, y = planted()
    with pytest.warns(UserWarning, match="non-zero rows at this penalty"):
        SmoothedL20(5, gamma=100.0).fit(X, y)


def test_reference_values():
    # The residual sum of squares of a least squares fit on the support.
    X, y = load_iris(return_X_y=True)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    selector = SmoothedL20(2).fit(X, y)
    assert selector.get_support(indices=True).tolist() == [2, 3]
    rest = np.linalg.lstsq(Z[:, 2:], np.eye(3)[y] - 1 / 3, rcond=None)[1].sum()
    assert selector.refitted_objective_ == pytest.approx(47.67737583122) == pytest.approx(rest)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gamma": -1.0}, "gamma must be a number above 0 or None"),
        ({"tol": 0}, "tol must be a number above 0"),
        ({"max_iter": 0}, "max_iter must be an integer of at least 1"),
    ],
)
def test_wrong_parameters_are_refused(options, message):
    X, y = planted()
    with pytest.raises((TypeError, ValueError), match=message):
        SmoothedL20(2, **options).fit(X, y)
