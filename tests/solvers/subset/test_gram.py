"""Rows of the Gram matrix on demand, reduced targets and independent columns."""

from __future__ import annotations

import numpy as np
import pytest

from rowsparse.design import make_design
from rowsparse.solvers.subset.exchange import forward
from rowsparse.solvers.subset.gram import (
    GramRows,
    first_best,
    independent,
    reduced_targets,
    univariate_gains,
)

from .problems import data, design_of, objective_of, problem_of


def test_independent_columns_are_a_largest_set():
    X, _ = data(7, n=20, d=9)
    X = np.column_stack([X[:, 0], 2 * X[:, 0], X[:, 1], X[:, 0] + X[:, 1], np.zeros(20), X[:, 2]])
    kept = independent(X.T @ X, 1e-10)
    assert kept.size == 3
    assert np.linalg.matrix_rank(X[:, kept]) == 3


def test_bounded_gram_rows_equal_the_gram_matrix():
    X, _ = data(8, n=10, d=600)
    gram = GramRows(design_of(X), max_bytes=8 * 600 * 4)
    for features in ([5, 1], [1, 9, 2], [3], [5, 1, 9, 2, 3, 7, 8]):
        np.testing.assert_allclose(gram(np.array(features)), (X.T @ X)[features], atol=1e-10)
    assert len(gram._kept) <= 4


def test_a_returned_gram_row_is_the_callers_own():
    X, _ = data(8, n=10, d=600)
    gram = GramRows(design_of(X))
    gram(np.array([3]))[:] = 0.0
    np.testing.assert_allclose(gram(np.array([3]))[0], X.T @ X[:, 3], atol=1e-10)


def test_the_gram_matrix_is_formed_once_many_rows_were_asked_for():
    X, _ = data(8, n=700, d=600)
    gram = GramRows(design_of(X))
    gram(np.array([5]))
    assert gram._all is None
    np.testing.assert_allclose(gram(np.arange(100)), (X.T @ X)[:100], atol=1e-9)
    assert gram._all is not None
    np.testing.assert_allclose(gram.row(7), X.T @ X[:, 7], atol=1e-9)


def test_rows_computed_ahead_save_passes_and_change_no_pick(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 600))
    Y = X[:, :30] @ rng.standard_normal((30, 2)) + rng.standard_normal((80, 2))
    design, Y = design_of(X), Y - Y.mean(0)
    passes = []
    single = type(design).held_gram_rows
    monkeypatch.setattr(
        type(design),
        "held_gram_rows",
        lambda self, columns: passes.append(columns.size) or single(self, columns),
    )
    plain = forward(design, Y, 20)
    assert passes == [1] * 20
    passes.clear()
    monkeypatch.setattr("rowsparse.solvers.subset.gram._AHEAD_ENTRIES", 0)
    assert forward(design, Y, 20).tolist() == plain.tolist()
    assert len(passes) < 15


@pytest.fixture
def guessing(monkeypatch):
    """Rows of 600 features on demand, as of a large X; and a list of the rows computed at once."""
    monkeypatch.setattr("rowsparse.solvers.subset.gram._AHEAD_ENTRIES", 0)
    X, _ = data(8, n=10, d=600)
    design, computed = design_of(X), []
    real = type(design).held_gram_rows
    monkeypatch.setattr(
        type(design),
        "held_gram_rows",
        lambda self, columns: computed.append(columns.tolist()) or real(self, columns),
    )
    return GramRows(design), computed


def last_features(count):
    """Guesses: features 599, 598, ..."""
    return np.arange(599, 599 - count, -1)


def test_rows_are_computed_ahead_only_while_enough_of_them_were_used(guessing):
    gram, computed = guessing
    gram.fetch(3, last_features)
    assert computed == [[3, *range(599, 584, -1)]]
    gram.fetch(5, last_features)  # none of them was used so far
    assert len(computed) == 1
    gram.fetch(599, last_features)
    gram.fetch(5, last_features)
    assert computed[1:] == [[5, *range(584, 569, -1)]]
    for p in (598, 598, 598, 598):  # a row is counted once
        gram.fetch(p, last_features)
    gram.fetch(6, last_features)
    assert len(computed) == 2
    for p in (597, 596, 595):
        gram.fetch(p, last_features)
    gram.fetch(6, lambda count: np.arange(100, 100 + count))
    assert computed[2] == [6, *range(100, 115)]


def test_the_last_rows_that_are_expected_come_one_by_one(guessing):
    gram, computed = guessing
    gram._n_expected = 5
    gram.fetch(3, last_features)
    gram.fetch(599, last_features)
    for p in (4, 5, 6):
        gram.fetch(p, last_features)
    assert len(computed) == 1
    gram.fetch(7, lambda count: np.arange(100, 100 + count))  # another start has begun
    assert computed[1] == [7, *range(100, 115)]


def test_rows_that_were_not_guessed_are_right(guessing):
    gram, computed = guessing
    gram.fetch(3, last_features)
    X, _ = data(8, n=10, d=600)
    Z = design_of(X).columns(np.arange(600))
    np.testing.assert_allclose(gram.row(5), Z.T @ Z[:, 5], atol=1e-10)
    assert computed[1] == [5]


def test_many_rows_of_a_large_design_are_kept():
    wide = np.zeros((64, 200_000), dtype=np.float32)
    design, _ = make_design(wide, center=False, scale=False)
    # An eighth of X is 8 rows here: those of 32 MiB are more.
    assert GramRows(design)._capacity == 2**25 // 800_000
    tall = np.zeros((600, 200_000), dtype=np.float32)
    design, _ = make_design(tall, center=False, scale=False)
    assert GramRows(design)._capacity == 64


def test_reduced_targets_have_the_same_products_and_fewer_columns():
    Y = np.eye(4)[np.arange(20) % 4]
    Y -= Y.mean(0)
    reduced = reduced_targets(Y)
    assert reduced.shape == (20, 3)
    np.testing.assert_allclose(reduced @ reduced.T, Y @ Y.T, atol=1e-12)
    assert reduced_targets(np.zeros((5, 3))).shape == (5, 1)


def test_another_ridge_on_shared_gram_rows_is_the_problem_built_anew():
    X, Y = data(2, n=20, d=30)
    shared = problem_of(X, Y)
    for ridge in (0.0, 0.5, 20.0):
        other, anew = shared.with_ridge(ridge), problem_of(X, Y, ridge)
        assert other.gram is shared.gram
        assert other.ridge == ridge
        np.testing.assert_array_equal(other.diagonal, anew.diagonal)
        np.testing.assert_array_equal(other.negligible, anew.negligible)


def test_univariate_gains_are_what_one_feature_explains():
    X, Y = data(3)
    X[:, 4] = 0.0
    problem = problem_of(X, Y, 0.5)
    gains = univariate_gains(problem.B, problem.diagonal)
    expected = [np.sum(Y**2) - objective_of(X, Y, [j], 0.5) for j in range(10)]
    np.testing.assert_allclose(gains, expected, atol=1e-9)
    assert gains[4] == 0.0


def test_the_first_of_equal_scores_is_the_best():
    assert first_best(np.array([1.0, 3.0 * (1 - 1e-16), 3.0, 2.0]), 2.2e-16) == 1
    assert first_best(np.array([1.0, 2.5, 3.0, 2.0]), 2.2e-16) == 2
