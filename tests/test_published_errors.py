"""A counter-example for every error of a printed algorithm that docs/guide/corrected.md names."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_wine

from rowsparse import CDLSR, RFS, RPFS, LpInf, NmAPG
from rowsparse.design import make_design
from rowsparse.rows import (
    prox_dc,
    prox_dc_published,
    prox_lpinf,
    prox_lpinf_published,
)
from rowsparse.solvers.sparse.alm import strongest

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


# --------------------------------------------------------------------------------------- RFS
def test_rfs_the_penalised_bias_makes_the_answer_depend_on_the_origin_of_y(wine):
    X, _ = wine
    target = X[:, :3].sum(axis=1) + np.random.default_rng(0).normal(size=len(X))

    def change(**variant):
        one, moved = (
            RFS(3, gamma=60.0, **variant).fit(X, target + shift).coef_ for shift in (0.0, 100.0)
        )
        return np.abs(one - moved).max()

    assert change(variant="published") > 0.5
    assert change() < 1e-4


def test_rfs_no_row_vanishes(wine):
    assert (RFS(3, variant="published").fit(*wine).coef_ != 0).any(axis=0).all()
    assert np.count_nonzero(RFS(3).fit(*wine).coef_.any(axis=0)) == 3


def test_rfs_the_printed_iteration_itself_ends_near_the_optimum(wine):
    published = RFS(3, gamma=1.0, fit_intercept=False, variant="published").fit(*wine)
    exact = RFS(3, gamma=1.0, fit_intercept=False, tol=1e-8).fit(*wine)
    assert published.objective_ <= 1.0002 * exact.objective_


@pytest.mark.long
@pytest.mark.parametrize("name", ["allaml", "glioma", "lung", "prostate_ge"])
@pytest.mark.parametrize("gamma", [1.0, 10.0])
def test_rfs_how_near_it_ends(name, gamma, benchmark_data):
    data, settings = benchmark_data(name), {"gamma": gamma, "fit_intercept": False}
    published = RFS(20, variant="published", **settings).fit(*data)
    exact = RFS(20, tol=1e-8, **settings).fit(*data)
    assert 1.00002 <= published.objective_ / exact.objective_ <= 1.00009


# -------------------------------------------------------------------------------------- RPFS
def test_rpfs_the_row_of_largest_l1_norm_is_not_the_projection():
    P = np.array([[3.0, 0.0], [2.0, 2.0]])
    distances = {}
    for norm in ("l1", "l2"):
        V = np.zeros_like(P)
        rows = strongest(P, 1, norm)
        V[rows] = P[rows]
        distances[norm] = np.linalg.norm(P - V)
    assert distances["l1"] > distances["l2"]


def test_rpfs_the_loss_may_exceed_that_of_no_feature():
    rng = np.random.default_rng(1)
    sizes = (28, 4, 4, 4)
    y = np.repeat(np.arange(4), sizes)
    X = rng.standard_normal((40, 500)) + 0.3 * rng.standard_normal((4, 500))[y]
    no_feature = np.sqrt(2.0) * sum(sizes[1:])  # everything is the class of most samples
    settings = {"mu": 0.01, "init_scale": 0.03, "random_state": 0}
    assert RPFS(1, variant="published", **settings).fit(X, y).objective_ > no_feature
    assert RPFS(1).fit(X, y).objective_ <= no_feature * (1.0 + 1e-6)


# ------------------------------------------------------------------------------------- LpInf
def _cost(v, b, t, p):
    return 0.5 * np.sum((v - b) ** 2) + t * np.abs(v).max() ** p


def test_lpinf_the_printed_step_can_be_undefined_negative_or_a_poorer_minimum():
    assert np.isnan(prox_lpinf_published([[1.0, 0.5, 0.2, 0.1, 0.1]], 1.5, 0.5)).all()
    assert prox_lpinf_published([[1.0, 0.5]], 3.0, 1.0).max() < 0.0
    b, t, p = np.array([0.70, 0.98, 1.57]), 1.96, 0.5
    printed, exact = prox_lpinf_published([b], t, p)[0], prox_lpinf([b], t, p)[0]
    assert _cost(printed, b, t, p) > _cost(exact, b, t, p) + 0.05


def test_lpinf_the_printed_step_can_be_a_maximum():
    b, t, p = np.array([0.80283694]), 0.60929356, 0.25
    v = prox_lpinf_published([b], t, p)[0]
    at, below, above = (_cost(v + step, b, t, p) for step in (0.0, -1e-3, 1e-3))
    assert below < at > above


def test_lpinf_the_objective_of_the_printed_iteration_rises(wine):
    rises = np.diff(LpInf(3, p=0.5, variant="published").fit(*wine).history_) > 1e-6
    assert rises.any()
    assert not (np.diff(LpInf(3, p=0.5, gamma=1.0).fit(*wine).history_) > 1e-6).any()


# ------------------------------------------------------------------------------------- NmAPG
def test_nmapg_the_printed_step_turns_rows_around_instead_of_making_them_vanish():
    U = np.array([[3.0, 4.0], [0.3, 0.4], [0.1, 0.0]])
    printed = prox_dc_published(U, 1, 1.0)
    np.testing.assert_allclose(printed[1:], [[-0.3, -0.4], [-0.9, 0.0]])
    assert not prox_dc(U, 1, 0.0, 1.0)[1:].any()


def test_nmapg_the_printed_lipschitz_constant_is_many_times_too_large():
    X = np.random.default_rng(0).standard_normal((400, 100))
    design, _ = make_design(X, center=True, scale=True)
    printed = np.sum(design.column_norms() ** 2) + 100 * 0.1
    assert printed > 28.0 * (design.spectral_norm() ** 2 + 0.1)


@pytest.mark.parametrize(
    ("name", "ratio"), [("relathe", 28.8), ("basehock", 22.7), ("prostate_ge", 2.1)]
)
def test_nmapg_how_many_times_too_large_it_is(name, ratio, benchmark_data):
    design, _ = make_design(benchmark_data(name)[0], center=True, scale=True)
    printed = np.sum(design.column_norms() ** 2) + design.shape[1] * 0.1
    assert printed / (design.spectral_norm() ** 2 + 0.1) == pytest.approx(ratio, abs=0.06)


def test_nmapg_the_last_smoothing_does_not_keep_the_promised_gap(wine):
    X, y = wine
    n, d = X.shape
    selector = NmAPG(3, gamma=0.1, variant="published", fit_intercept=False, max_iter=5).fit(X, y)
    promised = 2.0 * 0.1 / (n + 0.1 * d)
    assert selector.mu_ > promised
    assert selector.mu_ * (n + 0.1 * d) / 2.0 > 0.5  # the gap may be this, not 0.1


# -------------------------------------------------------------------------------------- CDLSR
def test_cdlsr_the_coefficients_are_those_from_before_the_last_sweep(wine):
    selector = CDLSR(3, variant="published", n_restarts=0, max_iter=1, random_state=0).fit(*wine)
    assert selector.objective_ == pytest.approx(selector.published_objective_)
    assert selector.published_objective_ > 1.001 * selector.refitted_objective_
