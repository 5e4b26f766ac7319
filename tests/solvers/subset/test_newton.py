"""Second-order models: their gains and coefficients equal minimising the quadratic itself."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from rowsparse.design import make_design
from rowsparse.solvers.subset.newton import AllColumns, ColumnPool, NewtonModel

from .problems import logistic_loss

RIDGE = 0.7
S = np.array([1, 4, 6])


def quadratic_minimum(loss, fit, support):
    """The least value on a support of the expansion of the objective at a fit, and W and b."""
    X = loss.design.double_columns(np.asarray(support))
    value, parts = 0.0, []
    for c in range(loss.Y.shape[1]):
        P, h = fit.P[:, c], loss.curvature(fit.P)[:, c]
        g = loss.gradient(fit.P)[:, c]
        A = np.column_stack([X, np.ones(len(X))]) if loss.fit_intercept else X
        penalty = np.zeros(A.shape[1])
        penalty[: X.shape[1]] = RIDGE
        v = np.linalg.solve((A.T * h) @ A + np.diag(penalty), A.T @ (h * P - g))
        D = A @ v - P
        value += g @ D + 0.5 * h @ D**2 + 0.5 * penalty @ v**2
        parts.append(v)
    return loss.value(fit.P) + value, np.column_stack(parts)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("pooled", [True, False])
def test_gains_and_starts_are_those_of_the_quadratic(fit_intercept, pooled):
    loss = logistic_loss(0, c=2, fit_intercept=fit_intercept, weighted=True)
    d = loss.design.shape[1]
    columns = ColumnPool(loss.design, np.arange(d)) if pooled else AllColumns(loss.design)
    fit = loss.fit(loss.design.double_columns(S), ridge=RIDGE, tol=1e-12)
    model = NewtonModel(loss, RIDGE, columns, S, fit)
    added, removed, exchanged = (
        model.addition_gains(),
        model.removal_costs(),
        model.exchange_gains(),
    )
    assert np.all(added[S] == -np.inf)
    assert np.all(exchanged[:, S] == -np.inf)
    for i in range(3):
        fewer = np.delete(S, i)
        cost = quadratic_minimum(loss, fit, fewer)[0] - fit.objective
        assert removed[i] == pytest.approx(cost, rel=1e-8)
        for j in np.setdiff1d(np.arange(d), S).tolist():
            value, V = quadratic_minimum(loss, fit, [*fewer, j])
            assert exchanged[i, j] == pytest.approx(fit.objective - value, rel=1e-8, abs=1e-10)
            gain = fit.objective - quadratic_minimum(loss, fit, [*S, j])[0]
            assert added[j] == pytest.approx(gain, rel=1e-8)
            places, W, b = model.start(i, j)
            assert places.tolist() == [*fewer.tolist(), j]
            np.testing.assert_allclose(W, V[:3], atol=1e-9)
            if fit_intercept:
                np.testing.assert_allclose(b, V[3], atol=1e-9)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("pooled", [True, False])
def test_a_block_is_the_greedy_growth_in_the_quadratic(fit_intercept, pooled):
    loss = logistic_loss(3, d=9, c=2, fit_intercept=fit_intercept, weighted=True)
    d = loss.design.shape[1]
    columns = ColumnPool(loss.design, np.arange(d)) if pooled else AllColumns(loss.design)
    fit = loss.fit(loss.design.double_columns(S), ridge=RIDGE, tol=1e-12)
    allowed = np.ones(d, dtype=bool)
    allowed[0] = False
    found = NewtonModel(loss, RIDGE, columns, S, fit).additions(3, allowed)
    support = S.tolist()
    for _ in range(3):
        rest = [j for j in range(1, d) if j not in support]
        support.append(min(rest, key=lambda j: quadratic_minimum(loss, fit, [*support, j])[0]))
    assert [*S.tolist(), *found.tolist()] == support


def test_a_block_ends_where_nothing_gains():
    X = np.random.default_rng(0).standard_normal((30, 4))
    design = make_design(np.column_stack([X, X[:, 0]]), center=True, scale=True)[0]
    loss = logistic_loss(0, d=5)
    loss = type(loss)(design, loss.Y, loss.omega, True)
    support = np.array([1, 2])
    fit = loss.fit(design.double_columns(support), ridge=0.0, tol=1e-12)
    model = NewtonModel(loss, 0.0, AllColumns(design), support, fit)
    # Columns 0 and 4 are the same: only one of them is added.
    assert sorted(model.additions(3, np.ones(5, dtype=bool)).tolist()) == [0, 3]


def test_duplicates_add_nothing_without_a_ridge():
    X = np.random.default_rng(0).standard_normal((30, 4))
    design = make_design(np.column_stack([X, X[:, 0]]), center=True, scale=True)[0]
    loss = logistic_loss(0, d=5)
    loss = type(loss)(design, loss.Y, loss.omega, True)
    support = np.array([0, 1])
    fit = loss.fit(design.double_columns(support), ridge=0.0, tol=1e-12)
    model = NewtonModel(loss, 0.0, AllColumns(design), support, fit)
    assert model.addition_gains()[4] == 0.0
    assert model.exchange_gains()[0, 4] == pytest.approx(0.0, abs=1e-7)


def test_a_pool_equals_the_columns_of_the_design_dense_or_sparse():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((20, 9)) * (rng.uniform(size=(20, 9)) < 0.4)
    H, M = rng.uniform(size=(20, 2)), rng.standard_normal((20, 3))
    for data in (X, sp.csc_array(X)):
        design = make_design(data, center=True, scale=True)[0]
        whole = AllColumns(design)
        pool = ColumnPool(design, np.array([7, 2])).extended(np.array([3, 2, 8]))
        assert pool.features.tolist() == [2, 3, 7, 8]
        assert pool.size == 4
        assert pool.extended(np.array([8])) is pool
        np.testing.assert_array_equal(pool.places(np.array([7, 2])), [2, 0])
        at = pool.features
        np.testing.assert_allclose(pool.products(M), whole.products(M)[:, at], atol=1e-12)
        np.testing.assert_allclose(pool.squares(H), whole.squares(H)[:, at], atol=1e-12)
        np.testing.assert_allclose(pool.take(np.array([1])), whole.take(np.array([3])))
