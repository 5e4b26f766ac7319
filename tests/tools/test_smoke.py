"""Environments of the smoke test: what is installed, what is printed, how it ends."""

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tools import smoke, smoke_checks
from tools.smoke_checks import CHECKS


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    path = tmp_path / "rowsparse-1.0-py3-none-any.whl"
    path.touch()
    return path


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Commands that would be run; the checks of the extra `data` fail."""
    seen: list[list[str]] = []

    def attempt(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
        seen.append(command)
        code = 1 if command[-1] == "data" else 0
        out = f"checked {command[-1]}\n" if "-I" in command else ""
        return subprocess.CompletedProcess(command, code, out, "why\n")

    def create(environment: Path, with_pip: bool) -> None:
        assert with_pip

    monkeypatch.setattr(smoke, "attempt", attempt)
    monkeypatch.setattr("venv.create", create)
    return seen


def test_each_extra_is_installed_from_the_wheel_and_checked(
    wheel: Path, commands: list[list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert smoke.main([str(wheel), "core", "cli", "--pin", "numpy==2.0.0"]) == 0
    assert [command[-1] for command in commands] == [
        f"rowsparse @ {wheel.as_uri()}",
        "core",
        f"rowsparse[cli] @ {wheel.as_uri()}",
        "cli",
    ]
    assert all("numpy==2.0.0" in command for command in commands[::2])
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "smoke: core: checked core"
    assert lines[-1] == "smoke: 2 of 2 environments passed"


def test_a_failure_is_shown_and_the_others_go_on(
    wheel: Path, commands: list[list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert smoke.main([str(wheel), "data", "cli"]) == 1
    out = capsys.readouterr().out
    assert "smoke: data: why" in out
    assert "smoke: cli: why" not in out
    assert out.endswith("smoke: 1 of 2 environments passed; failed: data\n")


def test_pytorch_is_tried_only_when_named(wheel: Path, commands: list[list[str]]) -> None:
    smoke.main([str(wheel)])
    tried = {command[-1] for command in commands if "-I" in command}
    assert tried == set(smoke.CHECKS) - {"deep"}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [(["none.whl"], "there is no wheel none.whl"), (["WHEEL", "red"], "no extra is named red")],
)
def test_refusals(
    arguments: list[str], sentence: str, wheel: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        smoke.main([str(wheel) if word == "WHEEL" else word for word in arguments])
    assert caught.value.code == 2
    assert sentence in capsys.readouterr().err


def test_a_command_sees_nothing_of_the_source_tree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path.cwd()))
    script = "import os; print(os.getcwd(), 'PYTHONPATH' in os.environ)"
    done: Any = smoke.attempt([sys.executable, "-I", "-c", script], tmp_path)
    assert done.stdout.split() == [str(tmp_path.resolve()), "False"]


ROOT = Path(__file__).parents[2]
#: Extras for those who work on the library, not for its users.
DEVELOPMENT = {"test", "lint", "bench", "docs", "dist", "field"}
#: The command is that of an environment, and they run for seconds: `make smoke` tries them.
WITH_COMMAND = {"command_without_typer", "command_answers", "command_selects", "demonstration"}
LONG = {
    "every_selector_fits",
    "report_of_a_fit",
    "excel_tables",
    "delimited_and_arrow_tables",
    "data_frames",
    "network",
}


def extras() -> dict[str, Any]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return project["optional-dependencies"]  # type: ignore[no-any-return]


def test_every_extra_for_users_is_checked() -> None:
    assert set(extras()) - DEVELOPMENT == set(CHECKS) - {"core"}


@pytest.mark.parametrize(
    "check",
    [
        pytest.param(check, id=name, marks=[pytest.mark.long] if name in LONG else [])
        for name, check in {c.__name__: c for group in CHECKS.values() for c in group}.items()
        if name not in WITH_COMMAND
    ],
)
def test_a_check_passes_and_says_what_it_did(
    check: smoke_checks.Check, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if check is smoke_checks.network:
        pytest.importorskip("torch", reason="PyTorch is not installed")
    if check is smoke_checks.annotated_tables:
        pytest.importorskip("anndata", reason="anndata is not installed")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ROWSPARSE_DATA", raising=False)
    assert len(check().splitlines()) == 1
