"""The best last feature and the best last pair, against refits of all of them."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from rowsparse.solvers.proof import completion
from rowsparse.solvers.proof.completion import ResidualProblem

from .problems import NONE, candidates, value_of


@pytest.mark.parametrize("chosen", [NONE, np.array([3, 8, 1])])
@pytest.mark.parametrize("ridge", [1e-3, 5.0])
@pytest.mark.parametrize("duplicates", [False, True])
def test_gains_of_one_and_of_two_equal_refitted_differences(monkeypatch, chosen, ridge, duplicates):
    monkeypatch.setattr(completion, "_CHUNK", 4)
    rng = np.random.default_rng(0)
    X, Y = (
        rng.standard_normal((25, 14)) + rng.standard_normal((25, 1)),
        rng.standard_normal((25, 2)),
    )
    if duplicates:
        X[:, 5] = X[:, 0]
    free = np.setdiff1d(np.arange(14), chosen)
    rest = ResidualProblem(candidates(X, Y, ridge), chosen, free)
    before = value_of(X, Y, chosen, ridge)
    assert rest.total == pytest.approx(before)
    for j, gain in zip(free, rest.gains, strict=True):
        assert gain == pytest.approx(before - value_of(X, Y, [*chosen, j], ridge), rel=1e-7)
    pairs = {
        (a, b): before - value_of(X, Y, [*chosen, free[a], free[b]], ridge)
        for a, b in combinations(range(free.size), 2)
    }
    best = max(pairs.values())
    for min_gain in (-1.0, 0.0, 0.5 * best, best * (1 - 1e-6)):
        i, j, gain = rest.best_pair(min_gain)
        assert gain == pytest.approx(best, rel=1e-7)
        assert pairs[i, j] == pytest.approx(best, rel=1e-7)
    assert rest.best_pair(best * (1 + 1e-6)) is None


def test_dependent_features_without_a_ridge_are_refused():
    X = np.random.default_rng(0).standard_normal((10, 4))
    X[:, 1] = 0.0
    problem = candidates(X, X[:, :1], 0.0)
    with pytest.raises(np.linalg.LinAlgError):
        ResidualProblem(problem, np.array([0, 1]), np.array([2, 3]))
