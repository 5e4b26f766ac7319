"""Progress on a terminal."""

from __future__ import annotations

import pytest

from rowsparse.cli.display import Display


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
