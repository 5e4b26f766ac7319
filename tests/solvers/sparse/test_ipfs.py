"""IPFS: its steps against the dense formulae, its answers against brute force."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from rowsparse import IPFS
from rowsparse.solvers.sparse import ipfs_solver as integer
from rowsparse.solvers.sparse.ipfs_solver import _ByFeatures, _BySamples, ipfs

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


# --------------------------------------------------------------------------------- answers
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


def test_the_best_start_is_kept_and_the_first_has_no_noise():
    X, y = small(1)
    many = IPFS(5, n_restarts=3, random_state=0).fit(X, y)
    assert many.objectives_.shape == (4,)
    assert many.objective_ == many.objectives_.min()
    for seed in (1, 2):
        assert IPFS(5, random_state=seed).fit(X, y).objective_ == many.objectives_[0]


def test_reference_values():
    # Residual sums of squares of least squares on the standardised columns.
    X, y = load_iris(return_X_y=True)
    Z, Y = (X - X.mean(axis=0)) / X.std(axis=0), np.eye(3)[y] - 1 / 3
    for k, support, value in ((1, [3], 53.55585349494), (2, [1, 3], 42.81189032492)):
        selector = IPFS(k).fit(X, y)
        assert selector.get_support(indices=True).tolist() == support
        rest = np.linalg.lstsq(Z[:, support], Y, rcond=None)[1].sum()
        assert selector.objective_ == pytest.approx(value) == pytest.approx(rest)
