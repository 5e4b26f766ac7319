"""What the page of An, Dong and Qin (2021) computes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize

from reproduction import an2021, an2021_convergence, an2021_runs
from reproduction.an2021_convergence import (
    CONVERGENCE_RHO,
    FIXED_MU,
    SPARSITY,
    descent,
    sparsity_context,
    sparsity_rows,
)
from reproduction.an2021_runs import (
    DATASETS,
    GAMMA,
    LARGE,
    curve_rows,
    curve_tasks,
    objective_rows,
    objective_tasks,
    printed_rho,
    redundancy_rows,
    redundancy_tasks,
    refitted_value,
    settings_tasks,
)
from reproduction.declare import RunTask, Size
from reproduction.store import read_rows
from rowsparse import NmAPG
from rowsparse.design import make_design

FISHER = {"selector": "fisherscore", "params": {}}
QUIET = "ignore::sklearn.exceptions.ConvergenceWarning"


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 12)
    X = rng.standard_normal((36, 15))
    X[:, :3] += 1.5 * (y[:, None] == np.arange(3))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X, y, (y[:, None] == np.arange(3)).astype(float)


def design_of(X):
    return make_design(X, center=False, scale=False)[0]


def objective(W, X, Y, k):
    norms = np.linalg.norm(W, axis=1)
    tail = np.sort(norms)[: norms.size - k].sum()
    loss = np.linalg.norm(X @ W - Y, axis=1).sum()
    return loss + GAMMA * norms.sum() + CONVERGENCE_RHO * tail


@pytest.mark.filterwarnings(QUIET)
def test_the_first_line_of_the_convergence_figure_is_the_published_selector(data):
    X, y, Y = data
    W, history = descent(design_of(X), Y, 4, "printed", 60)
    settings = {"gamma": GAMMA, "mu": FIXED_MU, "rho": CONVERGENCE_RHO, "max_iter": 60}
    selector = NmAPG(4, variant="published", fit_intercept=False, **settings).fit(X, y)
    np.testing.assert_allclose(W.T, selector.coef_, atol=1e-9)
    assert len(history) == selector.n_iter_
    assert history[-1] == pytest.approx(objective(W, X, Y, 4))
    assert history[-1] == pytest.approx(selector.objective_)


@pytest.mark.filterwarnings(QUIET)
def test_the_second_line_is_the_published_selector_with_its_falling_mu(data):
    X, y, Y = data
    W, history = descent(design_of(X), Y, 4, "algorithm 2", 200)
    settings = {"gamma": GAMMA, "rho": CONVERGENCE_RHO, "max_iter": 200}
    selector = NmAPG(4, variant="published", fit_intercept=False, **settings).fit(X, y)
    np.testing.assert_allclose(W.T, selector.coef_, atol=1e-9)
    assert history[-1] == pytest.approx(selector.objective_)


def test_every_change_of_the_steps_lowers_the_objective_sooner(data):
    X, _, Y = data
    steps = ("operator", "constant", "margin")
    ends = [descent(design_of(X), Y, 4, step, 40)[1][-1] for step in steps]
    assert ends == sorted(ends, reverse=True)
    assert ends[-1] < ends[0]


def test_only_the_exact_operator_makes_rows_vanish(data, monkeypatch):
    X, _, Y = data
    monkeypatch.setattr(an2021_convergence, "CONVERGENCE_RHO", 50.0)
    rows = {
        step: np.count_nonzero(descent(design_of(X), Y, 4, step, 200)[0].any(axis=1))
        for step in ("printed", "operator")
    }
    assert rows == {"printed": 15, "operator": 4}


@pytest.mark.filterwarnings(QUIET)
def test_rows_are_counted_by_tolerance(data, monkeypatch):
    X, y, _ = data
    monkeypatch.setattr(an2021_convergence, "standardised", lambda name: (X, y))
    rows = [
        row
        for method in SPARSITY
        for row in sparsity_rows(RunTask("sparsity", "lung", method, options={"k": 3}))
    ]
    counts = {row["method"]: row["rows"] for row in rows}
    assert all(c == sorted(c, reverse=True) for c in counts.values())
    assert counts["nmapg"][0] == 3
    assert counts["nmapg published"][0] == 15  # no row vanishes
    found = sparsity_context(rows)
    assert len(found["lines"]) == len(SPARSITY)


def test_the_refitted_value_is_the_least_on_the_support(data):
    X, _, Y = data
    support = np.array([0, 1, 7])

    def value(w):
        W = w.reshape(3, 3)
        residuals = np.linalg.norm(X[:, support] @ W - Y, axis=1)
        return residuals.sum() + 0.1 * np.linalg.norm(W, axis=1).sum()

    found = min(
        minimize(value, start, method="BFGS", options={"gtol": 1e-8}).fun
        for start in np.random.default_rng(1).normal(0.0, 0.3, (3, 9))
    )
    assert refitted_value(X, Y, support, 0.1) == pytest.approx(found, rel=1e-4)


def test_the_printed_weight_of_the_constraint_is_a_share_of_its_bound():
    assert printed_rho(0.001, 50, np.array([[-4.0]]), 0.1) == pytest.approx(0.001 * (200.0 - 0.1))
    assert printed_rho(0.01, 1, np.array([[0.05]]), 0.1) > 0.0


@pytest.mark.filterwarnings(QUIET)
def test_a_share_of_one_hundredth_is_what_the_selector_takes_by_itself(data):
    X, y, _ = data
    rho = printed_rho(0.01, len(X), X, 0.1)
    own = NmAPG(3, variant="published", fit_intercept=False, max_iter=5).fit(X, y)
    assert own.rho_ == pytest.approx(rho)


@pytest.mark.filterwarnings(QUIET)
def test_curves_get_their_rho_from_the_samples_selected_on(benchmark_data, monkeypatch):
    X, _ = benchmark_data("yale")
    seen = []
    monkeypatch.setattr(an2021_runs, "accuracy_rows", lambda task: seen.append(task.options) or [])
    for protocol in ("honest", "published"):
        options = {"protocol": protocol, "folds": 5, "rho_share": 0.01, "params": {"gamma": 0.1}}
        curve_rows(RunTask("accuracy", "yale", "nmapg published", 0, options))
    honest, published = (options["params"]["rho"] for options in seen)
    assert (honest + 0.001) / (published + 0.001) == pytest.approx(0.8)
    assert "rho_share" not in seen[0]
    assert published == pytest.approx(0.01 * (len(X) * 5.58 - 0.1), rel=0.01)


def test_redundancy_is_measured_on_both_parts_of_the_split(benchmark_data):
    X, _ = benchmark_data("yale")
    rows = redundancy_rows(RunTask("redundancy", "yale", "fisherscore", 3, {**FISHER, "ks": [2]}))
    (row,) = rows
    # With two features the printed rate is half of their correlation.
    assert abs(row["published"]) == pytest.approx(0.5 * row["absolute"])
    assert abs(row["published_held_out"]) == pytest.approx(0.5 * row["absolute_held_out"])
    assert row["absolute"] != row["absolute_held_out"]
    assert len(X) == 165


@pytest.mark.long
@pytest.mark.filterwarnings(QUIET)
def test_the_published_method_selects_what_its_first_step_selects(benchmark_data):
    benchmark_data("yale")
    task = next(
        task
        for task in objective_tasks(Size(datasets=("yale",)))
        if task.method == "nmapg published"
    )
    (row,) = objective_rows(task)
    assert row["kept"] == row["k"] == 10
    assert row["rows"] > row["k"]
    assert row["objective"] == pytest.approx(144.196, abs=0.01)


def test_all_sets_and_settings_are_run_and_large_ones_less_often():
    size = an2021.PAPER.standard
    assert {task.dataset for task in curve_tasks(size)} == set(DATASETS)
    gammas = {
        task.options["params"]["gamma"]
        for task in [*curve_tasks(size), *settings_tasks(size)]
        if task.method.startswith("rfs gamma")
    }
    assert gammas == {0.001, 0.01, 0.1, 0.2, 0.8, 1.0}
    every = [*curve_tasks(size), *settings_tasks(size)]
    shares = {task.options["rho_share"] for task in every if "rho_share" in task.options}
    assert shares == {0.01, 0.001}
    assert not {task.dataset for task in settings_tasks(size)} & set(LARGE)
    runs = {
        dataset: sum(
            task.dataset == dataset and task.method == "topk" for task in redundancy_tasks(size)
        )
        for dataset in DATASETS
    }
    assert runs == {dataset: 2 if dataset in LARGE else 10 for dataset in DATASETS}
    assert all(
        "train_share" in task.options
        for task in curve_tasks(size)
        if task.dataset in an2021_runs.ONE_SPLIT
    )


def test_the_best_penalty_is_compared_with_the_usual_one():
    values = {"rfs gamma 0.1": 0.8, "rfs gamma 0.2": 0.7, "rfs gamma 1": 0.5}
    rows = [{"dataset": "yale", "method": m, "k": 5, "accuracy": v} for m, v in values.items()]
    found = an2021.best_penalty(rows, an2021.PENALTIES["γ of RFS (instead of 1)"])
    assert found == {"gain": pytest.approx(30.0), "best": {"Yale": "0.1"}}
    assert an2021.best_penalty(rows[:2], an2021.PENALTIES["γ of RFS (instead of 1)"]) is None


def test_the_two_rates_are_compared():
    rows = [
        {
            "dataset": "yale",
            "method": method,
            "split": 0,
            "k": 2,
            "published": p,
            "absolute": a,
            "published_held_out": p,
            "absolute_held_out": a,
        }
        for method, p, a in (("nmapg published", 0.1, 0.2), ("topk", -0.1, 0.3))
    ]
    found = an2021.redundancy_claims(rows)
    assert found["places"] == {
        "as printed": {"Yale": "2 of 2"},
        "mean absolute correlation": {"Yale": "1 of 2"},
    }
    assert (found["differ"], found["sets"], found["below"], found["cells"]) == (1, 1, 1, 2)


def test_the_counts_on_the_objective_follow_from_the_rows():
    own = {"fisherscore": 5.0, "nmapg published": 5.0, "topk": 4.0, "topk l21": 3.0}
    rows = [
        {"dataset": "yale", "method": method, "k": 10, "objective": value}
        for method, value in own.items()
    ]
    rows[1] |= {"kept": 9, "rows": 40}
    found = an2021.objective_context(rows)
    assert found["best"] == {
        "Fisher": 0,
        "NmAPG, published, 0.01": 0,
        "TopK": 0,
        "TopK, ℓ2,1": 1,
    }
    assert found["below"] == {"Fisher": 0, "TopK": 1, "TopK, ℓ2,1": 1}
    assert (found["same"], found["number"]) == (1, 1)
    (step,) = found["steps"]
    assert (step["share"], step["still"], step["feasible"], step["number"]) == (90, 0, 0, 1)


def test_rows_are_exchanged_after_the_first_step_as_the_guide_says():
    docs = Path(__file__).parents[2] / "docs"
    rows = read_rows(docs / "reproduction" / "an2021.jsonl")["objective"]
    step, _ = an2021.objective_context(rows)["steps"]
    moved = f"in {step['number'] - step['still']} of {step['number']} cells"
    assert moved in (docs / "guide" / "corrected.md").read_text(encoding="utf-8")
