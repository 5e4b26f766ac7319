"""The command ``demo``: exit codes, the table, and a picture that is an image."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from rowsparse import cli, demo


def invoke(*arguments: str) -> Any:
    return CliRunner().invoke(cli.build_app(), list(arguments), env={"COLUMNS": "120"})


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the command print a result without the work of finding it."""
    support = np.arange(64) < 10
    rows = (
        demo.DigitsRow("TopK", "this library", support, 0.25, 700.0, (0.8, 0.9)),
        demo.DigitsRow("All pixels", "", np.ones(64, dtype=bool), None, 553.5, (0.97, 0.99)),
    )
    result = demo.DigitsDemo(10, np.full((10, 8, 8), 8.0), rows)
    monkeypatch.setattr(demo, "run_digits", lambda k, progress: result)


@pytest.mark.usefixtures("quick")
def test_demo_prints_the_table_and_writes_the_picture(tmp_path: Path) -> None:
    out = tmp_path / "new" / "folder"
    done = invoke("demo", "--out", str(out))
    assert done.exit_code == 0, done.output
    cells = [[cell.strip() for cell in line.split("│")[1:-1]] for line in done.stdout.splitlines()]
    assert ["TopK", "this library", "10", "0.250", "700.0", "85.0 ± 5.0"] in cells
    assert ["All pixels", "", "64", "", "553.5", "98.0 ± 1.0"] in cells
    assert [path.name for path in out.iterdir()] == ["digits.png"]
    with Image.open(out / "digits.png") as image:
        assert image.size[0] > 1000


@pytest.mark.parametrize("k", ["0", "-3", "65"])
def test_impossible_k(k: str, tmp_path: Path) -> None:
    done = invoke("demo", "-k", k, "--out", str(tmp_path))
    assert done.exit_code == 2
    assert done.stderr == f"k must be between 1 and 64, the number of pixels; got {k}.\n"
    assert done.stdout == ""


def test_k_that_is_no_number() -> None:
    done = invoke("demo", "-k", "ten")
    assert done.exit_code == 2
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("tail", ["", "deeper"])
def test_out_that_cannot_be_a_folder(tail: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    done = invoke("demo", "--out", str(tmp_path / "file" / tail))
    assert done.exit_code == 2
    assert done.stderr.startswith("Cannot write to ")
    assert done.stderr.count("\n") == 1


@pytest.mark.usefixtures("quick")
def test_picture_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "digits.png").mkdir()
    done = invoke("demo", "--out", str(tmp_path))
    assert done.exit_code == 2
    assert done.stderr == f"Cannot write to '{tmp_path / 'digits.png'}': Is a directory.\n"
    assert [path.name for path in tmp_path.iterdir()] == ["digits.png"]


def test_missing_matplotlib(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("rowsparse.report.extra.find_spec", lambda name: None)
    done = invoke("demo", "--out", str(tmp_path))
    assert done.exit_code == 2
    assert 'pip install "rowsparse[report]"' in done.stderr


def test_interrupt(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def interrupted(k: int, progress: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(demo, "run_digits", interrupted)
    done = invoke("demo", "--out", str(tmp_path))
    assert done.exit_code == 130
    assert list(tmp_path.iterdir()) == []


def test_as_a_process(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "rowsparse", "demo", "-k", "0", "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
