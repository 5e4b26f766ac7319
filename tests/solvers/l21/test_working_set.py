"""The penalised problem: working sets, the penalty of k rows, and reweighting over blocks."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from rowsparse.design import make_design
from rowsparse.rows import row_norms
from rowsparse.solvers.l21.irls import Iterate, RowSums, irls, irls_from_sums, row_sums
from rowsparse.solvers.l21.penalty_search import search_penalty
from rowsparse.solvers.l21.working_set import WorkingSetSolver
from rowsparse.solvers.losses.l21 import L21Loss
from rowsparse.solvers.losses.squared import SquaredLoss

from ..cases import dense, norm21, plain, regression

N, D = 20, 150  # more columns than the first working set has


def loss_of(kind):
    X, Y = regression(N, D, 2, offset=0.5)
    design = plain(X)
    return (
        SquaredLoss(design, Y) if kind == "squared" else L21Loss.from_targets(design, Y, None, True)
    )


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


# ---------------------------------------------------------------------------- the penalty of k rows
@dataclass
class Counted:
    n_rows: int


class Entries:
    """Rows that enter at given penalties, and the penalties asked for."""

    def __init__(self, entries):
        self.entries, self.asked = np.asarray(entries), []

    def __call__(self, penalty):
        self.asked.append(penalty)
        return Counted(int(np.count_nonzero(self.entries > penalty)))


def search(solve, k, upper=1.0, step=0.5, lower=1e-6, max_solves=60):
    return search_penalty(solve, upper, k, step=step, lower=lower, max_solves=max_solves)


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_finds_exactly_k(k):
    entries = [0.9, 0.61, 0.6, 0.001]
    penalty, found = search(Entries(entries), k)
    assert found.n_rows == k
    assert np.count_nonzero(np.array(entries) > penalty) == k


def test_rows_that_enter_together_give_the_fewest_above_k():
    penalty, found = search(Entries([0.9, 0.3, 0.3, 0.3, 0.1]), 2)
    assert found.n_rows == 4
    assert 0.1 <= penalty < 0.3


def test_too_few_rows_end_at_the_lower_limit():
    solve = Entries([0.9, 0.5])
    penalty, found = search(solve, 5, lower=1e-3)
    assert found.n_rows == 2
    assert penalty == pytest.approx(1e-3)
    assert min(solve.asked) == pytest.approx(1e-3)


# --------------------------------------------------------------------------------------------- IRLS
def loss_of_irls(X, Y, fit_intercept=True, weights=None):
    return L21Loss.from_targets(plain(X), Y, weights, fit_intercept)


def test_published_steps_never_raise_the_objective_without_an_intercept():
    X, Y = regression(25, 60, 3)
    loss = loss_of_irls(X, Y, False, np.random.default_rng(0).uniform(0.5, 2.0, 25))
    result = irls(loss, 2.0, tol=1e-9, max_iter=200, published=True)
    assert np.all(np.diff(result.history) <= 1e-9 * result.history[0])
    assert result.objective == result.history[-1]
    assert result.gap >= -1e-9


# -------------------------------------------------------------------------- from sums over the rows
rng = np.random.default_rng(0)
X = rng.standard_normal((60, 5))
Y = X[:, :2] @ rng.standard_normal((2, 3)) + rng.standard_t(2, (60, 3)) + 4.0
OMEGA = rng.random(60) + 0.5
GAMMA = 15.0


def in_parts(before: Iterate | None, last: Iterate | None) -> RowSums:
    """The sums over three blocks, one of them without rows."""
    blocks = [
        row_sums(X[at], Y[at], OMEGA[at], GAMMA, before, last)
        for at in (slice(0, 25), slice(25, 25), slice(25, 60))
    ]
    return blocks[0].merged(blocks[1]).merged(blocks[2])


def loss_of_all(fit_intercept: bool) -> L21Loss:
    design, _ = make_design(X, center=False, scale=False)
    return L21Loss.from_targets(design, Y, OMEGA, fit_intercept)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_iterates_are_those_of_irls(fit_intercept: bool) -> None:
    options: dict[str, Any] = {"tol": 0.0, "max_iter": 7}
    found = irls_from_sums(in_parts, GAMMA, fit_intercept=fit_intercept, **options)
    expected = irls(loss_of_all(fit_intercept), GAMMA, published=False, **options)
    np.testing.assert_allclose(found.history, expected.history, rtol=1e-10)
    np.testing.assert_allclose(found.W, expected.W, rtol=1e-8)
    np.testing.assert_allclose(found.b, expected.b, rtol=1e-8)
    assert not found.converged


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_gap_is_a_true_one(fit_intercept: bool) -> None:
    found = irls_from_sums(in_parts, GAMMA, fit_intercept=fit_intercept, tol=1e-3, max_iter=500)
    optimum = irls(loss_of_all(fit_intercept), GAMMA, tol=1e-8, max_iter=3000, published=False)
    assert found.converged
    gap = found.attributes["gap_"]
    assert found.objective - gap <= optimum.objective <= found.objective
    assert 0 < gap <= 1e-3 * found.objective
