"""The folder that ROWSPARSE_DATA names, or none."""

from pathlib import Path

import pytest

from rowsparse.datasets import fetch


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    path = tmp_path / "folder"
    path.mkdir()
    monkeypatch.setenv(fetch.FOLDER_VARIABLE, str(path))
    return path


@pytest.fixture
def no_folder(monkeypatch) -> None:
    monkeypatch.delenv(fetch.FOLDER_VARIABLE, raising=False)
