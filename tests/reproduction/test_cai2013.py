"""What the page of Cai et al. (2013) computes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from reproduction import cai2013
from reproduction.cai2013 import (
    RUNS,
    TABLE_KS,
    figure_tasks,
    objective_rows,
    table_tasks,
    training_part,
)
from reproduction.declare import RunTask
from reproduction.pages import write_page
from reproduction.problems import class_matrix, constant_losses
from rowsparse import RPFS


def made_row(method, values, *, constant=17.0, dataset="lung", k=1, supports=None):
    return {
        "dataset": dataset,
        "method": method,
        "k": k,
        "constant": constant,
        "constant_mean": 23.0,
        "objectives": list(values),
        "refitted": list(values),
        "supports": list(range(len(values))) if supports is None else supports,
    }


def test_the_best_constant_is_the_least_sum_of_distances():
    Y = class_matrix(np.random.default_rng(0).integers(0, 3, 25), "one-hot")
    best, at_mean = constant_losses(Y)
    found = minimize(
        lambda b: np.linalg.norm(Y - b, axis=1).sum(),
        Y.mean(axis=0),
        method="Nelder-Mead",
        options={"xatol": 1e-10, "fatol": 1e-12, "maxiter": 5000},
    )
    assert best == pytest.approx(found.fun, rel=1e-6)
    assert at_mean == pytest.approx(np.linalg.norm(Y - Y.mean(axis=0), axis=1).sum())


def test_labels_of_plus_and_minus_one_double_the_losses():
    y = np.array([0, 0, 0, 1, 2, 2])
    plain, doubled = (constant_losses(class_matrix(y, kind)) for kind in ("one-hot", "plus-minus"))
    assert doubled == pytest.approx(tuple(2 * value for value in plain))


def test_the_training_part_is_a_fifth_and_keeps_the_classes():
    y = np.repeat([0, 1, 2], [50, 30, 20])
    part = training_part(y, "stratified")
    assert np.bincount(y[part]).tolist() == [10, 6, 4]
    assert np.array_equal(part, training_part(y, "stratified", start=7))
    assert not np.array_equal(training_part(y, "redrawn", 1), training_part(y, "redrawn", 2))
    assert np.array_equal(training_part(y, "random", 1), training_part(y, "random", 2))


def test_all_starts_are_run_once():
    for method, run in RUNS.items():
        for k in TABLE_KS:
            blocks = [
                task.options
                for task in table_tasks(cai2013.PAPER.standard)
                if (task.dataset, task.method, task.options["k"]) == ("leu", method, k)
            ]
            starts = [s for b in blocks for s in range(b["first"], b["first"] + b["number"])]
            assert starts == list(range(run.starts(cai2013.PAPER.standard, 50)))


def test_selections_on_all_samples_are_made_once():
    tasks = [t for t in figure_tasks(cai2013.PAPER.standard) if t.dataset == "leu"]
    published = [t for t in tasks if t.options["protocol"] == "published"]
    honest = [t for t in tasks if t.options["protocol"] == "honest"]
    assert {t.options["splits"] for t in published} == {10}
    assert sum(t.options["splits"] for t in honest) == 10 * len(published)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_row_holds_what_the_selector_says(benchmark_data):
    X, y = benchmark_data("leu")
    options = {
        "k": 2,
        "first": 3,
        "number": 2,
        "labels": "one-hot",
        "fifth": "stratified",
        "selector": "rpfs",
        "params": {**RUNS["rpfs published"].params, "max_iter": 50},
    }
    (row,) = objective_rows(RunTask("table2", "leu", "rpfs published", 0, options))
    part = training_part(y, "stratified")
    Y = class_matrix(y[part], "one-hot")
    with pytest.warns(ConvergenceWarning):
        selector = RPFS(2, random_state=4, task="regression", **options["params"]).fit(X[part], Y)
    residual = Y - X[part] @ selector.coef_.T - selector.intercept_
    assert row["objectives"][1] == pytest.approx(np.linalg.norm(residual, axis=1).sum(), rel=1e-5)
    assert row["refitted"][1] <= row["objectives"][1]
    assert row["refitted"][1] <= row["constant"] <= row["constant_mean"]
    assert len(row["supports"]) == 2


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize(
    ("plain", "doubled", "constant", "answer"),
    [
        (22.0, 44.0, 17.0, "±1 do not. These runs end worse than no feature."),
        (22.0, 44.0, 30.0, "fit the printed number in 1 of 1 settings, those of ±1 do not."),
        (12.0, 24.0, 17.0, "Labels of ±1 fit"),
        (22.0, 24.0, 17.0, "Both codings fit"),
        (2.0, 4.0, 17.0, "Neither coding fits"),
    ],
)
def test_the_answer_on_lung_follows_from_the_rows(plain, doubled, constant, answer, tmp_path):
    rows = [
        made_row("rpfs published", [plain], constant=constant),
        made_row("rpfs plus-minus", [doubled], constant=2 * constant),
    ]
    text = write_page(cai2013.PAPER, {"table2": rows}, tmp_path).read_text()
    assert answer in text
    assert ("These runs end worse" in text) == ("worse" in answer)


def test_cells_within_the_printed_spread_are_counted():
    rows = [
        made_row("rpfs published", [23.0, 25.0]),
        made_row("rpfs published", [20.0], k=5),
        made_row("rpfs published", [1.0], dataset="leu", k=8),
    ]
    hits = {("leu", 8): True, ("lung", 1): True, ("lung", 5): False}
    assert cai2013.agreement(rows, "rpfs published") == hits
    found = cai2013.claims(rows)
    assert (found["hits"], found["total"], found["unstable"]) == (2, 3, 1)
    assert found["by_data"] == {"LEU": 1, "LUNG": 1}
    assert found["somewhere"] == {"LEU": "1 of 1", "LUNG": "1 of 2"}


def test_claims_on_few_features_and_on_the_spread_follow_from_the_rows():
    rows = [
        {
            "dataset": "leu",
            "method": method,
            "k": k,
            "protocol": "honest",
            "estimator": "1-NN",
            "accuracy": accuracy,
        }
        for k, own in ((1, 0.9), (2, 0.7), (5, 0.9))
        for method, accuracy in (("rpfs published", own), ("mtfs", 0.8), ("rfs", 0.6))
    ]
    lines = {line[0]: line[1:] for line in cai2013.few_features(rows, "1-NN")}
    assert lines == {"honest": ["1 of 2", "–", "–"], "published": ["–", "–", "–"]}
    ends = [made_row("rpfs published", [0.0, 2.0 / k], dataset="leu", k=k) for k in TABLE_KS]
    ((title, printed, own),) = cai2013.spreads(ends)
    assert title == "LEU"
    assert printed == [1.80, 0.49, 0.43, 0.37]
    assert own == pytest.approx([1 / k for k in TABLE_KS])
