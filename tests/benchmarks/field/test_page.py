"""The page of the field follows from its rows."""

from __future__ import annotations

import re

import numpy as np
import pytest

from benchmarks.field.accuracy import compare
from benchmarks.field.cases import PROVERS, SUBSETS, all_cases
from benchmarks.field.page import DOCS, render, where_a_peer_is_better
from benchmarks.field.results import Results
from benchmarks.field.rows import ENVIRONMENT, FIELDS, key_of, read_rows

REBUILD = "python -m benchmarks.field --rebuild"


@pytest.fixture(scope="module")
def results():
    return Results(read_rows(DOCS / "field.csv"))


def test_the_page_says_what_the_rows_say(results):
    page = (DOCS / "field.md").read_text(encoding="utf-8")
    assert render(page, results, compare(DOCS / "league.csv")) == page, f"run {REBUILD}"


def test_every_row_belongs_to_a_case_and_none_is_there_twice(results):
    keys = [key_of(row) for row in results.rows if row["part"] != ENVIRONMENT]
    assert len(set(keys)) == len(keys)
    assert set(keys) <= {case.key for case in all_cases()}
    assert tuple(results.rows[0]) == FIELDS


def test_every_figure_of_the_page_is_there():
    page = (DOCS / "field.md").read_text(encoding="utf-8")
    for name in re.findall(r"\((field-\w+\.png)\)", page):
        assert (DOCS / name).stat().st_size > 0


def row(method, outcome="done", part="proofs", k=5, **figures):
    empty = dict.fromkeys(FIELDS, "")
    names = {"part": part, "problem": "diabetes", "k": str(k), "parameter": "0.001"}
    if part == "objective":
        names |= {"problem": "srbct", "parameter": "0.0"}
    texts = {name: str(value) for name, value in figures.items()}
    return empty | names | {"method": method, "outcome": outcome, "features": str(k)} | texts


SETTING = ("diabetes", 5, 0.001)


def test_a_proof_holds_only_for_k_features_that_no_one_undercuts():
    results = Results(
        [
            row("TopK", objective=100.0, seconds=1.0),
            row("OKRidge", objective=101.0, seconds=0.5),
            row("l0bnb", objective=90.0, seconds=0.5, features=7),
            row("SCIP", "out of time", objective=100.0, bound=80.0),
            row("HiGHS", "crashed"),
        ]
    )
    assert results.best_known(SETTING) == 100.0
    ended = [results.proof(SETTING, method) for method in PROVERS]
    assert ended[0] == ("proven", 1.0)
    assert [how for how, _ in ended[1:]] == [
        "wrong",
        "7 features",
        "not run",
        "not run",
        "out of time",
        "crashed",
    ]
    assert ended[5][1] == pytest.approx(0.2)
    assert results.proven("OKRidge") == {}


def test_what_a_peer_does_better_is_said():
    objectives = {"TopK": 10.0, "abess": 9.0, "fastcan": 12.0}
    took = {"TopK": 1.0, "abess": 2.0, "fastcan": 0.25}
    results = Results(
        [row(m, part="objective", objective=objectives[m], seconds=took[m]) for m in objectives]
        + [row("TopK", objective=1.0, seconds=1.0), row("El0ps", objective=1.0, seconds=0.5)]
    )
    text = "\n".join(where_a_peer_is_better(results))
    assert "abess on srbct with k = 5, where TopK is 11 % above" in text
    assert "fastcan takes less than TopK in 1 of 1 settings, there 0.25 times" in text
    assert "El0ps is faster on diabetes, k = 5 (0.5 s against 1 s)" in text
    assert results.excess("objective", ("srbct", 5, 0.0), SUBSETS)["abess"] == 0.0


def test_exponents_are_slopes_of_logarithms():
    steps = tuple((n, 1000, 10) for n in (500, 1000, 2000))
    rows = [
        row("TopK", part="growth", k=10, seconds=(n / 500) ** 1.5)
        | {"problem": f"growing n={n} d=1000", "parameter": "0.0"}
        for n, _, _ in steps
    ]
    assert Results(rows).exponent(steps, "TopK") == pytest.approx(1.5)
    assert Results(rows[:2]).exponent(steps, "TopK") is None


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
