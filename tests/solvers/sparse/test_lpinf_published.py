"""What the printed method for the l_{p,inf} penalty does."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from rowsparse import LpInf
from rowsparse.solvers.losses.squared import SquaredLoss
from rowsparse.solvers.sparse.lpinf_descents import gamma_max
from rowsparse.solvers.sparse.lpinf_published import prox_printed

from ..cases import centred_regression, n_rows, solve_lpinf


def test_published_p_1_never_removes_a_row_and_is_worse():
    design, Y = centred_regression()
    penalty = 0.5 * gamma_max(SquaredLoss(design, Y), 1.0)
    right = solve_lpinf(design, Y, 1, p=1.0, gamma=penalty)
    printed = solve_lpinf(design, Y, 1, p=1.0, gamma=penalty, variant="published", max_iter=300)
    assert n_rows(printed.W) == 60
    assert n_rows(right.W) < 20
    assert printed.objective > 1.01 * right.objective
    np.testing.assert_array_equal(printed.scores, np.abs(printed.W).max(axis=1))


@pytest.mark.parametrize("p", [0.5, 1.0])
def test_published_search_ends(p):
    design, Y = centred_regression()
    answer = solve_lpinf(design, Y, 5, p=p, variant="published", max_iter=100)
    assert np.isfinite(answer.W).all()


@pytest.mark.long
def test_the_printed_iteration_is_given_up_where_it_wanders_about():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 61)) * 10.0 ** rng.integers(-30, 31, size=61)
    selector = LpInf(3, variant="published", standardize=False, max_iter=5000)
    with pytest.warns(ConvergenceWarning, match="did not converge"):
        selector.fit(X, rng.integers(0, 3, 60))
    assert selector.n_iter_ < 5000


def test_rows_that_the_printed_prox_loses_are_zero():
    A = np.array([[3.0, -2.0], [0.1, 0.05], [0.0, 0.0]])
    with np.errstate(all="ignore"):
        W = prox_printed(A, 1.0, 0.5)
    assert np.isfinite(W).all()
    assert W[0].any()
    np.testing.assert_array_equal(W[1:], 0.0)
