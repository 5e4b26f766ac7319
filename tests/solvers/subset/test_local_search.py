"""The two local searches are one: groups of one feature give what features give."""

from __future__ import annotations

import numpy as np
import pytest

from rowsparse.solvers.subset.features import FeatureSearch
from rowsparse.solvers.subset.groups import GroupSearch
from rowsparse.solvers.subset.local_search import LocalOptimum

from .problems import data, problem_of, rules_for


def test_units_in_order_keep_the_objective():
    assert LocalOptimum(2.0, (5, 1, 3)).in_order() == LocalOptimum(2.0, (1, 3, 5))


@pytest.mark.parametrize("constraints", [{}, {"include": (6,), "exclude": (0, 2)}])
@pytest.mark.parametrize("seed", range(3))
def test_groups_of_one_feature_give_what_features_give(seed, constraints):
    X, Y = data(seed, d=12)
    problem = problem_of(X, Y, 0.5)
    rules = rules_for(problem, 4, **constraints)
    features = FeatureSearch(problem, rules)
    groups = GroupSearch(problem, rules, [np.array([j]) for j in range(12)])
    assert (features.n_fixed, features.size) == (groups.n_fixed, groups.size)
    np.testing.assert_array_equal(features.units, groups.units)
    units = tuple(features.units[:2].tolist())
    removed = tuple(features.units[2:3].tolist())
    pairs = [
        (features.run((), (), 0), groups.run((), (), 0)),
        (features.regrow(units, removed, 3), groups.regrow(units, removed, 3)),
        (features.shrink(units), groups.shrink(units)),
        *zip(features.greedy_path(), groups.greedy_path(), strict=True),
    ]
    for one, other in pairs:
        assert one.in_order().units == other.units
        assert one.objective == pytest.approx(other.objective)
        np.testing.assert_array_equal(features.support(one.units, 4), groups.support(one.units, 4))
