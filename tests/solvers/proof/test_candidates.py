"""The products of the candidates, and bounds that are never above the optimum."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from .problems import NONE, best_choice, candidates, random_problem, random_ridge, value_of


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_any_w_gives_a_bound_below_every_choice(seed):
    rng = np.random.default_rng(seed)
    X, Y = random_problem(rng)
    d = X.shape[1]
    k = int(rng.integers(1, d + 1))
    ridge = random_ridge(rng, X)
    problem = candidates(X, Y, ridge)
    active = rng.permutation(d)[: rng.integers(1, d + 1)]
    scale = np.linalg.norm(Y) / max(np.linalg.norm(X), 1e-300)
    W = rng.standard_normal((active.size, Y.shape[1])) * scale * 10.0 ** rng.uniform(-2, 1)
    bound = problem.bound(active, W, NONE, np.ones(d, dtype=bool), k)
    assert bound.value <= best_choice(X, Y, k, ridge)[0]


@pytest.fixture(params=["gram", "columns", "design"])
def stored(request, monkeypatch):
    """Candidates that keep their Gram matrix, their columns, or neither."""
    from rowsparse.solvers.proof import candidates as module

    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((6, 40)), rng.standard_normal((6, 2))
    if request.param != "gram":
        monkeypatch.setattr(module, "_MAX_GRAM", 0)
    if request.param == "design":
        monkeypatch.setattr(module, "_BLOCK_ENTRIES", 60)
    return X, Y, candidates(X, Y, 1.5)


def test_products_are_those_of_the_columns_however_they_are_stored(stored):
    X, Y, problem = stored
    some, others = np.array([3, 30, 7]), np.array([0, 30])
    W = np.random.default_rng(1).standard_normal((3, 2))
    np.testing.assert_allclose(problem.B, X.T @ Y, atol=1e-12)
    np.testing.assert_allclose(problem.norms, np.linalg.norm(X, axis=0))
    np.testing.assert_allclose(problem.cross(some, others), X[:, some].T @ X[:, others], atol=1e-12)
    np.testing.assert_allclose(problem.block(some), X[:, some].T @ X[:, some], atol=1e-12)
    np.testing.assert_allclose(problem.products(some, W), X.T @ X[:, some] @ W, atol=1e-12)
    fewer = problem.restricted(np.array([30, 3, 7, 1]))
    assert fewer.features.tolist() == [30, 3, 7, 1]
    np.testing.assert_allclose(fewer.block(np.array([0, 1])), problem.block(np.array([30, 3])))


def test_the_fit_of_a_choice_is_its_ridge_regression(stored):
    X, Y, problem = stored
    S = np.array([4, 11, 2])
    W, value = problem.fit(S)
    slope = X[:, S].T @ (X[:, S] @ W - Y) + 1.5 * W
    np.testing.assert_allclose(slope, 0.0, atol=1e-12)
    assert value == pytest.approx(value_of(X, Y, S, 1.5))
    assert problem.solve_error(3) < 1e-10 * problem.total


def test_the_bound_of_a_single_choice_is_its_objective(stored):
    problem = stored[2]
    S = np.array([4, 11, 2])
    W, value = problem.fit(S)
    bound = problem.bound(S, W, S, np.zeros(40, dtype=bool), 3)
    assert value * (1 - 1e-9) <= bound.value <= value


def test_screening_scores_are_the_last_in_and_the_first_out():
    rng = np.random.default_rng(3)
    X, Y = rng.standard_normal((20, 6)), rng.standard_normal((20, 1))
    bound = candidates(X, Y, 2.0).bound(NONE, np.zeros((0, 1)), np.array([5]), np.arange(6) < 5, 3)
    q = np.sort(np.sum((X[:, :5].T @ Y) ** 2, axis=1) / 2.0)[::-1]
    assert (bound.last_in, bound.first_out) == pytest.approx((q[1], q[2]))
