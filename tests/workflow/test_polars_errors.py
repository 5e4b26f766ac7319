"""Polars: missing, or panicking."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl
import pytest

from rowsparse.workflow.polars_errors import panics_as_errors

from .files import csv, frame, read


def test_missing_polars(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import sys

    path = csv(tmp_path / "a.csv", frame())
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ImportError, match=r'pip install "rowsparse\[tables\]"'):
        read(path, "outcome")


def test_what_others_print_while_a_file_is_read_is_kept(capfd: pytest.CaptureFixture[str]) -> None:
    with panics_as_errors():
        os.write(2, b"by another thread")
        assert capfd.readouterr().err == ""
    assert capfd.readouterr().err == "by another thread"


def test_a_panic_is_an_error_and_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    def panic() -> None:
        os.write(2, b"thread panicked")
        raise pl.exceptions.PanicException("index out of range")

    with pytest.raises(pl.exceptions.ComputeError, match="do not fit together"), panics_as_errors():
        panic()
    assert capfd.readouterr().err == ""
