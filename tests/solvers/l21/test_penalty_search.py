"""The search for the penalty that leaves k rows, on counts that are known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from rowsparse.solvers.l21.penalty_search import search_penalty


@dataclass
class Counted:
    n_rows: int


class Entries:
    """Rows that enter at given penalties, and the penalties asked for."""

    def __init__(self, entries):
        self.entries, self.asked = np.asarray(entries), []

    def __call__(self, penalty):
        self.asked.append(penalty)
        return Counted(int(np.count_nonzero(self.entries > penalty)))


def search(solve, k, upper=1.0, step=0.5, lower=1e-6, max_solves=60):
    return search_penalty(solve, upper, k, step=step, lower=lower, max_solves=max_solves)


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_finds_exactly_k(k):
    entries = [0.9, 0.61, 0.6, 0.001]
    penalty, found = search(Entries(entries), k)
    assert found.n_rows == k
    assert np.count_nonzero(np.array(entries) > penalty) == k


def test_rows_that_enter_together_give_the_fewest_above_k():
    penalty, found = search(Entries([0.9, 0.3, 0.3, 0.3, 0.1]), 2)
    assert found.n_rows == 4
    assert 0.1 <= penalty < 0.3


def test_too_few_rows_end_at_the_lower_limit():
    solve = Entries([0.9, 0.5])
    penalty, found = search(solve, 5, lower=1e-3)
    assert found.n_rows == 2
    assert penalty == pytest.approx(1e-3)
    assert min(solve.asked) == pytest.approx(1e-3)


def test_the_number_of_solves_is_limited():
    solve = Entries(np.linspace(0.5, 0.50001, 200))
    search(solve, 1, max_solves=5)
    assert len(solve.asked) <= 10
