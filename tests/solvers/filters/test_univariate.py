"""Scatter ratios and t statistics of groups against NumPy and SciPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import stats

from rowsparse.solvers.filters.class_statistics import group_statistics, members
from rowsparse.solvers.filters.univariate import (
    Scatter,
    against_the_rest,
    between_and_within,
    by_score_then_between,
    label_comparisons,
    pairs,
    scatter_ratio,
    t_values,
    varying,
)

LAYOUTS = {
    "by rows": np.ascontiguousarray,
    "by columns": np.asfortranarray,
    "float32": lambda X: X.astype(np.float32),
    "a view": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "csr": sp.csr_array,
    "csc": sp.csc_matrix,
}


def problem(n: int = 50, d: int = 13) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = np.round(rng.standard_normal((n, d)), 1).astype(np.float32).astype(np.float64)
    X[np.abs(X) < 0.5] = 0.0
    return X, (rng.random((n, 4)) < 0.4).astype(float)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_constant_columns_are_recognised_at_any_offset(layout):
    X, Y = problem()
    X[:, :4] = np.float32([0.0, 0.1, 1e6 / 3, -7e-5])
    X[:, 4] = 1e6
    X[7, 4] += 1.0
    varies = varying(group_statistics(LAYOUTS[layout](X), members(Y[:, :1] * 0 + 1), None))
    np.testing.assert_array_equal(varies, [False] * 4 + [True] * 9)


def test_the_rest_is_all_other_groups_together():
    X, _ = problem()
    y = np.arange(50) % 3
    groups = group_statistics(X, members(np.eye(3)[y]), None)
    for c, comparison in enumerate(against_the_rest(groups)):
        rest = X[y != c]
        np.testing.assert_allclose(
            comparison.difference, X[y == c].mean(axis=0) - rest.mean(axis=0), atol=1e-14
        )
        np.testing.assert_allclose(comparison.scatter[1], rest.var(axis=0) * len(rest))
    assert len(list(pairs(groups))) == 3


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_the_side_without_a_label_follows_from_the_whole(share):
    X, _ = problem()
    has = np.arange(50) < share * 50
    weights = np.linspace(0.5, 2.0, 50)
    (found,), labels, _ = label_comparisons(X, has[:, None].astype(float), weights)
    direct = next(pairs(group_statistics(X, members(np.array([has, ~has]).T), weights)))
    np.testing.assert_array_equal(labels, [0])
    np.testing.assert_allclose(np.abs(found.difference), np.abs(direct.difference), atol=1e-13)
    np.testing.assert_allclose(sorted(found.size), sorted(direct.size))
    np.testing.assert_allclose(
        np.sort(found.scatter, axis=0), np.sort(direct.scatter, axis=0), rtol=1e-10
    )


def three_classes():
    X, _ = problem()
    y = np.arange(50) % 3
    return X + y[:, None] * np.linspace(0, 1, 13), y


def test_the_scatter_ratio_is_f_without_degrees_of_freedom():
    X, y = three_classes()
    parts = [X[y == c] for c in range(3)]
    scatter = between_and_within(group_statistics(X, members(np.eye(3)[y]), None))
    F = stats.f_oneway(*parts).statistic
    np.testing.assert_allclose(scatter_ratio(scatter) * (50 - 3) / (3 - 1), F, rtol=1e-10)
    total = X.var(axis=0) * 50
    np.testing.assert_allclose(scatter.between + scatter.within, total, rtol=1e-12)


def test_a_ratio_without_scatter_within_is_infinite_or_zero():
    scatter = Scatter(np.array([3.0, 1e-20, 2.0]), np.array([0.0, 0.0, 4.0]), np.full(3, 1e-16))
    np.testing.assert_array_equal(scatter_ratio(scatter), [np.inf, 0.0, 0.5])


def test_infinite_scores_are_ordered_by_the_scatter_between():
    scores = np.array([1.0, np.inf, 5.0, np.inf, -np.inf])
    between, unit = np.array([9.0, 1.0, 9.0, 4.0, 1.0]), np.ones(5)
    np.testing.assert_array_equal(by_score_then_between(scores, between, unit), [3, 1, 2, 0, 4])
    unit[1] = 4.0
    np.testing.assert_array_equal(by_score_then_between(scores, between, unit), [1, 3, 2, 0, 4])


@pytest.mark.parametrize("equal_var", [True, False])
def test_t_is_that_of_scipy(equal_var):
    X, y = three_classes()
    groups = group_statistics(X, members(np.eye(3)[y]), None)
    classes = [(a, b) for a in range(3) for b in range(a + 1, 3)]
    for (a, b), pair in zip(classes, pairs(groups), strict=True):
        expected = stats.ttest_ind(X[y == a], X[y == b], equal_var=equal_var).statistic
        found = t_values(pair, equal_var=equal_var, ddof=1)
        np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_t_needs_samples_for_a_variance():
    X, _ = problem()
    alone, others = np.arange(50) == 0, np.arange(50) > 0
    pair = next(pairs(group_statistics(X, members(np.array([alone, others]).T), None)))
    assert t_values(pair, equal_var=False, ddof=1) is None
    assert t_values(pair, equal_var=True, ddof=1) is not None
