"""The commands and their options."""

from __future__ import annotations

from pathlib import Path

import pytest

from .commands import invoke


def test_help_names_every_command_and_completion() -> None:
    done = invoke("--help")
    for name in (
        "select",
        "compare",
        "path",
        "methods",
        "datasets",
        "demo",
        "--install-completion",
    ):
        assert name in done.stdout
    shown = invoke("select", "--help")
    for option in (
        "--target",
        "-k",
        "--method",
        "--certify",
        "--alpha",
        "--clip",
        "--include",
        "--exclude",
        "--drop",
        "--cv",
        "--out",
        "--transform",
        "--impute",
        "--image",
    ):
        assert option in shown.stdout


@pytest.mark.parametrize("arguments", [("-k", "2", "--task", "guess"), ("--nosuch",), ()])
def test_unknown_options(data: Path, arguments: tuple[str, ...]) -> None:
    done = invoke("select", data, *arguments)
    assert done.exit_code == 2
    assert "Traceback" not in done.output
