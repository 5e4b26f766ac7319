"""The page of the field, its provers, and runs in processes of their own."""

import csv
import os
import re
import signal
import time
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from benchmarks.field.accuracy import compare
from benchmarks.field.cases import PROVERS, Case, all_cases
from benchmarks.field.contests import CONTESTS, Contest
from benchmarks.field.page import DOCS, PROOFS, render, rows_of
from benchmarks.field.problems import load_problem
from benchmarks.field.provers import make_setting
from benchmarks.field.results import Results
from benchmarks.field.rows import ENVIRONMENT, FIELDS, key_of, read_rows
from benchmarks.field.sections import proof_table
from benchmarks.topk import refitted

REBUILD = "python -m benchmarks.field --rebuild"


@pytest.fixture(scope="module")
def results():
    return Results(read_rows(DOCS / "field.csv"))


def test_the_page_says_what_the_rows_say(results):
    page = (DOCS / "field.md").read_text(encoding="utf-8")
    assert render(page, results, compare(DOCS / "league.csv")) == page, f"run {REBUILD}"
    with (DOCS / PROOFS).open(encoding="utf-8", newline="") as file:
        assert [*csv.reader(file)] == rows_of(proof_table(results)), f"run {REBUILD}"


def test_every_row_belongs_to_a_case_and_none_is_there_twice(results):
    keys = [key_of(row) for row in results.rows if row["part"] != ENVIRONMENT]
    assert len(set(keys)) == len(keys)
    assert set(keys) <= {case.key for case in all_cases()}
    assert tuple(results.rows[0]) == FIELDS


def test_every_figure_of_the_page_is_there():
    page = (DOCS / "field.md").read_text(encoding="utf-8")
    for name in re.findall(r"\((field-\w+\.png)\)", page):
        assert (DOCS / name).stat().st_size > 0


def test_objectives_of_the_rows_are_not_below_what_was_proven(results):
    for setting in results.settings("proofs"):
        bounds = [
            float(results.row("proofs", setting, method)["bound"])
            for method in PROVERS
            if results.proof(setting, method)[0] == "proven"
            and method != "l0bnb, assumed M"
            and results.row("proofs", setting, method)["bound"]
        ]
        best = results.best_known(setting)
        assert all(bound <= best * (1 + 1e-6) for bound in bounds), setting
        assert np.isfinite(best) or not bounds


# ------------------------------------------------------------------------------------------ provers
CASE = Case("proofs", "informative n=30 d=50", 4, 0.2, "TopK")


@pytest.fixture(scope="module")
def setting():
    return make_setting(CASE, load_problem(CASE.problem))


def test_the_price_of_a_feature_is_one_at_which_k_are_best():
    problem = load_problem("informative n=30 d=12")
    setting = make_setting(Case("proofs", problem.name, 3, 0.01, "TopK"), problem)
    assert setting.ridge == pytest.approx(0.3)

    def best(k):
        supports = (list(S) for S in combinations(range(12), k))
        return min(refitted(problem.X, problem.Y, S, setting.ridge) for S in supports)

    costs = [best(k) / 2 + setting.penalty * k for k in range(1, 7)]
    assert np.argmin(costs) + 1 == setting.k


def test_no_ridge_solution_as_good_exceeds_the_valid_bound(setting):
    rng = np.random.default_rng(0)
    bound = setting.largest_coefficient()
    assert np.abs(setting.start).max() <= bound
    # The bound by the spectrum holds for every support and needs no good one.
    for _ in range(20):
        S = rng.choice(50, size=4, replace=False)
        A = setting.X[:, S]
        b = np.linalg.solve(A.T @ A + setting.ridge * np.eye(4), A.T @ setting.y)
        assert np.abs(b).max() <= np.linalg.norm(setting.y) / (2 * np.sqrt(setting.ridge))


@pytest.mark.peer
def test_bounds_of_the_outer_approximation_are_tangents(setting):
    pytest.importorskip("highspy")
    from benchmarks.peers.highs import value_and_gradient

    rng = np.random.default_rng(0)
    s = rng.random(50)
    value, gradient = value_and_gradient(setting.X, setting.y, s, setting.ridge)
    for _ in range(10):
        other = rng.random(50)
        tangent = value + gradient @ (other - s)
        assert value_and_gradient(setting.X, setting.y, other, setting.ridge)[0] >= tangent - 1e-6
    S = np.array([1, 5, 9])
    at_S = value_and_gradient(setting.X, setting.y, np.isin(np.arange(50), S) * 1.0, setting.ridge)
    assert at_S[0] == pytest.approx(refitted(setting.X, setting.y[:, None], S, setting.ridge))


# ------------------------------------------------------------------- runs in processes of their own
runner = pytest.importorskip("benchmarks.field.runner", reason="limits of processes need Unix")

GIB = 2**30
PROOF = Case("proofs", "informative n=30 d=50", 4, 0.2, "TopK")


def test_a_proof_by_us_holds():
    row = runner.run_case(PROOF, 20.0, 4 * GIB)
    assert row["outcome"] == "done"
    assert row["objective"] - row["bound"] <= 1e-4 * row["objective"]
    assert (row["n"], row["d"], row["features"]) == (30, 50, 4)


@pytest.mark.peer
@pytest.mark.parametrize(
    ("method", "module"),
    [("l0bnb", "l0bnb"), ("El0ps", "el0ps"), ("SCIP", "pyscipopt"), ("HiGHS", "highspy")],
)
def test_rivals_prove_the_same_objective(method, module):
    pytest.importorskip(module)
    ours, theirs = (
        runner.run_case(replace(PROOF, method=m), 60.0, 8 * GIB) for m in ("TopK", method)
    )
    assert theirs["outcome"] == "done"
    assert theirs["objective"] == pytest.approx(ours["objective"], rel=1e-4)


@pytest.mark.peer
def test_okridge_proves_the_same_objective():
    pytest.importorskip("okridge")
    case = Case("proofs", "informative n=100 d=20", 3, 0.01, "TopK")
    ours, theirs = (
        runner.run_case(replace(case, method=m), 60.0, 8 * GIB) for m in ("TopK", "OKRidge")
    )
    assert theirs["outcome"] == "done"
    assert theirs["objective"] == pytest.approx(ours["objective"], rel=1e-4)


def contest_of(call):
    return lambda case, problem: Contest(call, lambda value: {"objective": value})


def take_all():
    return np.ones(2**40)


def spin():
    while True:
        pass


@pytest.mark.parametrize(
    ("call", "outcome", "note"),
    [
        (lambda: os.kill(os.getpid(), signal.SIGSEGV), "crashed", "SIGSEGV"),
        (lambda: 1 / 0, "failed", "ZeroDivisionError: division by zero"),
        (take_all, "out of memory", None),
    ],
)
def test_crashes_errors_and_lack_of_memory_are_rows(monkeypatch, call, outcome, note):
    monkeypatch.setitem(CONTESTS, "growth", contest_of(call))
    row = runner.run_case(Case("growth", "growing n=30 d=100", 5, 0.0, "TopK"), 20.0, 8 * GIB)
    assert row["outcome"] == outcome
    assert row.get("note") == note


@pytest.mark.long
def test_a_run_past_its_limit_is_out_of_time(monkeypatch):
    monkeypatch.setitem(CONTESTS, "growth", contest_of(spin))
    begun = time.process_time()
    row = runner.run_case(Case("growth", "growing n=30 d=100", 5, 0.0, "TopK"), 0.1, 8 * GIB)
    assert row["outcome"] == runner.OUT_OF_TIME
    assert "seconds" not in row
    assert time.process_time() - begun < 1


def test_what_has_a_row_is_not_run_again(tmp_path, monkeypatch):
    path = tmp_path / "field.csv"
    cases = [PROOF, Case("proofs", "diabetes", 5, 1e-3, "TopK")]
    ran = []

    def run(case, limit, memory):
        ran.append(case)
        return {"outcome": "done", "seconds": 0.5} | dict(
            zip(("part", "problem", "k", "parameter", "method"), case.key, strict=True)
        )

    monkeypatch.setattr(runner, "run_case", run)
    runner.run_cases(cases[:1], path, 20.0, GIB)
    runner.run_cases(cases, path, 20.0, GIB)
    assert ran == cases
    rows = read_rows(path)
    assert [key_of(row) for row in rows[1:]] == [case.key for case in cases]
    assert rows[0]["part"] == "environment"
    with pytest.raises(ValueError, match="begun with a limit of 20 s, not 60"):
        runner.run_cases(cases, path, 60.0, GIB)
