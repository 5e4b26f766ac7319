"""RPFS: the printed steps, the refit, and how it compares with enumeration and forward."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from rowsparse.rows import top_rows
from rowsparse.solvers.losses.l21 import L21Loss
from rowsparse.solvers.sparse.rpfs import ForwardStart

from ..cases import design_of, l21_loss, refit, solve_rpfs, wrong_labels


def solve(X, Y, k, seed=0, center=True, **options):
    return solve_rpfs(design_of(X, center), Y, k, seed=seed, **options)


def published_by_hand(X, Y, k, W, steps, mu=0.1, rho=1.02, intercept=True):
    """The printed algorithm, step by step."""
    d = X.shape[1]
    V, E = W, np.zeros_like(Y)
    Lambda, Sigma = np.zeros_like(W), np.zeros_like(Y)
    b = np.zeros(Y.shape[1])
    for _ in range(steps):
        if intercept:
            b = (Y + E - Sigma / mu - X @ W).mean(axis=0)
        right = V - Lambda / mu + X.T @ (Y + E - Sigma / mu - b)
        W = np.linalg.solve(X.T @ X + np.eye(d), right)
        P = W + Lambda / mu
        rows = np.argsort(-np.abs(P).sum(axis=1), kind="stable")[:k]
        V = np.zeros_like(P)
        V[rows] = P[rows]
        G = X @ W + b - Y + Sigma / mu
        norms = np.maximum(np.linalg.norm(G, axis=1, keepdims=True), 1e-300)
        E = G * np.maximum(0, 1 - 1 / (mu * norms))
        Lambda = Lambda + mu * (W - V)
        Sigma = Sigma + mu * (X @ W + b - Y - E)
        mu *= rho
    return V, b


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("d", [9, 60])
def test_published_equals_the_printed_steps(d, intercept):
    X, Y = wrong_labels(0, d=d)
    options = {"variant": "published", "max_iter": 60, "fit_intercept": intercept}
    solution = solve(X, Y, 3, seed=4, center=False, **options)
    start = np.random.default_rng(4).standard_normal((d, 3))
    V, b = published_by_hand(X, Y, 3, start, 60, intercept=intercept)
    np.testing.assert_allclose(solution.W, V, atol=1e-8)
    np.testing.assert_allclose(solution.b, b, atol=1e-8)
    assert solution.objective == pytest.approx(l21_loss(X, Y, V, b))
    assert solution.n_iter == solution.history.size == 60


@pytest.mark.parametrize("variant", ["corrected", "published"])
@pytest.mark.parametrize("init", ["forward", "zero", "random"])
def test_at_most_k_rows_and_a_refit_no_worse_than_the_alm(variant, init):
    X, Y = wrong_labels(2, d=40)
    solution = solve(X, Y, 4, variant=variant, init=init, n_restarts=1, max_iter=200)
    assert np.count_nonzero(solution.W.any(axis=1)) <= 4
    assert solution.support.size == 4
    assert set(np.flatnonzero(solution.W.any(axis=1))) <= set(solution.support)
    kept = solution.attributes
    assert kept["objectives_"].shape == ((2,) if init == "random" else (1,))
    assert kept["objectives_"].min() <= kept["alm_objective_"] * (1 + 1e-7)
    Xc = X - X.mean(0)
    assert solution.objective == pytest.approx(l21_loss(Xc, Y, solution.W, solution.b))
    assert sorted(top_rows(solution.scores, 4)) == solution.support.tolist()


def test_corrected_against_enumeration_of_all_supports():
    reached = 0
    for seed in range(5):
        X, Y = wrong_labels(seed, n=20, d=8)
        design = design_of(X)
        optimum = min(
            refit(design, Y, np.array(S), tol=1e-7).objective for S in combinations(range(8), 3)
        )
        found = solve(X, Y, 3, max_iter=300).objective
        assert found >= optimum * (1 - 1e-6)
        reached += found <= optimum * (1 + 1e-5)
    assert reached >= 4


@pytest.mark.parametrize("init", ["forward", "zero", "random"])
def test_corrected_is_never_worse_than_the_refit_of_forward_selection(init):
    for seed in range(4):
        X, Y = wrong_labels(seed, n=30, d=80)
        solution = solve(X, Y, 5, init=init, max_iter=150)
        start = ForwardStart.of(L21Loss.of(design_of(X), Y, None, True), 5)
        forward_loss = refit(design_of(X), Y, start.support).objective
        assert solution.attributes["forward_objective_"] == pytest.approx(forward_loss)
        assert solution.objective <= forward_loss * (1 + 1e-12)


@pytest.mark.parametrize("center", [True, False])
def test_weights_equal_repeated_rows(center):
    X, Y = wrong_labels(3, n=20, d=30)
    weights = np.random.default_rng(0).integers(1, 4, 20)
    options = {"init": "zero", "max_iter": 100, "center": False, "fit_intercept": center}
    one = solve(X, Y, 4, weights=weights.astype(float), **options)
    two = solve(X.repeat(weights, axis=0), Y.repeat(weights, axis=0), 4, **options)
    np.testing.assert_allclose(one.history, two.history, rtol=1e-7)
    assert one.support.tolist() == two.support.tolist()
    assert one.objective == pytest.approx(two.objective, rel=1e-6)
    np.testing.assert_allclose(one.W, two.W, atol=1e-3)


def test_centred_and_raw_designs_give_the_same_answer_with_an_intercept():
    X, Y = wrong_labels(4, d=30)
    centred, raw = solve(X, Y, 4, max_iter=100), solve(X, Y, 4, center=False, max_iter=100)
    assert centred.support.tolist() == raw.support.tolist()
    np.testing.assert_allclose(centred.history, raw.history, rtol=1e-7)
    assert centred.objective == pytest.approx(raw.objective, rel=1e-6)


@pytest.mark.parametrize("center", [True, False])
def test_constant_columns_are_taken_last(center):
    X, Y = wrong_labels(5, d=6)
    X = np.hstack([np.full((24, 2), 0.1), X])
    for init in ("forward", "zero", "random"):
        solution = solve(X, Y, 6, center=center, init=init, max_iter=50)
        assert solution.support.tolist() == list(range(2, 8))


@pytest.mark.parametrize("k", [25, 30])
def test_more_features_than_samples_fit_perfectly(k):
    X, Y = wrong_labels(6, d=30)
    X[:, 4] = X[:, 5]
    solution = solve(X, Y, k, max_iter=30)
    assert np.unique(solution.support).size == k
    assert solution.objective < 1e-6


def test_same_seed_same_answer_and_the_scale_of_the_start_matters():
    X, Y = wrong_labels(8, d=40)
    options = {"variant": "published", "n_restarts": 1, "max_iter": 100}
    one, two = (solve(X, Y, 3, seed=5, **options) for _ in range(2))
    small = solve(X, Y, 3, seed=5, init_scale=0.01, **options)
    np.testing.assert_array_equal(one.W, two.W)
    assert one.attributes["alm_objective_"] != small.attributes["alm_objective_"]


def test_monitor_stops_the_iteration():
    X, Y = wrong_labels(9)
    seen = []

    def monitor(value):
        seen.append(value)
        return len(seen) == 5

    solution = solve(X, Y, 3, monitor=monitor)
    assert solution.n_iter == 5
    np.testing.assert_array_equal(seen, solution.history)


@pytest.mark.slow
def test_allaml_losses_follow_the_scale_of_the_start(benchmark_data):
    """Fourteen samples of ALLAML: printed steps from N(0, 1) end above the loss of b alone."""
    X, y = benchmark_data("allaml")
    X = (X - X.mean(0)) / X.std(0)
    rng = np.random.default_rng(0)
    rows = [rng.permutation(np.flatnonzero(y == label))[:m] for label, m in ((0, 9), (1, 5))]
    X, Y = X[np.concatenate(rows)], np.eye(2)[y[np.concatenate(rows)]]
    for k in (1, 5):
        large, small = (
            solve(X, Y, k, center=False, variant="published", n_restarts=2, init_scale=scale)
            for scale in (1.0, 0.03)
        )
        corrected = solve(X, Y, k)
        assert large.objective > small.objective
        assert large.objective > np.sqrt(50)
        assert corrected.objective < large.attributes["objectives_"].min()
        assert corrected.objective < small.attributes["objectives_"].min()
