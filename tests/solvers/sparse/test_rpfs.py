"""RPFS: the printed steps, the refit, and how it compares with enumeration and forward."""

import numpy as np
import pytest

from rowsparse.rows import top_rows
from rowsparse.solvers.losses.l21 import L21Loss
from rowsparse.solvers.solution import silent
from rowsparse.solvers.sparse.rpfs_solver import AlmOptions, ForwardStart, RidgeStep, Scaled, alm

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


@pytest.mark.parametrize("init", ["forward", "zero", "random"])
def test_corrected_is_never_worse_than_the_refit_of_forward_selection(init):
    for seed in range(4):
        X, Y = wrong_labels(seed, n=30, d=80)
        solution = solve(X, Y, 5, init=init, max_iter=150)
        start = ForwardStart.from_loss(L21Loss.from_targets(design_of(X), Y, None, True), 5)
        forward_loss = refit(design_of(X), Y, start.support).objective
        assert solution.attributes["forward_objective_"] == pytest.approx(forward_loss)
        assert solution.objective <= forward_loss * (1 + 1e-12)


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


# ------------------------------------------------------------------------- the augmented Lagrangian
@pytest.mark.parametrize("classes", [2, 3])
def test_a_run_stops_early_once_the_split_holds(classes):
    X, Y = wrong_labels(7, n=12, d=40, classes=classes)
    problem = Scaled.from_loss(L21Loss.from_targets(design_of(X), Y, None, True), joint=True)
    options = AlmOptions(mu=0.1, rho=1.05, max_iter=2000, norm="l2", tol=1e-4, may_stop=True)
    run = alm(problem, RidgeStep(problem.Z), np.zeros((40, classes)), 8, options, silent)
    assert run.converged
    assert len(run.history) < 2000
    # W = V and E = XW + 1b' - Y: another hundred steps change the loss no more.
    longer = AlmOptions(
        mu=0.1, rho=1.05, max_iter=len(run.history) + 100, norm="l2", tol=1e-4, may_stop=False
    )
    again = alm(problem, RidgeStep(problem.Z), np.zeros((40, classes)), 8, longer, silent)
    assert again.rows.tolist() == run.rows.tolist()
    assert again.history[-1] == pytest.approx(run.history[-1], abs=1e-3 * np.sqrt(12))
