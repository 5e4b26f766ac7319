"""Runs in processes of their own: what they return, and how they end."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.field.cases import Case, all_cases
from benchmarks.field.contests import CONTESTS, Contest
from benchmarks.field.rows import key_of, read_rows

runner = pytest.importorskip("benchmarks.field.runner", reason="limits of processes need Unix")

GIB = 2**30
PROOF = Case("proofs", "informative n=30 d=50", 4, 0.2, "TopK")


def test_every_case_has_a_key_of_its_own():
    keys = [case.key for case in all_cases()]
    assert len(set(keys)) == len(keys)


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


def test_how_a_process_ended():
    assert runner.how_it_ended(-signal.SIGXCPU, {})["outcome"] == runner.OUT_OF_TIME
    assert runner.how_it_ended(3, {}) == {"outcome": "crashed", "note": "exit status 3"}


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
