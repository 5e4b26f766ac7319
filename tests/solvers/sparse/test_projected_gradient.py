"""Projected gradient against brute force, closed forms and its own promises."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import f_classif
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from rowsparse import ProjectedGradient
from rowsparse.solvers.losses.squared import SquaredLoss
from rowsparse.solvers.sparse.projected_gradient import projected_gradient, scatter_ratio_start

from ..cases import best_loss, loss_at, plain, planted, regression

slow_steps = pytest.mark.filterwarnings("ignore:.*did not converge")


def solve(X, Y, k, **options):
    rng = np.random.default_rng(0)
    options = {"init": "pang", "step": None, "n_restarts": 0, "tol": 1e-4, **options}
    return projected_gradient(plain(X), Y, k, max_iter=1000, rng=rng, **options)


def test_all_features_give_least_squares():
    X, Y = regression(60, 6, 2)
    B = np.linalg.lstsq(X, Y, rcond=None)[0]
    solution = solve(X, Y, 6)
    np.testing.assert_allclose(solution.W, B, atol=1e-5)
    least = solution.attributes["refitted_objective_"]
    assert least == pytest.approx(loss_at(X, Y, B), rel=1e-10)


@pytest.mark.parametrize("options", [{}, {"init": "random", "n_restarts": 4}])
@pytest.mark.parametrize("k", [1, 2, 4])
def test_the_answer_is_never_better_than_the_best_subset(k, options):
    X, Y = regression(25, 9, 2, seed=3)
    solution = solve(X, Y, k, **options)
    refitted = solution.attributes["refitted_objective_"]
    assert best_loss(X, Y, k) - 1e-9 <= refitted <= solution.objective + 1e-9
    assert np.count_nonzero(solution.W.any(axis=1)) == k


@slow_steps
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_planted_features_are_found(seed):
    X, y = planted(seed)
    assert ProjectedGradient(5).fit(X, y).support_[:5].all()


def test_scatter_ratio_ranks_as_the_f_statistic():
    X, y = planted()
    Y = np.eye(3)[y] / np.sqrt(np.bincount(y))
    Yc = Y - Y.mean(axis=0)
    for k in (1, 7, 50):
        start = scatter_ratio_start(SquaredLoss(plain(X), Yc), k)
        strongest = np.argsort(-f_classif(X, y)[0])[:k]
        assert set(np.flatnonzero(start.any(axis=1))) == set(strongest)
    np.testing.assert_allclose(X[:, strongest].T @ (Yc - X @ start), 0, atol=1e-10)


def test_independent_features_are_solved_exactly():
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((30, 10)))[0] * rng.uniform(0.5, 2, 10)
    Y = rng.standard_normal((30, 2))
    for k in (1, 3, 6):
        solution = solve(Q, Y, k)
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


def test_reference_values():
    # The residual sum of squares of a least squares fit on the support, with coded classes.
    X, y = load_iris(return_X_y=True)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    selector = ProjectedGradient(2).fit(X, y)
    assert selector.get_support(indices=True).tolist() == [2, 3]
    rest = np.linalg.lstsq(Z[:, 2:], np.eye(3)[y] - 1 / 3, rcond=None)[1].sum()
    assert selector.objective_ == pytest.approx(47.67737583122 / 50) == pytest.approx(rest / 50)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"init": "zero"}, "init must be one of 'pang', 'random'"),
        ({"step": 0.0}, "step must be a number above 0 or None"),
        ({"n_restarts": -1}, "n_restarts must be an integer of at least 0"),
        ({"tol": "small"}, "tol must be a number above 0"),
        ({"max_iter": 1.5}, "max_iter must be an integer of at least 1"),
    ],
)
def test_wrong_parameters_are_refused(options, message):
    X, y = planted()
    with pytest.raises((TypeError, ValueError), match=message):
        ProjectedGradient(2, **options).fit(X, y)
