"""The Poisson loss: derivatives, conjugate, dual points and fits."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import PoissonRegressor
from sklearn.metrics import mean_poisson_deviance

from rowsparse.solvers.losses.poisson import PoissonLoss

from ..cases import plain

seeds = st.integers(0, 2**32 - 1)


def counts(seed, n=40, d=6, c=2, fit_intercept=True, size=1.0):
    """Counts that depend on the columns, some of them zero, and the loss on them."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    Y = rng.poisson(size * np.exp(0.6 * X[:, :c])).astype(float)
    Y[:2] = [[0.0], [3.0]]
    return PoissonLoss(plain(X), Y, rng.uniform(0.5, 2.0, n), fit_intercept), X, rng


def test_the_value_is_half_the_deviance():
    loss, _, rng = counts(0, c=1)
    P = rng.standard_normal(loss.Y.shape)
    half = (
        0.5 * loss.omega.sum() * mean_poisson_deviance(loss.Y, np.exp(P), sample_weight=loss.omega)
    )
    assert loss.value(P) == pytest.approx(half, rel=1e-12)
    exact = np.where(loss.Y > 0, np.log(np.maximum(loss.Y, 1e-300)), -800.0)
    assert loss.value(exact) == 0.0
    assert loss.value(exact + 1e-9) == pytest.approx(
        float(loss.omega @ loss.Y[:, 0]) * 5e-19, rel=1e-6
    )


def entropy(values):
    """v log v."""
    return values * np.log(np.where(values > 0, values, 1))


@settings(max_examples=60, deadline=None)
@given(seeds, st.booleans(), st.floats(-3, 6), st.floats(0, 300))
def test_dual_points_are_feasible_and_rounded_down(seed, fit_intercept, size, spread):
    """The value against that of the means in long doubles, the sum of Theta against its error."""
    loss, _, rng = counts(seed, n=15, fit_intercept=fit_intercept, size=10.0**size)
    P = spread * rng.standard_normal((3, 2, 15)) + rng.normal()
    point = loss.dual(P)
    Y, w = loss.Y.T.astype(np.longdouble), loss.omega.astype(np.longdouble)
    for Theta, value, error in zip(point.Theta, point.value, point.error, strict=True):
        means = Y - Theta / w
        # Means of almost 0 are lost in the difference, and with them next to nothing.
        means = np.maximum(means, 0)
        own = float(((means - entropy(means) - Y + entropy(Y)) @ w).sum())
        size = float(((abs(entropy(means)) + means + abs(entropy(Y)) + 40 * Y + 1) @ w).sum())
        assert own - 1e-13 * size <= value <= own + 1e-15 * size
        if fit_intercept:
            off = [abs(sum(map(Fraction, row.tolist()))) for row in Theta]
            assert float(max(off)) <= error * np.sqrt(loss.omega.sum())


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("size", [1.0, 1e4])
def test_fits_equal_those_of_scikit_learn(fit_intercept, size):
    loss, X, _ = counts(1, n=80, c=1, fit_intercept=fit_intercept, size=size)
    w, y = loss.omega, loss.Y[:, 0]
    fit = loss.fit(X, ridge=0.3 * w.sum(), tol=1e-12)
    peer = PoissonRegressor(
        alpha=0.3, fit_intercept=fit_intercept, tol=1e-12, max_iter=10_000, solver="newton-cholesky"
    ).fit(X, y, sample_weight=w)
    np.testing.assert_allclose(fit.W[:, 0], peer.coef_, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(np.exp(fit.P[:, 0]), peer.predict(X), rtol=1e-8)
    assert fit.converged
