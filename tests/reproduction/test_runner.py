"""Nothing is lost, nothing is done twice."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from reproduction.declare import RunTask, Size
from reproduction.pages import write_page
from reproduction.runner import pending, run_paper
from reproduction.store import ResultStore, read_rows

from . import toy


def start(folder: Path, n_jobs: int = 1) -> subprocess.Popen[bytes]:
    command = [sys.executable, toy.__file__, str(folder), str(n_jobs)]
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root), *sys.path])}
    return subprocess.Popen(command, start_new_session=True, env=environment)


@pytest.mark.posix
def test_a_run_that_is_killed_five_times_loses_nothing_and_repeats_nothing(tmp_path):
    rng = random.Random(0)
    log = tmp_path / "log"
    kept_before: set[str] = set()
    for _ in range(5):
        seen = log.stat().st_size if log.exists() else 0
        process = start(tmp_path)
        # Kill it at a random moment after it has begun to work.
        while process.poll() is None and (not log.exists() or log.stat().st_size <= seen):
            time.sleep(0.005)
        time.sleep(rng.random() * 0.02)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        with ResultStore(tmp_path / "results.db") as store:
            kept = store.done()
        assert kept >= kept_before
        kept_before = kept
    assert start(tmp_path).wait(timeout=60) == 0
    with ResultStore(tmp_path / "results.db") as store:
        rows = store.rows("table")
    assert sorted((row["split"], row["k"]) for row in rows) == [
        (split, k) for split in range(40) for k in (1, 2)
    ]
    # A task is run again only if it was killed between its work and its being kept.
    times = Counter(log.read_text().split())
    assert sum(times.values()) <= 40 + 5


def test_processes_and_one_process_agree(tmp_path):
    results = []
    for n_jobs in (1, 2):
        with ResultStore(tmp_path / f"{n_jobs}.db") as store:
            heard: list[int] = []
            failed = run_paper(
                toy.paper(),
                store,
                Size(repeats=12),
                n_jobs=n_jobs,
                progress=lambda p, heard=heard: heard.append(p.done),
            )
            assert failed == 0
            assert heard == list(range(1, 13))
            results.append(store.rows("table"))
    assert results[0] == results[1]


def test_what_is_done_is_not_done_again(tmp_path):
    with ResultStore(tmp_path / "results.db") as store:
        size = Size(repeats=5)
        assert len(pending(toy.paper(), store, size)) == 5
        run_paper(toy.paper(), store, size)
        assert pending(toy.paper(), store, size) == []
        assert len(pending(toy.paper(), store, Size(repeats=7))) == 2
    with ResultStore(tmp_path / "results.db", "quick") as other:
        assert len(pending(toy.paper(), other, size)) == 5


def test_errors_are_rows_and_can_be_tried_again(tmp_path):
    with ResultStore(tmp_path / "results.db") as store:
        assert run_paper(toy.paper(toy.fails), store, Size(repeats=4)) == 2
        errors = [row["error"] for row in store.rows("table") if "error" in row]
        assert errors == ["ValueError: odd"] * 2
        assert store.forget_failures() == 2
        assert len(pending(toy.paper(), store, Size(repeats=4))) == 2


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers on this system")
def test_a_task_that_takes_too_long_is_stopped(tmp_path):
    with ResultStore(tmp_path / "results.db") as store:
        assert run_paper(toy.paper(toy.sleeps), store, Size(repeats=2), time_limit=0.5) == 1
        (slow,) = [row for row in store.rows("table") if "error" in row]
        assert slow["error"] == "TimeoutError: stopped after 0.5 seconds"


def test_text_form_is_stable_and_reads_back(tmp_path):
    with ResultStore(tmp_path / "results.db") as store:
        rows = [{"k": np.int64(2), "value": np.float64(1 / 3), "nothing": np.nan, "name": "é"}]
        store.put(RunTask("table", "iris", "rfs"), rows, 0.1)
        store.write_text(tmp_path / "rows.jsonl", ["table"])
        first = (tmp_path / "rows.jsonl").read_bytes()
        store.write_text(tmp_path / "rows.jsonl", ["table"])
        assert (tmp_path / "rows.jsonl").read_bytes() == first
    expected = {"k": 2, "value": 0.333333, "nothing": None, "name": "é"}
    assert read_rows(tmp_path / "rows.jsonl") == {"table": [expected]}
    assert [path.name for path in tmp_path.glob("*.partial")] == []


def test_an_unknown_experiment_is_refused(tmp_path):
    with (
        ResultStore(tmp_path / "results.db") as store,
        pytest.raises(ValueError, match=r"toy has no experiment 'figure'; it has table\."),
    ):
        run_paper(toy.paper(), store, Size(), only="figure")


def test_the_runner_costs_little(tmp_path):
    """Counted, not timed: one transaction a task, and nothing else touches the disk."""
    with ResultStore(tmp_path / "results.db") as store:
        statements: list[str] = []
        store._connection.set_trace_callback(statements.append)
        run_paper(toy.paper(), store, Size(repeats=10))
    assert sum(s.startswith("INSERT") for s in statements) == 10
    assert len(statements) == 11


def test_a_page_is_made_of_stored_rows(tmp_path):
    with ResultStore(tmp_path / "results.db") as store:
        run_paper(toy.paper(), store, Size(repeats=3))
        rows = {"table": store.rows("table")}
    page = write_page(toy.paper(), rows, tmp_path / "docs")
    assert page.read_text() == ("# Toys\n\nNobody, never.\n\n## A table\n\n6 rows\n")
