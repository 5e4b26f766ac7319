"""Proximal loops on a lasso: they reach its minimum, and fall as they promise."""

import numpy as np
import pytest
from sklearn.linear_model import Lasso

from rowsparse.solvers.proximal import CHECK_EVERY, Composite, monotone_apg, nonmonotone_apg
from rowsparse.solvers.solution import silent

from .cases import regression

GAMMA = 5.0


@pytest.fixture
def lasso():
    """A composite of 30 columns, of which 20 samples cannot tell all apart."""
    X, Y = regression(20, 30, 1)

    def prox(U, step):
        return np.sign(U) * np.maximum(np.abs(U) - GAMMA * step, 0.0)

    return (
        X,
        Y,
        Composite(
            product=lambda W: X @ W,
            value=lambda W, P: 0.5 * float(np.sum((Y - P) ** 2)),
            gradient=lambda W, P: X.T @ (P - Y),
            penalty=lambda W: GAMMA * float(np.abs(W).sum()),
            prox=prox,
            lipschitz=float(np.linalg.norm(X, 2) ** 2),
        ),
    )


def monotone(problem, W, **options):
    options = {"done": lambda W, P, h: False, "monitor": silent, "max_iter": 2000, **options}
    return monotone_apg(problem, W, **options)


def nonmonotone(problem, W, **options):
    options = {"margin": 1.05, "tol": 1e-10, "max_iter": 5000, "monitor": silent, **options}
    return nonmonotone_apg(problem, W, **options)


@pytest.mark.parametrize("loop", [monotone, nonmonotone])
def test_loops_reach_the_lasso_and_its_optimality_conditions(lasso, loop):
    X, Y, problem = lasso
    run = loop(problem, np.zeros((30, 1)))
    theirs = Lasso(GAMMA / 20, fit_intercept=False, tol=1e-12, max_iter=100000).fit(X, Y)
    np.testing.assert_allclose(run.W[:, 0], theirs.coef_, atol=1e-5)
    G, active = X.T @ (Y - X @ run.W), run.W != 0
    np.testing.assert_allclose(G[active], GAMMA * np.sign(run.W[active]), atol=1e-4)
    assert np.all(np.abs(G[~active]) <= GAMMA + 1e-4)
    assert problem.residual(run.W, X @ run.W) <= 1e-6
    assert run.objective == pytest.approx(problem.objective(run.W, X @ run.W))


def test_only_the_monotone_loop_never_lets_the_objective_rise(lasso):
    start = np.random.default_rng(0).standard_normal((30, 1))
    steady, plain = (monotone(lasso[2], start, max_iter=300, monotone=m) for m in (True, False))
    assert np.diff(steady.history).max() <= 1e-12 * steady.history[0]
    assert np.diff(plain.history).max() > 1e-9 * plain.history[0]


def test_the_nonmonotone_loop_returns_the_best_point_seen(lasso):
    for adaptive in (False, True):
        start = np.random.default_rng(0).standard_normal((30, 1))
        run = nonmonotone(lasso[2], start, adaptive=adaptive)
        assert run.objective == min(run.history)
        assert run.converged


def test_rules_and_monitors_end_the_loops(lasso):
    asked = []

    def done(W, P, history):
        asked.append(len(history))
        return len(history) >= 2 * CHECK_EVERY

    run = monotone(lasso[2], np.zeros((30, 1)), done=done)
    assert run.converged
    assert asked == [CHECK_EVERY, 2 * CHECK_EVERY]
    for loop in (monotone, nonmonotone):
        run = loop(lasso[2], np.zeros((30, 1)), monitor=lambda F: True)
        assert run.stopped
        assert run.n_iter == 1
