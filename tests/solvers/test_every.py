"""What all solvers that choose k rows owe: no answer below the best one, and weights that count."""

from functools import cache
from inspect import signature
from itertools import combinations

import numpy as np
import pytest

from rowsparse.rows import top_rows
from rowsparse.solvers.l21.robust import robust_topk
from rowsparse.solvers.sparse.cdlsr_solver import cdlsr
from rowsparse.solvers.sparse.crfs_solver import crfs
from rowsparse.solvers.sparse.ipfs_solver import ipfs
from rowsparse.solvers.sparse.lpinf_solver import lpinf
from rowsparse.solvers.sparse.nmapg_solver import nmapg
from rowsparse.solvers.sparse.projected_gradient_solver import projected_gradient
from rowsparse.solvers.sparse.rfs_solver import rfs
from rowsparse.solvers.sparse.rpfs_solver import rpfs
from rowsparse.solvers.sparse.smoothed_l20_solver import smoothed_l20

from .cases import best_loss, design_of, l21_loss, loss_at, norm21, refit, regression, wrong_labels

ROBUST = {"gamma": 0.0, "include": (), "exclude": (), "n_restarts": 4, "fit_intercept": True}
NMAPG = {"gamma": 0.5, "rho": None, "mu": None, "init": "best", "variant": "corrected"}
NMAPG |= {"fit_intercept": True, "tol": 1e-7, "max_iter": 200}
RPFS = {"mu": 0.1, "rho": 1.02, "max_iter": 300, "init": "forward", "n_restarts": 0, "tol": 1e-6}
RPFS |= {"init_scale": None, "variant": "corrected", "fit_intercept": True}
CDLSR = {"n_restarts": 39, "variant": "corrected", "max_iter": 1000, "tol": 1e-4}
STEPS = {"init": "pang", "step": None, "n_restarts": 0, "tol": 1e-4, "max_iter": 1000}
IPFS = {"mu": 1e-4, "rho": 1.05, "ridge": 0.1, "n_restarts": 0, "tol": 1e-4, "max_iter": 1000}
RFS = {"gamma": 3.0, "fit_intercept": True, "solver": "auto", "tol": 1e-9, "max_iter": None}
CRFS = {"gamma": 0.5, "sigma": None, "tol": None, "max_iter": 5}
LPINF = {"p": 0.5, "gamma": None, "init": "best", "variant": "corrected", "n_samples": 20.0}
LPINF |= {"tol": 1e-6, "max_iter": 2000}


def run(solver, X, Y, k, /, *, center=True, seed=0, **options):
    """The solution of a solver, with a generator if it asks for one."""
    takes = signature(solver).parameters
    options |= {"k": k} if "k" in takes else {}
    options |= {"rng": np.random.default_rng(seed)} if "rng" in takes else {}
    return solver(design_of(X, center), Y, **options)


# ------------------------------------------------------------------------------ enumeration
@pytest.mark.parametrize(
    ("solver", "options", "least"),
    [
        (projected_gradient, STEPS, 0.2),
        (projected_gradient, STEPS | {"init": "random", "n_restarts": 4}, 0.2),
        (smoothed_l20, {"gamma": None, "tol": 1e-14, "max_iter": 5000}, 0.2),
        (ipfs, IPFS, 0.2),
        (cdlsr, CDLSR, 0.75),
        (cdlsr, CDLSR | {"variant": "published"}, 0.0),
    ],
)
def test_squared_losses_are_never_below_the_best_of_all_supports(solver, options, least):
    reached = []
    for seed, (n, k) in enumerate([(30, 1), (30, 3), (8, 1), (8, 3)] * 2):
        X, Y = regression(n, 9, 2, seed=seed, noise=1.0)
        X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
        found = run(solver, X, Y, k, **options)
        assert np.count_nonzero(found.W.any(axis=1)) == k
        assert sorted(top_rows(found.scores, k)) == sorted(found.support)
        assert found.objective == pytest.approx(loss_at(X, Y, found.W))
        refitted = found.attributes.get("refitted_objective_", found.objective)
        best = best_loss(X, Y, k)
        assert best - 1e-9 <= refitted <= found.objective + 1e-9
        reached.append(refitted <= best * (1 + 1e-8))
    assert np.mean(reached) >= least


@cache
def l21_problem(seed, gamma):
    """Labels, some of them wrong, and the least objective of all supports of three features."""
    X, Y = wrong_labels(seed, n=16, d=7, classes=2 + seed % 2)
    supports = (np.array(S) for S in combinations(range(7), 3))
    return X, Y, min(refit(design_of(X), Y, S, gamma=gamma, tol=1e-7).objective for S in supports)


@pytest.mark.parametrize(
    ("solver", "options"),
    [(robust_topk, ROBUST), (robust_topk, ROBUST | {"gamma": 0.5}), (rpfs, RPFS), (nmapg, NMAPG)],
)
def test_l21_losses_are_never_below_the_best_of_all_supports(solver, options):
    reached = []
    for seed in range(4):
        X, Y, optimum = l21_problem(seed, options.get("gamma", 0.0))
        found = run(solver, X, Y, 3, **options)
        value = l21_loss(X - X.mean(axis=0), Y, found.W, found.b)
        value += options.get("gamma", 0.0) * norm21(found.W)
        assert found.objective == pytest.approx(value)
        assert found.objective >= optimum * (1 - 1e-6)
        reached.append(found.objective <= optimum * (1 + 1e-5))
    assert np.mean(reached) >= 0.75


@pytest.mark.parametrize(
    ("solver", "options"),
    [
        (cdlsr, CDLSR | {"n_restarts": 1}),
        (cdlsr, CDLSR | {"n_restarts": 1, "variant": "published"}),
        (robust_topk, ROBUST),
        *((rpfs, RPFS | {"init": init, "max_iter": 50}) for init in ("forward", "zero", "random")),
    ],
)
def test_exactly_k_features_and_constant_columns_last(solver, options):
    X, Y = wrong_labels(10, d=3)
    X = np.hstack([np.full((24, 2), 0.1), X, X[:, :1], X[:, :1]])
    for k, center in ((3, True), (5, True), (5, solver is cdlsr), (7, True)):
        found = run(solver, X, Y - center * Y.mean(axis=0), k, center=center, **options)
        assert np.unique(found.support).size == found.support.size == k
        assert not found.W[:2].any()
        if k <= 5 and options.get("variant") != "published":
            assert not {0, 1} & set(found.support.tolist())


# ---------------------------------------------------------------------- weights and monitors
@pytest.mark.parametrize(
    ("solver", "options"),
    [
        (crfs, CRFS),
        (crfs, CRFS | {"sigma": 1.0}),
        (rfs, RFS),
        (nmapg, NMAPG),
        (nmapg, NMAPG | {"fit_intercept": False}),
        (rpfs, RPFS | {"init": "zero", "max_iter": 100}),
        (rpfs, RPFS | {"init": "zero", "max_iter": 100, "fit_intercept": False}),
        (robust_topk, ROBUST),
        (robust_topk, ROBUST | {"fit_intercept": False}),
    ],
)
def test_whole_weights_are_repeated_samples(solver, options):
    X, Y = wrong_labels(3, n=20, d=30)
    times = np.random.default_rng(0).integers(1, 4, 20)
    weighted = run(solver, X, Y, 4, center=False, weights=times.astype(float), **options)
    repeated = run(solver, X.repeat(times, 0), Y.repeat(times, 0), 4, center=False, **options)
    np.testing.assert_array_equal(weighted.W.any(axis=1), repeated.W.any(axis=1))
    assert weighted.objective == pytest.approx(repeated.objective, rel=1e-6)
    np.testing.assert_allclose(weighted.W, repeated.W, atol=1e-3)


@pytest.mark.parametrize(
    ("solver", "options", "last"),
    [
        (cdlsr, CDLSR, 3),
        (lpinf, LPINF | {"p": 1.0, "gamma": 1.0}, 7),
        (nmapg, NMAPG | {"init": "forward"}, 1),
        (rpfs, RPFS, 5),
        (robust_topk, ROBUST, 1),
    ],
)
def test_the_monitor_sees_every_objective_and_ends_the_run(solver, options, last):
    X, Y = wrong_labels(13, n=40, d=80, classes=4)
    seen = []
    found = run(solver, X, Y, 5, **options, monitor=lambda F: seen.append(F) or len(seen) == last)
    told = found.attributes["objectives_"] if solver is cdlsr else found.history
    np.testing.assert_allclose(seen, told)
    assert len(seen) == last
    assert np.isfinite(found.W).all()
