"""Iterates that follow their columns from one block to the next."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rowsparse.solvers.blocks.admm import admm_l21
from rowsparse.solvers.blocks.fit import BlockState, JointProblem

from ..cases import regression


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_centred_columns_give_the_same_predictions(fit_intercept):
    rng = np.random.default_rng(0)
    Z, W, b = rng.standard_normal((8, 3)) + 2.0, rng.standard_normal((3, 2)), np.ones(2)
    problem = JointProblem(Z, Z[:, :2], 1.0, np.ones(8), fit_intercept, 1e-6)
    expected = problem.centred(Z) @ W + b
    np.testing.assert_allclose(Z @ W + problem.intercept(b, W), expected)
    means = problem.centred(Z).mean(axis=0)
    np.testing.assert_allclose(means, 0 if fit_intercept else Z.mean(axis=0), atol=1e-12)


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
    problem = JointProblem(Z, Y, 6.0, np.ones(25), True, 1e-8)
    whole = admm_l21(problem, max_iter=5000)
    keep = whole.W.any(axis=1)
    assert 0 < keep.sum() < 10
    state = whole.state.moved_to(keep, np.zeros((0, 2)))
    part = admm_l21(replace(problem, Z=Z[:, keep]), max_iter=5000, state=state)
    assert part.n_iter < whole.n_iter
    np.testing.assert_allclose(part.W, whole.W[keep], atol=1e-3)
