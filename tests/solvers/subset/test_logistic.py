"""The logistic search: brute force, constraints, weights, sparse data and workers."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

from rowsparse._deadline import Deadline
from rowsparse.design import make_design
from rowsparse.solvers.losses.logistic import LogisticLoss
from rowsparse.solvers.subset import logistic
from rowsparse.solvers.subset.local_search import LocalOptimum
from rowsparse.solvers.subset.logistic import LogisticSearch, solve_logistic_path
from rowsparse.solvers.subset.logistic_descent import LogisticProblem
from rowsparse.solvers.subset.starts import MultiStartResult

from .problems import (
    logistic_loss,
    logistic_objective,
    logistic_rules,
    searched_logistic,
)


def best_of_all(loss, k, ridge, include=(), exclude=()):
    free = [j for j in range(loss.design.shape[1]) if j not in include and j not in exclude]
    choices = combinations(free, k - len(include))
    return min(logistic_objective(loss, [*include, *S], ridge) for S in choices)


@pytest.mark.parametrize("c", [1, 3])
@pytest.mark.parametrize("ridge", [0.02, 2.0])
def test_reaches_the_optimum_of_all_supports(c, ridge):
    for seed in range(2):
        loss = logistic_loss(seed, n=20, d=8, c=c)
        for k in (1, 2, 3):
            result = searched_logistic(loss, k, ridge=ridge)
            assert result.objective == pytest.approx(best_of_all(loss, k, ridge), rel=1e-8)
            assert result.support.size == k


def test_all_features_are_scikit_learns_logistic_regression():
    loss = logistic_loss(1, d=6, weighted=True)
    result = searched_logistic(loss, 6, ridge=0.5)
    model = LogisticRegression(C=2.0, tol=1e-12, solver="newton-cholesky")
    model.fit(loss.design.columns(np.arange(6)), loss.Y[:, 0], loss.omega)
    np.testing.assert_allclose(result.V[:, 0], model.coef_[0], atol=1e-8)
    np.testing.assert_allclose(result.b, model.intercept_, atol=1e-8)


def test_include_and_exclude_are_kept_and_the_rest_is_optimal():
    loss = logistic_loss(2, d=8)
    result = searched_logistic(loss, 3, include=[7], exclude=[0, 1])
    assert 7 in result.support
    assert not np.isin(result.support, [0, 1]).any()
    assert result.objective == pytest.approx(best_of_all(loss, 3, 1.0, [7], [0, 1]), rel=1e-8)


def test_costs_are_refits_without_each_feature_and_gains_rank_the_others():
    loss = logistic_loss(3)
    result = searched_logistic(loss, 3)
    for feature, cost in zip(result.support.tolist(), result.costs, strict=True):
        without = np.setdiff1d(result.support, [feature])
        rise = logistic_objective(loss, without, 1.0) - result.objective
        assert cost == pytest.approx(rise, rel=1e-6)
    assert np.all(result.gains[result.support] == 0)
    assert np.all(result.gains >= 0)
    assert result.gains.max() > 0


def test_weights_equal_repeated_samples():
    loss = logistic_loss(4, weighted=True)
    X = loss.design.columns(np.arange(10))
    rows = np.repeat(np.arange(30), loss.omega.astype(int))
    plain = make_design(X[rows], center=False, scale=False)[0]
    repeated = LogisticLoss(plain, loss.Y[rows], np.ones(rows.size), True)
    one, two = searched_logistic(loss, 3), searched_logistic(repeated, 3)
    np.testing.assert_array_equal(one.support, two.support)
    assert one.objective == pytest.approx(two.objective, rel=1e-10)


def test_sparse_data_give_the_answer_of_dense_data():
    rng = np.random.default_rng(5)
    X = rng.poisson(0.5, (60, 200)).astype(float)
    Y = (X[:, :3].sum(axis=1) + rng.standard_normal(60) > 1.5).astype(float)[:, None]
    results = [
        searched_logistic(
            LogisticLoss(make_design(data, center=True, scale=True)[0], Y, np.ones(60), True),
            5,
            n_restarts=4,
        )
        for data in (X, sp.csr_array(X))
    ]
    np.testing.assert_array_equal(results[0].support, results[1].support)
    assert results[0].objective == pytest.approx(results[1].objective, rel=1e-10)


def test_the_answer_does_not_depend_on_the_number_of_workers():
    loss = logistic_loss(6, n=40, d=120, c=2)
    one, two = (searched_logistic(loss, 5, n_restarts=8, n_jobs=n) for n in (1, 2))
    np.testing.assert_array_equal(one.support, two.support)
    assert one.objective == two.objective
    assert one.n_starts == two.n_starts == 9
    assert np.all(np.diff(one.history) <= 0)


def test_an_expired_deadline_still_gives_k_features():
    result = searched_logistic(logistic_loss(7, d=40), 6, deadline=Deadline(0.0))
    assert result.support.size == 6
    assert result.stopped_early


def test_a_monitor_can_end_the_search():
    seen = []
    result = searched_logistic(
        logistic_loss(8), 3, monitor=lambda value: seen.append(value) or True
    )
    assert len(seen) == result.n_starts == 1


def test_separable_labels_without_a_ridge_are_filled_up():
    X = np.random.default_rng(9).standard_normal((20, 12))
    Y = (X[:, :1] > 0).astype(float)
    design = make_design(X, center=True, scale=True)[0]
    result = searched_logistic(LogisticLoss(design, Y, np.ones(20), True), 4, ridge=0.0)
    assert result.support.size == 4
    assert 0 in result.support
    assert result.objective < 1e-6


def test_growing_shrinking_and_the_greedy_path_are_consistent():
    loss = logistic_loss(10, c=2)
    problem = LogisticProblem.of(loss, 1.0)
    search = LogisticSearch(problem, logistic_rules(problem, 4))
    path = list(search.greedy_path())
    assert [len(point.units) for point in path] == [0, 1, 2, 3, 4]
    assert path[0].objective == pytest.approx(problem.total)
    for point in path[1:]:
        assert point.objective == pytest.approx(logistic_objective(loss, point.units, 1.0))
    grown = search.regrow(path[2].units, (), 3)
    assert grown.objective <= path[2].objective
    assert len(search.shrink(path[3].units).units) == 2
    assert search.support(path[1].units, 3).size == 3


def test_a_path_reaches_the_optimum_of_every_size():
    loss = logistic_loss(11, n=25, d=7, c=2)
    points = solve_logistic_path(
        loss, 5, ridge=0.3, include=[6], exclude=[0], groups=None, n_restarts=2, seed=0
    )
    assert [point.k for point in points] == [1, 2, 3, 4, 5]
    for point in points:
        best = best_of_all(loss, point.k, 0.3, [6], [0])
        assert point.objective == pytest.approx(best, rel=1e-8)
        penalty = 0.15 * np.sum(point.V**2)
        assert point.loss == pytest.approx(point.objective - penalty, rel=1e-8)
        assert point.b.shape == (2,)


def test_the_first_start_is_kept_where_it_leads_further_than_better_ones(monkeypatch):
    loss = logistic_loss(0, n=30, d=12)
    first, best = LocalOptimum(5.0, (0, 1, 2)), LocalOptimum(4.0, (3, 4, 5))
    ends = {first: LocalOptimum(1.0, (0, 1, 6)), best: LocalOptimum(2.0, (3, 4, 7))}
    outcome = MultiStartResult(first, best, 2, [5.0, 4.0], False)
    monkeypatch.setattr(logistic, "run_starts", lambda *args, **settings: outcome)
    monkeypatch.setattr(LogisticSearch, "confirmed", lambda self, one: (ends[one], True))
    assert searched_logistic(loss, 3).support.tolist() == [0, 1, 6]
