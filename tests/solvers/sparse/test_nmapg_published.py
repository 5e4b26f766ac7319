"""What Algorithm 2 of An et al. does as printed."""

from __future__ import annotations

import numpy as np
import pytest

from rowsparse.rows import row_norms, top_rows, unit_ball_rows
from rowsparse.solvers.losses.l21 import L21Loss
from rowsparse.solvers.sparse.nmapg_published import printed_problem

from ..cases import check_gradient, check_lipschitz, dense, labels, n_rows, solve_nmapg


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_gradient_and_lipschitz_constant(fit_intercept):
    design, Y = labels(n=20, d=8, center=False)
    weights = np.random.default_rng(2).uniform(0.5, 2, 20)
    smoothed = L21Loss.of(design, Y, weights, fit_intercept).smoothed(0.3)
    X = np.column_stack([dense(design), np.ones(20)])[:, : 8 + fit_intercept]
    L = (weights.max() * np.linalg.norm(X, 2) ** 2 + 0.5) / 0.3
    form = printed_problem(smoothed, 4, gamma=0.5, rho=2.0, lipschitz=L)
    check_gradient(form, (8 + fit_intercept, 3))
    check_lipschitz(form, (8 + fit_intercept, 3))


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_published_leaves_no_row_at_zero(fit_intercept):
    design, Y = labels()
    answer = solve_nmapg(
        design, Y, 5, variant="published", fit_intercept=fit_intercept, max_iter=50
    )
    assert n_rows(answer.W) == 60
    assert answer.W.shape == (60, 3)
    assert bool(answer.b.any()) == fit_intercept


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
