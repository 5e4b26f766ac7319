"""nmAPG: the smoothed objective, the constraint, the optimum and what the printed version does."""

from __future__ import annotations

import os
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from rowsparse.design import make_design
from rowsparse.rows import row_norms, tail_norm, top_rows, unit_ball_rows
from rowsparse.solvers.l21.refit import refit_l21
from rowsparse.solvers.proximal import SmoothedLoss, nonmonotone_apg
from rowsparse.solvers.solution import silent
from rowsparse.solvers.sparse.nmapg import _printed_problem, nmapg, penalised
from rowsparse.solvers.sparse.rfs import rfs


def problem(seed=0, n=40, d=60, c=3, noise=0.5, center=True):
    """Labels of c classes that the first five features tell apart."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % c
    X = rng.standard_normal((n, d))
    X[:, :5] += rng.standard_normal((c, 5))[y] / noise
    design, _ = make_design(X, center=center, scale=True)
    return design, np.eye(c)[y]


def dense(design):
    return design.columns(np.arange(design.shape[1]))


def objective(design, Y, W, b, gamma, weights=1.0):
    loss = np.sum(weights * row_norms(dense(design) @ W + b - Y))
    return loss + gamma * row_norms(W).sum()


def n_rows(W):
    return int(np.count_nonzero(W.any(axis=1)))


def composite(design, Y, *, fit_intercept, weights=None, k=4, gamma=0.5, rho=2.0, mu=0.3):
    omega = np.ones(len(Y)) if weights is None else weights
    loss = SmoothedLoss(design, Y, omega, fit_intercept)
    A, steep = loss.block(np.arange(design.shape[1]))
    return A, penalised(loss, A, steep, k=k, gamma=gamma, rho=rho, mu=mu)


def both_forms(fit_intercept):
    """The corrected and the printed F_mu, with weights, over all rows."""
    design, Y = problem(n=20, d=8, center=False)
    weights = np.random.default_rng(2).uniform(0.5, 2, 20)
    rows = 8 + fit_intercept
    yield composite(design, Y, fit_intercept=fit_intercept, weights=weights)[1], rows
    loss = SmoothedLoss(design, Y, weights, fit_intercept)
    X = np.column_stack([dense(design), np.ones(20)])[:, :rows]
    L = (weights.max() * np.linalg.norm(X, 2) ** 2 + 0.5) / 0.3
    yield _printed_problem(loss, 4, 0.5, 2.0, 0.3, L), rows


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_gradient_equals_finite_differences(fit_intercept):
    rng = np.random.default_rng(1)
    for form, rows in both_forms(fit_intercept):
        V, D = rng.standard_normal((2, rows, 3))
        slope = np.vdot(form.gradient(V, form.product(V)), D)
        up, down = V + 1e-6 * D, V - 1e-6 * D
        difference = form.value(up, form.product(up)) - form.value(down, form.product(down))
        assert difference / 2e-6 == pytest.approx(slope, rel=1e-6)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_lipschitz_constant_holds(fit_intercept):
    rng = np.random.default_rng(3)
    for form, rows in both_forms(fit_intercept):
        for scale in (1e-3, 0.1, 1.0):
            V, D = rng.standard_normal((2, rows, 3)) * scale
            change = form.gradient(V + D, form.product(V + D)) - form.gradient(V, form.product(V))
            assert np.linalg.norm(change) <= form.lipschitz * np.linalg.norm(D) * (1 + 1e-9)


@pytest.mark.parametrize("mu", [1.0, 0.1, 0.01])
def test_smoothing_errs_by_at_most_half_mu_a_sample(mu):
    design, Y = problem()
    A, form = composite(design, Y, fit_intercept=False, mu=mu, k=4, gamma=0.5, rho=2.0)
    for seed in range(20):
        W = np.random.default_rng(seed).standard_normal((60, 3)) * 10.0 ** (-seed % 4)
        true = objective(design, Y, W, 0.0, 0.5) + 2.0 * tail_norm(W, 4)
        error = true - form.objective(W, A @ W)
        assert -1e-9 <= error <= mu * len(Y) / 2 + 1e-9


@pytest.mark.parametrize("k", [0, 1, 5, 59, 60, 80])
def test_penalty_is_gamma_l21_plus_rho_tail(k):
    design, Y = problem()
    _, form = composite(design, Y, fit_intercept=False, k=k)
    W = np.random.default_rng(0).standard_normal((60, 3))
    W[::3] = 0.0
    assert form.penalty(W) == pytest.approx(0.5 * row_norms(W).sum() + 2.0 * tail_norm(W, k))


def test_exact_rho_leaves_k_rows():
    design, Y = problem()
    bound = np.abs(dense(design)).sum(axis=0).max()
    assert SmoothedLoss(design, Y, np.ones(40), False).exact_rho == pytest.approx(bound)
    rng = np.random.default_rng(0)
    _, form = composite(design, Y, fit_intercept=False, rho=1.01 * bound, k=4, mu=0.05)
    start = 0.1 * rng.standard_normal((60, 3))
    run = nonmonotone_apg(form, start, margin=1.05, tol=1e-7, max_iter=3000, monitor=silent)
    assert n_rows(run.W) <= 4
    assert run.objective == min(run.history)


def test_adaptive_steps_reach_the_same_minimum_of_a_convex_problem():
    design, Y = problem()
    _, form = composite(design, Y, fit_intercept=False, rho=0.0, mu=0.05)
    fixed, adaptive = (
        nonmonotone_apg(
            form,
            np.zeros((60, 3)),
            margin=1.05,
            tol=1e-9,
            max_iter=5000,
            monitor=silent,
            adaptive=a,
        )
        for a in (False, True)
    )
    assert adaptive.objective == pytest.approx(fixed.objective, rel=1e-6)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("k", [20, 25])
def test_k_of_all_features_equals_rfs(fit_intercept, k):
    design, Y = problem(d=20)
    answer = nmapg(design, Y, k, gamma=1.0, fit_intercept=fit_intercept)
    bound = rfs(design, Y, 1.0, fit_intercept=fit_intercept, tol=1e-8)
    assert answer.objective == pytest.approx(bound.objective, rel=1e-6)
    assert answer.converged


@pytest.mark.parametrize("k", [1, 3, 8])
@pytest.mark.parametrize("init", ["best", "rfs", "forward", "zero"])
def test_at_most_k_rows_and_never_below_rfs(k, init):
    design, Y = problem(seed=k)
    for fit_intercept in (False, True):
        answer = nmapg(design, Y, k, gamma=0.5, init=init, fit_intercept=fit_intercept)
        bound = rfs(design, Y, 0.5, fit_intercept=fit_intercept, tol=1e-6).objective
        assert n_rows(answer.W) <= k == answer.support.size
        assert set(np.flatnonzero(answer.W.any(axis=1))) <= set(answer.support)
        assert answer.objective >= bound * (1 - 1e-6)
        assert answer.attributes.get("lower_bound_", 0.0) <= bound
        assert answer.objective == pytest.approx(
            objective(design, Y, answer.W, answer.b, 0.5), rel=1e-9
        )
        assert answer.attributes["refit_gap_"] <= 1e-7 * answer.objective
        assert answer.converged
        assert answer.n_iter == answer.history.size


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_never_worse_than_its_starts(fit_intercept):
    design, Y = problem(seed=4, noise=1.5)
    for k in (2, 5):
        best = nmapg(design, Y, k, fit_intercept=fit_intercept)
        for init in ("rfs", "forward"):
            one = nmapg(design, Y, k, init=init, fit_intercept=fit_intercept)
            assert best.objective <= one.objective * (1 + 1e-6)
        top = top_rows(rfs(design, Y, 0.1, fit_intercept=fit_intercept, tol=1e-2).scores, k)
        refit = refit_l21(design, Y, np.sort(top), gamma=0.1, fit_intercept=fit_intercept)
        assert best.objective <= refit.objective * (1 + 1e-6)


def test_tiny_problems_against_all_supports():
    excess = []
    for seed in range(8):
        design, Y = problem(seed=seed, n=20, d=7, noise=1.0)
        for k in (1, 2):
            optimum = min(
                refit_l21(design, Y, np.array(S), gamma=0.2, tol=1e-6).objective
                for S in combinations(range(7), k)
            )
            excess.append(nmapg(design, Y, k, gamma=0.2).objective / optimum - 1.0)
    assert min(excess) >= -1e-5
    assert max(excess) <= 0.05
    assert np.mean(np.array(excess) <= 1e-5) >= 0.7


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_sample_weights_equal_repeated_rows(fit_intercept):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 25)), np.arange(30) % 3
    X[:, :3] += np.eye(3)[y] * 2
    repeats = rng.integers(1, 4, 30)
    once, _ = make_design(X, center=False, scale=False)
    often, _ = make_design(np.repeat(X, repeats, axis=0), center=False, scale=False)
    Y = np.eye(3)[y]
    a = nmapg(once, Y, 4, weights=repeats.astype(float), fit_intercept=fit_intercept)
    b = nmapg(often, np.repeat(Y, repeats, axis=0), 4, fit_intercept=fit_intercept)
    assert set(a.support) == set(b.support)
    assert a.objective == pytest.approx(b.objective, rel=1e-6)
    np.testing.assert_allclose(a.W, b.W, atol=1e-3)


def test_shifting_x_changes_only_the_intercept():
    rng = np.random.default_rng(1)
    X, Y = rng.standard_normal((30, 12)), np.eye(3)[np.arange(30) % 3]
    a = nmapg(make_design(X, center=False, scale=False)[0], Y, 3)
    b = nmapg(make_design(X + 5.0, center=False, scale=False)[0], Y, 3)
    assert a.objective == pytest.approx(b.objective, rel=1e-6)
    np.testing.assert_array_equal(a.support, b.support)


def test_one_stage_at_a_given_mu_and_rho():
    design, Y = problem()
    answer = nmapg(design, Y, 4, mu=0.1, rho=3.0)
    assert answer.attributes["mu_"] == 0.1
    assert answer.attributes["rho_"] == 3.0
    assert n_rows(answer.W) <= 4


@pytest.mark.parametrize("c", [1, 2])
def test_one_target_and_two_classes(c):
    design, Y = problem(c=2, d=15)
    answer = nmapg(design, Y[:, :c], 3, gamma=0.3)
    assert answer.converged
    assert answer.objective == pytest.approx(
        objective(design, Y[:, :c], answer.W, answer.b, 0.3), rel=1e-9
    )


def test_gamma_beyond_every_score_gives_zero():
    design, Y = problem()
    assert not nmapg(design, Y, 3, gamma=1e4, fit_intercept=False).W.any()


def test_monitor_stops_the_stages():
    design, Y = problem()
    seen: list[float] = []

    def watch(F):
        seen.append(F)
        return True

    answer = nmapg(design, Y, 3, init="forward", monitor=watch)
    assert len(seen) == answer.n_iter == 1
    np.testing.assert_array_equal(seen, answer.history)


# ------------------------------------------------------------------------------ as printed
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_published_leaves_no_row_at_zero(fit_intercept):
    design, Y = problem()
    answer = nmapg(design, Y, 5, variant="published", fit_intercept=fit_intercept, max_iter=50)
    assert n_rows(answer.W) == 60
    assert answer.W.shape == (60, 3)
    assert bool(answer.b.any()) == fit_intercept


def test_published_support_is_that_of_the_first_step():
    design, Y = problem(n=60, d=200, noise=1.0)
    first = row_norms(dense(design).T @ unit_ball_rows(Y / 0.01))
    for rho in (None, 60 * np.abs(dense(design)).max()):
        answer = nmapg(
            design, Y, 10, variant="published", mu=0.01, rho=rho, gamma=1.0,
            fit_intercept=False, max_iter=300,
        )  # fmt: skip
        assert len(set(top_rows(answer.scores, 10)) & set(top_rows(first, 10))) >= 9


def test_published_schedule_stops_before_mu_star():
    design, Y = problem()
    answer = nmapg(design, Y, 5, variant="published", max_iter=2, fit_intercept=False)
    target = 2 * 0.1 / (40 + 0.1 * 60)
    assert target <= answer.attributes["mu_"] < 10 * target
    assert answer.attributes["mu_"] == pytest.approx(0.01)
    bound = 40 * np.abs(dense(design)).max() - 0.1
    assert answer.attributes["rho_"] == pytest.approx(0.01 * bound)


# ------------------------------------------------------------------------------- real data
@pytest.mark.parametrize(("name", "value"), [("srbct", 47.87), ("glioma", 30.73)])
def test_ten_features_of_real_data_match_forward_selection(name, value):
    folder = os.environ.get("ROWSPARSE_DATA")
    path = Path(folder or ".") / f"{name}.npz"
    if not folder or not path.exists():
        pytest.skip(f"ROWSPARSE_DATA has no {name}.npz")
    with np.load(path) as data:
        X, y = data["X"], data["y"]
    design, _ = make_design(X, center=True, scale=True)
    answer = nmapg(design, np.eye(y.max() + 1)[y], 10, gamma=0.1, fit_intercept=False)
    assert answer.objective <= value * (1 + 1e-3)
    assert answer.objective >= answer.attributes["lower_bound_"]
