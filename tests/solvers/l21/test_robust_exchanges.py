"""The proposals of the robust search: bounds, scores and the columns that may take part."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from rowsparse.rows import row_norms
from rowsparse.solvers.l21.robust_exchanges import RobustExchanges, median_residual
from rowsparse.solvers.losses.l21 import L21Loss

from ..cases import design_of, refit, wrong_labels


def exchanges(X, Y, gamma=0.0, fixed=(), closed=()):
    d = X.shape[1]
    fixed, closed = np.isin(np.arange(d), fixed), np.isin(np.arange(d), closed)
    loss = L21Loss.of(design_of(X), Y, None, True)
    return RobustExchanges(loss, gamma, fixed, ~fixed & ~closed, 0.0)


@pytest.mark.parametrize("gamma", [0.0, 0.5])
def test_reweighting_bounds_the_refitted_loss_from_above(gamma):
    X, Y = wrong_labels(4, n=30, d=20)
    Yc = Y - Y.mean(axis=0)
    supports = np.array(list(combinations(range(6), 3)))
    bounds = exchanges(X, Yc, gamma).bounds(supports, row_norms(Yc), len(supports))
    for S, bound in zip(supports, bounds, strict=True):
        exact = refit(design_of(X), Y, S, gamma=gamma, tol=1e-7).objective
        np.testing.assert_array_equal(bound.support, S)
        assert exact * (1 - 1e-6) <= bound.objective <= exact * 1.005


def test_a_bound_is_the_objective_of_its_residual():
    X, Y = wrong_labels(1)
    point = exchanges(X, Y).bounds(np.array([[0, 1, 4]]), row_norms(Y), 1)[0]
    assert point.objective == pytest.approx(row_norms(point.residual).sum())
    np.testing.assert_allclose(point.norms, row_norms(point.residual))


@pytest.mark.parametrize("kind", ["gain", "fall"])
def test_proposals_exchange_one_free_feature_for_an_open_one(kind):
    X, Y = wrong_labels(2)
    problem = exchanges(X, Y, fixed=[0], closed=[7])
    point = problem.refit(np.array([4, 0, 1]))
    found = problem.proposals(point, kind, 1.0)
    assert 0 < len(found) <= 10
    assert len({tuple(S) for S in found.tolist()}) == len(found)
    for S in found.tolist():
        assert sorted(S) == S
        assert 0 in S
        assert 7 not in S
        assert len(set(S) & {0, 1, 4}) == 2


def test_gains_are_those_of_weighted_least_squares():
    X, Y = wrong_labels(3)
    problem = exchanges(X, Y)
    point = problem.refit(np.array([1, 5, 6]))
    v = 1.0 / np.hypot(point.norms, median_residual(point.norms))

    def rest(S):
        A = np.sqrt(v)[:, None] * np.column_stack([X[:, S], np.ones(len(X))])
        return np.linalg.lstsq(A, np.sqrt(v)[:, None] * Y, rcond=None)[1].sum()

    order = problem.smoothed(point, 1.0).support
    scores = problem.scores(point, "gain", 1.0)
    for i, out in enumerate(order):
        for p in (0, 2, 8):
            S = [j for j in order if j != out] + [p]
            assert scores[i, p] == pytest.approx(rest(order) - rest(S), abs=1e-8)


def test_removals_bound_the_objectives_without_each_feature():
    X, Y = wrong_labels(5)
    problem = exchanges(X, Y)
    point = problem.refit(np.array([0, 1, 2]))
    objectives, scores = problem.removals(point)
    assert scores.shape == (3, 9)
    for i, value in enumerate(objectives):
        exact = refit(design_of(X), Y, np.delete(point.support, i)).objective
        assert exact * (1 - 1e-6) <= value <= exact * 1.01


def test_a_restricted_problem_has_the_refits_of_the_whole():
    X, Y = wrong_labels(6)
    whole = exchanges(X, Y, fixed=[2])
    part = whole.restricted(np.array([2, 4, 7]))
    assert part.fixed.tolist() == [True, False, False]
    inner, outer = part.refit(np.array([0, 2])), whole.refit(np.array([2, 7]))
    assert inner.objective == pytest.approx(outer.objective, rel=1e-4)
    assert len(part.refits) == 1


def test_the_median_leaves_out_fitted_samples():
    assert median_residual(np.array([0.0, 0.0, 0.0, 1.0, 3.0])) == 2.0
    assert median_residual(np.zeros(3)) == 1.0
