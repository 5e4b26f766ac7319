"""``python -m reproduction``: runs, goes on, rebuilds and refuses."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from reproduction import PAPERS, get_paper
from reproduction import runner as runner_module
from reproduction.command import make_app
from reproduction.declare import RunTask
from reproduction.store import ResultStore, read_rows

from . import toy


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


def test_a_trial_says_so_and_leaves_the_page_alone(invoke, tmp_path):
    assert invoke("toy", "--quick", "--out", str(tmp_path)).exit_code == 0
    assert "**A trial**" in (tmp_path / "toy-quick.md").read_text()
    assert not (tmp_path / "toy.md").exists()


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
