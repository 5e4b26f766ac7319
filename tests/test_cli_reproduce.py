"""``rowsparse reproduce``: runs, goes on, rebuilds and refuses."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from rowsparse.cli.app import build_app
from rowsparse.experiments import get_paper
from rowsparse.experiments import runner as runner_module

from .experiments import toy


@pytest.fixture
def invoke(monkeypatch):
    monkeypatch.setattr("rowsparse.experiments.get_paper", lambda name: toy.paper())
    return lambda *arguments: CliRunner().invoke(build_app(), ["reproduce", *arguments])


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
    monkeypatch.setattr("rowsparse.experiments.get_paper", lambda name: toy.paper(toy.fails))
    result = CliRunner().invoke(build_app(), ["reproduce", "toy", "--out", str(tmp_path)])
    assert result.exit_code == 1
    assert "20 tasks failed" in result.output


def test_wrong_names_are_refused(tmp_path, capfd):
    for arguments in (["nie2011"], ["nie2010", "--only", "table9"], ["nie2010", "--rebuild"]):
        result = CliRunner().invoke(
            build_app(), ["reproduce", *arguments, "--out", str(tmp_path / "none")]
        )
        assert result.exit_code == 2
    assert get_paper("nie2010").chosen("table1")[0].name == "table1"
