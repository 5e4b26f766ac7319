"""SFS and projected gradient against brute force, fixed points and each other."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import f_classif
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from rowsparse import MTFS, ProjectedGradient, SmoothedL20
from rowsparse.rows import project_l20
from rowsparse.solvers.sparse.hard_threshold import (
    _Loss,
    projected_gradient,
    scatter_ratio_start,
    smoothed_l20,
    thresholded_descent,
)

from .test_mtfs import plain, planted, regression

slow_steps = pytest.mark.filterwarnings("ignore:.*did not converge")


def loss_at(X, Y, W):
    return float(np.sum((Y - X @ W) ** 2))


def best_loss(X, Y, k):
    """The least loss over all supports of size k."""
    values = []
    for S in combinations(range(X.shape[1]), k):
        B = np.linalg.lstsq(X[:, S], Y, rcond=None)[0]
        values.append(loss_at(X[:, S], Y, B))
    return min(values)


# ------------------------------------------------------------------------------- the steps
@given(st.integers(0, 10**6), st.integers(1, 8), st.floats(0.05, 1.0))
@settings(max_examples=40, deadline=None)
def test_short_steps_never_raise_the_loss(seed, k, share):
    X, Y = regression(15, 8, 2, seed)
    start = project_l20(np.random.default_rng(seed).standard_normal((8, 2)), k)
    L = np.linalg.norm(X, 2) ** 2
    run = thresholded_descent(
        _Loss(plain(X), Y), start, lambda V: project_l20(V, k), step=share / L, tol=0, max_iter=50
    )
    values = [loss_at(X, Y, start), *run.history]
    assert np.all(np.diff(values) <= 1e-12 * values[0])
    assert run.objective == pytest.approx(loss_at(X, Y, run.W), rel=1e-10)
    assert np.count_nonzero(run.W.any(axis=1)) <= k


@pytest.mark.parametrize("shape", [(40, 30, 3), (10, 60, 2)])
def test_steps_are_the_formula(shape):
    X, Y = regression(*shape)
    W = np.random.default_rng(1).standard_normal((shape[1], shape[2]))  # more rows than samples
    run = thresholded_descent(
        _Loss(plain(X), Y), W, lambda V: project_l20(V, 4), step=1e-3, tol=0, max_iter=3
    )
    for _ in range(3):
        W = project_l20(W - 1e-3 * X.T @ (X @ W - Y), 4)
    np.testing.assert_allclose(run.W, W, atol=1e-12)


@pytest.mark.parametrize("options", [{}, {"gamma": 2.0}])
def test_sfs_ends_in_a_fixed_point(options):
    X, Y = regression()
    L = np.linalg.norm(X, 2) ** 2
    solution = smoothed_l20(plain(X), Y, 4, tol=1e-15, max_iter=20000, **options)
    V = solution.W - X.T @ (X @ solution.W - Y) / L
    if options:
        kept = np.sum(V**2, axis=1) > 2 * options["gamma"] / L
        V = V * kept[:, None]
        charge = 2 * options["gamma"] * kept.sum()
    else:
        V, charge = project_l20(V, 4), 0.0
    np.testing.assert_allclose(V, solution.W, atol=1e-6)
    assert solution.objective == pytest.approx(loss_at(X, Y, solution.W) + charge, rel=1e-10)
    assert np.all(np.diff(solution.history) <= 1e-12 * solution.history[0])


def test_sfs_is_projected_gradient_with_the_same_start_and_step():
    X, y = planted()
    Y = np.eye(3)[y] - 1 / 3
    design = plain(X)
    solution = smoothed_l20(design, Y, 5, tol=1e-300, max_iter=200)
    start = project_l20(MTFS(5, standardize=False).fit(X, y).coef_.T, 5)
    W, L = start, design.spectral_norm() ** 2
    for _ in range(200):
        W = project_l20(W - X.T @ (X @ W - Y) / L, 5)
    np.testing.assert_allclose(solution.W, W, atol=1e-5)


def test_all_features_give_least_squares():
    X, Y = regression(60, 6, 2)
    B = np.linalg.lstsq(X, Y, rcond=None)[0]
    for solution in (
        smoothed_l20(plain(X), Y, 6, tol=1e-14, max_iter=5000),
        projected_gradient(plain(X), Y, 6, n_restarts=0, rng=np.random.default_rng(0)),
    ):
        np.testing.assert_allclose(solution.W, B, atol=1e-5)
        least = solution.attributes["refitted_objective_"]
        assert least == pytest.approx(loss_at(X, Y, B), rel=1e-10)


@pytest.mark.parametrize("k", [1, 2, 4])
def test_no_answer_is_better_than_the_best_subset(k):
    X, Y = regression(25, 9, 2, seed=3)
    least = best_loss(X, Y, k)
    rng = np.random.default_rng(0)
    for solution in (
        smoothed_l20(plain(X), Y, k),
        projected_gradient(plain(X), Y, k, n_restarts=0, rng=rng),
        projected_gradient(plain(X), Y, k, init="random", n_restarts=4, rng=rng),
    ):
        refitted = solution.attributes["refitted_objective_"]
        assert least - 1e-9 <= refitted <= solution.objective + 1e-9
        S = np.flatnonzero(solution.W.any(axis=1))
        assert S.size == k
        B = np.linalg.lstsq(X[:, S], Y, rcond=None)[0]
        assert refitted == pytest.approx(loss_at(X[:, S], Y, B))


# ------------------------------------------------------------------------------------- SFS
@slow_steps
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("method", [SmoothedL20, ProjectedGradient])
def test_planted_features_are_found(method, seed):
    X, y = planted(seed)
    assert method(5).fit(X, y).support_[:5].all()


def test_sfs_starts_at_the_l21_solution():
    X, y = planted()
    start = MTFS(5).fit(X, y)
    with pytest.warns(ConvergenceWarning):
        one = SmoothedL20(5, max_iter=1).fit(X, y)
    Y = np.eye(3)[y] - 1 / 3
    W = start.coef_.T * X.std(axis=0)[:, None]
    L = np.linalg.norm(X, 2) ** 2
    expected = project_l20(W - X.T @ (X @ W - Y) / L, 5)
    np.testing.assert_allclose(one.coef_.T, expected, atol=1e-5)
    assert one.refitted_objective_ < one.objective_


@pytest.mark.filterwarnings("ignore:.*non-zero rows at this penalty")
def test_a_heavier_count_leaves_fewer_rows():
    X, y = planted()
    counts = []
    for gamma in (1e-4, 1e-2, 0.1):
        selector = SmoothedL20(8, gamma=gamma, tol=1e-5, max_iter=20000).fit(X, y)
        active = np.count_nonzero(selector.coef_.any(axis=0))
        counts.append(active)
        R = np.eye(3)[y] - X @ selector.coef_.T - selector.intercept_
        assert selector.objective_ == pytest.approx(np.sum(R**2) + 2 * gamma * active, rel=1e-9)
        assert selector.support_.sum() == 8
    assert counts[0] > counts[1] > counts[2]


def test_a_count_that_leaves_too_few_rows_warns():
    X, y = planted()
    with pytest.warns(UserWarning, match="non-zero rows at this penalty"):
        SmoothedL20(5, gamma=100.0).fit(X, y)


# ----------------------------------------------------------------------- projected gradient
def test_scatter_ratio_ranks_as_the_f_statistic():
    X, y = planted()
    Y = np.eye(3)[y] / np.sqrt(np.bincount(y))
    Yc = Y - Y.mean(axis=0)
    for k in (1, 7, 50):
        start = scatter_ratio_start(plain(X), Yc, k)
        strongest = np.argsort(-f_classif(X, y)[0])[:k]
        assert set(np.flatnonzero(start.any(axis=1))) == set(strongest)
    np.testing.assert_allclose(X[:, strongest].T @ (Yc - X @ start), 0, atol=1e-10)


def test_independent_features_are_solved_exactly():
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((30, 10)))[0] * rng.uniform(0.5, 2, 10)
    Y = rng.standard_normal((30, 2))
    for k in (1, 3, 6):
        solution = projected_gradient(plain(Q), Y, k, n_restarts=0, rng=rng)
        assert solution.objective == pytest.approx(best_loss(Q, Y, k))


def test_classes_are_coded_and_other_targets_are_not():
    X, y = planted()
    y = np.where(y == 2, 1, y)  # 30 and 60 samples
    selector = ProjectedGradient(5).fit(X, y)
    G = np.eye(2)[y] / np.sqrt([30, 60])
    R = G - X @ selector.coef_.T - selector.intercept_
    assert selector.objective_ == pytest.approx(np.sum(R**2))
    assert selector.objective_ < 1.0  # of which the centred targets have 1 to explain
    labels = np.eye(2, dtype=int)[y]
    for init, target in (("random", y), ("pang", labels)):
        selector = ProjectedGradient(5, init=init, n_restarts=1, random_state=0).fit(X, target)
        R = labels - X @ selector.coef_.T - selector.intercept_
        assert selector.objective_ == pytest.approx(np.sum(R**2))


@slow_steps
def test_the_best_random_start_is_kept():
    X, y = planted()
    options = {"init": "random", "random_state": 3, "max_iter": 100}
    many = ProjectedGradient(5, n_restarts=5, **options).fit(X, y)
    assert many.objectives_.shape == (6,)
    assert many.objective_ == many.objectives_.min()
    one = ProjectedGradient(5, n_restarts=0, **options).fit(X, y)
    assert one.objective_ == many.objectives_[0]
    other = ProjectedGradient(5, n_restarts=0, init="random", random_state=4, max_iter=100).fit(
        X, y
    )
    assert other.objective_ != one.objective_


def test_the_default_step_is_one_over_the_squared_norm():
    X, y = planted()
    Z = X - X.mean(axis=0)
    step = ProjectedGradient(5, standardize=False).fit(X, y).step_
    assert step == pytest.approx(1 / np.linalg.norm(Z, 2) ** 2, rel=1e-5)
    assert ProjectedGradient(5, step=step / 2).fit(X, y).step_ == step / 2
    extreme = ProjectedGradient(5, standardize=False, step=step / 2.0**600).fit(X * 2.0**300, y)
    assert extreme.step_ == pytest.approx(step / 2.0**600)
    assert not extreme.diverged_


def test_divergence_keeps_the_best_coefficients():
    X, Y = regression()
    with pytest.warns(ConvergenceWarning, match=r"diverged with steps of 10, .* shorter step"):
        selector = ProjectedGradient(4, step=10.0).fit(X, Y)
    assert selector.diverged_
    assert not selector.converged_
    start = ProjectedGradient(4).fit(X, Y)
    assert selector.objective_ <= start.history_[0] + 1e-9
    assert np.isfinite(selector.coef_).all()
    with pytest.warns(ConvergenceWarning, match="diverged"):
        ProjectedGradient(4, step=1e300).fit(X, Y)


def test_step_can_be_searched():
    X, y = planted()
    pipeline = make_pipeline(
        ProjectedGradient(5, init="random", n_restarts=1, max_iter=50, random_state=0),
        LogisticRegression(),
    )
    grid = {"projectedgradient__step": [1e-8, 1e-3]}
    with pytest.warns(ConvergenceWarning):
        search = GridSearchCV(pipeline, grid, cv=3).fit(X, y)
    assert search.best_params_["projectedgradient__step"] == 1e-3


def test_a_looser_tolerance_stops_sooner():
    X, y = planted()
    options = {"init": "random", "n_restarts": 0, "random_state": 0, "max_iter": 5000}
    loose, tight = (ProjectedGradient(5, tol=t, **options).fit(X, y) for t in (1e-2, 1e-6))
    assert loose.n_iter_ < tight.n_iter_
    assert loose.objective_ > tight.objective_


# ------------------------------------------------------------------------------- the rest
def test_reference_values():
    # The refitted ones are the residual sums of squares of a least squares fit on the support.
    X, y = load_iris(return_X_y=True)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    sfs = SmoothedL20(2).fit(X, y)
    assert sfs.get_support(indices=True).tolist() == [2, 3]
    rest = np.linalg.lstsq(Z[:, 2:], np.eye(3)[y] - 1 / 3, rcond=None)[1].sum()
    assert sfs.refitted_objective_ == pytest.approx(47.67737583122) == pytest.approx(rest)
    pang = ProjectedGradient(2).fit(X, y)
    assert pang.get_support(indices=True).tolist() == [2, 3]
    assert pang.objective_ == pytest.approx(47.67737583122 / 50) == pytest.approx(rest / 50)


@pytest.mark.parametrize(
    ("cls", "options", "message"),
    [
        (SmoothedL20, {"gamma": -1.0}, "gamma must be a number above 0 or None"),
        (SmoothedL20, {"tol": 0}, "tol must be a number above 0"),
        (SmoothedL20, {"max_iter": 0}, "max_iter must be an integer of at least 1"),
        (ProjectedGradient, {"init": "zero"}, "init must be one of 'pang', 'random'"),
        (ProjectedGradient, {"step": 0.0}, "step must be a number above 0 or None"),
        (ProjectedGradient, {"n_restarts": -1}, "n_restarts must be an integer of at least 0"),
        (ProjectedGradient, {"tol": "small"}, "tol must be a number above 0"),
        (ProjectedGradient, {"max_iter": 1.5}, "max_iter must be an integer of at least 1"),
    ],
)
def test_wrong_parameters_are_refused(cls, options, message):
    X, y = planted()
    with pytest.raises((TypeError, ValueError), match=message):
        cls(2, **options).fit(X, y)
