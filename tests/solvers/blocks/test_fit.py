"""Iterates that follow their columns from one block to the next."""

from __future__ import annotations

import numpy as np

from rowsparse.solvers.blocks.admm import admm_l21
from rowsparse.solvers.blocks.fit import BlockState

from ..cases import regression


def test_kept_columns_keep_their_iterates_and_new_ones_begin_at_zero():
    rng = np.random.default_rng(0)
    V, Lambda, entering = rng.standard_normal((3, 4, 2))
    state = BlockState(V, Lambda, np.ones((5, 2)), np.ones((5, 2)), 2.0)
    moved = state.moved_to(np.array([True, False, True, False]), entering[:1])
    np.testing.assert_array_equal(moved.V, [*V[[0, 2]], [0.0, 0.0]])
    np.testing.assert_array_equal(moved.Lambda, [*Lambda[[0, 2]], entering[0]])
    assert moved.E is state.E
    assert moved.rho == 2.0


def test_an_iteration_resumes_on_fewer_columns_where_the_others_are_zero():
    Z, Y = regression(25, 10, 2)
    options = {"omega": np.ones(25), "fit_intercept": True, "tol": 1e-8, "max_iter": 5000}
    whole = admm_l21(Z, Y, 6.0, **options)
    keep = whole.W.any(axis=1)
    assert 0 < keep.sum() < 10
    state = whole.state.moved_to(keep, np.zeros((0, 2)))
    part = admm_l21(Z[:, keep], Y, 6.0, state=state, **options)
    assert part.n_iter < whole.n_iter
    np.testing.assert_allclose(part.W, whole.W[keep], atol=1e-3)
