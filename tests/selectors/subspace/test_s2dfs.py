"""S2DFS against the F statistic, from random and from exact starts."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import f_classif

from rowsparse import S2DFS
from tests.solvers.subspace.cases import correlated_classes, planted


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


def test_the_published_variant_is_not_above_the_exact_one():
    X, Y = correlated_classes(6)
    y = Y.argmax(axis=1)
    exact = S2DFS(3).fit(X, y).objective_
    for seed in range(3):
        published = S2DFS(3, variant="published", random_state=seed).fit(X, y)
        assert published.objective_ <= exact * (1 + 1e-9)


def test_the_exact_start_ends_above_a_random_one():
    X, Y = correlated_classes(6)
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
    X, Y = correlated_classes(7)
    order = np.random.default_rng(0).permutation(10)
    plain = S2DFS(3, standardize=False).fit(X, Y.argmax(axis=1))
    permuted = S2DFS(3, standardize=False).fit(X[:, order], Y.argmax(axis=1))
    np.testing.assert_array_equal(permuted.support_, plain.support_[order])
    np.testing.assert_allclose(permuted.scores_, plain.scores_[order], atol=1e-12)


@pytest.mark.parametrize("variant", ["corrected", "published"])
@pytest.mark.parametrize("factor", [1e-60, 1e60])
def test_units_do_not_matter(variant, factor):
    X, Y = correlated_classes(8)
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
    X, Y = correlated_classes(0)
    with pytest.raises(ValueError, match=message):
        S2DFS(3, **options).fit(X, Y.argmax(axis=1))
