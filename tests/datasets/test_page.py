"""The page of the data sets and the command that brings it up to date."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from rowsparse.datasets import (
    page,
)

from .cases import NAMES

ROOT = Path(__file__).parents[2]


def test_the_page_is_up_to_date():
    path = ROOT / "docs" / "datasets.md"
    command = "python -m rowsparse.datasets.page docs/datasets.md"
    text = path.read_text(encoding="utf-8")
    assert page.updated(text) == text, f"run {command}"
    assert all(f"| `{name}` |" in text for name in NAMES)


def test_the_page_is_brought_up_to_date_by_its_command(tmp_path):
    path = tmp_path / "page.md"
    path.write_text(f"before\n{page.BEGIN}\nold\n{page.END}\nafter\n")
    command = [sys.executable, "-m", "rowsparse.datasets.page", str(path)]
    subprocess.run(command, check=True)
    text = path.read_text(encoding="utf-8")
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "old" not in text.partition("### Sizes")[0]
    assert page.tables() in text


def test_a_page_without_marks_is_refused():
    with pytest.raises(ValueError, match="the page has no marks"):
        page.updated("nothing here")
