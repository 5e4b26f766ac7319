"""What the page of Cai et al. (2013) computes."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from reproduction import cai2013
from reproduction.cai2013 import RUNS, objective_rows, training_part
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


def test_the_training_part_is_a_fifth_and_keeps_the_classes():
    y = np.repeat([0, 1, 2], [50, 30, 20])
    part = training_part(y, "stratified")
    assert np.bincount(y[part]).tolist() == [10, 6, 4]
    assert np.array_equal(part, training_part(y, "stratified", start=7))
    assert not np.array_equal(training_part(y, "redrawn", 1), training_part(y, "redrawn", 2))
    assert np.array_equal(training_part(y, "random", 1), training_part(y, "random", 2))


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
        (22.0, 44.0, 17.0, "±1 do not. These runs end worse than no feature:"),
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
