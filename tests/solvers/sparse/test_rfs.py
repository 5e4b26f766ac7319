"""RFS: objectives, certificates and the equivalences that must hold."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from rowsparse.design import make_design
from rowsparse.rows import row_norms
from rowsparse.solvers.sparse.rfs import rfs_path_fits, rfs_published

from ..cases import plain, primal, regression, solve_rfs


def problem_data(n=30, d=50, c=3, noise=0.3):
    return regression(n, d, c, noise=noise, offset=0.5)


def solve(X, Y, gamma, **options):
    return solve_rfs(plain(X), Y, gamma, **options)


def published(design, Y, gamma, **options):
    options = {"fit_intercept": True, "tol": 1e-6, "max_iter": 1000, **options}
    return rfs_published(design, Y, gamma, **options)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("solver", ["auto", "admm"])
@pytest.mark.parametrize("shape", [(30, 50, 3), (60, 10, 4), (20, 200, 2)])
def test_gap_recomputed_from_scratch_is_the_one_returned(shape, solver, fit_intercept):
    n, d, c = shape
    X, Y = problem_data(n=n, d=d, c=c)
    gamma = 2.0
    s = solve(X, Y, gamma, fit_intercept=fit_intercept, solver=solver)
    Theta = s.attributes["dual_coef_"]
    assert np.linalg.norm(Theta, axis=1).max() <= 1 + 1e-12
    assert np.linalg.norm(X.T @ Theta, axis=1).max() <= gamma * (1 + 1e-12)
    if fit_intercept:
        np.testing.assert_allclose(Theta.sum(axis=0), 0, atol=1e-10)
    value = primal(X, Y, s.W, s.b, gamma)
    assert s.objective == pytest.approx(value, rel=1e-12)
    assert s.attributes["gap_"] == pytest.approx(value - np.vdot(Y, Theta), abs=1e-9)
    assert s.converged
    assert s.attributes["gap_"] + 1e-10 >= 0
    assert s.attributes["gap_"] <= 1e-6 * value


@pytest.mark.parametrize("seed", range(6))
def test_tiny_problem_equals_derivative_free_minimum(seed):
    rng = np.random.default_rng(seed)
    n, d, c = 6, 3, 1 + seed % 3
    X, Y = rng.standard_normal((n, d)), rng.standard_normal((n, c))
    s = solve(X, Y, 0.7, tol=1e-8)

    def value(v):
        return primal(X, Y, v[: d * c].reshape(d, c), v[d * c :], 0.7)

    best = min(
        minimize(value, rng.standard_normal(d * c + c), method="Powell").fun for _ in range(5)
    )
    assert s.objective <= best + 1e-6


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_nothing_is_selected_at_1001_permille_of_gamma_max_and_something_at_980(fit_intercept):
    X, Y = problem_data()
    Y = np.eye(3)[Y.argmax(axis=1)]
    path = rfs_path_fits(
        make_design(X, center=True, scale=True)[0],
        Y,
        None,
        n_gammas=1,
        eps=1.0,
        fit_intercept=fit_intercept,
        tol=1e-6,
    )
    gamma_max = path[0].attributes["gamma_"]
    design, _ = make_design(X, center=True, scale=True)
    above = solve_rfs(design, Y, 1.001 * gamma_max, fit_intercept=fit_intercept)
    below = solve_rfs(design, Y, 0.98 * gamma_max, fit_intercept=fit_intercept)
    assert not above.W.any()
    assert above.converged
    assert below.W.any()


def test_rotating_the_targets_rotates_the_coefficients():
    X, Y = problem_data()
    Q, _ = np.linalg.qr(np.random.default_rng(1).standard_normal((3, 3)))
    plain = solve(X, Y, 3.0, tol=1e-9)
    rotated = solve(X, Y @ Q, 3.0, tol=1e-9)
    np.testing.assert_allclose(rotated.W, plain.W @ Q, atol=2e-4)
    assert rotated.objective == pytest.approx(plain.objective, rel=1e-8)


def test_scaling_x_and_gamma_scales_the_coefficients_inversely():
    X, Y = problem_data()
    plain, scaled = solve(X, Y, 3.0, tol=1e-9), solve(8.0 * X, Y, 24.0, tol=1e-9)
    np.testing.assert_allclose(8.0 * scaled.W, plain.W, atol=1e-6)


def test_weights_equal_repeated_rows():
    X, Y = problem_data()
    times = np.random.default_rng(3).integers(1, 4, 30)
    design, _ = make_design(X, center=False, scale=False)
    weighted = solve_rfs(design, Y, 3.0, weights=times.astype(float), tol=1e-9)
    repeated = solve(np.repeat(X, times, axis=0), np.repeat(Y, times, axis=0), 3.0, tol=1e-9)
    assert weighted.objective == pytest.approx(repeated.objective, rel=1e-8)
    np.testing.assert_allclose(weighted.W, repeated.W, atol=1e-4)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("shape", [(25, 60), (80, 12)])
def test_irls_agrees_with_admm(shape, fit_intercept):
    X, Y = problem_data(n=shape[0], d=shape[1])
    by_admm = solve(X, Y, 4.0, fit_intercept=fit_intercept)
    by_irls = solve(X, Y, 4.0, fit_intercept=fit_intercept, solver="irls", max_iter=3000, tol=1e-4)
    assert by_irls.converged
    assert by_irls.objective == pytest.approx(by_admm.objective, rel=2e-4)
    assert by_irls.attributes["gap_"] >= 0


def test_linear_programme_agrees_with_admm_on_one_target():
    X, Y = problem_data(c=1, n=40, d=20, noise=1.0)
    by_lp = solve(X, Y, 4.0, fit_intercept=False, solver="lp")
    by_admm = solve(X, Y, 4.0, fit_intercept=False, solver="admm", tol=1e-5)
    assert by_lp.converged
    assert by_lp.objective <= by_admm.objective + 1e-9
    assert by_admm.objective == pytest.approx(by_lp.objective, rel=1e-4)


def test_two_classes_with_intercept_are_one_target():
    X, Y = problem_data(c=2)
    Y = np.eye(2)[Y.argmax(axis=1)]
    s = solve(X, Y, 2.0)
    np.testing.assert_allclose(s.W[:, 0], -s.W[:, 1], atol=1e-10)
    assert s.converged


def test_lp_is_refused_for_several_targets():
    X, Y = problem_data()
    with pytest.raises(ValueError, match="solver='lp' needs a single target"):
        solve(X, Y, 2.0, solver="lp")


def test_published_objective_falls_monotonically_without_intercept():
    X, Y = problem_data()
    design, _ = make_design(X, center=False, scale=False)
    s = published(design, Y, 2.0, fit_intercept=False, tol=1e-10, max_iter=300)
    assert np.all(np.diff(s.history) <= 1e-9 * s.history[:-1])
    assert np.count_nonzero(row_norms(s.W) > 0) == 50


def test_published_steps_survive_single_precision():
    rng = np.random.default_rng(6)
    # Columns that are nearly alike, samples that are fitted, a weak penalty: all at once.
    X = (rng.standard_normal((200, 3)) @ rng.standard_normal((3, 60))).astype(np.float32)
    X += 1e-3 * rng.standard_normal(X.shape).astype(np.float32)
    Y = np.eye(2)[(X[:, 0] > 0).astype(int)]
    answers = []
    for held in (X, X.astype(np.float64)):
        design, _ = make_design(held, center=True, scale=True)
        answers.append(published(design, Y, 1e-3, max_iter=40))
    assert answers[0].objective == pytest.approx(answers[1].objective, rel=1e-6)


def test_published_constant_feature_is_penalised():
    X, Y = problem_data()
    design, _ = make_design(X, center=True, scale=True)
    s = published(design, Y, 2.0, fit_intercept=True, tol=1e-12, max_iter=2000)
    Z = design.columns(np.arange(50))
    value = primal(Z, Y, s.W, s.b, 2.0) + 2.0 * np.linalg.norm(s.b)
    assert s.objective == pytest.approx(value, rel=1e-10)


@pytest.mark.parametrize("k", [1, 3, 7, 15])
def test_search_leaves_exactly_k_rows(k):
    X, Y = problem_data()
    s = solve(X, Y, None, k=k)
    assert np.count_nonzero(s.W.any(axis=1)) == k


def test_duplicate_columns_leave_the_objective_unchanged():
    X, Y = problem_data()
    once, twice = solve(X, Y, 3.0), solve(np.hstack([X, X]), Y, 3.0)
    assert once.objective == pytest.approx(twice.objective, rel=2e-6)


def test_path_objectives_rise_with_gamma_and_every_point_is_certified():
    X, Y = problem_data()
    design, _ = make_design(X, center=True, scale=True)
    fits = rfs_path_fits(design, Y, None, n_gammas=15, eps=0.05, fit_intercept=True, tol=1e-6)
    objectives = [s.objective for s in fits]
    assert np.all(np.diff(objectives) <= 1e-6 * objectives[0])
    assert all(s.attributes["gap_"] <= 1e-6 * s.objective for s in fits)
    for s in fits[::5]:
        alone = solve_rfs(design, Y, s.attributes["gamma_"])
        assert alone.objective == pytest.approx(s.objective, rel=2e-6)


@pytest.mark.parametrize(
    ("name", "gamma", "fit_intercept", "printed"),
    [
        ("srbct", 10.0, False, 62.10219450),
        ("allaml", 10.0, False, 62.87563773),
        ("glioma", 10.0, False, 45.51466313),
        ("prostate_ge", 10.0, False, 85.63316192),
        ("lymphoma", 10.0, False, 79.18041065),
        ("srbct", 1.0, False, 46.09553213),
        ("srbct", 10.0, True, 25.223),
        ("srbct", 1.0, True, 2.5544),
        ("allaml", 1.0, True, 1.392652),
        ("allaml", 5.0, True, 6.963261),
        ("glioma", 1.0, True, 3.42434),
        ("lymphoma", 1.0, True, 4.420104),
    ],
)
def test_reference_objectives_are_reached(benchmark_data, name, gamma, fit_intercept, printed):
    X, y = benchmark_data(name)
    design, _ = make_design(X, center=True, scale=True)
    s = solve_rfs(design, np.eye(y.max() + 1)[y], gamma, fit_intercept=fit_intercept)
    digits = len(str(printed).split(".")[1])
    tolerance = 0.5 * 10.0**-digits + 1e-6 * printed
    assert s.converged
    assert abs(s.objective - printed) <= tolerance
