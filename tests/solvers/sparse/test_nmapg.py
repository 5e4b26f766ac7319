"""NmAPG: the penalised objective, the constraint, the optimum, the starts, and it as printed."""

import numpy as np
import pytest

from rowsparse.design import make_design
from rowsparse.rows import row_norms, tail_norm, top_rows, unit_ball_rows
from rowsparse.solvers.losses.l21 import L21Loss
from rowsparse.solvers.proximal import nonmonotone_apg
from rowsparse.solvers.solution import silent
from rowsparse.solvers.sparse.nmapg_solver import CentredColumns, penalised, printed_problem

from ..cases import (
    check_gradient,
    check_lipschitz,
    dense,
    labels,
    n_rows,
    refit,
    solve_nmapg,
    solve_rfs,
)


def objective(design, Y, W, b, gamma, weights=1.0):
    loss = np.sum(weights * row_norms(dense(design) @ W + b - Y))
    return loss + gamma * row_norms(W).sum()


def composite(design, Y, *, fit_intercept, weights=None, k=4, gamma=0.5, rho=2.0, mu=0.3):
    loss = L21Loss.from_targets(design, Y, weights, fit_intercept)
    A, steep = CentredColumns(loss).block(np.arange(design.shape[1]))
    return A, penalised(loss.smoothed(mu), A, steep, k=k, gamma=gamma, rho=rho)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_gradient_and_lipschitz_constant(fit_intercept):
    design, Y = labels(n=20, d=8, center=False)
    weights = np.random.default_rng(2).uniform(0.5, 2, 20)
    _, form = composite(design, Y, fit_intercept=fit_intercept, weights=weights)
    check_gradient(form, (8 + fit_intercept, 3))
    check_lipschitz(form, (8 + fit_intercept, 3))


@pytest.mark.parametrize("k", [0, 1, 5, 59, 60, 80])
def test_penalty_is_gamma_l21_plus_rho_tail(k):
    design, Y = labels()
    _, form = composite(design, Y, fit_intercept=False, k=k)
    W = np.random.default_rng(0).standard_normal((60, 3))
    W[::3] = 0.0
    assert form.penalty(W) == pytest.approx(0.5 * row_norms(W).sum() + 2.0 * tail_norm(W, k))


def test_exact_rho_leaves_k_rows():
    design, Y = labels()
    bound = np.abs(dense(design)).sum(axis=0).max()
    rng = np.random.default_rng(0)
    _, form = composite(design, Y, fit_intercept=False, rho=1.01 * bound, k=4, mu=0.05)
    start = 0.1 * rng.standard_normal((60, 3))
    run = nonmonotone_apg(form, start, margin=1.05, tol=1e-7, max_iter=3000, monitor=silent)
    assert n_rows(run.W) <= 4
    assert run.objective == min(run.history)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("k", [20, 25])
def test_k_of_all_features_equals_rfs(fit_intercept, k):
    design, Y = labels(d=20)
    answer = solve_nmapg(design, Y, k, gamma=1.0, fit_intercept=fit_intercept)
    bound = solve_rfs(design, Y, 1.0, fit_intercept=fit_intercept, tol=1e-8)
    assert answer.objective == pytest.approx(bound.objective, rel=1e-6)
    assert answer.converged


@pytest.mark.parametrize("k", [1, 3, 8])
@pytest.mark.parametrize("init", ["best", "rfs", "forward", "zero"])
def test_at_most_k_rows_and_never_below_rfs(k, init):
    design, Y = labels(seed=k, n=25, d=30)
    for fit_intercept in (False, True):
        answer = solve_nmapg(design, Y, k, gamma=0.5, init=init, fit_intercept=fit_intercept)
        bound = solve_rfs(design, Y, 0.5, fit_intercept=fit_intercept, tol=1e-6).objective
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
    design, Y = labels(seed=4, n=25, d=30, noise=1.5)
    for k in (2, 5):
        best = solve_nmapg(design, Y, k, fit_intercept=fit_intercept)
        for init in ("rfs", "forward"):
            one = solve_nmapg(design, Y, k, init=init, fit_intercept=fit_intercept)
            assert best.objective <= one.objective * (1 + 1e-6)
        top = top_rows(solve_rfs(design, Y, 0.1, fit_intercept=fit_intercept, tol=1e-2).scores, k)
        refitted = refit(design, Y, np.sort(top), gamma=0.1, fit_intercept=fit_intercept)
        assert best.objective <= refitted.objective * (1 + 1e-6)


def test_one_stage_at_a_given_mu_and_rho():
    design, Y = labels()
    answer = solve_nmapg(design, Y, 4, mu=0.1, rho=3.0)
    assert answer.attributes["mu_"] == 0.1
    assert answer.attributes["rho_"] == 3.0
    assert n_rows(answer.W) <= 4


@pytest.mark.parametrize(("name", "value"), [("srbct", 47.87), ("glioma", 30.73)])
def test_ten_features_of_real_data_match_forward_selection(benchmark_data, name, value):
    X, y = benchmark_data(name)
    design, _ = make_design(X, center=True, scale=True)
    answer = solve_nmapg(design, np.eye(y.max() + 1)[y], 10, fit_intercept=False)
    assert answer.objective <= value * (1 + 1e-3)
    assert answer.objective >= answer.attributes["lower_bound_"]


# --------------------------------------------------------------------- columns of the smoothed loss
@pytest.fixture
def sample():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((12, 7)) + 2.0, rng.standard_normal((12, 3))
    return X, Y, rng.uniform(0.5, 2.0, 12)


# --------------------------------------------------------------------------------------- as printed
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_gradient_and_lipschitz_constant_of_the_printed_problem(fit_intercept):
    design, Y = labels(n=20, d=8, center=False)
    weights = np.random.default_rng(2).uniform(0.5, 2, 20)
    smoothed = L21Loss.from_targets(design, Y, weights, fit_intercept).smoothed(0.3)
    X = np.column_stack([dense(design), np.ones(20)])[:, : 8 + fit_intercept]
    L = (weights.max() * np.linalg.norm(X, 2) ** 2 + 0.5) / 0.3
    form = printed_problem(smoothed, 4, gamma=0.5, rho=2.0, lipschitz=L)
    check_gradient(form, (8 + fit_intercept, 3))
    check_lipschitz(form, (8 + fit_intercept, 3))


def test_published_support_is_that_of_the_first_step():
    design, Y = labels(n=60, d=200, noise=1.0)
    first = row_norms(dense(design).T @ unit_ball_rows(Y / 0.01))
    for rho in (None, 60 * np.abs(dense(design)).max()):
        answer = solve_nmapg(
            design,
            Y,
            10,
            variant="published",
            mu=0.01,
            rho=rho,
            gamma=1.0,
            fit_intercept=False,
            max_iter=300,
        )
        assert len(set(top_rows(answer.scores, 10)) & set(top_rows(first, 10))) >= 9


def test_published_schedule_stops_before_mu_star():
    design, Y = labels()
    answer = solve_nmapg(design, Y, 5, variant="published", max_iter=2, fit_intercept=False)
    target = 2 * 0.1 / (40 + 0.1 * 60)
    assert target <= answer.attributes["mu_"] < 10 * target
    assert answer.attributes["mu_"] == pytest.approx(0.01)
    bound = 40 * np.abs(dense(design)).max() - 0.1
    assert answer.attributes["rho_"] == pytest.approx(0.01 * bound)
