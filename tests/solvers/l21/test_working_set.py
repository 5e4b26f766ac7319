"""Working sets: the solution of the whole problem, certified, for both losses."""

from __future__ import annotations

import numpy as np
import pytest

from rowsparse.rows import row_norms
from rowsparse.solvers.l21.working_set import WorkingSetSolver, as_solution
from rowsparse.solvers.losses.l21 import L21Loss
from rowsparse.solvers.losses.squared import SquaredLoss

from ..cases import dense, norm21, plain, regression

N, D = 20, 150  # more columns than the first working set has


def loss_of(kind):
    X, Y = regression(N, D, 2, offset=0.5)
    design = plain(X)
    return SquaredLoss(design, Y) if kind == "squared" else L21Loss.of(design, Y, None, True)


@pytest.fixture(params=["squared", "l21"])
def loss(request):
    return loss_of(request.param)


@pytest.mark.parametrize("share", [0.5, 0.1])
def test_optimality_conditions_on_all_columns(loss, share):
    solver = WorkingSetSolver(loss, max_iter=100)
    penalty = share * solver.penalty_max
    fit = solver.solve(penalty, 1e-7)
    W = fit.coefficients(D)
    P = dense(loss.design) @ W + fit.b
    value = loss.value(P) + penalty * norm21(W)
    assert fit.objective == pytest.approx(value, rel=1e-9)
    scores = row_norms(dense(loss.design).T @ fit.Theta)
    assert np.all(scores <= penalty * (1 + 1e-9))
    assert fit.dual == pytest.approx(loss.dual_value(fit.Theta))
    assert -1e-9 * value <= fit.gap <= 1e-7 * value
    assert fit.converged
    assert 0 < fit.n_rows < D
    np.testing.assert_allclose(scores[W.any(axis=1)], penalty, rtol=0.02)


def test_nothing_enters_at_the_largest_penalty_and_something_below(loss):
    solver = WorkingSetSolver(loss, max_iter=100)
    null = solver.solve(solver.penalty_max, 1e-6)
    assert null.n_rows == 0
    assert null.converged
    assert null.objective == pytest.approx(loss.value(np.broadcast_to(null.b, loss.Y.shape)))
    assert solver.solve(0.95 * solver.penalty_max, 1e-6).n_rows > 0


def test_a_warm_start_gives_the_same_answer_as_a_cold_one(loss):
    warm = WorkingSetSolver(loss, max_iter=100)
    for share in (0.6, 0.4, 0.2):
        fit = warm.solve(share * warm.penalty_max, 1e-6)
    cold = WorkingSetSolver(loss, max_iter=100).solve(fit.penalty, 1e-6)
    assert fit.objective == pytest.approx(cold.objective, rel=3e-6)


def test_a_stopped_solver_returns_what_it_has(loss):
    seen = []
    solver = WorkingSetSolver(loss, max_iter=100, monitor=lambda value: seen.append(value) or True)
    fit = solver.solve(0.1 * solver.penalty_max, 1e-12)
    assert len(seen) == 1
    assert fit.history == seen
    assert solver.solve(0.05 * solver.penalty_max, 1e-12) is fit


def test_a_solution_ranks_the_zero_rows_below_the_others(loss):
    solver = WorkingSetSolver(loss, max_iter=100)
    fit = solver.solve(0.3 * solver.penalty_max, 1e-6)
    solution = as_solution(fit, fit.coefficients(D), fit.b, fit.Theta)
    active = solution.W.any(axis=1)
    assert solution.scores[active].min() > solution.scores[~active].max()
    order = np.argsort(solution.scores[~active])
    assert np.all(np.diff(fit.scores[~active][order]) >= -1e-12)
    assert solution.attributes["gap_"] == fit.gap
