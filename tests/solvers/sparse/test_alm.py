"""The augmented Lagrangian of RPFS: its steps and when it stops."""

from __future__ import annotations

import numpy as np
import pytest

from rowsparse.rows import project_l20
from rowsparse.solvers.solution import silent
from rowsparse.solvers.sparse.alm import AlmOptions, RidgeStep, Scaled, alm, strongest

from ..cases import design_of, l21_loss, wrong_labels


@pytest.mark.parametrize("shape", [(7, 30), (30, 7)])
def test_woodbury_and_direct_steps_solve_the_ridge_system(shape):
    rng = np.random.default_rng(0)
    X = rng.standard_normal(shape)
    Q, T = rng.standard_normal((shape[1], 2)), rng.standard_normal((shape[0], 2))
    change, ZW = RidgeStep(design_of(X, center=False)).solve(Q, X @ Q, T)
    W = np.linalg.solve(X.T @ X + np.eye(shape[1]), Q + X.T @ T)
    np.testing.assert_allclose(Q + change, W, atol=1e-10)
    np.testing.assert_allclose(ZW, X @ W, atol=1e-10)


def test_published_ranking_is_not_the_projection():
    P = np.array([[0.6, 0.6, 0.6], [1.1, 0.2, 0.2]])
    assert strongest(P, 1, "l1").tolist() == [0]
    assert strongest(P, 1, "l2").tolist() == [1]
    distance = {norm: np.sum((P - project_l20(P, 1, norm=norm)) ** 2) for norm in ("l1", "l2")}
    assert distance["l1"] == pytest.approx(1.29)
    assert distance["l2"] == pytest.approx(1.08)


@pytest.mark.parametrize("d", [9, 60])
def test_joint_step_minimises_over_coefficients_and_intercept(d):
    X, Y = wrong_labels(1, d=d)
    problem = Scaled.of(design_of(X, center=False), Y, None, True, joint=True)
    options = AlmOptions(mu=0.1, rho=1.02, max_iter=1, norm="l2", tol=0.0, may_stop=False)
    run = alm(problem, RidgeStep(problem.Z), np.zeros((d, 3)), d, options, silent)
    # With V = 0, E = 0 and no multipliers: ridge regression with a free intercept.
    Xc = X - X.mean(0)
    W = np.linalg.solve(Xc.T @ Xc + np.eye(d), Xc.T @ Y)
    np.testing.assert_allclose(run.P, W, atol=1e-10)
    np.testing.assert_allclose(run.b, Y.mean(0), atol=1e-12)
    assert run.history[-1] == pytest.approx(l21_loss(Xc, Y, W, Y.mean(0)))


def test_one_target_ranks_alike_by_both_norms():
    P = np.random.default_rng(0).standard_normal((50, 1))
    assert strongest(P, 7, "l1").tolist() == strongest(P, 7, "l2").tolist()


@pytest.mark.parametrize("classes", [2, 3])
def test_a_run_stops_early_once_the_split_holds(classes):
    X, Y = wrong_labels(7, n=12, d=40, classes=classes)
    problem = Scaled.of(design_of(X), Y, None, True, joint=True)
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
