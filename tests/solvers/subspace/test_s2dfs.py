"""S2DFS against enumeration, the F statistic and a literal version with formed matrices."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import f_classif

from rowsparse import S2DFS
from rowsparse.design import make_design
from rowsparse.rows import top_rows
from rowsparse.solvers.subspace import s2dfs as module
from rowsparse.solvers.subspace.s2dfs import (
    ClassScatter,
    random_start,
    start_at_features,
    trace_ratio,
    trace_ratio_exact,
)


def data(seed, n=36, d=10, classes=3):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    X = rng.standard_normal((n, d)) @ (np.eye(d) + 0.3 * rng.standard_normal((d, d)))
    X += 0.8 * rng.standard_normal((classes, d))[y]
    X *= rng.uniform(0.5, 2.0, d)
    return X - X.mean(axis=0), np.eye(classes)[y]


def planted(seed, n=90, d=200):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    means = rng.standard_normal((3, 5))
    means -= means.mean(axis=0)
    X = rng.standard_normal((n, d))
    X[:, :5] += (1.2 * means / np.sqrt((means**2).mean(axis=0)))[y]
    return X, y


def design_of(X):
    return make_design(X, center=True, scale=False)[0]


def scatters(X, Y):
    means = Y.T @ X / Y.sum(axis=0)[:, None]
    between = (means * Y.sum(axis=0)[:, None]).T @ means
    within = (X - Y @ means).T @ (X - Y @ means)
    return between, within


def literal(X, Y, W, k, rounds=50, inner=30):
    """The published loops on matrices that are formed; lam and tr(W'AW) on the way."""
    Sb, Sw = scatters(X, Y)
    lams, values = [], []
    lam = np.trace(W.T @ Sb @ W) / np.trace(W.T @ Sw @ W)
    for _ in range(rounds):
        A = Sb - lam * Sw
        A += max(0.0, -np.linalg.eigvalsh(A)[0]) * np.eye(len(A))
        values.append([])
        for _ in range(inner):
            G = A @ W
            p = np.diag(G @ np.linalg.pinv(W.T @ A @ W, hermitian=True) @ G.T)
            rows = top_rows(p, k)
            W = np.zeros_like(W)
            W[rows] = np.linalg.svd(G[rows], full_matrices=False)[0]
            values[-1].append(np.trace(W.T @ A @ W))
        last, lam = lam, np.trace(W.T @ Sb @ W) / np.trace(W.T @ Sw @ W)
        lams.append(lam)
        if len(lams) > 1 and abs(lam - last) <= 1e-10 * lam:
            break
    return np.sort(rows), lams, values


def start_of(d, m, seed):
    return random_start(d, m, np.random.default_rng(seed))


def published(design, Y, k, m, start):
    return trace_ratio(design, Y, k, m, start=start, max_iter=50, tol=1e-10)


def test_scatters_of_single_features():
    X, Y = data(0)
    Sb, Sw = scatters(X, Y)
    scatter = ClassScatter.of(design_of(X), Y)
    np.testing.assert_allclose(scatter.between, np.diag(Sb), rtol=1e-10)
    np.testing.assert_allclose(scatter.within, np.diag(Sw), rtol=1e-10)
    W = start_of(10, 3, 0)
    expected = np.trace(W.T @ Sb @ W) / np.trace(W.T @ Sw @ W)
    assert scatter.ratio(W) == pytest.approx(expected, rel=1e-10)
    A = Sb - 0.7 * Sw
    np.testing.assert_allclose(X.T @ scatter.middle(0.7, X), A, atol=1e-9)


@pytest.mark.parametrize("seed", range(15))
def test_the_exact_solver_against_enumeration(seed):
    X, Y = data(seed)
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
    X, Y = data(1, *shape)
    start = start_of(shape[1], m, 5)
    rows, lams, _ = literal(X, Y, start, 4)
    solution = published(design_of(X), Y, 4, m, start)
    np.testing.assert_array_equal(solution.support, rows)
    assert solution.history[-1] == pytest.approx(lams[-1], rel=1e-7)
    np.testing.assert_allclose(solution.history[:5], lams[:5], rtol=1e-7)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("shape", [(36, 10), (18, 40)])
def test_the_ratio_never_falls_and_is_that_of_the_components(shape, seed):
    X, Y = data(seed, *shape)
    solution = published(design_of(X), Y, 4, 2, start_of(shape[1], 2, seed))
    assert np.all(np.diff(solution.history) >= -1e-12 * solution.history[1:])
    W = solution.W
    np.testing.assert_allclose(W.T @ W, np.eye(2), atol=1e-12)
    assert set(np.flatnonzero(W.any(axis=1))) <= set(solution.support)
    Sb, Sw = scatters(X, Y)
    ratio = np.trace(W.T @ Sb @ W) / np.trace(W.T @ Sw @ W)
    assert solution.objective == pytest.approx(ratio, rel=1e-9)


def test_the_inner_objective_never_falls():
    X, Y = data(2)
    _, _, values = literal(X, Y, start_of(10, 3, 1), 5, rounds=4)
    for run in values:
        assert np.all(np.diff(run) >= -1e-10 * np.abs(run[-1]))


def test_the_least_eigenvalue_by_both_ways(monkeypatch):
    X, Y = data(3, n=25, d=60)
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
    X, Y = data(4, n=90)
    scatter, _, _ = module._reduced(ClassScatter.of(design_of(X), Y))
    assert scatter.design.shape == (10, 10)
    W = start_of(10, 2, 0)
    assert scatter.ratio(W) == pytest.approx(ClassScatter.of(design_of(X), Y).ratio(W), rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("m", [2, 5])
def test_planted_features_from_any_start(seed, m):
    X, y = planted(0)
    selector = S2DFS(5, n_components=m, variant="published", random_state=seed).fit(X, y)
    assert selector.get_support(indices=True).tolist() == [0, 1, 2, 3, 4]
    assert S2DFS(5).fit(X, y).get_support(indices=True).tolist() == [0, 1, 2, 3, 4]


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


def test_the_exact_start_is_kept_or_improved():
    X, Y = data(6, n=60, d=30)
    design = design_of(X)
    exact = trace_ratio_exact(design, Y, 5, max_iter=100)
    start = start_at_features(design, Y, 5, 5)
    kept = published(design, Y, 5, 5, start)
    assert kept.objective == pytest.approx(exact.objective, rel=1e-8)
    start = start_at_features(design, Y, 5, 2)
    np.testing.assert_allclose(start.T @ start, np.eye(2), atol=1e-12)
    before = ClassScatter.of(design, Y).ratio(start)
    assert published(design, Y, 5, 2, start).objective >= before * (1 - 1e-12)
    y = Y.argmax(axis=1)
    options = {"n_components": 2, "standardize": False, "random_state": 0, "max_iter": 500}
    from_exact = S2DFS(5, init="exact", **options).fit(X, y)
    assert from_exact.objective_ >= S2DFS(5, **options).fit(X, y).objective_


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


def test_permuted_columns_permute_the_exact_choice():
    X, Y = data(7)
    order = np.random.default_rng(0).permutation(10)
    plain = S2DFS(3, standardize=False).fit(X, Y.argmax(axis=1))
    permuted = S2DFS(3, standardize=False).fit(X[:, order], Y.argmax(axis=1))
    np.testing.assert_array_equal(permuted.support_, plain.support_[order])
    np.testing.assert_allclose(permuted.scores_, plain.scores_[order], atol=1e-12)


@pytest.mark.parametrize("variant", ["corrected", "published"])
@pytest.mark.parametrize("factor", [1e-60, 1e60])
def test_units_do_not_matter(variant, factor):
    X, Y = data(8)
    options = {"variant": variant, "standardize": False, "random_state": 0, "max_iter": 300}
    plain = S2DFS(3, **options).fit(X, Y.argmax(axis=1))
    scaled = S2DFS(3, **options).fit(X * factor, Y.argmax(axis=1))
    np.testing.assert_array_equal(scaled.support_, plain.support_)
    assert scaled.objective_ == pytest.approx(plain.objective_, rel=1e-8)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_components": 0}, "n_components must be an integer of at least 1 or None"),
        ({"variant": "fast"}, "variant must be one of 'corrected', 'published'"),
        ({"init": "best"}, "init must be one of 'random', 'exact'"),
        ({"max_iter": 0}, "max_iter must be an integer of at least 1"),
        ({"tol": 0.0}, "tol must be a number above 0"),
    ],
)
def test_wrong_parameters_are_refused(options, message):
    X, Y = data(0)
    with pytest.raises(ValueError, match=message):
        S2DFS(3, **options).fit(X, Y.argmax(axis=1))
