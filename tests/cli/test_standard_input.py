"""The table from standard input."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from rowsparse.cli.table_commands import input_file
from rowsparse.workflow.messages import InputError

from .commands import QUICK, frame, invoke, result_of


class Standard:
    """Standard input that holds some bytes."""

    def __init__(self, content: bytes, is_terminal: bool = False) -> None:
        self.buffer = io.BytesIO(content)
        self.isatty = lambda: is_terminal


def written(write: str) -> bytes:
    buffer = io.BytesIO()
    getattr(frame(), write)(buffer)
    return buffer.getvalue()


def arrays() -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, X=np.eye(3), y=[0, 1, 0])
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("content", "suffix"),
    [
        (b"a,b\n1,2\n", ".csv"),
        (written("write_parquet"), ".parquet"),
        (written("write_ipc"), ".arrow"),
        (arrays(), ".npz"),
        (b"PK damaged", ".npz"),
        (b"", ".csv"),
    ],
)
def test_the_content_tells_the_format(
    content: bytes, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", Standard(content))
    with input_file(Path("-")) as path:
        assert path.name == f"stdin{suffix}"
        assert path.read_bytes() == content
    assert not path.exists()


def test_other_files_are_left_alone(tmp_path: Path) -> None:
    with input_file(tmp_path / "a.csv") as path:
        assert path == tmp_path / "a.csv"


def test_a_terminal_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", Standard(b"", is_terminal=True))
    with pytest.raises(InputError, match="standard input, and that is a terminal"):
        input_file(Path("-")).__enter__()


def test_select_from_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = ("select", "-", "-t", "outcome", "-k", 3, *QUICK, "--transform")
    done = invoke(*words, stdin=frame().write_csv().encode())
    assert done.exit_code == 0, done.output
    out = tmp_path / "stdin-select"
    result = result_of(out)
    assert {feature["name"] for feature in result["features"]} == {"f1", "f4", "f6"}
    assert result["command"].startswith("rowsparse select - --target outcome")
    assert pl.read_csv(out / "reduced.csv").columns == ["sample", "f1", "f4", "f6", "outcome"]
    empty = invoke(*words, "--out", "other", stdin=b"")
    assert not (tmp_path / "other").exists()
    assert (empty.exit_code, empty.stderr) == (2, "'stdin.csv' is empty.\n")


def test_apply_to_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    table = frame()
    table.write_csv("table.csv")
    assert invoke("select", "table.csv", "-t", "outcome", "-k", 3, *QUICK).exit_code == 0
    done = invoke("apply", "table-select", "-", stdin=table.write_csv().encode())
    assert done.exit_code == 0, done.output
    reduced = pl.read_csv(tmp_path / "stdin-apply" / "reduced.csv")
    assert reduced.equals(table.select("sample", "f1", "f4", "f6", "outcome"))
