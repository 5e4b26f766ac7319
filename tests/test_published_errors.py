"""A counter-example for every error of a printed algorithm that docs/guide/corrected.md names."""

import numpy as np
import pytest
from sklearn.datasets import load_wine

from rowsparse import RFS, NmAPG
from rowsparse.rows import (
    prox_dc,
    prox_dc_published,
    prox_lpinf,
    prox_lpinf_published,
    row_norms,
    tail_norm,
)
from rowsparse.solvers.sparse.rpfs_solver import strongest

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def test_rpfs_the_row_of_largest_l1_norm_is_not_the_projection():
    P = np.array([[3.0, 0.0], [2.0, 2.0]])
    distances = {}
    for norm in ("l1", "l2"):
        V = np.zeros_like(P)
        rows = strongest(P, 1, norm)
        V[rows] = P[rows]
        distances[norm] = np.linalg.norm(P - V)
    assert distances["l1"] > distances["l2"]


# A negative level, no number, a maximum, and a poorer minimum: never the least value.
@pytest.mark.parametrize(
    ("a", "t", "p"),
    [
        ([1.0], 2.0, 1.0),
        ([1.0], 2.0, 0.5),
        ([1.25], 1.0, 0.5),
        ([6.0, 1.0, 1.0, 1.0], 6.6701, 0.75),
    ],
)
def test_lpinf_the_printed_step_is_not_the_least(a, t, p):
    def value(u):
        return 0.5 * np.sum((u - np.array(a)) ** 2) + t * np.abs(u).max() ** p

    printed, exact = (value(step([a], t, p)[0]) for step in (prox_lpinf_published, prox_lpinf))
    assert not printed <= exact * (1.0 + 1e-6)


def test_nmapg_theorem_and_proposition_of_the_proximal_step_are_false():
    U, alpha = np.array([[3.0, 4.0], [0.3, 0.4]]), 1.0

    def value(W):
        return 0.5 * np.sum((W - U) ** 2) + alpha * tail_norm(W, 1)

    printed, exact = prox_dc_published(U, 1, alpha), prox_dc(U, 1, 0.0, alpha)
    # Theorem 5.1: the printed formula is no minimum; zero in its place is lower.
    assert value(exact) < value(printed)
    # Proposition 5.2: "zero if and only if the row of U is zero".
    assert U[1].any()
    assert not exact[1].any()
    # No other second row is better than zero, along the row of U or across it.
    grid = np.linspace(-1.0, 1.0, 41)
    rows = np.array([[x, z] for x in grid for z in grid])
    assert all(value(np.vstack([exact[0], row])) >= value(exact) for row in rows)
    assert row_norms(printed)[1] > 0.0


def test_nmapg_the_last_smoothing_does_not_keep_the_promised_gap():
    X, y = load_wine(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    n, d = X.shape
    selector = NmAPG(3, gamma=0.1, variant="published", fit_intercept=False, max_iter=5).fit(X, y)
    promised = 2.0 * 0.1 / (n + 0.1 * d)
    assert selector.mu_ > promised
    assert selector.mu_ * (n + 0.1 * d) / 2.0 > 0.5  # the gap may be this, not 0.1


# What docs/methods/rfs.md says of the iteration of RFS, which is no error.
@pytest.mark.long
@pytest.mark.parametrize("name", ["allaml", "glioma", "lung", "prostate_ge"])
@pytest.mark.parametrize("gamma", [1.0, 10.0])
def test_rfs_how_near_the_printed_iteration_ends(name, gamma, benchmark_data):
    data, settings = benchmark_data(name), {"gamma": gamma, "fit_intercept": False}
    published = RFS(20, variant="published", **settings).fit(*data)
    exact = RFS(20, tol=1e-8, **settings).fit(*data)
    assert 1.00002 <= published.objective_ / exact.objective_ <= 1.00009
