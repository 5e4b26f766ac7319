"""The number of components, and solutions in the units of the data."""

from __future__ import annotations

import numpy as np
import pytest

from rowsparse import FSPCA
from rowsparse.selectors.base.sample import read_sample
from rowsparse.selectors.subspace.subspace import resolve_components, scored_features
from rowsparse.solvers.solution import Solution


@pytest.mark.parametrize(
    ("n_components", "default", "expected"), [(None, 3, 3), (None, 9, 5), (2, 9, 2), (5, 1, 5)]
)
def test_components_are_those_asked_for_or_the_default_within_k(n_components, default, expected):
    selector = FSPCA(5)
    sample = read_sample(selector, np.random.default_rng(0).random((8, 6)), None)
    assert resolve_components(n_components, default, selector, sample) == expected


def test_more_components_than_features_asked_for_are_refused():
    selector = FSPCA(0.5)  # 4 of 8 columns
    sample = read_sample(selector, np.random.default_rng(0).random((8, 8)), None)
    with pytest.raises(ValueError, match="at most n_features_to_select=4, so that 4 features"):
        resolve_components(5, 1, selector, sample)


def test_there_are_no_more_components_than_columns():
    selector = FSPCA(9)
    with pytest.warns(UserWarning, match="all features are kept"):
        sample = read_sample(selector, np.random.default_rng(0).random((8, 6)), None)
    assert resolve_components(8, 1, selector, sample) == 6


def test_the_scale_multiplies_the_objective_but_not_the_components():
    W = np.array([[0.6, 0.0], [0.0, 0.0], [0.8, 1.0]])
    solution = Solution(
        W=W,
        b=np.zeros(2),
        objective=3.0,
        history=np.array([2.0, 3.0]),
        n_iter=2,
        converged=False,
        scores=np.array([0.6, 0.1, 1.3]),
        support=np.array([0, 2]),
    )
    found = scored_features(solution, np.array([True, False, True]), scale=4.0)
    np.testing.assert_array_equal(found.attributes["components_"], W.T)
    assert not np.shares_memory(found.attributes["components_"], W)
    assert found.attributes["objective_"] == 12.0
    np.testing.assert_array_equal(found.attributes["history_"], [8.0, 12.0])
    np.testing.assert_array_equal(found.scores, solution.scores)
    np.testing.assert_array_equal(found.support, [0, 2])
    np.testing.assert_array_equal(found.varies, [True, False, True])
    assert (found.n_iter, found.converged) == (2, False)
