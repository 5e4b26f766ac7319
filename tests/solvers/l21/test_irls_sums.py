"""IRLS from sums over the rows is IRLS on the rows."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from rowsparse.design import make_design
from rowsparse.solvers.l21.irls import irls
from rowsparse.solvers.l21.irls_sums import Iterate, RowSums, irls_from_sums, row_sums
from rowsparse.solvers.losses.l21 import L21Loss

rng = np.random.default_rng(0)
X = rng.standard_normal((60, 5))
Y = X[:, :2] @ rng.standard_normal((2, 3)) + rng.standard_t(2, (60, 3)) + 4.0
OMEGA = rng.random(60) + 0.5
GAMMA = 15.0


def in_parts(before: Iterate | None, last: Iterate | None) -> RowSums:
    """The sums over three blocks, one of them without rows."""
    blocks = [
        row_sums(X[at], Y[at], OMEGA[at], GAMMA, before, last)
        for at in (slice(0, 25), slice(25, 25), slice(25, 60))
    ]
    return blocks[0].merged(blocks[1]).merged(blocks[2])


def loss_of(fit_intercept: bool) -> L21Loss:
    design, _ = make_design(X, center=False, scale=False)
    return L21Loss.of(design, Y, OMEGA, fit_intercept)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_iterates_are_those_of_irls(fit_intercept: bool) -> None:
    options: dict[str, Any] = {"tol": 0.0, "max_iter": 7}
    found = irls_from_sums(in_parts, GAMMA, fit_intercept=fit_intercept, **options)
    expected = irls(loss_of(fit_intercept), GAMMA, published=False, **options)
    np.testing.assert_allclose(found.history, expected.history, rtol=1e-10)
    np.testing.assert_allclose(found.W, expected.W, rtol=1e-8)
    np.testing.assert_allclose(found.b, expected.b, rtol=1e-8)
    assert not found.converged


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_gap_is_a_true_one(fit_intercept: bool) -> None:
    found = irls_from_sums(in_parts, GAMMA, fit_intercept=fit_intercept, tol=1e-3, max_iter=500)
    optimum = irls(loss_of(fit_intercept), GAMMA, tol=1e-8, max_iter=3000, published=False)
    assert found.converged
    gap = found.attributes["gap_"]
    assert found.objective - gap <= optimum.objective <= found.objective
    assert 0 < gap <= 1e-3 * found.objective


def test_the_monitor_ends_the_iteration() -> None:
    stopped = irls_from_sums(
        in_parts, GAMMA, fit_intercept=True, tol=0.0, max_iter=50, monitor=lambda _: True
    )
    assert stopped.n_iter == 1


def test_dask_knows_how_large_the_sums_are() -> None:
    assert sys.getsizeof(in_parts(None, None)) > 8 * (25 + 15 + 15)
