"""FSPCA: the variance of its components, and how many there are."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from rowsparse import FSPCA
from tests.selectors.cases import three_classes

X, Y = three_classes()


@pytest.mark.parametrize("standardize", [False, True])
def test_the_objective_is_the_variance_of_orthonormal_components(standardize):
    selector = FSPCA(3, n_components=2, standardize=standardize).fit(X)
    C = np.corrcoef(X.T) if standardize else np.cov(X.T, bias=True)
    W = selector.components_.T
    np.testing.assert_allclose(W.T @ W, np.eye(2), atol=1e-10)
    assert not W[~selector.support_].any()
    assert selector.objective_ == pytest.approx(np.trace(W.T @ C @ W))
    best = max(np.linalg.eigvalsh(C[np.ix_(S, S)])[-2:].sum() for S in combinations(range(8), 3))
    assert selector.objective_ <= best * (1 + 1e-12)


def test_there_is_a_component_for_each_class():
    assert FSPCA(5).fit(X, Y).components_.shape == (3, 8)


def test_as_many_components_as_features_take_the_largest_variances_with_a_warning():
    with pytest.warns(UserWarning, match="n_components=2 for 2 features only takes the largest"):
        selector = FSPCA(2, n_components=2, standardize=False).fit(X)
    assert set(selector.get_support(indices=True)) == set(np.argsort(-X.var(axis=0))[:2])
