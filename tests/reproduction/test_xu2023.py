"""What the page of Xu et al. (2023) computes."""

from __future__ import annotations

import numpy as np
import pytest

from reproduction import xu2023, xu2023_accuracy, xu2023_runs
from reproduction.declare import RunTask
from reproduction.pages import write_page
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
    time_rows,
)
from rowsparse import CDLSR, ProjectedGradient
from rowsparse.evaluation import refitted_objective

STANDARD = xu2023.PAPER.standard


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


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_all_methods_are_timed_in_one_task(small):
    methods = ["cdlsr published", "topk no restarts", "topk"]
    rows = time_rows(RunTask("table3", "made", "all", 0, {"methods": methods, "times": 2}))
    assert [row["method"] for row in rows] == methods
    assert rows[1]["objective"] >= rows[2]["objective"] - 1e-9


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


def accuracy_row(method, accuracy, protocol="published", k=5, dataset="srbct"):
    where = {"dataset": dataset, "method": method, "protocol": protocol, "k": k}
    return {**where, "estimator": "linear SVM", "accuracy": accuracy}


def test_the_best_of_the_grid_is_chosen_for_each_k():
    rows = [
        accuracy_row("rfs 0.01", 0.9),
        accuracy_row("rfs 1", 0.8),
        accuracy_row("rfs 0.01", 0.4, k=20),
        accuracy_row("rfs 1", 0.6, k=20),
        accuracy_row("crfs 0.01", 0.7, "honest"),
    ]
    every = xu2023_accuracy.with_best(rows)
    best = {row["k"]: row["accuracy"] for row in every if row["method"] == "rfs best"}
    assert best == {5: 0.9, 20: 0.6}
    assert not any(row["method"] == "crfs best" for row in every)
    found = xu2023_accuracy.means(every, xu2023_accuracy.LABELS, "linear SVM")
    assert found["published"]["srbct"]["rfs best"] == pytest.approx(75.0)


@pytest.mark.usefixtures("undrawn")
def test_places_and_gains_follow_from_the_rows(tmp_path):
    rows = [
        accuracy_row(method, accuracy - (0.1 if protocol == "honest" else 0.0), protocol)
        for method, accuracy in {"ttest": 0.8, "cdlsr published": 0.9, "topk": 0.95}.items()
        for protocol in ("published", "honest")
    ]
    text = write_page(xu2023.PAPER, {"figure3": rows}, tmp_path).read_text()
    assert "honest protocol – SRBCT: TopK. Places of CD-LSR as published – SRBCT: 2 of 3." in text
    assert "adds 10.0 points on average, and up to 10.0." in text
    assert "left out: CAE, FIRDL" in text


@pytest.mark.usefixtures("undrawn")
def test_the_best_start_by_accuracy_takes_part_and_the_claim_is_judged(tmp_path):
    rows = [
        accuracy_row(method, accuracy, "published")
        for method, accuracy in {"ttest": 0.8, "fspca": 0.7, "cdlsr published": 0.6}.items()
    ]
    where = {"dataset": "srbct", "k": 5, "estimator": "linear SVM"}
    starts = [
        {**where, "method": "cdlsr published", "accuracies": [0.5, 0.9], "objectives": [1, 2]}
    ]
    (best,) = xu2023_accuracy.best_starts(starts)
    assert best["accuracy"] == 0.9
    text = write_page(xu2023.PAPER, {"figure3": rows, "starts": starts}, tmp_path).read_text()
    assert "CD-LSR as published is among the first two in 0 of 1 data sets (published)." in text
    assert "its start of the highest accuracy is among the first two in 1 of 1 data sets" in text


def made_row(method, values, *, dataset="srbct", k=5):
    where = {"dataset": dataset, "method": method, "k": k, "total": 60.0}
    return {**where, "objectives": list(values), "refitted": list(values)}


def test_cells_within_the_printed_spread_are_counted():
    rows = [
        made_row("cdlsr published", [12.0, 13.0]),
        made_row("cdlsr published", [20.0], k=10),
        made_row("cdlsr", [12.0, 14.0]),
        made_row("topk", [11.0]),
        made_row("random", [50.0, 52.0]),
        made_row("rpfs mu 1 rho 1.1", [29.0]),
        made_row("rpfs mu 1e-06 rho 1.1", [70.0]),
    ]
    found = xu2023.table_context(rows)
    claims = found["claims"]
    assert claims["published"] == "1 of 2"
    assert claims["rivals"] == {"RPFS": "1 of 1"}
    assert claims["by_lot"] == {"IPFS": 1, "PGD": 0, "RPFS": 0}
    assert (claims["pairs"], claims["below_mean"], claims["below_best"]) == (1, 1, 1)
    (line,) = [line for line in found["settings"] if line[0] == "RPFS μ = 1e-06 ρ = 1.1"]
    assert line[1:] == ["–", "70", "–", "–", "–", "–", "0 of 1"]


def test_ratios_of_time_are_within_a_data_set():
    rows = [
        {
            "dataset": "jaffe",
            "method": name,
            "seconds": s,
            "process_seconds": s,
            "process_spread": 0.01,
            "objective": 1.0,
        }
        for name, s in (("cdlsr published", 0.1), (RPFS, 3.12), ("topk", 0.2))
    ]
    found = xu2023.table3_context(rows)
    assert found["lines"][1:] == [
        ["JAFFE", "RPFS", "5.335 ± 0.08", "15.60", "3.120", "3.120 ± 0.010", "31.20", "1.00"],
        ["JAFFE", "TopK, 21 starts", "–", "–", "0.200", "0.200 ± 0.010", "2.00", "1.00"],
    ]
    assert (found["agree"], found["cells"]) == (1, 1)
    assert found["times"] == pytest.approx(2.0, rel=1e-3)


def test_failures_are_named():
    failed = {"dataset": "srbct", "method": "firdl", "split": 0, "error": "TimeoutError: stopped"}
    rows = {"figure3": [failed], "table2": [failed], "figure5": [failed]}
    assert xu2023.page(rows)["failed"] == ["firdl on srbct (TimeoutError: stopped)"]


def test_searched_settings_are_run_on_all_samples_only():
    tasks = [t for t in xu2023_accuracy.figure3_tasks(STANDARD) if t.dataset == "isolet"]
    honest = {t.method for t in tasks if t.options["protocol"] == "honest"}
    published = {t.method for t in tasks if t.options["protocol"] == "published"}
    assert {"rfs 0.01", "rfs 1", "rfs 100", "slap 100"} <= published - honest
    assert {"crfs 0.01", "slap 1", "rfs"} <= honest
    assert published > honest
    (every,) = {tuple(t.options["ks"]) for t in tasks if t.method == "allfeatures"}
    assert every == (617,)


def test_deep_rivals_are_left_out_without_torch(monkeypatch):
    monkeypatch.setattr(xu2023_accuracy, "find_spec", lambda name: None)
    without = xu2023_accuracy.figure3_tasks(STANDARD)
    monkeypatch.setattr(xu2023_accuracy, "find_spec", lambda name: object())
    deep = [t for t in xu2023_accuracy.figure3_tasks(STANDARD) if t.method in xu2023_accuracy.DEEP]
    assert not any(t.method in xu2023_accuracy.DEEP for t in without)
    assert {t.dataset for t in deep} == set(xu2023_accuracy.DEEP_DATASETS)
    assert {tuple(t.options["ks"]) for t in deep} == {(5, 20, 80)}
    assert {t.split for t in deep} == {0}


def test_the_grid_can_be_that_of_the_paper():
    wide = tuple(10.0**p for p in range(-6, 7, 2))
    assert len(xu2023_accuracy.searched_contenders(wide)) == 3 * 7
    runs = {t.method for t in xu2023_runs.table_tasks(STANDARD)}
    assert runs == set(RUNS)
    assert sum(name.startswith("projectedgradient") for name in runs) == 11
