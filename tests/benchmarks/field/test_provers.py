"""What the rivals are told for their proofs, and what outer approximation rests on."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from benchmarks.field.cases import Case
from benchmarks.field.problems import load_problem
from benchmarks.field.provers import make_setting
from benchmarks.topk import refitted

CASE = Case("proofs", "informative n=30 d=50", 4, 0.2, "TopK")


@pytest.fixture(scope="module")
def setting():
    return make_setting(CASE, load_problem(CASE.problem))


def test_the_price_of_a_feature_is_one_at_which_k_are_best():
    problem = load_problem("informative n=30 d=12")
    setting = make_setting(Case("proofs", problem.name, 3, 0.01, "TopK"), problem)
    assert setting.ridge == pytest.approx(0.3)

    def best(k):
        supports = (list(S) for S in combinations(range(12), k))
        return min(refitted(problem.X, problem.Y, S, setting.ridge) for S in supports)

    costs = [best(k) / 2 + setting.penalty * k for k in range(1, 7)]
    assert np.argmin(costs) + 1 == setting.k


def test_no_ridge_solution_as_good_exceeds_the_valid_bound(setting):
    rng = np.random.default_rng(0)
    bound = setting.largest_coefficient()
    assert np.abs(setting.start).max() <= bound
    # The bound by the spectrum holds for every support and needs no good one.
    for _ in range(20):
        S = rng.choice(50, size=4, replace=False)
        A = setting.X[:, S]
        b = np.linalg.solve(A.T @ A + setting.ridge * np.eye(4), A.T @ setting.y)
        assert np.abs(b).max() <= np.linalg.norm(setting.y) / (2 * np.sqrt(setting.ridge))


def test_the_start_is_the_ridge_solution_of_the_search(setting):
    S = np.flatnonzero(setting.start)
    residual = setting.y - setting.X @ setting.start
    objective = residual @ residual + setting.ridge * setting.start @ setting.start
    assert S.size == setting.k
    assert objective == pytest.approx(setting.best)
    assert refitted(setting.X, setting.y[:, None], S, setting.ridge) == pytest.approx(objective)


def test_tolerances_are_scaled_to_the_same_absolute_gap(setting):
    other = setting.best + 123.0
    assert setting.scaled_gap(other) * other == pytest.approx(1e-4 * setting.best)


@pytest.mark.peer
def test_bounds_of_the_outer_approximation_are_tangents(setting):
    pytest.importorskip("highspy")
    from benchmarks.peers.highs import value_and_gradient

    rng = np.random.default_rng(0)
    s = rng.random(50)
    value, gradient = value_and_gradient(setting.X, setting.y, s, setting.ridge)
    for _ in range(10):
        other = rng.random(50)
        tangent = value + gradient @ (other - s)
        assert value_and_gradient(setting.X, setting.y, other, setting.ridge)[0] >= tangent - 1e-6
    S = np.array([1, 5, 9])
    at_S = value_and_gradient(setting.X, setting.y, np.isin(np.arange(50), S) * 1.0, setting.ridge)
    assert at_S[0] == pytest.approx(refitted(setting.X, setting.y[:, None], S, setting.ridge))
