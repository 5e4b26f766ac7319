"""``rowsparse diff`` from two folders to a table and a page."""

from __future__ import annotations

from pathlib import Path

import pytest

from .commands import invoke, select


@pytest.fixture
def folders(data: Path) -> tuple[Path, Path]:
    first, second = data.parent / "first", data.parent / "second"
    assert select(data, out=first).exit_code == 0
    assert select(data, "--method", "relieff", "-k", "2", out=second).exit_code == 0
    return first, second


def test_two_selections(folders: tuple[Path, Path], tmp_path: Path) -> None:
    page = tmp_path / "new" / "diff.html"
    done = invoke("diff", *folders, "--out", page)
    assert done.exit_code == 0, done.output
    for words in ("method", "topk", "relieff", "Rank in", "selected features", "in both"):
        assert words in done.stdout
    assert "Two selections compared" in page.read_text(encoding="utf-8")
    again = invoke("diff", *folders, "--out", page)
    assert again.exit_code == 2
    assert "--force" in again.stderr
    assert invoke("diff", *folders, "--out", page, "--force").exit_code == 0
    assert invoke("diff", *folders, "--out", tmp_path).exit_code == 2


def test_a_folder_that_is_no_result_is_one_sentence(
    folders: tuple[Path, Path], tmp_path: Path
) -> None:
    done = invoke("diff", folders[0], tmp_path)
    assert done.exit_code == 2
    assert done.stderr.count("\n") == 1
    assert "no result of rowsparse select" in done.stderr
