"""The Cox loss: its value, dual points and fits."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from rowsparse.solvers.losses.cox import CoxLoss

from ..cases import plain

seeds = st.integers(0, 2**32 - 1)


def survival(seed, n=40, d=6, weights=True):
    """Times that depend on the columns, some tied and some censored, and the loss on them."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    times = np.ceil(5.0 * rng.exponential(np.exp(-0.8 * X[:, 0])))
    Y = np.column_stack([rng.random(n) < 0.7, times])
    Y[0, 0] = 1.0
    omega = rng.uniform(0.5, 2.0, n) if weights else np.ones(n)
    return CoxLoss.from_targets(plain(X), Y, omega, True, "survival"), X, Y, rng


def direct(p, Y, omega):
    """The value and the gradient by the definition, over a matrix of who is at risk when."""
    (events, times), p = Y.T, p.astype(np.longdouble)
    at = np.unique(times[events > 0])
    R = times >= at[:, None]
    D = np.array([omega @ ((times == t) * events) for t in at])
    sizes = omega * np.exp(p - p.max())
    value = D @ np.log(R @ sizes / D) - (omega * events) @ (p - p.max())
    shares = R * sizes / (R @ sizes)[:, None]
    return value, D @ shares - omega * events


@settings(max_examples=50, deadline=None)
@given(seeds, st.floats(0, 100))
def test_value_and_gradient_are_those_of_the_definition(seed, spread):
    loss, _, Y, rng = survival(seed, n=int(seed % 20 + 2))
    # Within the limit of predictions, 600 from the least to the largest.
    P = np.clip(spread * rng.standard_normal(loss.Y.shape), -290, 290)
    if not loss.Y.size:
        assert loss.value(P) == 0.0
        return
    value, gradient = direct(P[:, 0], Y, loss.omega)
    assert loss.value(P) == pytest.approx(float(value), rel=1e-12, abs=1e-10)
    np.testing.assert_allclose(loss.gradient(P)[:, 0], gradient.astype(float), atol=1e-11)
    assert loss.value(P + 1e3) == pytest.approx(float(value), rel=1e-9, abs=1e-9)


def test_a_perfect_order_is_worth_nothing_and_predictions_beyond_the_floats_are_infinitely_bad():
    Y = np.array([[1.0, 1.0], [1.0, 2.0], [0.0, 3.0]])
    loss = CoxLoss.from_targets(plain(np.eye(3)), Y, np.ones(3), True, "survival")
    assert loss.value(np.array([[500.0], [250.0], [0.0]])) == 0.0
    assert loss.value(np.array([[1000.0], [0.0], [0.0]])) == np.inf
    assert np.isnan(loss.value(np.full((3, 1), np.nan)))


@settings(max_examples=80, deadline=None)
@given(seeds, st.floats(-2, 4))
def test_dual_points_are_below_and_rounded_down(seed, size):
    """The value against that of the shares in long doubles; Theta against its error."""
    loss, X, Y, rng = survival(seed, n=int(seed % 15 + 3))
    if not loss.Y.size:
        return
    P = 10.0**size * rng.standard_normal((3, 1, len(X)))
    point, norms = loss.dual(P), np.sqrt(loss.omega @ X**2)
    for p, Theta, value, error in zip(P, point.Theta, point.value, point.error, strict=True):
        p = np.maximum(p[0] - p.max(), -600.0)
        f, gradient = direct(p, Y, loss.omega)
        own = f - gradient @ p
        # Of the size of a term of the sums: predictions and their products with shares.
        slack = 1e-12 * (1.0 + abs(p).max()) * loss.n_terms
        assert own - slack <= value <= own
        assert np.all(np.abs((Theta[0] + gradient) @ X) <= error * norms)


@pytest.mark.parametrize("weights", [True, False])
def test_fits_are_those_of_a_general_minimiser(weights):
    for seed in range(5):
        loss, X, Y, _ = survival(seed, n=60, weights=weights)
        ridge = 0.1 * loss.omega.sum()

        def objective(v, X=X, Y=Y, omega=loss.omega, ridge=ridge):
            value, gradient = direct(X @ v, Y, omega)
            return float(value + ridge / 2 * (v @ v)), (X.T @ gradient + ridge * v).astype(float)

        peer = minimize(objective, np.zeros(6), jac=True, method="BFGS", options={"gtol": 1e-11})
        fit = loss.fit(X, ridge=ridge, tol=1e-13)
        assert fit.converged
        assert fit.objective == pytest.approx(peer.fun, rel=1e-12)
        np.testing.assert_allclose(fit.W[:, 0], peer.x, atol=1e-8)
        values, P = loss.fit_many(X[None, :, [0, 2]], ridge=ridge)
        one = loss.fit(X[:, [0, 2]], ridge=ridge, tol=1e-13)
        assert values[0] == pytest.approx(one.objective, rel=1e-9)
        np.testing.assert_allclose(P[0, 0], one.P[:, 0], atol=1e-4)
        refit = loss.refit(np.arange(6), penalty=ridge, tol=1e-13)
        assert refit.gap <= 1e-11 * loss.at_zero


@pytest.mark.peer
@pytest.mark.parametrize("weights", [True, False])
def test_fits_are_those_of_lifelines(weights):
    lifelines = pytest.importorskip("lifelines")
    pandas = pytest.importorskip("pandas")
    loss, X, Y, _ = survival(3, n=80, weights=weights)
    # Its ties are Efron's: without them all agree.
    Y[:, 1] += np.linspace(0.0, 0.5, len(Y))
    loss = CoxLoss.from_targets(plain(X), Y, loss.omega, True, "survival")
    table = pandas.DataFrame(X).assign(event=Y[:, 0], time=Y[:, 1], weight=loss.omega)
    peer = lifelines.CoxPHFitter().fit(
        table, "time", "event", weights_col="weight", robust=True, fit_options={"precision": 1e-12}
    )
    fit = loss.fit(X, ridge=0.0, tol=1e-14)
    np.testing.assert_allclose(fit.W[:, 0], peer.params_.to_numpy(), rtol=1e-8, atol=1e-9)


@pytest.mark.peer
def test_fits_with_ties_are_those_of_scikit_survival():
    linear_model = pytest.importorskip("sksurv.linear_model")
    loss, X, Y, _ = survival(4, n=80, weights=False)
    y = np.array([(bool(e), t) for e, t in Y], dtype=[("event", bool), ("time", float)])
    for ridge in (0.5, 10.0):
        peer = linear_model.CoxPHSurvivalAnalysis(alpha=ridge, ties="breslow", tol=1e-14)
        peer.fit(X, y)
        fit = loss.fit(X, ridge=ridge, tol=1e-14)
        np.testing.assert_allclose(fit.W[:, 0], peer.coef_, rtol=1e-8, atol=1e-9)
