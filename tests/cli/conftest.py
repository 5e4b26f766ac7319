"""A table in a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from .commands import frame


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "table.csv"
    frame().write_csv(path)
    return path
