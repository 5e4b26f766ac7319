"""IPFS: its steps against the dense formulae, its answers against brute force."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

from rowsparse import IPFS
from rowsparse.solvers.sparse import ipfs as integer
from rowsparse.solvers.sparse.ipfs import _ByFeatures, _BySamples, ipfs

from ..cases import plain, planted, regression

RNG = np.random.default_rng


def small(seed=0):
    """The planted problem with 100 of its columns: still more than samples."""
    X, y = planted(seed)
    return X[:, :100], y


def solve(X, Y, k):
    options = {"mu": 1e-4, "rho": 1.05, "ridge": 0.1, "tol": 1e-4, "max_iter": 1000}
    return ipfs(plain(X), Y, k, n_restarts=0, rng=RNG(0), **options)


def model(kind, X, Y, ridge=2.0):
    return kind(plain(X), Y, np.sum(X**2, axis=0), ridge)


def loss_at(X, Y, v, W):
    return float(np.sum((Y - X @ (v[:, None] * W)) ** 2))


# --------------------------------------------------------------------------------- steps
@pytest.mark.parametrize("kind", [_ByFeatures, _BySamples])
@pytest.mark.parametrize("shape", [(20, 8, 3), (8, 20, 3)])
def test_step_in_w_is_ridge_regression(kind, shape):
    X, Y = regression(*shape)
    v = RNG(0).uniform(0.1, 1, shape[1])
    W, loss = model(kind, X, Y).coefficients(v)
    Xv = X * v
    expected = np.linalg.solve(Xv.T @ Xv + 2.0 * np.eye(shape[1]), Xv.T @ Y)
    np.testing.assert_allclose(W, expected, atol=1e-10)
    assert loss == pytest.approx(loss_at(X, Y, v, W))


@pytest.mark.parametrize("direct", [True, False])
@pytest.mark.parametrize("kind", [_ByFeatures, _BySamples])
@pytest.mark.parametrize("mu", [1e-3, 1.0, 1e4])
def test_step_in_v_solves_its_linear_system(kind, direct, mu, monkeypatch):
    monkeypatch.setattr(integer, "_DIRECT_SIZE", 400 if direct else 0)
    X, Y = regression(9, 14, 2)
    X[:, 4] = 0.0
    live = X.any(axis=0)
    rng = RNG(0)
    W, right = rng.standard_normal((14, 2)) * live[:, None], rng.standard_normal(14) * live
    v = model(kind, X, Y).selection(W, right, mu, live, np.zeros(14))
    H = 2 * (X.T @ X) * (W @ W.T) + 2 * mu * np.eye(14) + mu
    r = 2 * np.sum((X.T @ Y) * W, axis=1) + right
    expected = np.zeros(14)
    expected[live] = np.linalg.solve(H[np.ix_(live, live)], r[live])
    np.testing.assert_allclose(v, expected, atol=1e-4 * np.abs(expected).max())
    # It is the minimum of the augmented Lagrangian in v.
    gradient = 2 * np.sum((X.T @ (X @ (v[:, None] * W) - Y)) * W, axis=1)
    balance = gradient + 2 * mu * v + mu * v.sum() - right
    np.testing.assert_allclose(balance[live], 0, atol=1e-3 * np.abs(r).max())


def test_the_ridge_is_what_the_loss_prefers_features_by():
    X, Y = regression()
    v = RNG(0).uniform(0.2, 1, X.shape[1])
    W, _ = model(_ByFeatures, X, Y).coefficients(v)
    for j in (0, 3, 17):
        ahead, behind = v.copy(), v.copy()
        ahead[j], behind[j] = v[j] + 1e-5, v[j] - 1e-5
        slope = (loss_at(X, Y, ahead, W) - loss_at(X, Y, behind, W)) / 2e-5
        assert slope == pytest.approx(-2 * 2.0 * np.sum(W[j] ** 2) / v[j], rel=1e-3)


# --------------------------------------------------------------------------------- answers
@pytest.mark.parametrize("shape", [(30, 9, 2), (8, 12, 2)])
@pytest.mark.parametrize("k", [1, 3])
def test_constraints_hold_and_no_subset_is_beaten(shape, k):
    X, Y = regression(*shape, seed=1)
    solution = solve(X, Y, k)
    assert solution.converged
    assert solution.attributes["violation_"] < 1e-4
    support = solution.support
    assert support.size == k
    B, rest = np.linalg.lstsq(X[:, support], Y, rcond=None)[:2]
    np.testing.assert_allclose(solution.W[support], B, atol=1e-10)
    assert solution.objective == pytest.approx(rest.sum())
    assert np.count_nonzero(solution.W.any(axis=1)) == k
    least = min(
        np.linalg.lstsq(X[:, S], Y, rcond=None)[1].sum() for S in combinations(range(shape[1]), k)
    )
    assert solution.objective >= least - 1e-9


@pytest.mark.parametrize("size", [0, 400])
def test_direct_and_iterative_steps_lead_to_the_same_place(size, monkeypatch):
    monkeypatch.setattr(integer, "_DIRECT_SIZE", size)
    monkeypatch.setattr(integer, "_CG_TOL", 1e-10)
    X, y = planted()
    solution = solve(X, np.eye(3)[y] - 1 / 3, 5)
    assert solution.support.tolist() == [0, 1, 2, 3, 4]


def test_data_too_large_to_be_held(monkeypatch):
    X, y = small()
    held = IPFS(5).fit(X, y)
    monkeypatch.setattr(integer, "_HELD_ENTRIES", 0)
    np.testing.assert_array_equal(IPFS(5).fit(X, y).support_, held.support_)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_planted_features_are_found(seed):
    X, y = planted(seed)
    assert IPFS(5).fit(X, y).support_[:5].sum() >= 3


def test_hardly_any_ridge_makes_the_choice_arbitrary():
    X, y = small()
    with_ridge, without = IPFS(5).fit(X, y), IPFS(5, ridge=1e-6).fit(X, y)
    assert with_ridge.objective_ < without.objective_


def test_half_of_the_features_start_in_the_middle_of_the_sphere():
    X, Y = regression(30, 8, 2)
    solution = solve(X, Y, 4)
    assert solution.converged
    assert set(solution.support) == {0, 1, 2, 3}


def test_all_features_and_constant_ones():
    X, Y = regression(30, 8, 2)
    solution = solve(X, Y, 8)
    assert solution.support.size == 8
    X[:, [2, 5]] = 0.0
    solution = solve(X, Y, 8)
    assert solution.support.tolist() == [0, 1, 3, 4, 6, 7]
    assert not solve(X, 0 * Y, 2).W.any()


def test_the_best_start_is_kept_and_the_first_has_no_noise():
    X, y = small(1)
    many = IPFS(5, n_restarts=3, random_state=0).fit(X, y)
    assert many.objectives_.shape == (4,)
    assert many.objective_ == many.objectives_.min()
    for seed in (1, 2):
        assert IPFS(5, random_state=seed).fit(X, y).objective_ == many.objectives_[0]


def test_scale_of_the_data_does_not_matter():
    X, Y = regression()
    ordinary = IPFS(4, standardize=False).fit(X, Y)
    scaled = IPFS(4, standardize=False).fit(1024.0 * X, Y / 4096.0)
    np.testing.assert_allclose(scaled.coef_ * 1024 * 4096, ordinary.coef_, rtol=1e-8)
    assert scaled.n_iter_ == ordinary.n_iter_


def test_faster_growth_and_looser_tolerance_take_fewer_iterations():
    X, y = small()
    usual = IPFS(5).fit(X, y).n_iter_
    assert IPFS(5, rho=1.3).fit(X, y).n_iter_ < usual
    assert IPFS(5, tol=1e-2).fit(X, y).n_iter_ < usual
    assert IPFS(5, mu=1e-2).fit(X, y).n_iter_ != usual
    with pytest.warns(ConvergenceWarning, match="did not converge in 10 iterations"):
        short = IPFS(5, max_iter=10).fit(X, y)
    assert short.support_.sum() == 5
    assert short.violation_ > 1e-4


def test_reference_values():
    # Residual sums of squares of least squares on the standardised columns.
    X, y = load_iris(return_X_y=True)
    Z, Y = (X - X.mean(axis=0)) / X.std(axis=0), np.eye(3)[y] - 1 / 3
    for k, support, value in ((1, [3], 53.55585349494), (2, [1, 3], 42.81189032492)):
        selector = IPFS(k).fit(X, y)
        assert selector.get_support(indices=True).tolist() == support
        rest = np.linalg.lstsq(Z[:, support], Y, rcond=None)[1].sum()
        assert selector.objective_ == pytest.approx(value) == pytest.approx(rest)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mu": 0.0}, "mu must be a number above 0"),
        ({"rho": 1.0}, "rho must be a number above 1"),
        ({"ridge": 0.0}, "ridge must be a number above 0"),
        ({"n_restarts": -1}, "n_restarts must be an integer of at least 0"),
        ({"tol": -1.0}, "tol must be a number above 0"),
        ({"max_iter": 0}, "max_iter must be an integer of at least 1"),
    ],
)
def test_wrong_parameters_are_refused(options, message):
    X, y = planted()
    with pytest.raises((TypeError, ValueError), match=message):
        IPFS(2, **options).fit(X, y)
