"""What subspace selectors share: their result, and the number of components."""

from __future__ import annotations

import numpy as np
import pytest

from rowsparse import FSPCA
from rowsparse.selectors.base.sample import read_sample
from rowsparse.selectors.subspace.subspace import resolve_components, scored_features
from rowsparse.solvers.solution import Solution

X = np.random.default_rng(0).standard_normal((20, 5))


def test_a_solution_becomes_scored_features_in_the_units_of_x():
    W = np.diag([3.0, 0.0, 4.0])[:, [0, 2]]
    solution = Solution(W, np.zeros(2), 5.0, np.array([6.0, 5.0]), 2, False)
    found = scored_features(solution, np.array([True, False, True]), scale=10.0)
    np.testing.assert_array_equal(found.scores, [3.0, 0.0, 4.0])
    np.testing.assert_array_equal(found.attributes["components_"], W.T)
    assert not np.shares_memory(found.attributes["components_"], W)
    assert found.attributes["objective_"] == 50.0
    assert found.attributes["history_"].tolist() == [60.0, 50.0]
    assert (found.n_iter, found.converged) == (2, False)


@pytest.mark.parametrize(("n_components", "default", "m"), [(None, 2, 2), (None, 9, 3), (3, 1, 3)])
def test_there_are_at_most_as_many_components_as_features(n_components, default, m):
    selector = FSPCA(3)
    assert resolve_components(n_components, default, selector, read_sample(selector, X, None)) == m


@pytest.mark.filterwarnings("ignore:n_features_to_select=9")
def test_more_components_than_features_asked_for_are_refused():
    with pytest.raises(ValueError, match="n_components must be at most n_features_to_select=3"):
        resolve_components(4, 1, FSPCA(3), read_sample(FSPCA(3), X, None))
    everything = FSPCA(9)
    assert resolve_components(9, 1, everything, read_sample(everything, X, None)) == 5
