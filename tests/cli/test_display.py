"""Progress on a terminal."""

from __future__ import annotations

import pytest

from rowsparse.cli.table_commands import Display


def test_progress_is_shown_to_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    with Display(quiet=False) as display:
        display("Reading", 0.5)
    assert capsys.readouterr().err == ""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TTY_INTERACTIVE", "1")
    with Display(quiet=False) as display:
        display("Reading [the] table", 0.5)
        display("Selecting")
    assert "Selecting" in capsys.readouterr().err
    with Display(quiet=True) as display:
        display("Reading", 0.5)
    assert capsys.readouterr().err == ""


def test_plain_lines_without_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = iter([0.0, 1.0, 12.0, 13.0, 24.0, 39.0, 0.0])
    monkeypatch.setattr("rowsparse.cli.table_commands.perf_counter", lambda: next(clock))
    with Display(quiet=False) as display:
        display("Reading")
        display("Folds", 0.25)
        display("Folds", 0.5)
        display("Folds", 0.75)
        display("Folds", 0.75)
    assert capsys.readouterr().err == "    12 s  Folds, 25 %\n    24 s  Folds, 75 %\n"
    with Display(quiet=True) as display:
        display("Reading")
