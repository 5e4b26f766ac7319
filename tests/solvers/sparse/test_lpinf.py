"""The l_{p,inf} method: equivalences, certificates, the search for k rows, and the printed one."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso

from rowsparse import LpInf
from rowsparse.design import make_design
from rowsparse.rows import prox_lpinf, row_norms, top_rows
from rowsparse.solvers.losses.squared import SquaredLoss, least_squares_objective
from rowsparse.solvers.solution import silent
from rowsparse.solvers.sparse.lpinf_solver import LpInfDescents, gamma_max, prox_printed

from ..cases import centred_regression, dense, lpinf_objective, n_rows, solve_lpinf


def labelled(data):
    X, y = data
    return make_design(X, center=True, scale=True)[0], np.eye(y.max() + 1)[y]


@pytest.mark.parametrize("ratio", [0.5, 0.1])
def test_p_1_with_one_target_equals_lasso(ratio):
    design, Y = centred_regression(c=1)
    penalty = ratio * gamma_max(SquaredLoss(design, Y), 1.0)
    answer = solve_lpinf(design, Y, 1, p=1.0, gamma=penalty, tol=1e-10, max_iter=20000)
    lasso = Lasso(alpha=penalty / Y.shape[0], fit_intercept=False, tol=1e-12, max_iter=100000)
    lasso.fit(dense(design), Y[:, 0])
    assert answer.converged
    np.testing.assert_allclose(answer.W[:, 0], lasso.coef_, atol=1e-5)


@pytest.mark.parametrize("ratio", [0.6, 0.2, 0.05])
@pytest.mark.parametrize("shape", [(30, 60), (80, 10)])
def test_p_1_gap_recomputed_from_the_dual_point(ratio, shape):
    n, d = shape
    design, Y = centred_regression(n=n, d=d)
    penalty = ratio * gamma_max(SquaredLoss(design, Y), 1.0)
    answer = solve_lpinf(design, Y, 1, p=1.0, gamma=penalty, max_iter=20000)
    T = answer.attributes["dual_coef_"]
    assert np.abs(dense(design).T @ T).sum(axis=1).max() <= penalty * (1 + 1e-9)
    F = lpinf_objective(design, Y, answer.W, penalty, 1.0)
    gap = F - (np.vdot(Y, T) - 0.5 * np.sum(T**2))
    assert answer.objective == pytest.approx(F, rel=1e-12)
    assert gap == pytest.approx(answer.attributes["gap_"], abs=1e-9 * F)
    assert gap >= -1e-12 * F
    assert gap <= 1e-6 * F
    assert answer.converged


@pytest.mark.parametrize("init", ["ridge", "continuation", "zero", "best"])
def test_no_row_above_gamma_max(init):
    design, Y = centred_regression()
    for p in (0.0, 0.25, 0.5, 0.75, 1.0):
        upper = gamma_max(SquaredLoss(design, Y), p)
        assert n_rows(solve_lpinf(design, Y, 1, p=p, gamma=1.001 * upper, init=init).W) == 0, p


@pytest.mark.parametrize("p", [0.0, 0.25, 0.5, 0.75, 1.0])
@pytest.mark.parametrize("init", ["ridge", "continuation", "zero"])
def test_objective_never_rises_and_ends_stationary(p, init):
    design, Y = centred_regression(seed=3)
    penalty = 0.02 * gamma_max(SquaredLoss(design, Y), p)
    answer = solve_lpinf(design, Y, 1, p=p, gamma=penalty, init=init, max_iter=20000)
    assert answer.converged
    scale = answer.history[0]
    assert np.all(np.diff(answer.history) <= 1e-12 * scale)
    assert answer.history[-1] == pytest.approx(answer.objective, rel=1e-8)
    assert answer.n_iter == answer.history.size
    X, L = dense(design), design.spectral_norm() ** 2
    step = prox_lpinf(answer.W + X.T @ (Y - X @ answer.W) / L, penalty / L, p)
    assert np.abs(step - answer.W).max() <= 1e-5 * np.abs(answer.W).max()


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("k", [1, 4, 9])
def test_penalty_none_leaves_exactly_k_rows(p, k):
    design, Y = centred_regression(seed=5)
    answer = solve_lpinf(design, Y, k, p=p)
    assert n_rows(answer.W) == k
    assert answer.objective == pytest.approx(
        lpinf_objective(design, Y, answer.W, answer.attributes["gamma_"], p)
    )
    assert set(top_rows(answer.scores, k)) == set(np.flatnonzero(answer.W.any(axis=1)))


def test_p_0_keeps_the_rows_that_pay_for_themselves():
    design, Y = centred_regression(seed=13, n=40, d=8)
    penalty = 1.0
    answer = solve_lpinf(design, Y, 1, p=0.0, gamma=penalty)
    chosen = np.flatnonzero(answer.W.any(axis=1))
    X = dense(design)[:, chosen]
    B = np.linalg.lstsq(X, Y, rcond=None)[0]
    np.testing.assert_allclose(answer.W[chosen], B, atol=1e-4)
    assert answer.objective == pytest.approx(
        0.5 * np.sum((Y - X @ B) ** 2) + penalty * chosen.size, rel=1e-8
    )


def test_more_rows_than_samples_can_use_ends():
    design, Y = centred_regression(n=10, d=40, noise=1.0)
    answer = solve_lpinf(design, Y, 30, p=0.5, max_iter=200)
    assert 1 <= n_rows(answer.W) <= 30
    assert np.isfinite(answer.scores).all()


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "p", "floor", "residue"),
    [
        ("allaml", 0.5, 6.2738, 6.4247),
        ("glioma", 0.5, 3.6497, 4.2603),
        ("allaml", 1.0, 6.2738, 6.4224),
        ("glioma", 1.0, 3.6497, 4.3841),
    ],
)
def test_residue_at_20_features_is_not_above_that_of_the_ridge_start(
    benchmark_data, name, p, floor, residue
):
    design, Y = labelled(benchmark_data(name))
    answer = solve_lpinf(design, Y, 20, p=p)
    assert n_rows(answer.W) == 20
    support = top_rows(row_norms(answer.W), 20)
    found = np.sqrt(least_squares_objective(design, Y, support))
    assert floor < found <= residue * (1 + 1e-3)


# ----------------------------------------------------------------------------------------- descents
def descents(design, Y, tol=1e-6, max_iter=5000):
    return LpInfDescents(SquaredLoss(design, Y), float(len(Y)), tol, max_iter, silent)


# --------------------------------------------------------------------------------------- as printed
def test_published_p_1_never_removes_a_row_and_is_worse():
    design, Y = centred_regression()
    penalty = 0.5 * gamma_max(SquaredLoss(design, Y), 1.0)
    right = solve_lpinf(design, Y, 1, p=1.0, gamma=penalty)
    printed = solve_lpinf(design, Y, 1, p=1.0, gamma=penalty, variant="published", max_iter=300)
    assert n_rows(printed.W) == 60
    assert n_rows(right.W) < 20
    assert printed.objective > 1.01 * right.objective
    np.testing.assert_array_equal(printed.scores, np.abs(printed.W).max(axis=1))


@pytest.mark.parametrize("p", [0.5, 1.0])
def test_published_search_ends(p):
    design, Y = centred_regression()
    answer = solve_lpinf(design, Y, 5, p=p, variant="published", max_iter=100)
    assert np.isfinite(answer.W).all()


def test_the_printed_iteration_is_given_up_where_it_wanders_about():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 61)), rng.integers(0, 3, 60)
    selector = LpInf(3, p=1.0, variant="published", max_iter=1000)
    with pytest.warns(ConvergenceWarning, match="did not converge"):
        selector.fit(X, y)
    assert selector.n_iter_ < 1000
    assert selector.history_[-1] > 1.01 * selector.history_.min()


def test_rows_that_the_printed_prox_loses_are_zero():
    A = np.array([[3.0, -2.0], [0.1, 0.05], [0.0, 0.0]])
    with np.errstate(all="ignore"):
        W = prox_printed(A, 1.0, 0.5)
    assert np.isfinite(W).all()
    assert W[0].any()
    np.testing.assert_array_equal(W[1:], 0.0)
