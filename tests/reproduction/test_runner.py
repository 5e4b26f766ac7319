"""Nothing is lost, nothing is done twice; the command runs, goes on, rebuilds and refuses."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from reproduction import PAPERS, get_paper
from reproduction import runner as runner_module
from reproduction.command import make_app
from reproduction.declare import RunTask, Size
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


# -------------------------------------------------------------------------------------- the command
@pytest.fixture
def invoke(monkeypatch):
    monkeypatch.setattr("reproduction.command.get_paper", lambda name: toy.paper())
    return lambda *arguments: CliRunner().invoke(make_app(), [*arguments])


def test_a_run_writes_rows_and_page_and_is_not_repeated(invoke, tmp_path, monkeypatch):
    out = ["--out", str(tmp_path / "pages")]
    first = invoke("toy", *out)
    assert first.exit_code == 0, first.output
    page = tmp_path / "pages" / "toy.md"
    assert "80 rows" in page.read_text()
    assert len((tmp_path / "pages" / "toy.jsonl").read_text().splitlines()) == 80
    monkeypatch.setattr(runner_module, "_done", lambda *_: pytest.fail("done before"))
    assert invoke("toy", *out).exit_code == 0
    page.unlink()
    assert invoke("toy", "--rebuild", *out).exit_code == 0
    assert page.exists()


def test_failures_are_told(monkeypatch, tmp_path):
    monkeypatch.setattr("reproduction.command.get_paper", lambda name: toy.paper(toy.fails))
    for _ in range(2):  # what failed before still counts
        result = CliRunner().invoke(make_app(), ["toy", "--out", str(tmp_path)])
        assert result.exit_code == 1
        assert "20 tasks failed" in result.output


@pytest.mark.parametrize("name", PAPERS)
def test_without_data_one_sentence_says_where_to_get_it(name, tmp_path, monkeypatch):
    monkeypatch.setenv("ROWSPARSE_DATA", str(tmp_path))
    monkeypatch.setattr("rowsparse.datasets.fetch._cache", lambda *_: tmp_path)
    for _ in range(2):
        done = CliRunner().invoke(make_app(), [name, "--quick", "--out", str(tmp_path)])
        assert done.exit_code == 2
        assert f"{name} needs data that is not here" in done.stderr
        assert "docs/datasets.md" in done.stderr
        assert done.stderr.count("\n") == 1
    assert not list(tmp_path.glob("*.md"))


def test_wrong_names_are_refused(tmp_path, capfd):
    for arguments in (["nie2011"], ["nie2010", "--only", "table9"], ["nie2010", "--rebuild"]):
        result = CliRunner().invoke(make_app(), [*arguments, "--out", str(tmp_path / "none")])
        assert result.exit_code == 2
    assert get_paper("nie2010").chosen("table1")[0].name == "table1"


GOOD_ROW = '{"experiment": "table", "k": 1}'


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("toy.jsonl", '{"k": 1}'),
        ("toy.jsonl", f"{GOOD_ROW}\n3"),
        ("toy.jsonl", f"{GOOD_ROW}\n[1, 2]"),
        ("toy.jsonl", f"{GOOD_ROW}\n{{garbage"),
        ("toy.jsonl", b"\xff\xfe\x00"),
        ("rows.csv", "k,value\n1,2\n"),
        ("rows.csv", "experiment,k\ntable,1,2,3\n"),
    ],
)
def test_rows_that_are_none_are_refused_by_name_in_one_sentence(name, content, tmp_path):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ValueError, match=rf"{name}' does not hold results, .* without --rebuild"):
        read_rows(path)


def test_rebuilding_from_rows_that_lack_something_names_file_and_fix(invoke, tmp_path, monkeypatch):
    for row, words in (
        ('{"k": 1}', "does not hold results"),
        (GOOD_ROW, "has rows without 'value'"),
    ):
        (tmp_path / "toy.jsonl").write_text(row)
        paper = replace(toy.paper(), page=lambda rows: {"rows": rows["table"][0]["value"]})
        monkeypatch.setattr("reproduction.command.get_paper", lambda name, paper=paper: paper)
        done = invoke("toy", "--rebuild", "--out", str(tmp_path))
        assert done.exit_code == 2
        assert words in done.stderr
        assert "without --rebuild" in done.stderr
        assert done.stderr.count("\n") == 1


def spoilt(path):
    """A store of results with a page in the middle overwritten."""
    with ResultStore(path) as store:
        for j in range(300):
            store.put(RunTask("table", f"set{j}", "rfs"), [{"k": 1, "text": "x" * 100}], 0.1)
    content = bytearray(path.read_bytes())
    content[4096 : len(content)] = bytes(b ^ 0x5A for b in content[4096:])
    path.write_bytes(content)


def foreign(path):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE tasks (other TEXT)")


def no_json(path):
    with ResultStore(path) as store:
        store.put(RunTask("table", "iris", "rfs"), [{"k": 1}], 0.1)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE tasks SET rows = 'garbage'")


@pytest.mark.parametrize(
    "spoil", [lambda path: path.write_bytes(b"garbage" * 1000), spoilt, foreign, no_json]
)
def test_a_file_of_results_that_is_none_ends_in_one_sentence(spoil, invoke, tmp_path):
    spoil(tmp_path / "toy.db")
    done = invoke("toy", "--out", str(tmp_path))
    assert done.exit_code == 2
    assert "toy.db' cannot be used as a file of results (" in done.stderr
    assert "move it away, and the run begins anew." in done.stderr
    assert done.stderr.count("\n") == 1
    (tmp_path / "toy.db").unlink()
    assert invoke("toy", "--out", str(tmp_path)).exit_code == 0
