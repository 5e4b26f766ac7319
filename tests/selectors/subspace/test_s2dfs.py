"""S2DFS: the best ratio of scatters over all choices, and the published algorithm below it."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from rowsparse import S2DFS
from tests.selectors.cases import three_classes

X, Y = three_classes()
Z = (X - X.mean(axis=0)) / X.std(axis=0)
MEANS = np.array([Z[c == Y].mean(axis=0) for c in range(3)])[Y]
BETWEEN, WITHIN = MEANS.T @ MEANS, (Z - MEANS).T @ (Z - MEANS)


def ratio(W):
    return np.trace(W.T @ BETWEEN @ W) / np.trace(W.T @ WITHIN @ W)


@pytest.mark.parametrize("k", [1, 3])
def test_as_many_components_as_features_are_solved_exactly(k):
    selector = S2DFS(k).fit(X, Y)
    best = max(ratio(np.eye(8)[:, S]) for S in combinations(range(8), k))
    assert selector.objective_ == pytest.approx(best)
    assert ratio(selector.components_.T) == pytest.approx(best)


@pytest.mark.parametrize("init", ["random", "exact"])
def test_the_published_ratio_is_that_of_its_components_and_never_falls(init):
    selector = S2DFS(3, n_components=2, init=init, random_state=0).fit(X, Y)
    W = selector.components_.T
    np.testing.assert_allclose(W.T @ W, np.eye(2), atol=1e-10)
    assert not W[~selector.support_].any()
    assert selector.objective_ == pytest.approx(ratio(W))
    assert np.all(np.diff(selector.history_) >= -1e-9)


def test_the_published_variant_is_not_above_the_exact_one():
    exact = S2DFS(3).fit(X, Y).objective_
    for seed in range(3):
        published = S2DFS(3, variant="published", random_state=seed).fit(X, Y)
        assert published.objective_ <= exact * (1 + 1e-9)
