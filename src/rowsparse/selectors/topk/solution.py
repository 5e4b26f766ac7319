"""From the result of a search to what a selector reports."""

from __future__ import annotations

from typing import Any

import numpy as np

from rowsparse._arrays import Array
from rowsparse.solvers.solution import Solution, scores_with_closeness
from rowsparse.solvers.subset.search import SearchResult


def no_proof(objective: float) -> dict[str, Any]:
    """What is known without a proof: an objective is not negative."""
    return {"status_": "heuristic", "lower_bound_": 0.0, "gap_": objective}


def decision_model(coef: Array, intercept: Array) -> tuple[Array, Array]:
    """A linear model of classes with one row for two of them: the second less the first."""
    if len(intercept) != 2:
        return coef, intercept
    return coef[1:] - coef[:1], intercept[1:] - intercept[:1]


def solution_of(result: SearchResult, certificate: dict[str, Any]) -> Solution:
    """The solution of a search on d features, with what is proven of it."""
    d = result.gains.size
    W = np.zeros((d, result.V.shape[1]))
    W[result.support] = result.V
    costs = np.zeros((d, 1))
    costs[result.support, 0] = result.costs
    return Solution(
        W=W,
        b=result.b,
        objective=result.objective,
        history=result.history,
        n_iter=result.history.size,
        converged=True,
        scores=scores_with_closeness(costs, result.gains, result.support),
        support=result.support,
        attributes={"n_starts_": result.n_starts, **certificate},
    )
