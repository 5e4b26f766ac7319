"""The command line as the tests call it, and a table for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from typer.testing import CliRunner

from rowsparse import cli

QUICK = ("--stability", "0", "--cv", "2")


def frame() -> pl.DataFrame:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 8))
    outcome = np.array(["healthy", "ill"])[(X[:, 1] + X[:, 4] - X[:, 6] > 0).astype(int)]
    columns = {f"f{j}": X[:, j] for j in range(8)}
    return pl.DataFrame({"sample": [f"s{i}" for i in range(60)], **columns, "outcome": outcome})


def invoke(*arguments: object, stdin: bytes | None = None) -> Any:
    words = [str(word) for word in arguments]
    return CliRunner().invoke(cli.build_app(), words, env={"COLUMNS": "120"}, input=stdin)


def select(data: Path, *more: object, out: Path | None = None) -> Any:
    folder = data.parent / "out" if out is None else out
    return invoke("select", data, "-t", "outcome", "-k", "3", "--out", folder, *QUICK, *more)


def result_of(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "result.json").read_text(encoding="utf-8"))
