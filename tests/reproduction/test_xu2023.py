"""What the page of Xu et al. (2023) computes."""

import numpy as np
import pytest

from reproduction import xu2023, xu2023_accuracy, xu2023_runs
from reproduction.declare import RunTask
from reproduction.problems import class_matrix, constant_losses
from reproduction.xu2023_runs import (
    RPFS,
    RUNS,
    TABLE,
    TABLE_KS,
    convergence_rows,
    objective_rows,
    squared_loss,
    standardised,
)
from rowsparse import CDLSR, ProjectedGradient
from rowsparse.evaluation.metrics import refitted_objective


def setting(name):
    return {"selector": RUNS[name].selector, "params": RUNS[name].params}


@pytest.fixture
def small(monkeypatch):
    """A data set of three classes that no file is needed for."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 40)
    X = rng.normal(size=(40, 12))
    X[:, :3] += 2.0 * np.eye(3)[y]

    class Made:
        task = "classification"

    Made.X, Made.y = X, y
    for module in (xu2023_runs, xu2023_accuracy):
        monkeypatch.setattr(module, "load", lambda name, download: Made)
    return X, y


def test_the_loss_is_least_squares_with_the_best_constant(small):
    X, y = small
    Z, Y = standardised(X), class_matrix(y)
    np.testing.assert_allclose(Z.std(axis=0, ddof=1), 1.0)
    design = np.column_stack([np.ones(40), Z[:, :4]])
    residual = Y - design @ np.linalg.lstsq(design, Y, rcond=None)[0]
    W = np.zeros((12, 3))
    W[:4] = np.linalg.lstsq(design, Y, rcond=None)[0][1:]
    assert squared_loss(Z, Y, W) == pytest.approx(float(np.vdot(residual, residual)))
    assert squared_loss(Z, Y, W) == pytest.approx(refitted_objective(X, y, np.arange(4)))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", ["cdlsr published", "cdlsr", "projectedgradient step 0.001"])
def test_the_rows_hold_what_single_starts_say(small, name):
    X, y = small
    options = {"k": 3, "starts": 3, **setting(name)}
    (row,) = objective_rows(RunTask("table2", "made", name, 0, options))
    kind = CDLSR if name.startswith("cdlsr") else ProjectedGradient
    fits = [
        kind(3, random_state=start, standardize=False, **RUNS[name].params).fit(standardised(X), y)
        for start in range(3)
    ]
    assert row["objectives"] == pytest.approx([fit.objective_ for fit in fits], rel=1e-5)
    assert row["refitted"] == pytest.approx([fit.refitted_objective_ for fit in fits], rel=1e-5)
    assert row["iterations"] == [fit.n_iter_ for fit in fits]
    assert row["total"] == pytest.approx(40 - np.sum(np.bincount(y) ** 2) / 40)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_random_features_and_the_starts_of_ipfs_are_refitted(small):
    X, y = small
    for name in ("random", "ipfs"):
        options = {"k": 2, "starts": 3, **setting(name)}
        (row,) = objective_rows(RunTask("table2", "made", name, 0, options))
        assert row["objectives"] == row["refitted"]
        assert len(row["objectives"]) == 3
        assert max(row["objectives"]) <= row["total"]
    draw = np.random.default_rng(1).permutation(12)[:2]
    options = {"k": 2, "starts": 2, **setting("random")}
    (row,) = objective_rows(RunTask("table2", "made", "random", 0, options))
    assert row["objectives"][1] == pytest.approx(refitted_objective(X, y, draw), rel=1e-5)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_curves_are_means_that_hold_the_last_value(small):
    X, y = small
    params = RUNS["cdlsr published"].params
    options = {"k": 2, "starts": 4, **setting("cdlsr published")}
    (row,) = convergence_rows(RunTask("figure5", "made", "cdlsr published", 0, options))
    Z, Y = standardised(X), class_matrix(y)
    fits = [CDLSR(2, random_state=s, standardize=False, **params).fit(Z, y) for s in range(4)]
    total = squared_loss(Z, Y, np.zeros((12, 3)))
    assert row["share"][-1] == pytest.approx(np.mean([f.objective_ for f in fits]) / total, 1e-5)
    assert row["share"][0] == pytest.approx(np.mean([f.history_[0] for f in fits]) / total, 1e-5)
    assert row["at"][-1] == max(row["iterations"])
    assert row["rises"] == 0
    options = {"k": 2, "starts": 1, **setting(RPFS)}
    (row,) = convergence_rows(RunTask("figure5", "made", RPFS, 0, options))
    # The share of RPFS is one of its own loss.
    assert row["share"][-1] < 1.0 < constant_losses(Y)[0]


def test_single_starts_are_judged_one_by_one(small):
    X, y = small
    task = RunTask("starts", "made", "cdlsr published", 0, {"k": 2, "starts": 3})
    rows = xu2023_accuracy.start_rows(task)
    assert [row["estimator"] for row in rows] == list(xu2023_accuracy.ESTIMATORS)
    fit = CDLSR(2, variant="published", n_restarts=0, random_state=2).fit(X, y)
    assert rows[0]["objectives"][2] == pytest.approx(fit.refitted_objective_, rel=1e-5)
    assert all(0 <= accuracy <= 1 for row in rows for accuracy in row["accuracies"])


def test_the_published_losses_come_out(benchmark_data):
    benchmark_data("srbct")
    for k in TABLE_KS:
        options = {"k": k, "starts": 40, **setting("cdlsr published")}
        (row,) = objective_rows(RunTask("table2", "srbct", "cdlsr published", 0, options))
        assert xu2023.fits(row, TABLE["srbct"]["cdlsr"][k])
