"""The shell is offered methods, scores and columns of the named file."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from rowsparse import cli, list_selectors

from .commands import frame


def offered(line: str) -> list[str]:
    """What bash gets for a line whose last word is being typed."""
    words = line.split(" ")
    env = {
        "_ROWSPARSE_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1),
    }
    done = CliRunner().invoke(cli.build_app(), [], env=env, prog_name="rowsparse")
    return done.stdout.split()


@pytest.mark.parametrize("suffix", ["csv", "parquet", "arrow"])
def test_columns_of_the_named_file(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"t.{suffix}"
    write = {"csv": "write_csv", "parquet": "write_parquet", "arrow": "write_ipc"}[suffix]
    getattr(frame(), write)(path)
    assert offered(f"rowsparse select {path} --target o") == ["outcome"]
    assert offered(f"rowsparse path {path} --groups-column sa") == ["sample"]
    assert offered(f"rowsparse compare {path} --drop f1,outcome,f") == [
        f"f1,outcome,f{j}" for j in (0, 2, 3, 4, 5, 6, 7)
    ]


def test_methods_and_scores(data: Path) -> None:
    assert offered(f"rowsparse select {data} --method top") == ["topk"]
    assert set(offered(f"rowsparse compare {data} --methods topk,")) == {
        f"topk,{name}" for name in ["all", *list_selectors()] if name != "topk"
    }
    assert offered(f"rowsparse path {data} --metric balanced") == ["balanced_accuracy"]


def test_nothing_is_offered_where_no_file_can_be_read(tmp_path: Path) -> None:
    broken = tmp_path / "t.parquet"
    broken.write_bytes(b"PAR1")
    for path in (tmp_path / "absent.csv", broken, tmp_path / "t.odd"):
        assert offered(f"rowsparse select {path} --target o") == []
    turned = tmp_path / "genes.csv"
    pl.DataFrame({"gene": ["a"], "s1": [1.0]}).write_csv(turned)
    assert offered(f"rowsparse select {turned} --transpose --target s") == []
