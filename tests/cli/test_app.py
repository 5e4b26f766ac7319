"""The entry point: version, help, and what happens without typer."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import rowsparse
from rowsparse import __main__, cli
from rowsparse.cli import app

from .commands import invoke


def test_version() -> None:
    done = invoke("--version")
    assert done.exit_code == 0
    assert done.stdout.strip() == f"rowsparse {rowsparse.__version__}"


def test_help_answers_before_scikit_learn_is_loaded() -> None:
    script = (
        "import sys; from typer.testing import CliRunner; from rowsparse.cli import build_app; "
        "assert CliRunner().invoke(build_app(), ['--help']).exit_code == 0; "
        "print([name for name in ('sklearn', 'scipy', 'matplotlib') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]", "rowsparse/__init__.py has to load its names lazily"


def test_what_standard_output_cannot_encode_is_a_question_mark() -> None:
    script = "from rowsparse.cli import app; app._run = lambda: print('α = −1'); app.main()"
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        check=True,
        env={**os.environ, "PYTHONIOENCODING": "cp1252:strict"},
    )
    assert done.stdout.decode("cp1252").strip() == "? = ?1"


def test_missing_typer(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "typer", None)
    monkeypatch.setattr(app, "end_on_termination", lambda: None)
    monkeypatch.setattr(app, "_leave", lambda code: None)
    with pytest.raises(SystemExit) as caught:
        cli.main()
    assert caught.value.code == 2
    assert 'pip install "rowsparse[cli]"' in capsys.readouterr().err


def test_ctrl_c_while_the_commands_are_imported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop() -> None:
        raise KeyboardInterrupt

    def leave(code: int) -> None:
        raise SystemExit(code)

    monkeypatch.setattr(app, "build_app", stop)
    monkeypatch.setattr(app, "end_on_termination", lambda: None)
    monkeypatch.setattr("os._exit", leave)
    with pytest.raises(SystemExit) as caught:
        cli.main()
    assert caught.value.code == 130
    assert capsys.readouterr().err == "Interrupted.\n"


def test_ctrl_c_while_the_command_line_is_imported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Interrupted:
        @property
        def main(self) -> None:
            raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "rowsparse.cli.app", Interrupted())
    with pytest.raises(SystemExit) as caught:
        __main__.main()
    assert caught.value.code == 130
    assert capsys.readouterr().err == "Interrupted.\n"
