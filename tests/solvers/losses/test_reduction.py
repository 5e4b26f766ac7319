"""Targets in fewer columns: what is left of them and how they come back."""

from __future__ import annotations

import numpy as np
import pytest

from rowsparse.solvers.losses.reduction import Reduction

from ..cases import plain, primal, regression, solve_rfs


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("rank", [1, 2, 4])
def test_reduced_targets_expand_to_the_targets(rank, fit_intercept):
    rng = np.random.default_rng(0)
    Y = rng.standard_normal((20, rank)) @ rng.standard_normal((rank, 4)) + 3.0 * fit_intercept
    reduction = Reduction.of(Y, fit_intercept)
    assert reduction.reduced.shape == (20, rank)
    np.testing.assert_allclose(reduction.basis.T @ reduction.basis, np.eye(rank), atol=1e-12)
    back = reduction.reduced @ reduction.basis.T + reduction.offset
    np.testing.assert_allclose(back, Y, atol=1e-9)


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_labels_lose_one_column_to_the_intercept(classes):
    Y = np.eye(classes)[np.arange(20) % classes]
    assert Reduction.of(Y, fit_intercept=True).reduced.shape[1] == classes - 1
    assert Reduction.of(Y, fit_intercept=False).reduced.shape[1] == classes


def test_an_expanded_solution_has_the_objective_of_the_reduced_problem():
    X, Y = regression(30, 10, 2, offset=0.5)
    Y = np.column_stack([Y, Y.sum(axis=1) + 1.0])
    reduction = Reduction.of(Y, fit_intercept=True)
    assert reduction.reduced.shape[1] == 2
    fit = solve_rfs(plain(X), reduction.reduced, 3.0)
    W, b, _ = reduction.expand(fit.W, fit.b, fit.attributes["dual_coef_"])
    assert primal(X, Y, W, b, 3.0) == pytest.approx(fit.objective)
    assert solve_rfs(plain(X), Y, 3.0).objective == pytest.approx(fit.objective, rel=1e-5)
