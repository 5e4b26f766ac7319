"""Second-order models and steps on a loss with a curvature, against the quadratic itself."""

import numpy as np
import pytest

from rowsparse.solvers.problem import Selection
from rowsparse.solvers.search.newton_state import NewtonColumns
from rowsparse.solvers.search.second_order import AllColumns, ColumnPool, NewtonModel

from .problems import GROUPS, best_exchange_of, local_of, logistic_loss, posed, small, value_of

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


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("pooled", [True, False])
def test_removals_are_the_best_ones_of_the_quadratic_one_by_one(fit_intercept, pooled):
    loss = logistic_loss(3, d=9, c=2, fit_intercept=fit_intercept, weighted=True)
    d = loss.design.shape[1]
    columns = ColumnPool(loss.design, np.arange(d)) if pooled else AllColumns(loss.design)
    support = np.array([2, 0, 5, 7, 3, 8])
    fit = loss.fit(loss.design.double_columns(support), ridge=RIDGE, tol=1e-12)
    left, W, b = NewtonModel(loss, RIDGE, columns, support, fit).removals(3, 1)
    expected = support.tolist()
    for _ in range(3):
        fewer = [[q for q in expected if q != out] for out in expected[1:]]
        expected = min(fewer, key=lambda places: quadratic_minimum(loss, fit, places)[0])
    assert left.tolist() == expected
    V = quadratic_minimum(loss, fit, expected)[1]
    np.testing.assert_allclose(W, V[:3], atol=1e-9)
    if fit_intercept:
        np.testing.assert_allclose(b, V[3], atol=1e-9)


def test_later_fits_begin_where_the_first_start_ended():
    problem = posed(logistic_loss(2, d=9), 3, ridge=1.0)
    states = NewtonColumns(problem)
    state = states.start((1, 4, 6), 3)
    states.first = state
    W, b = states.known(np.array([4, 2, 1]))
    np.testing.assert_array_equal(W, [state.fit.W[1], [0.0], state.fit.W[0]])
    np.testing.assert_array_equal(b, state.fit.b)
    # A step further; from zero it would be the same.
    assert states.start((1, 4, 6), 3).objective < state.objective


# ----------------------------------------------------------------- steps on a loss with a curvature
def state_of(seed, units, *, k=3, pool=None, include=(), widen=False, **options):
    """A state of these units besides the included ones, and its problem."""
    problem = posed(logistic_loss(seed, **options), k, ridge=1.0, include=include)
    states = NewtonColumns(problem)
    if pool is not None:
        states.pool = ColumnPool(states.design, np.array(pool))
    return states.start(units, k, widen=widen), problem


def settle(state, problem):
    """Exchange until no exchange is left that gains."""
    everything = np.ones(problem.choices.n_units, dtype=bool)
    before = np.inf
    while state.confirm(everything):
        assert state.objective < before
        before = state.objective
        state.descend(everything)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("ridge", [0.05, 3.0])
def test_a_confirmed_selection_has_no_better_neighbour(seed, grouped, ridge):
    problem = small(("logistic", grouped), seed, 3, n=30, ridge=ridge)
    found, settled = local_of(problem).confirmed(Selection(np.inf, (1, 4, 6)))
    assert settled
    assert found.objective == pytest.approx(value_of(problem, found.units), rel=1e-6)
    assert best_exchange_of(problem, found.units) >= value_of(problem, found.units) - 1e-8


def test_a_small_pool_is_widened_until_the_support_is_optimal_over_all_columns(monkeypatch):
    monkeypatch.setattr("rowsparse.solvers.search.newton_state._STEP_PRODUCTS", 0)
    monkeypatch.setattr("rowsparse.solvers.search.newton_state._LEAST_COLUMNS", 4)
    state, problem = state_of(2, [7, 8, 9], c=2)
    # The columns that promise most, and those of the state.
    strongest = np.argsort(-NewtonColumns(problem).gains_alone())[:6]
    assert set(state.pool.features) == {7, 8, 9, *strongest.tolist()}
    settle(state, problem)
    assert best_exchange_of(problem, state.units) >= value_of(problem, state.units) - 1e-8


# ------------------------------------------------------------------------------------------- groups
def test_gains_of_groups_are_those_of_the_second_order_model():
    loss = logistic_loss(4, d=12, c=2, weighted=True)
    states = local_of(posed(loss, 3, ridge=1.0, groups=GROUPS)).states
    state = states.start((1, 3), 2)
    gains = states.gains(state)
    for g in (0, 2, 4, 5, 6):
        Z = loss.design.double_columns(np.concatenate([GROUPS[i] for i in (1, 3, g)]))
        W = np.vstack([state.fit.W, np.zeros((GROUPS[g].size, 2))])
        assert gains[g] == pytest.approx(quadratic_gain(loss, Z, W, state.fit, 1.0), rel=1e-6)


def quadratic_gain(loss, Z, W, fit, ridge):
    """What a Newton step from W takes off the second-order model."""
    total = 0.0
    design = np.column_stack([Z, np.ones(len(Z))])
    H, slope = loss.curvature(fit.P), loss.gradient(fit.P)
    for c in range(H.shape[1]):
        weights = np.append(np.full(Z.shape[1], ridge), 0.0)
        A = (design.T * H[:, c]) @ design + np.diag(weights)
        b = design.T @ slope[:, c] + weights * np.append(W[:, c], 0.0)
        total += 0.5 * b @ np.linalg.solve(A, b)
    return total
