"""Hard thresholding of rows: projected gradient, SmoothedL20, and the steps of both."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import f_classif

from rowsparse import ProjectedGradient, SmoothedL20
from rowsparse.rows import project_l20
from rowsparse.solvers.losses.squared import SquaredLoss
from rowsparse.solvers.sparse.hard_threshold import RowsInUse, thresholded_descent
from rowsparse.solvers.sparse.projected_gradient_solver import (
    projected_gradient,
    scatter_ratio_start,
)
from rowsparse.solvers.sparse.smoothed_l20_solver import smoothed_l20

from ..cases import loss_at, plain, planted, regression


def solve(X, Y, k, **options):
    rng = np.random.default_rng(0)
    options = {"init": "pang", "step": None, "n_restarts": 0, "tol": 1e-4, **options}
    return projected_gradient(plain(X), Y, k, max_iter=1000, rng=rng, **options)


def smoothed(X, Y, k):
    """SmoothedL20, whose steps are the same from another start."""
    return smoothed_l20(plain(X), Y, k, gamma=None, tol=1e-14, max_iter=5000)


@pytest.mark.parametrize("method", [solve, smoothed])
def test_all_features_give_least_squares(method):
    X, Y = regression(60, 6, 2)
    B = np.linalg.lstsq(X, Y, rcond=None)[0]
    solution = method(X, Y, 6)
    np.testing.assert_allclose(solution.W, B, atol=1e-5)
    least = solution.attributes["refitted_objective_"]
    assert least == pytest.approx(loss_at(X, Y, B), rel=1e-10)


def test_scatter_ratio_ranks_as_the_f_statistic():
    X, y = planted()
    Y = np.eye(3)[y] / np.sqrt(np.bincount(y))
    Yc = Y - Y.mean(axis=0)
    for k in (1, 7, 50):
        start = scatter_ratio_start(SquaredLoss(plain(X), Yc), k)
        strongest = np.argsort(-f_classif(X, y)[0])[:k]
        assert set(np.flatnonzero(start.any(axis=1))) == set(strongest)
    np.testing.assert_allclose(X[:, strongest].T @ (Yc - X @ start), 0, atol=1e-10)


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


def test_reference_values():
    # The residual sum of squares of a least squares fit on the support, with coded classes.
    X, y = load_iris(return_X_y=True)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    rest = np.linalg.lstsq(Z[:, 2:], np.eye(3)[y] - 1 / 3, rcond=None)[1].sum()
    assert rest == pytest.approx(47.67737583122)
    coded, plain_targets = ProjectedGradient(2).fit(X, y), SmoothedL20(2).fit(X, y)
    assert coded.objective_ == pytest.approx(rest / 50)
    assert plain_targets.refitted_objective_ == pytest.approx(rest)
    for selector in (coded, plain_targets):
        assert selector.get_support(indices=True).tolist() == [2, 3]


# -------------------------------------------------------------------------------------- SmoothedL20
def solve_smoothed(X, Y, k, **options):
    options = {"gamma": None, "tol": 1e-8, "max_iter": 1000, **options}
    return smoothed_l20(plain(X), Y, k, **options)


@pytest.mark.parametrize("options", [{}, {"gamma": 2.0}])
def test_ends_in_a_fixed_point(options):
    X, Y = regression()
    L = np.linalg.norm(X, 2) ** 2
    solution = solve_smoothed(X, Y, 4, tol=1e-15, max_iter=20000, **options)
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
        rest = np.linalg.lstsq(X[:, selector.coef_.any(axis=0)], np.eye(3)[y] - 1 / 3, rcond=None)
        refitted = rest[1].sum() + 2 * gamma * active
        assert selector.refitted_objective_ == pytest.approx(refitted)
        assert selector.support_.sum() == 8
    assert counts[0] > counts[1] > counts[2]


# -------------------------------------------------------------------------------------------- steps
def rows_of(X, Y):
    return RowsInUse(SquaredLoss(plain(X), Y))


@given(st.integers(0, 10**6), st.integers(1, 8), st.floats(0.05, 1.0))
@settings(max_examples=20, deadline=None)
def test_short_steps_never_raise_the_loss(seed, k, share):
    X, Y = regression(15, 8, 2, seed)
    start = project_l20(np.random.default_rng(seed).standard_normal((8, 2)), k)
    L = np.linalg.norm(X, 2) ** 2
    run = thresholded_descent(
        rows_of(X, Y), start, lambda V: project_l20(V, k), step=share / L, tol=0, max_iter=50
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
        rows_of(X, Y), W, lambda V: project_l20(V, 4), step=1e-3, tol=0, max_iter=3
    )
    for _ in range(3):
        W = project_l20(W - 1e-3 * X.T @ (X @ W - Y), 4)
    np.testing.assert_allclose(run.W, W, atol=1e-12)
