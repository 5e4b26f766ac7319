"""What is left of the features, in host memory, against its definition."""

from __future__ import annotations

import numpy as np
import pytest

from rowsparse.solvers.subset import residuals
from rowsparse.solvers.subset.residuals import ExchangeWeights, HostResiduals

from .problems import data, problem_of


def left_over(X, Y, S, ridge):
    """s and R by the definition."""
    A = X.T @ X + ridge * np.eye(X.shape[1])
    T = np.linalg.solve(A[np.ix_(S, S)], A[S])
    s, R = np.diag(A) - np.einsum("ip,ip->p", A[S], T), X.T @ Y - T.T @ (X.T @ Y)[S]
    s[S], R[S] = 0.0, 0.0
    return s, R


def with_basis(problem, S):
    held = HostResiduals(problem, 1)  # grows
    for slot, p in enumerate(S):
        held.place(slot, p)
    A_SS = held.cross(len(S), S)
    inverse = np.linalg.inv(np.linalg.cholesky(A_SS))
    held.reset(S, inverse, np.linalg.solve(A_SS, problem.B[S]))
    return held


@pytest.mark.parametrize("block", [3, 8192])
@pytest.mark.parametrize("ridge", [0.0, 2.0])
def test_left_over_from_scratch_and_after_an_update(monkeypatch, block, ridge):
    monkeypatch.setattr(residuals, "_BLOCK", block)
    monkeypatch.setattr(residuals, "_UPDATE_BLOCK", block)
    X, Y = data(0, n=30, d=11)
    problem = problem_of(X, Y, ridge)
    held = with_basis(problem, [4, 9])
    s, R = left_over(X, Y, [4, 9], ridge)
    np.testing.assert_allclose(held.s, s, atol=1e-9)
    np.testing.assert_allclose(held.R, R, atol=1e-9)
    column = held.column(2, 7)
    t = np.linalg.solve(held.cross(2, [4, 9]), column.cross)
    left = column.diagonal - t @ column.cross
    assert left == pytest.approx(column.left)
    v = column.R / left
    held.update(-t[None], 7, -v[:, None], np.array([-1.0 / left]), [4, 9, 7])
    s, R = left_over(X, Y, [4, 9, 7], ridge)
    np.testing.assert_allclose(held.s, s, atol=1e-9)
    np.testing.assert_allclose(held.R, R, atol=1e-9)
    others = np.setdiff1d(np.arange(11), [4, 9, 7])
    np.testing.assert_allclose(held.gains()[others], (R**2).sum(axis=1)[others] / s[others])
    assert not held.gains()[[4, 9, 7]].any()


def test_the_best_addition_gains_most_of_those_allowed():
    X, Y = data(1)
    held = with_basis(problem_of(X, Y), [2])
    gains = held.gains()
    order = np.argsort(-gains)
    allowed = np.ones(10, dtype=bool)
    assert held.best_addition(allowed, 0.0) == order[0]
    allowed[order[0]] = False
    assert held.best_addition(allowed, 0.0) == order[1]
    assert held.best_addition(allowed, gains[order[1]]) is None
    held.drop(int(order[1]))
    assert held.best_addition(allowed, 0.0) == order[2]


@pytest.mark.parametrize("effort", ["best", "quick", "glance"])
def test_the_best_exchange_gains_most(monkeypatch, effort):
    X, Y = data(2, n=40, d=30)
    S = [0, 11, 17]
    held = with_basis(problem_of(X, Y), S)
    M = np.linalg.inv(held.cross(3, S))
    V = M @ held.problem.B[S]
    weights = ExchangeWeights.of(M, V, np.arange(3))
    others = np.setdiff1d(np.arange(30), S)
    tops = held.exchange_gains(weights, others).max(axis=0)
    allowed = np.ones(30, dtype=bool)
    allowed[S] = False
    assert held.best_exchange(weights, allowed, 0.0, effort) == others[np.argmax(tops)]
    assert held.best_exchange(weights, allowed, float(tops.max()), effort) is None
    monkeypatch.setattr(residuals, "FIRST", 2)  # found by the bound, not by scoring all at once
    assert held.best_exchange(weights, allowed, 0.0, "best") == others[np.argmax(tops)]


def test_a_copy_is_independent():
    held = with_basis(problem_of(*data(3)), [1])
    twin = held.copy()
    twin.drop(4)
    twin.move(0, 0)
    assert held.s[4] > 0
    assert held.nbytes == twin.nbytes > 0
