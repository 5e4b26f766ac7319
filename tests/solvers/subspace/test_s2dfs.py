"""The trace ratio and S2DFS: against enumeration, a literal version and the F statistic."""

from itertools import combinations

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import f_classif

from rowsparse import S2DFS
from rowsparse.rows import top_rows
from rowsparse.solvers.subspace import s2dfs_solver as module
from rowsparse.solvers.subspace.s2dfs_solver import (
    ClassScatter,
    random_start,
    start_at_features,
    trace_ratio,
    trace_ratio_exact,
)

from .cases import correlated_classes, design_of, planted


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


def published(design, Y, k, start):
    return trace_ratio(design, Y, k, start=start, max_iter=50, tol=1e-10)


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
    solution = published(design_of(X), Y, 4, start)
    np.testing.assert_array_equal(solution.support, rows)
    assert solution.history[-1] == pytest.approx(lams[-1], rel=1e-7)
    np.testing.assert_allclose(solution.history[:5], lams[:5], rtol=1e-7)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("shape", [(36, 10), (18, 40)])
def test_the_ratio_never_falls_and_is_that_of_the_components(shape, seed):
    X, Y = correlated_classes(seed, *shape)
    solution = published(design_of(X), Y, 4, start_of(shape[1], 2, seed))
    assert np.all(np.diff(solution.history) >= -1e-12 * solution.history[1:])
    W = solution.W
    np.testing.assert_allclose(W.T @ W, np.eye(2), atol=1e-12)
    assert set(np.flatnonzero(W.any(axis=1))) <= set(solution.support)
    Sb, Sw = scatters(X, Y)
    ratio = np.trace(W.T @ Sb @ W) / np.trace(W.T @ Sw @ W)
    assert solution.objective == pytest.approx(ratio, rel=1e-9)


def test_the_least_eigenvalue_by_both_ways(monkeypatch):
    X, Y = correlated_classes(3, n=25, d=60)
    scatter, spectrum, b = module._reduced(ClassScatter.from_classes(design_of(X), Y))
    Sb, Sw = scatters(X, Y)
    expected = np.linalg.eigvalsh(Sb - 1.3 * Sw)[0]
    assert module._least_eigenvalue(spectrum, b, 1.3) == pytest.approx(expected, rel=1e-10)
    monkeypatch.setattr(module, "_DENSE_SIZE", 0)
    lanczos = module._least_eigenvalue(spectrum, b, 1.3)
    assert lanczos == pytest.approx(expected, rel=1e-5)
    assert lanczos <= expected
    assert scatter.design.shape == (25, 60)


def test_the_exact_start_is_kept_or_improved():
    X, Y = correlated_classes(6)
    design = design_of(X)
    exact = trace_ratio_exact(design, Y, 5, max_iter=100)
    start = start_at_features(design, Y, 5, 5)
    kept = published(design, Y, 5, start)
    assert kept.objective == pytest.approx(exact.objective, rel=1e-8)
    start = start_at_features(design, Y, 5, 2)
    np.testing.assert_allclose(start.T @ start, np.eye(2), atol=1e-12)
    before = ClassScatter.from_classes(design, Y).ratio(start)
    assert published(design, Y, 5, start).objective >= before * (1 - 1e-12)


# ------------------------------------------------------------------------------------- the selector
def test_on_standardised_columns_the_exact_choice_is_that_of_the_f_statistic():
    X, y = load_wine(return_X_y=True)
    selector = S2DFS(5).fit(X, y)
    order = np.argsort(-f_classif(X, y)[0])
    np.testing.assert_array_equal(np.flatnonzero(selector.support_), np.sort(order[:5]))
    np.testing.assert_array_equal(np.argsort(selector.ranking_, kind="stable")[5:], order[5:])


def test_as_many_components_as_features_only_name_them():
    X, y = load_iris(return_X_y=True)
    selector = S2DFS(2).fit(X, y)
    np.testing.assert_array_equal(selector.components_, np.eye(4)[[2, 3]])
    np.testing.assert_array_equal(selector.scores_[[2, 3]], 1.0)
    assert np.all(selector.scores_[:2] < 1.0)
    # S_b / (n - S_b) of standardised columns 2 and 3, from the F statistics.
    share = f_classif(X, y)[0] * 2 / 147
    share = share / (1 + share)
    expected = share[2:].sum() / (2 - share[2:].sum())
    assert selector.objective_ == pytest.approx(expected, rel=1e-10)
    assert selector.objective_ == pytest.approx(14.41481053, rel=1e-8)


def test_the_published_variant_is_not_above_the_exact_one():
    X, Y = correlated_classes(6)
    y = Y.argmax(axis=1)
    exact = S2DFS(3).fit(X, y).objective_
    for seed in range(3):
        published = S2DFS(3, variant="published", random_state=seed).fit(X, y)
        assert published.objective_ <= exact * (1 + 1e-9)


def test_features_that_separate_the_classes_give_finite_ratios():
    X, y = planted(1)
    X[:, 7] = y == 0
    X[:, 9] = y
    for variant in ("corrected", "published"):
        selector = S2DFS(2, variant=variant, random_state=0, max_iter=500).fit(X, y)
        assert np.isfinite(selector.objective_)
        assert np.isfinite(selector.scores_).all()
    assert S2DFS(2).fit(X, y).get_support(indices=True).tolist() == [7, 9]
    alone = S2DFS(1).fit(X[:, [7, 9]], y)
    assert np.isfinite(alone.objective_)


@pytest.mark.parametrize(("k", "ratio"), [(5, 22.332709633), (20, 9.688159880)])
def test_on_faces_random_starts_stay_far_below_the_maximum(benchmark_data, k, ratio):
    # Every second column; the maximum again from the F statistics of standardised columns.
    X, y = benchmark_data("jaffe")
    X = X[:, ::2]
    share = f_classif(X, y)[0] * (10 - 1) / (len(X) - 10)
    share = np.sort(share / (1 + share))[-k:].sum()
    exact = S2DFS(k).fit(X, y).objective_
    assert exact == pytest.approx(share / (k - share), rel=1e-9)
    assert exact == pytest.approx(ratio, rel=1e-9)
    for seed in range(2):
        stuck = S2DFS(k, variant="published", random_state=seed).fit(X, y)
        assert stuck.objective_ < exact / 2
    kept = S2DFS(k, variant="published", init="exact").fit(X, y)
    assert kept.objective_ == pytest.approx(exact, rel=1e-8)


def test_solvers_and_components():
    X, y = load_wine(return_X_y=True)
    assert S2DFS(4).fit(X, y).components_.shape == (4, 13)
    few = S2DFS(4, n_components=2, random_state=0, max_iter=500).fit(X, y)
    assert few.components_.shape == (2, 13)
    with pytest.raises(ValueError, match="n_components must be at most n_features_to_select=4"):
        S2DFS(4, n_components=5).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="S2DFS did not converge in 2 iterations"):
        S2DFS(4, n_components=2, max_iter=2, random_state=0).fit(X, y)
    loose = S2DFS(4, n_components=2, tol=0.5, random_state=0).fit(X, y)
    assert loose.n_iter_ < few.n_iter_
