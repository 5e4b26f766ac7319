"""The checks of the built wheel pass here, where all extras but one are installed."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tools import smoke_checks
from tools.smoke_checks import CHECKS

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


def test_an_answer_that_is_not_optimal_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    noise = np.random.default_rng(0).standard_normal((60, 64))
    monkeypatch.setattr(smoke_checks, "digits", lambda: (noise, noise[:, :5].sum(axis=1)))
    assert "proven optimal: [0 1 2 3 4]" in smoke_checks.fits_and_proves()
    monkeypatch.setattr("rowsparse.TopK.status_", "gap", raising=False)
    monkeypatch.setattr("rowsparse.TopK.fit", lambda selector, X, y: selector)
    monkeypatch.setattr("rowsparse.TopK.get_support", lambda selector: np.arange(64) < 5)
    with pytest.raises(SystemExit, match="TopK ended with gap"):
        smoke_checks.fits_and_proves()


@pytest.mark.skipif(os.name == "nt", reason="the command is a shell script here")
def test_a_command_with_another_exit_code_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "rowsparse"
    script.write_text("#!/bin/sh\necho $1; exit 3\n", encoding="utf-8")
    script.chmod(0o755)
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path))
    assert smoke_checks.command("hello", code=3).strip() == "hello"
    with pytest.raises(SystemExit, match="ended with 3: hello"):
        smoke_checks.command("hello")
