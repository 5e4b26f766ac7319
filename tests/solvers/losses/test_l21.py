"""The l2,1 loss: majorisers, null point, refits that are kept, and targets in fewer columns."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rowsparse.rows import row_norms
from rowsparse.solvers.losses.base import Reduction, Refits
from rowsparse.solvers.losses.l21 import L21Loss, geometric_median

from ..cases import plain, primal, regression, solve_rfs

seeds = st.integers(0, 2**32 - 1)


def random_loss(seed, fit_intercept=False):
    """A loss on a few samples, and a generator for points."""
    rng = np.random.default_rng(seed)
    n, d, c = rng.integers(2, 8), rng.integers(1, 8), rng.integers(1, 4)
    X, Y = rng.standard_normal((n, d)), rng.standard_normal((n, c))
    return L21Loss(plain(X), Y, rng.uniform(0.2, 3.0, n), fit_intercept), rng


@settings(max_examples=50, deadline=None)
@given(seeds)
def test_subgradient_inequality_holds_at_fitted_samples_too(seed):
    loss, rng = random_loss(seed)
    P, Q = loss.Y.copy(), rng.standard_normal(loss.Y.shape)
    P[1:] += rng.standard_normal(P[1:].shape)
    assert loss.value(Q) >= loss.value(P) + np.vdot(loss.gradient(P), Q - P) - 1e-9


@settings(max_examples=50, deadline=None)
@given(seeds, st.floats(0.01, 2.0))
def test_reweighted_least_squares_lies_above_the_smoothed_norms(seed, eps):
    loss, rng = random_loss(seed)
    r, s = np.abs(rng.standard_normal((2, len(loss.Y))))
    v = loss.majorising_weights(r, eps)

    def smooth(norms):
        return loss.omega * np.sqrt(norms**2 + eps**2)

    assert np.all(smooth(s) <= smooth(r) + 0.5 * v * (s**2 - r**2) + 1e-12)


@pytest.mark.parametrize("mu", [1.0, 0.1, 0.01])
def test_smoothing_errs_by_at_most_half_mu_a_weight(mu):
    for seed in range(10):
        loss, rng = random_loss(seed)
        P = loss.Y + rng.standard_normal(loss.Y.shape) * 10.0 ** (-seed % 4)
        error = loss.value(P) - loss.smoothed(mu).value(P)
        assert -1e-9 <= error <= mu * loss.omega.sum() / 2 + 1e-9


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("classes", [False, True])
def test_the_null_point_is_the_best_intercept_with_its_dual_point(fit_intercept, classes):
    rng = np.random.default_rng(0)
    Y = np.eye(3)[rng.integers(0, 3, 20)] if classes else rng.standard_normal((20, 3))
    loss = L21Loss(plain(np.eye(20)), Y, rng.uniform(0.5, 2.0, 20), fit_intercept)
    b, Theta = loss.null_point()
    assert np.all(row_norms(Theta) <= loss.omega * (1 + 1e-6))
    value = loss.value(np.broadcast_to(b, Y.shape))
    assert loss.dual_value(Theta) == pytest.approx(value, rel=1e-6)
    if fit_intercept:
        np.testing.assert_allclose(Theta.sum(axis=0), 0.0, atol=1e-9)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_weights_of_least_squares_equal_repeated_rows(fit_intercept):
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((10, 4)) + 1.0, rng.standard_normal((10, 2))
    times = rng.integers(1, 4, 10)
    loss = L21Loss.from_targets(plain(X), Y, None, fit_intercept)
    weighted = loss.least_squares(times.astype(float)).refit(np.arange(4), penalty=0.0, tol=0.0)
    A = np.column_stack([X, np.ones(10)])[:, : 4 + fit_intercept].repeat(times, axis=0)
    expected = np.linalg.lstsq(A, Y.repeat(times, axis=0), rcond=None)
    np.testing.assert_allclose(weighted.W, expected[0][:4], atol=1e-10)
    assert 2 * weighted.objective == pytest.approx(expected[1].sum())


def test_geometric_median_satisfies_its_optimality_condition():
    rng = np.random.default_rng(0)
    Y, w = rng.standard_normal((40, 3)), rng.uniform(0.5, 2, 40)
    m = geometric_median(Y, w)
    slope = (w / np.linalg.norm(Y - m, axis=1)) @ (Y - m)
    assert np.linalg.norm(slope) <= 1e-8 * w.sum()
    labels = np.eye(2)[[0, 0, 0, 1]]
    np.testing.assert_array_equal(geometric_median(labels, np.ones(4)), [1.0, 0.0])


# ----------------------------------------------------------------------------- refits that are kept
class Counting(L21Loss):
    """The l2,1 loss, with a list of the refits asked of it."""

    asked: list

    def refit(self, support, *, penalty, tol):
        self.asked.append((support.tolist(), penalty, tol))
        return super().refit(support, penalty=penalty, tol=tol)


def refits(tol=1e-3):
    X, Y = regression(20, 6, 2, noise=2.0)
    loss = Counting(plain(X), Y, np.ones(20), True)
    object.__setattr__(loss, "asked", [])
    return Refits(loss, 0.5, tol), loss


def test_a_finer_tolerance_replaces_the_refit_and_a_coarser_one_does_not():
    fits, loss = refits()
    coarse = fits.at(np.array([0, 2]))
    assert fits.at(np.array([0, 2]), 1e-2) is coarse
    fine = fits.at(np.array([0, 2]), 1e-9)
    assert fine.gap <= 1e-9 * fine.objective
    assert fits.at(np.array([0, 2])) is fine
    assert [tol for _, _, tol in loss.asked] == [1e-3, 1e-9]
    assert len(fits) == 1


# ------------------------------------------------------------------------- targets in fewer columns
def test_an_expanded_solution_has_the_objective_of_the_reduced_problem():
    X, Y = regression(30, 10, 2, offset=0.5)
    Y = np.column_stack([Y, Y.sum(axis=1) + 1.0])
    reduction = Reduction.from_targets(Y, fit_intercept=True)
    assert reduction.reduced.shape[1] == 2
    fit = solve_rfs(plain(X), reduction.reduced, 3.0)
    W, b, _ = reduction.expand(fit.W, fit.b, fit.attributes["dual_coef_"])
    assert primal(X, Y, W, b, 3.0) == pytest.approx(fit.objective)
    assert solve_rfs(plain(X), Y, 3.0).objective == pytest.approx(fit.objective, rel=1e-5)
