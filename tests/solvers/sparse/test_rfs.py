"""RFS: objectives, certificates and the equivalences that must hold."""

import numpy as np
import pytest
from scipy.optimize import minimize

from rowsparse.design import make_design
from rowsparse.solvers.sparse.rfs_solver import rfs_path_fits, rfs_published

from ..cases import plain, primal, regression, solve_rfs, wrong_labels


def problem_data(n=30, d=50, c=3, noise=0.3):
    return regression(n, d, c, noise=noise, offset=0.5)


def solve(X, Y, gamma, **options):
    return solve_rfs(plain(X), Y, gamma, **options)


def published(design, Y, gamma, **options):
    options = {"fit_intercept": True, "tol": 1e-6, "max_iter": 1000, **options}
    return rfs_published(design, Y, gamma=gamma, **options)


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
        gammas=None,
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


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("shape", [(25, 60), (80, 12)])
def test_irls_agrees_with_admm(shape, fit_intercept):
    X, Y = problem_data(n=shape[0], d=shape[1])
    by_admm = solve(X, Y, 4.0, fit_intercept=fit_intercept)
    by_irls = solve(X, Y, 4.0, fit_intercept=fit_intercept, solver="irls", max_iter=3000, tol=1e-4)
    assert by_irls.converged
    assert by_irls.objective == pytest.approx(by_admm.objective, rel=2e-4)
    value = primal(X, Y, by_irls.W, by_irls.b, 4.0)
    assert by_irls.objective == pytest.approx(value)
    gap = value - np.vdot(Y, by_irls.attributes["dual_coef_"])
    assert by_irls.attributes["gap_"] == pytest.approx(gap, abs=1e-8)
    assert gap >= 0


def test_linear_programme_agrees_with_admm_on_one_target():
    X, Y = problem_data(c=1, n=40, d=20, noise=1.0)
    by_lp = solve(X, Y, 4.0, fit_intercept=False, solver="lp")
    by_admm = solve(X, Y, 4.0, fit_intercept=False, solver="admm", tol=1e-5)
    assert by_lp.converged
    assert by_lp.objective <= by_admm.objective + 1e-9
    assert by_admm.objective == pytest.approx(by_lp.objective, rel=1e-4)


def test_lp_is_refused_for_several_targets():
    X, Y = problem_data()
    with pytest.raises(ValueError, match="solver='lp' needs a single target"):
        solve(X, Y, 2.0, solver="lp")


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


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_published_constant_feature_is_penalised(fit_intercept):
    X, Y = problem_data()
    design, _ = make_design(X, center=True, scale=True)
    s = published(design, Y, 2.0, fit_intercept=fit_intercept, tol=1e-12, max_iter=2000)
    Z = design.columns(np.arange(50))
    value = primal(Z, Y, s.W, s.b, 2.0) + 2.0 * np.linalg.norm(s.b)
    assert s.objective == pytest.approx(value, rel=1e-10)


@pytest.mark.parametrize("k", [1, 3, 7, 15])
def test_search_leaves_exactly_k_rows(k):
    X, Y = problem_data()
    s = solve(X, Y, None, k=k)
    assert np.count_nonzero(s.W.any(axis=1)) == k


def test_a_row_that_rough_solutions_count_too_early_is_waited_for():
    X, Y = wrong_labels(144, n=24, d=9)
    s = solve_rfs(make_design(X, center=True, scale=True)[0], Y, None, k=5)
    assert np.count_nonzero(s.W.any(axis=1)) == 5


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
