"""The page of the data sets and the command that brings it up to date."""

import subprocess
import sys
from pathlib import Path

import pytest

from tools import catalog_page as page

from .cases import NAMES

ROOT = Path(__file__).parents[2]


def test_the_page_is_up_to_date():
    path = ROOT / "docs" / "datasets.md"
    command = "python -m tools.catalog_page docs/datasets.md"
    text = path.read_text(encoding="utf-8")
    assert page.updated(text) == text, f"run {command}"
    assert all(f"| `{name}` |" in text for name in NAMES)
    assert page.origins() == path.with_suffix(".csv").read_text("utf-8"), f"run {command}"


def test_the_page_is_brought_up_to_date_by_its_command(tmp_path):
    path = tmp_path / "page.md"
    path.write_text(f"before\n{page.BEGIN}\nold\n{page.END}\nafter\n")
    command = [sys.executable, "-m", "tools.catalog_page", str(path)]
    subprocess.run(command, check=True, cwd=ROOT)
    text = path.read_text(encoding="utf-8")
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "old" not in text
    assert page.tables() in text
    assert path.with_suffix(".csv").read_text("utf-8") == page.origins()


def test_a_page_without_marks_is_refused():
    with pytest.raises(ValueError, match="the page has no marks"):
        page.updated("nothing here")
