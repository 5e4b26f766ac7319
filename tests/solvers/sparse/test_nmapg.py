"""NmAPG: the penalised objective, the constraint, the optimum and the starts."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from rowsparse.design import make_design
from rowsparse.rows import row_norms, tail_norm, top_rows
from rowsparse.solvers.losses.l21 import L21Loss
from rowsparse.solvers.proximal import nonmonotone_apg
from rowsparse.solvers.solution import silent
from rowsparse.solvers.sparse.centred_columns import CentredColumns
from rowsparse.solvers.sparse.nmapg import penalised

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
    loss = L21Loss.of(design, Y, weights, fit_intercept)
    A, steep = CentredColumns(loss).block(np.arange(design.shape[1]))
    return A, penalised(loss.smoothed(mu), A, steep, k=k, gamma=gamma, rho=rho)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_gradient_and_lipschitz_constant(fit_intercept):
    design, Y = labels(n=20, d=8, center=False)
    weights = np.random.default_rng(2).uniform(0.5, 2, 20)
    _, form = composite(design, Y, fit_intercept=fit_intercept, weights=weights)
    check_gradient(form, (8 + fit_intercept, 3))
    check_lipschitz(form, (8 + fit_intercept, 3))


@pytest.mark.parametrize("mu", [1.0, 0.1, 0.01])
def test_smoothing_errs_by_at_most_half_mu_a_sample(mu):
    design, Y = labels()
    A, form = composite(design, Y, fit_intercept=False, mu=mu, k=4, gamma=0.5, rho=2.0)
    for seed in range(20):
        W = np.random.default_rng(seed).standard_normal((60, 3)) * 10.0 ** (-seed % 4)
        true = objective(design, Y, W, 0.0, 0.5) + 2.0 * tail_norm(W, 4)
        error = true - form.objective(W, A @ W)
        assert -1e-9 <= error <= mu * len(Y) / 2 + 1e-9


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


def test_tiny_problems_against_all_supports():
    excess = []
    for seed in range(4):
        design, Y = labels(seed=seed, n=20, d=7, noise=1.0)
        for k in (1, 2):
            optimum = min(
                refit(design, Y, np.array(S), gamma=0.2, tol=1e-6).objective
                for S in combinations(range(7), k)
            )
            excess.append(solve_nmapg(design, Y, k, gamma=0.2).objective / optimum - 1.0)
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
    a = solve_nmapg(once, Y, 4, weights=repeats.astype(float), fit_intercept=fit_intercept)
    b = solve_nmapg(often, np.repeat(Y, repeats, axis=0), 4, fit_intercept=fit_intercept)
    assert set(a.support) == set(b.support)
    assert a.objective == pytest.approx(b.objective, rel=1e-6)
    np.testing.assert_allclose(a.W, b.W, atol=1e-3)


def test_shifting_x_changes_only_the_intercept():
    rng = np.random.default_rng(1)
    X, Y = rng.standard_normal((30, 12)), np.eye(3)[np.arange(30) % 3]
    a = solve_nmapg(make_design(X, center=False, scale=False)[0], Y, 3)
    b = solve_nmapg(make_design(X + 5.0, center=False, scale=False)[0], Y, 3)
    assert a.objective == pytest.approx(b.objective, rel=1e-6)
    np.testing.assert_array_equal(a.support, b.support)


def test_one_stage_at_a_given_mu_and_rho():
    design, Y = labels()
    answer = solve_nmapg(design, Y, 4, mu=0.1, rho=3.0)
    assert answer.attributes["mu_"] == 0.1
    assert answer.attributes["rho_"] == 3.0
    assert n_rows(answer.W) <= 4


@pytest.mark.parametrize("c", [1, 2])
def test_one_target_and_two_classes(c):
    design, Y = labels(c=2, d=15)
    answer = solve_nmapg(design, Y[:, :c], 3, gamma=0.3)
    assert answer.converged
    assert answer.objective == pytest.approx(
        objective(design, Y[:, :c], answer.W, answer.b, 0.3), rel=1e-9
    )


def test_gamma_beyond_every_score_gives_zero():
    design, Y = labels()
    assert not solve_nmapg(design, Y, 3, gamma=1e4, fit_intercept=False).W.any()


def test_monitor_stops_the_stages():
    design, Y = labels()
    seen: list[float] = []

    def watch(F):
        seen.append(F)
        return True

    answer = solve_nmapg(design, Y, 3, init="forward", monitor=watch)
    assert len(seen) == answer.n_iter == 1
    np.testing.assert_array_equal(seen, answer.history)


@pytest.mark.parametrize(("name", "value"), [("srbct", 47.87), ("glioma", 30.73)])
def test_ten_features_of_real_data_match_forward_selection(benchmark_data, name, value):
    X, y = benchmark_data(name)
    design, _ = make_design(X, center=True, scale=True)
    answer = solve_nmapg(design, np.eye(y.max() + 1)[y], 10, fit_intercept=False)
    assert answer.objective <= value * (1 + 1e-3)
    assert answer.objective >= answer.attributes["lower_bound_"]
