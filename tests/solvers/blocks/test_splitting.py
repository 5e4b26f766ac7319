"""The splitting, the systems that it solves, and its projections."""

from __future__ import annotations

import numpy as np
import pytest

from rowsparse.rows import row_norms
from rowsparse.solvers.blocks.splitting import GraphProjection, Iterates, RegularisedInverse, split


@pytest.mark.parametrize("shape", [(8, 5), (5, 20)])
def test_regularised_inverse_by_both_identities(shape):
    rng = np.random.default_rng(0)
    Z, B = rng.standard_normal(shape), rng.standard_normal((shape[1], 2))
    expected = np.linalg.solve(Z.T @ Z + 0.7 * np.eye(shape[1]), B)
    inverse = RegularisedInverse(Z, 0.7)
    np.testing.assert_allclose(inverse.solve(B), expected, atol=1e-10)
    W, ZW = inverse.solve_and_apply(B)
    np.testing.assert_allclose(W, expected, atol=1e-10)
    np.testing.assert_allclose(ZW, Z @ expected, atol=1e-10)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_graph_projection_is_the_nearest_pair(fit_intercept):
    rng = np.random.default_rng(1)
    Z, Y = rng.standard_normal((7, 3)), rng.standard_normal((7, 2))
    Z -= Z.mean(axis=0)
    stacked = rng.standard_normal((10, 2))
    # The pairs are (Y, 0) - A (W, b): least squares gives the nearest.
    A = np.vstack([Z, -np.eye(3)])
    if fit_intercept:
        A = np.column_stack([A, np.repeat([1.0, 0.0], [7, 3])])
    origin = np.vstack([Y, np.zeros((3, 2))])
    expected = origin - A @ np.linalg.lstsq(A, origin - stacked, rcond=None)[0]
    project = GraphProjection(Z, Y, fit_intercept)
    np.testing.assert_allclose(project(stacked), expected, atol=1e-10)
    np.testing.assert_allclose(project(expected), expected, atol=1e-10)


def test_split_finds_the_geometric_median():
    """The rows y_i - b lie in an affine set; the sum of their norms is least at the median b."""
    rng = np.random.default_rng(2)
    Y, t = rng.standard_normal((15, 2)), rng.uniform(0.5, 2.0, 15)
    checked = []

    def check(S, L):
        b = (Y - S).mean(axis=0)
        checked.append(b)
        gradient = (t / row_norms(Y - b)) @ (Y - b)
        return np.linalg.norm(gradient) < 1e-6

    end, n_iter, converged = split(
        lambda S: Y - (Y - S).mean(axis=0),
        t,
        Iterates(Y, np.zeros_like(Y), 1.0),
        check=check,
        scale=lambda S: float(np.linalg.norm(Y - S)),
        max_iter=5000,
    )
    assert converged
    assert n_iter == 10 * len(checked)
    # The multipliers are minus the dual point: the unit residuals times t.
    residual = Y - checked[-1]
    np.testing.assert_allclose(np.abs(row_norms(end.L)), t, rtol=1e-3)
    np.testing.assert_allclose(end.S, residual, atol=1e-3)


def test_split_says_when_it_has_not_converged():
    Y = np.arange(6.0).reshape(3, 2)
    start = Iterates(Y, np.zeros_like(Y), 1.0)
    options = {"check": lambda S, L: False, "scale": lambda S: 1.0, "max_iter": 7}
    _, n_iter, converged = split(lambda S: S, np.ones(3), start, **options)
    assert (n_iter, converged) == (7, False)
