"""What the page of An, Dong and Qin (2021) computes."""

import numpy as np
import pytest
from scipy.optimize import minimize

from reproduction import an2021_convergence, an2021_runs
from reproduction.an2021_convergence import (
    CONVERGENCE_RHO,
    FIXED_MU,
    SPARSITY,
    descent,
    sparsity_context,
    sparsity_rows,
)
from reproduction.an2021_runs import (
    GAMMA,
    curve_rows,
    objective_rows,
    objective_tasks,
    printed_rho,
    redundancy_rows,
    refitted_value,
)
from reproduction.declare import RunTask, Size
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
