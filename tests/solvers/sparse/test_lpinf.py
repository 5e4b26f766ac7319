"""The l_{p,inf} method: equivalences, certificates and what the printed version does."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso

from rowsparse import LpInf
from rowsparse.design import make_design
from rowsparse.rows import lpinf_penalty, prox_lpinf, row_norms, top_rows
from rowsparse.solvers.proximal import SquaredLoss, monotone_apg
from rowsparse.solvers.solution import silent
from rowsparse.solvers.sparse.lpinf import dual_value, gamma_max, lpinf


def problem(seed=0, n=30, d=60, c=3, informative=5, noise=0.3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    W = np.zeros((d, c))
    W[:informative] = rng.standard_normal((informative, c)) + 1.0
    Y = X @ W + noise * rng.standard_normal((n, c))
    design, _ = make_design(X, center=True, scale=True)
    return design, Y - Y.mean(axis=0)


def dense(design):
    return design.columns(np.arange(design.shape[1]))


def objective(design, Y, W, penalty, p):
    return 0.5 * np.sum((Y - dense(design) @ W) ** 2) + penalty * lpinf_penalty(W, p)


def n_rows(W):
    return int(np.count_nonzero(W.any(axis=1)))


@pytest.mark.parametrize("ratio", [0.5, 0.1])
def test_p_1_with_one_target_equals_lasso(ratio):
    design, Y = problem(c=1)
    penalty = ratio * gamma_max(SquaredLoss(design, Y), 1.0)
    answer = lpinf(design, Y, 1, p=1.0, gamma=penalty, tol=1e-10, max_iter=20000)
    lasso = Lasso(alpha=penalty / Y.shape[0], fit_intercept=False, tol=1e-12, max_iter=100000)
    lasso.fit(dense(design), Y[:, 0])
    assert answer.converged
    np.testing.assert_allclose(answer.W[:, 0], lasso.coef_, atol=1e-5)


@pytest.mark.parametrize("ratio", [0.6, 0.2, 0.05])
@pytest.mark.parametrize("shape", [(30, 60), (80, 10)])
def test_p_1_gap_recomputed_from_the_dual_point(ratio, shape):
    n, d = shape
    design, Y = problem(n=n, d=d)
    penalty = ratio * gamma_max(SquaredLoss(design, Y), 1.0)
    answer = lpinf(design, Y, 1, p=1.0, gamma=penalty, max_iter=20000)
    T = answer.attributes["dual_coef_"]
    assert np.abs(dense(design).T @ T).sum(axis=1).max() <= penalty * (1 + 1e-9)
    F = objective(design, Y, answer.W, penalty, 1.0)
    gap = F - (np.vdot(Y, T) - 0.5 * np.sum(T**2))
    assert answer.objective == pytest.approx(F, rel=1e-12)
    assert gap == pytest.approx(answer.attributes["gap_"], abs=1e-9 * F)
    assert gap >= -1e-12 * F
    assert gap <= 1e-6 * F
    assert answer.converged


def test_weak_duality_at_random_points():
    design, Y = problem()
    X, rng = dense(design), np.random.default_rng(1)
    for _ in range(200):
        W = rng.standard_normal((60, 3)) * rng.choice([0.0, 0.1, 1.0], (60, 1))
        R, penalty = Y - X @ W, rng.uniform(1, 50)
        score = np.abs(X.T @ R).sum(axis=1).max()
        dual, s = dual_value(np.sum(R**2), np.vdot(Y, R), score, penalty)
        assert abs(s) * score <= penalty * (1 + 1e-12)
        other = rng.standard_normal((60, 3)) * 0.1
        assert dual <= objective(design, Y, other, penalty, 1.0) * (1 + 1e-12)


@pytest.mark.parametrize("p", [0.0, 0.25, 0.5, 0.75, 1.0])
@pytest.mark.parametrize("init", ["ridge", "continuation", "zero", "best"])
def test_no_row_above_gamma_max(p, init):
    design, Y = problem()
    upper = gamma_max(SquaredLoss(design, Y), p)
    assert n_rows(lpinf(design, Y, 1, p=p, gamma=1.001 * upper, init=init).W) == 0


def test_a_row_below_lambda_max():
    design, Y = problem()
    upper = gamma_max(SquaredLoss(design, Y), 1.0)
    assert upper == pytest.approx(np.abs(dense(design).T @ Y).sum(axis=1).max())
    assert n_rows(lpinf(design, Y, 1, p=1.0, gamma=0.98 * upper).W) >= 1


@pytest.mark.parametrize("p", [0.0, 0.25, 0.5, 0.75, 1.0])
@pytest.mark.parametrize("init", ["ridge", "continuation", "zero"])
def test_objective_never_rises_and_ends_stationary(p, init):
    design, Y = problem(seed=3)
    penalty = 0.02 * gamma_max(SquaredLoss(design, Y), p)
    answer = lpinf(design, Y, 1, p=p, gamma=penalty, init=init, max_iter=20000)
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
    design, Y = problem(seed=5)
    answer = lpinf(design, Y, k, p=p)
    assert n_rows(answer.W) == k
    assert answer.objective == pytest.approx(
        objective(design, Y, answer.W, answer.attributes["gamma_"], p)
    )
    assert set(top_rows(answer.scores, k)) == set(np.flatnonzero(answer.W.any(axis=1)))


@pytest.mark.parametrize("p", [0.25, 0.5])
def test_informative_rows_are_found(p):
    design, Y = problem(seed=7, n=60)
    assert set(top_rows(lpinf(design, Y, 5, p=p).scores, 5)) == set(range(5))


@pytest.mark.parametrize("p", [0.0, 0.5, 0.75])
def test_best_is_the_better_of_ridge_and_continuation(p):
    design, Y = problem(seed=11, noise=2.0)
    penalty = 0.05 * gamma_max(SquaredLoss(design, Y), p)
    each = {
        init: lpinf(design, Y, 1, p=p, gamma=penalty, init=init).objective
        for init in ("ridge", "continuation", "best")
    }
    assert each["best"] == min(each.values())


def test_start_is_irrelevant_for_p_1():
    design, Y = problem()
    values = [lpinf(design, Y, 1, p=1.0, gamma=5.0, init=init).objective
              for init in ("ridge", "continuation", "zero", "best")]  # fmt: skip
    assert len(set(values)) == 1


def test_p_0_keeps_the_rows_that_pay_for_themselves():
    design, Y = problem(seed=13, n=40, d=8)
    penalty = 1.0
    answer = lpinf(design, Y, 1, p=0.0, gamma=penalty)
    chosen = np.flatnonzero(answer.W.any(axis=1))
    X = dense(design)[:, chosen]
    B = np.linalg.lstsq(X, Y, rcond=None)[0]
    np.testing.assert_allclose(answer.W[chosen], B, atol=1e-4)
    assert answer.objective == pytest.approx(
        0.5 * np.sum((Y - X @ B) ** 2) + penalty * chosen.size, rel=1e-8
    )


@pytest.mark.parametrize("scale_x", [1e-3, 1e3])
def test_scaling_x_and_y_scales_the_answer(scale_x):
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((30, 40)), rng.standard_normal((30, 2))
    p, t = 0.5, 7.0
    plain, _ = make_design(X, center=False, scale=False)
    scaled, _ = make_design(scale_x * X, center=False, scale=False)
    penalty = 0.1 * gamma_max(SquaredLoss(plain, Y), p)
    a = lpinf(plain, Y, 1, p=p, gamma=penalty)
    b = lpinf(scaled, t * Y, 1, p=p, gamma=penalty * t ** (2 - p) * scale_x**p)
    np.testing.assert_allclose(b.W * scale_x / t, a.W, atol=2e-5)


def test_the_dual_point_is_in_the_units_of_y():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((40, 12))
    y = X[:, :3] @ [2.0, -1.0, 1.5] + 0.1 * rng.standard_normal(40)
    unit = 2.0**-250
    ordinary = LpInf(3, p=1).fit(X, y)
    extreme = LpInf(3, p=1).fit(X, y * unit)
    np.testing.assert_allclose(extreme.dual_coef_ / unit, ordinary.dual_coef_, atol=1e-8)
    np.testing.assert_allclose(extreme.coef_ / unit, ordinary.coef_, atol=1e-8)


def test_more_rows_than_samples_can_use_ends():
    design, Y = problem(n=10, d=40, noise=1.0)
    answer = lpinf(design, Y, 30, p=0.5, max_iter=200)
    assert 1 <= n_rows(answer.W) <= 30
    assert np.isfinite(answer.scores).all()


def test_zero_targets_give_zero():
    design, Y = problem()
    for penalty in (None, 1.0):
        for p in (0.0, 0.5, 1.0):
            answer = lpinf(design, 0 * Y, 3, p=p, gamma=penalty)
            assert not answer.W.any()
            assert answer.objective == 0.0


def test_monitor_sees_each_objective_and_stops():
    design, Y = problem()
    seen: list[float] = []

    def watch(F):
        seen.append(F)
        return len(seen) >= 7

    answer = lpinf(design, Y, 1, p=1.0, gamma=1.0, monitor=watch)
    assert len(seen) == 7
    np.testing.assert_array_equal(seen, answer.history)
    assert not answer.converged


def test_gram_and_product_forms_agree():
    design, Y = problem(n=8, d=40)
    loss = SquaredLoss(design, Y)
    W = np.random.default_rng(0).standard_normal((40, 3))
    gram = loss.composite(np.arange(40), lambda W: 0.0, lambda U, t: U)
    loss = SquaredLoss(*problem(n=8, d=600))
    assert loss.gram_rows < 600
    V = np.random.default_rng(0).standard_normal((600, 3))
    product = loss.composite(np.arange(600), lambda W: 0.0, lambda U, t: U)
    for form, source, A in ((gram, (design, Y), W), (product, (loss.design, loss.Y), V)):
        X, P = dense(source[0]), form.product(A)
        R = source[1] - X @ A
        assert form.value(A, P) == pytest.approx(0.5 * np.sum(R**2))
        np.testing.assert_allclose(form.gradient(A, P), -X.T @ R, atol=1e-8)
        assert form.lipschitz == pytest.approx(np.linalg.norm(X, 2) ** 2, rel=1e-4)


def test_published_p_1_never_removes_a_row_and_is_worse():
    design, Y = problem()
    penalty = 0.5 * gamma_max(SquaredLoss(design, Y), 1.0)
    right = lpinf(design, Y, 1, p=1.0, gamma=penalty)
    printed = lpinf(design, Y, 1, p=1.0, gamma=penalty, variant="published", max_iter=300)
    assert n_rows(printed.W) == 60
    assert n_rows(right.W) < 20
    assert printed.objective > 1.01 * right.objective
    np.testing.assert_array_equal(printed.scores, np.abs(printed.W).max(axis=1))


@pytest.mark.parametrize("p", [0.5, 1.0])
def test_published_search_ends(p):
    design, Y = problem()
    answer = lpinf(design, Y, 5, p=p, variant="published", max_iter=100)
    assert np.isfinite(answer.W).all()


def test_plain_fista_may_rise_where_the_monotone_loop_may_not():
    design, Y = problem(noise=1.0)
    loss = SquaredLoss(design, Y)
    F = loss.composite(
        np.arange(60),
        lambda W: 2.0 * lpinf_penalty(W, 1.0),
        lambda U, t: prox_lpinf(U, 2.0 * t, 1.0),
    )
    runs = [
        monotone_apg(
            F, loss.ridge(), done=lambda W, P, h: False, max_iter=300, monitor=silent, monotone=m
        )
        for m in (True, False)
    ]
    rises = [np.diff(run.history).max() for run in runs]
    assert rises[0] <= 1e-12 * runs[0].history[0]
    assert rises[1] > 1e-6 * runs[1].history[0]


# ------------------------------------------------------------------------------- real data
def labelled(name):
    folder = os.environ.get("ROWSPARSE_DATA")
    path = Path(folder or ".") / f"{name}.npz"
    if not folder or not path.exists():
        pytest.skip(f"ROWSPARSE_DATA has no {name}.npz")
    with np.load(path) as data:
        X, y = data["X"], data["y"]
    design, _ = make_design(X, center=True, scale=True)
    return design, np.eye(y.max() + 1)[y]


@pytest.mark.parametrize(
    ("name", "p", "floor", "residue"),
    [("allaml", 0.5, 6.2738, 6.4247), ("glioma", 0.5, 3.6497, 4.2603),
     ("allaml", 1.0, 6.2738, 6.4224), ("glioma", 1.0, 3.6497, 4.3841)],
)  # fmt: skip
def test_residue_at_20_features_is_not_above_that_of_the_ridge_start(name, p, floor, residue):
    design, Y = labelled(name)
    answer = lpinf(design, Y, 20, p=p)
    assert n_rows(answer.W) == 20
    found = SquaredLoss(design, Y).refitted(top_rows(row_norms(answer.W), 20))
    assert floor < found <= residue * (1 + 1e-3)


def test_the_printed_iteration_is_given_up_where_it_wanders_about():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 61)) * 10.0 ** rng.integers(-30, 31, size=61)
    selector = LpInf(3, variant="published", standardize=False, max_iter=5000)
    with pytest.warns(ConvergenceWarning, match="did not converge"):
        selector.fit(X, rng.integers(0, 3, 60))
    assert selector.n_iter_ < 5000


@pytest.mark.parametrize("k", [5, 10, 15])
def test_a_weight_equals_repeating_a_sample(k):
    from rowsparse import LpInf

    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 30)), rng.integers(0, 3, 60)
    weights = rng.integers(1, 4, 60)
    weighted = LpInf(k).fit(X, y, sample_weight=weights)
    repeated = LpInf(k).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert np.array_equal(weighted.support_, repeated.support_)
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-6)
