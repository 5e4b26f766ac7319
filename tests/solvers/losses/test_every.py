"""What every loss owes: derivatives, a conjugate, and dual points that are feasible bounds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rowsparse.rows import row_norms
from rowsparse.solvers.losses.cox import CoxLoss
from rowsparse.solvers.losses.l21 import L21Loss
from rowsparse.solvers.losses.logistic import LogisticLoss
from rowsparse.solvers.losses.newton import NewtonLoss
from rowsparse.solvers.losses.poisson import PoissonLoss
from rowsparse.solvers.losses.squared import SquaredLoss

from ..cases import norm21, plain

seeds = st.integers(0, 2**32 - 1)
CURVED = ["logistic", "poisson", "cox"]
losses = st.sampled_from(["squared", "l21", *CURVED])


def posed(name, X, Y, omega, fit_intercept=True):
    """A loss on columns X."""
    if name == "squared":
        return SquaredLoss(plain(X), Y)
    if name == "cox":
        return CoxLoss.from_targets(plain(X), Y, omega, True, "survival")
    kinds = {"l21": L21Loss, "logistic": LogisticLoss, "poisson": PoissonLoss}
    return kinds[name](plain(X), Y, omega, fit_intercept)


def targets(name, rng, n, c):
    """Targets of a loss, and a feasible dual point for weights of one, or None."""
    Y = rng.standard_normal((n, c))
    if name == "cox":
        # Few times, so that there are ties.
        Y = np.column_stack([Y[:, 0] < 0.5, rng.integers(1, 6, n)])
        Y[0, 0] = 1.0
        return Y, None
    if name == "poisson":
        Y = rng.poisson(np.exp(Y)).astype(float)
        return Y, Y - rng.exponential(size=Y.shape)
    if name == "logistic":
        Y = (Y > 0).astype(float)
        return Y, Y - rng.uniform(size=Y.shape)
    Theta = rng.standard_normal((n, c))
    return Y, Theta / np.maximum(row_norms(Theta), 1.0)[:, None] if name == "l21" else Theta


def drawn(name, seed, fit_intercept=True):
    """A loss on a few samples, its columns, a feasible dual point or None, and a generator."""
    rng = np.random.default_rng(seed)
    n, d, c = rng.integers(3, 9), rng.integers(1, 8), rng.integers(1, 4)
    X, omega = rng.standard_normal((n, d)), rng.uniform(0.2, 3, n)
    Y, Theta = targets(name, rng, n, c)
    if Theta is not None and name != "squared":
        Theta = omega[:, None] * Theta
    return posed(name, X, Y, omega, fit_intercept), X, Theta, rng


@settings(max_examples=100, deadline=None)
@given(losses, seeds)
def test_derivatives_are_those_of_differences(name, seed):
    loss, _, _, rng = drawn(name, seed)
    P, D = rng.standard_normal((2, *loss.Y.shape))
    step = 1e-5
    for f in (loss, loss.smoothed(0.5)) if name == "l21" else (loss,):
        slope = (f.value(P + step * D) - f.value(P - step * D)) / (2 * step)
        assert slope == pytest.approx(np.vdot(f.gradient(P), D), abs=1e-4)
    if name != "l21":
        bend = (loss.gradient(P + step * D) - loss.gradient(P - step * D)) / (2 * step)
        H = loss.quadratic(P)[1].for_targets(slice(None)) if isinstance(loss, NewtonLoss) else None
        times = loss.curvature(P) * D if H is None else np.einsum("icc->ic", H.times(D))
        np.testing.assert_allclose(times, bend, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", CURVED)
def test_curvatures_are_operators(name):
    """Z'HZ and its diagonal are those of HZ, of one set of columns and of many at a time."""
    for seed in range(20):
        loss, _, _, rng = drawn(name, seed)
        P, Z = rng.standard_normal((3, *loss.Y.shape)), rng.standard_normal((3, len(loss.Y), 4))
        many = loss.quadratic(P)[1]
        for i in range(3):
            H = loss.quadratic(P[i])[1]
            products = np.einsum("ij,icl->cjl", Z[i], H.times(Z[i]))
            np.testing.assert_allclose(H.products(Z[i]), products, atol=1e-12)
            np.testing.assert_allclose(many.products(Z)[i], products, atol=1e-12)
            np.testing.assert_allclose(many.times(Z)[i], H.times(Z[i]), atol=1e-12)
            squares = np.einsum("cjj->cj", products)
            np.testing.assert_allclose(H.squares(Z[i]), squares, atol=1e-12)
            assert np.all(squares <= H.h.T @ Z[i] ** 2 + 1e-12)
            bound = loss.curvature_bound(P[i]) @ Z[i] ** 2
            assert np.all(squares <= bound + 1e-12)


@settings(max_examples=150, deadline=None)
@given(losses, seeds)
def test_fenchel_young(name, seed):
    """f(P) + <Theta, P> is never below the dual value, and equals it where Theta = -gradient."""
    loss, _, Theta, rng = drawn(name, seed)
    P, other = 3.0 * rng.standard_normal((2, *loss.Y.shape))
    if Theta is None:
        Theta, value = -loss.gradient(other), loss.dual_value_at(other)
    else:
        value = loss.dual_value(Theta)
    assert loss.value(P) + np.vdot(Theta, P) >= value - 1e-9
    Theta = -loss.gradient(P)
    value = loss.dual_value_at(P) if name == "cox" else loss.dual_value(Theta)
    assert loss.value(P) + np.vdot(Theta, P) == pytest.approx(value, abs=1e-9)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(["squared", "l21"]), seeds, st.booleans(), st.floats(0.05, 20.0))
def test_dual_points_are_feasible_and_below_every_objective(name, seed, fit_intercept, penalty):
    loss, X, _, rng = drawn(name, seed, fit_intercept)
    start = rng.standard_normal(loss.Y.shape) * rng.uniform(0, 5)
    Theta, scores, dual = loss.dual_point(start, penalty)
    assert np.all(row_norms(X.T @ Theta) <= penalty * (1 + 1e-12))
    assert dual == pytest.approx(loss.dual_value(Theta))
    assert scores.shape == (X.shape[1],)
    if name == "l21":
        assert np.all(row_norms(Theta) <= loss.omega * (1 + 1e-12))
    W = rng.standard_normal((X.shape[1], loss.Y.shape[1]))
    b = rng.standard_normal(loss.Y.shape[1]) * (fit_intercept and name == "l21")
    assert dual <= loss.value(X @ W + b) + penalty * norm21(W) + 1e-9


# ------------------------------------------------------------------------ losses with a curvature
def columns_and_targets(name, seed, n=40):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 6))
    return X, targets(name, rng, n, 2)[0], rng


@pytest.mark.parametrize("name", CURVED)
def test_weights_are_repetitions(name):
    X, Y, rng = columns_and_targets(name, 3)
    times = rng.integers(1, 4, len(X))
    rows = np.repeat(np.arange(len(X)), times)
    one = posed(name, X, Y, times.astype(float)).fit(X, ridge=1.0, tol=1e-12)
    other = posed(name, X[rows], Y[rows], np.ones(rows.size)).fit(X[rows], ridge=1.0, tol=1e-12)
    assert one.objective == pytest.approx(other.objective, rel=1e-12)
    np.testing.assert_allclose(one.W, other.W, rtol=1e-9)


@pytest.mark.parametrize("name", CURVED)
def test_many_fits_are_those_of_one_at_a_time(name):
    X, Y, rng = columns_and_targets(name, 2)
    loss = posed(name, X, Y, rng.uniform(0.5, 2.0, len(X)))
    sets = np.array([[0, 1, 2], [1, 3, 5], [0, 4, 5]])
    values, P = loss.fit_many(np.ascontiguousarray(X[:, sets].transpose(1, 0, 2)), ridge=2.0)
    for S, value, predicted in zip(sets, values, P, strict=True):
        fit = loss.fit(X[:, S], ridge=2.0, tol=1e-12)
        assert value == pytest.approx(fit.objective, rel=1e-8)
        np.testing.assert_allclose(predicted.T, fit.P, atol=1e-4)


@pytest.mark.parametrize("name", CURVED)
def test_the_errors_of_columns_add_what_they_may_to_the_loss(name):
    X, Y, rng = columns_and_targets(name, 4)
    loss = posed(name, X, Y, rng.uniform(0.5, 2.0, len(X)))
    W, error = rng.standard_normal((6, loss.Y.shape[1])), 1e-9
    loss.design.product_rounding = error
    Z = X + error * np.abs(X).max() * rng.standard_normal(X.shape) / 10
    assert abs(loss.value(Z @ W) - loss.value(X @ W)) <= loss.rounding_of(X, W, X @ W)


@pytest.mark.parametrize("name", CURVED)
def test_dependent_columns_without_a_ridge_still_reach_the_least_loss(name):
    X, Y, _ = columns_and_targets(name, 5)
    loss = posed(name, X, Y, np.ones(len(X)))
    twice = loss.fit(np.column_stack([X, X[:, :2], np.zeros(len(X))]), ridge=0.0, tol=1e-10)
    assert twice.objective == pytest.approx(loss.fit(X, ridge=0.0, tol=1e-10).objective, rel=1e-9)
