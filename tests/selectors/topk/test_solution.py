"""What a selector reports of a search."""

from __future__ import annotations

import numpy as np

from rowsparse.selectors.topk.solution import no_proof, solution_of
from rowsparse.solvers.subset.search import SearchResult


def test_rows_scores_and_attributes_of_a_search():
    result = SearchResult(
        support=np.array([1, 3]),
        objective=5.0,
        V=np.array([[1.0, 2.0], [3.0, 4.0]]),
        b=np.array([0.5, -0.5]),
        costs=np.array([8.0, 4.0]),
        gains=np.array([3.0, 0.0, 1.5, 0.0]),
        n_starts=7,
        history=np.array([6.0, 5.0]),
        stopped_early=False,
    )
    solution = solution_of(result, no_proof(5.0))
    assert solution.W.tolist() == [[0, 0], [1, 2], [0, 0], [3, 4]]
    assert solution.b.tolist() == [0.5, -0.5]
    assert solution.scores.tolist() == [2.0, 8.0, 1.0, 4.0]
    assert solution.n_iter == 2
    assert solution.attributes == {
        "n_starts_": 7,
        "status_": "heuristic",
        "lower_bound_": 0.0,
        "gap_": 5.0,
    }
