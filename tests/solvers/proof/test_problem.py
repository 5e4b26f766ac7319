"""What branch and bound asks of the candidates of every loss, against enumeration."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from rowsparse.solvers.proof.problem import CandidateProblem

from .problems import NONE, candidates, logistic_candidates, random_labels


def problem_of(loss: str, seed: int) -> CandidateProblem:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((24, 8)) + rng.standard_normal((24, 1))
    if loss == "logistic":
        Y, omega = random_labels(rng, 24, 2)
        return logistic_candidates(X, Y, 6.0, omega)
    return candidates(X, rng.standard_normal((24, 2)), 6.0)


LOSSES = ["squared", "logistic"]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(3))
def test_bounds_and_fits_are_in_order(loss, seed):
    problem = problem_of(loss, seed)
    active, k = np.array([1, 4, 6]), 3
    chosen, allowed = np.array([4]), np.ones(8, dtype=bool)
    allowed[[4, 7]] = False
    W, own = problem.fit(active)
    bound = problem.bound(active, W, chosen, allowed, k)
    free = np.flatnonzero(allowed)
    for pair in combinations(free, 2):
        assert bound.value <= problem.fit(np.array([4, *pair]))[1]
    ordered = np.sort(bound.q[allowed])[::-1]
    assert (bound.last_in, bound.first_out) == (ordered[1], ordered[2])
    # Over the one choice that it was fitted on, the bound is the objective but for rounding.
    nothing = np.zeros(8, dtype=bool)
    assert problem.bound(active, W, active, nothing, k).value == pytest.approx(own, rel=1e-9)
    assert problem.fit(NONE)[1] == pytest.approx(problem.total)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("count", [1, 2])
def test_completion_finds_the_best_last_features(loss, count):
    problem = problem_of(loss, 5)
    chosen, free = np.array([2, 3]), np.array([0, 1, 5, 6])
    found = problem.complete(chosen, free, 2 + count, np.inf, relaxed=True)
    assert found is not None
    assert found.added is not None
    values = {
        tuple(map(int, added)): problem.fit(np.append(chosen, added))[1]
        for added in combinations(free, count)
    }
    best = min(values, key=lambda added: values[added])
    assert tuple(sorted(found.added.tolist())) == best
    assert found.value == pytest.approx(values[best])
    assert values[best] * (1 - 1e-9) <= found.bound <= values[best]


@pytest.mark.parametrize("loss", LOSSES)
def test_fewer_candidates_are_the_same_problem(loss):
    problem, keep = problem_of(loss, 9), np.array([0, 2, 3, 7])
    fewer = problem.restricted(keep)
    assert len(fewer) == 4
    assert fewer.features.tolist() == problem.features[keep].tolist()
    assert fewer.nbytes < problem.nbytes
    np.testing.assert_allclose(fewer.strengths(), problem.strengths()[keep])
    assert fewer.fit(np.array([1, 3]))[1] == pytest.approx(problem.fit(keep[[1, 3]])[1])
    point = fewer.relaxation(np.arange(4), 2, 1).evaluate(np.array([1.0, 1.0, 0.0, 0.0]))
    assert point.phi == pytest.approx(problem.fit(keep[[0, 1]])[1])
