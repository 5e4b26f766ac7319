"""The trace ratio against enumeration and a literal version with formed matrices."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from rowsparse.rows import top_rows
from rowsparse.solvers.subspace import s2dfs as module
from rowsparse.solvers.subspace.s2dfs import (
    ClassScatter,
    random_start,
    start_at_features,
    trace_ratio,
    trace_ratio_exact,
)
from tests.solvers.subspace.cases import correlated_classes, design_of


def scatters(X, Y):
    means = Y.T @ X / Y.sum(axis=0)[:, None]
    between = (means * Y.sum(axis=0)[:, None]).T @ means
    within = (X - Y @ means).T @ (X - Y @ means)
    return between, within


def literal(X, Y, W, k, rounds=50, inner=30):
    """The published loops on matrices that are formed; the chosen rows and lam on the way."""
    Sb, Sw = scatters(X, Y)
    lams = []
    lam = np.trace(W.T @ Sb @ W) / np.trace(W.T @ Sw @ W)
    for _ in range(rounds):
        A = Sb - lam * Sw
        A += max(0.0, -np.linalg.eigvalsh(A)[0]) * np.eye(len(A))
        for _ in range(inner):
            G = A @ W
            p = np.diag(G @ np.linalg.pinv(W.T @ A @ W, hermitian=True) @ G.T)
            rows = top_rows(p, k)
            W = np.zeros_like(W)
            W[rows] = np.linalg.svd(G[rows], full_matrices=False)[0]
        last, lam = lam, np.trace(W.T @ Sb @ W) / np.trace(W.T @ Sw @ W)
        lams.append(lam)
        if len(lams) > 1 and abs(lam - last) <= 1e-10 * lam:
            break
    return np.sort(rows), lams


def start_of(d, m, seed):
    return random_start(d, m, np.random.default_rng(seed))


def published(design, Y, k, m, start):
    return trace_ratio(design, Y, k, m, start=start, max_iter=50, tol=1e-10)


def test_scatters_of_single_features():
    X, Y = correlated_classes(0)
    Sb, Sw = scatters(X, Y)
    scatter = ClassScatter.of(design_of(X), Y)
    np.testing.assert_allclose(scatter.between, np.diag(Sb), rtol=1e-10)
    np.testing.assert_allclose(scatter.within, np.diag(Sw), rtol=1e-10)
    W = start_of(10, 3, 0)
    expected = np.trace(W.T @ Sb @ W) / np.trace(W.T @ Sw @ W)
    assert scatter.ratio(W) == pytest.approx(expected, rel=1e-10)
    A = Sb - 0.7 * Sw
    np.testing.assert_allclose(X.T @ scatter.middle(0.7, X), A, atol=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_the_exact_solver_against_enumeration(seed):
    X, Y = correlated_classes(seed)
    Sb, Sw = (np.diag(S) for S in scatters(X, Y))
    best = max(Sb[list(S)].sum() / Sw[list(S)].sum() for S in combinations(range(10), 4))
    solution = trace_ratio_exact(design_of(X), Y, 4, max_iter=100)
    assert solution.converged
    assert solution.objective == pytest.approx(best, rel=1e-10)
    chosen = solution.support
    assert Sb[chosen].sum() / Sw[chosen].sum() == pytest.approx(best, rel=1e-10)
    assert np.all(np.diff(solution.history) > 0)


@pytest.mark.parametrize("shape", [(36, 10), (18, 40)])
@pytest.mark.parametrize("m", [2, 4])
def test_it_is_the_published_algorithm(shape, m):
    X, Y = correlated_classes(1, *shape)
    start = start_of(shape[1], m, 5)
    rows, lams = literal(X, Y, start, 4)
    solution = published(design_of(X), Y, 4, m, start)
    np.testing.assert_array_equal(solution.support, rows)
    assert solution.history[-1] == pytest.approx(lams[-1], rel=1e-7)
    np.testing.assert_allclose(solution.history[:5], lams[:5], rtol=1e-7)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("shape", [(36, 10), (18, 40)])
def test_the_ratio_never_falls_and_is_that_of_the_components(shape, seed):
    X, Y = correlated_classes(seed, *shape)
    solution = published(design_of(X), Y, 4, 2, start_of(shape[1], 2, seed))
    assert np.all(np.diff(solution.history) >= -1e-12 * solution.history[1:])
    W = solution.W
    np.testing.assert_allclose(W.T @ W, np.eye(2), atol=1e-12)
    assert set(np.flatnonzero(W.any(axis=1))) <= set(solution.support)
    Sb, Sw = scatters(X, Y)
    ratio = np.trace(W.T @ Sb @ W) / np.trace(W.T @ Sw @ W)
    assert solution.objective == pytest.approx(ratio, rel=1e-9)


def test_the_least_eigenvalue_by_both_ways(monkeypatch):
    X, Y = correlated_classes(3, n=25, d=60)
    scatter, spectrum, b = module._reduced(ClassScatter.of(design_of(X), Y))
    Sb, Sw = scatters(X, Y)
    expected = np.linalg.eigvalsh(Sb - 1.3 * Sw)[0]
    assert module._least_eigenvalue(spectrum, b, 1.3) == pytest.approx(expected, rel=1e-10)
    monkeypatch.setattr(module, "_DENSE_SIZE", 0)
    lanczos = module._least_eigenvalue(spectrum, b, 1.3)
    assert lanczos == pytest.approx(expected, rel=1e-5)
    assert lanczos <= expected
    assert scatter.design.shape == (25, 60)


def test_many_samples_are_reduced_to_as_many_as_features():
    X, Y = correlated_classes(4, n=90)
    scatter, _, _ = module._reduced(ClassScatter.of(design_of(X), Y))
    assert scatter.design.shape == (10, 10)
    W = start_of(10, 2, 0)
    assert scatter.ratio(W) == pytest.approx(ClassScatter.of(design_of(X), Y).ratio(W), rel=1e-9)


def test_the_exact_start_is_kept_or_improved():
    X, Y = correlated_classes(6)
    design = design_of(X)
    exact = trace_ratio_exact(design, Y, 5, max_iter=100)
    start = start_at_features(design, Y, 5, 5)
    kept = published(design, Y, 5, 5, start)
    assert kept.objective == pytest.approx(exact.objective, rel=1e-8)
    start = start_at_features(design, Y, 5, 2)
    np.testing.assert_allclose(start.T @ start, np.eye(2), atol=1e-12)
    before = ClassScatter.of(design, Y).ratio(start)
    assert published(design, Y, 5, 2, start).objective >= before * (1 - 1e-12)
