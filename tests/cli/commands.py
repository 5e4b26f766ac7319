"""The command line as the tests call it, and a table for it."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.main import get_command
from typer.testing import CliRunner

from rowsparse import cli
from rowsparse.cli import commands
from rowsparse.cli.commands import Run

QUICK = ("--stability", "0", "--cv", "2")
COMMANDS = ("select", "apply", "compare", "path")


def frame() -> pl.DataFrame:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 8))
    outcome = np.array(["healthy", "ill"])[(X[:, 1] + X[:, 4] - X[:, 6] > 0).astype(int)]
    columns = {f"f{j}": X[:, j] for j in range(8)}
    return pl.DataFrame({"sample": [f"s{i}" for i in range(60)], **columns, "outcome": outcome})


def invoke(*arguments: object, stdin: bytes | None = None) -> Any:
    words = [str(word) for word in arguments]
    return CliRunner().invoke(cli.build_app(), words, env={"COLUMNS": "120"}, input=stdin)


def call(line: str, *, code: int = 0) -> Any:
    """What the rest of a command line does, which is to end with that code."""
    done = invoke(*shlex.split(line))
    assert done.exit_code == code, done.output
    return done


def select(data: Path, *more: object, out: Path | None = None) -> Any:
    folder = data.parent / "out" if out is None else out
    return invoke("select", data, "-t", "outcome", "-k", "3", "--out", folder, *QUICK, *more)


def result_of(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "result.json").read_text(encoding="utf-8"))


def options_of(*names: str) -> set[str]:
    """The flags of some commands, or of all."""
    known: dict[str, Any] = vars(get_command(cli.build_app()))["commands"]
    chosen = [known[name] for name in names] or known.values()
    return {flag for one in chosen for it in one.params for flag in it.opts if flag[0] == "-"}


def parsed(monkeypatch: pytest.MonkeyPatch, command: str, *arguments: object) -> Run:
    """What a command would run with."""
    seen: list[Run] = []
    _, *rest = commands._COMMANDS[command]
    told = {**commands._COMMANDS, command: (lambda run: seen.append(run) or 0, *rest)}
    monkeypatch.setattr(commands, "_COMMANDS", told)
    done = invoke(command, *arguments)
    assert done.exit_code == 0, done.output
    return seen[0]
