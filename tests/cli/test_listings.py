"""The list of the methods."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import Any

import pytest
from typer.testing import CliRunner

from rowsparse.cli import build_app
from rowsparse.workflow.plan import find_method, list_methods

from .commands import invoke


def test_methods_lists_the_registry() -> None:
    done = invoke("methods")
    assert done.exit_code == 0
    for name in list_methods():
        assert name in done.stdout
    for word in ("Kind", "Targets", "Reference", "What it does", "Xu et al. 2023", "deep ("):
        assert word in done.stdout


def test_methods_keep_their_text_on_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("rich.console.Console.is_terminal", True)
    done = CliRunner().invoke(build_app(), ["methods"], env={"COLUMNS": "80"})
    assert done.exit_code == 0
    lines = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout).splitlines()
    assert max(map(len, lines)) <= 80
    text = " ".join(" ".join(re.sub("[│┃]", " ", line) for line in lines).split())
    for name in list_methods():
        info = find_method(name)
        assert f"{info.kind}; targets: " in text
        # The name stands in the first line, between the words of the summary.
        reference = info.reference.split() if info.reference != "none" else []
        for word in (name, *info.summary.split(), *reference):
            assert word in text, (name, word)


def test_methods_in_a_pager_are_as_wide_as_the_terminal() -> None:
    pty, termios = pytest.importorskip("pty"), pytest.importorskip("termios")
    _, terminal = pty.openpty()
    termios.tcsetwinsize(terminal, (24, 90))
    command = [sys.executable, "-m", "rowsparse", "methods"]
    clean = {name: value for name, value in os.environ.items() if name != "COLUMNS"}

    def widest(stderr: int) -> int:
        options: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": stderr, "stdin": terminal}
        done = subprocess.run(command, env=clean, text=True, check=True, **options)
        return max(map(len, done.stdout.splitlines()))

    assert widest(terminal) <= 90
    assert widest(subprocess.DEVNULL) > 120, "a file has room for all columns"
