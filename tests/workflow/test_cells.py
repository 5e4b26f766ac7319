"""Cells of text as numbers."""

from __future__ import annotations

import polars as pl
import pytest

from rowsparse.workflow.cells import is_grouped, looks_numeric, parse_cells


def test_columns_become_what_all_their_cells_are() -> None:
    frame = pl.DataFrame(
        {
            "number": ["1", " 2.5 ", "-", None],
            "truth": ["TRUE", "false", " ", None],
            "text": ["1", "x", "2", "-"],
            "nothing": ["", "-", " ", None],
        }
    )
    parsed, notes = parse_cells(frame, ["-"])
    assert parsed.to_dict(as_series=False) == {
        "number": [1.0, 2.5, None, None],
        "truth": [True, False, None, None],
        "text": ["1", "x", "2", None],
        "nothing": [None] * 4,
    }
    assert parsed.dtypes == [pl.Float64, pl.Boolean, pl.String, pl.String]
    assert notes == []


def test_groups_of_other_than_three_digits_are_no_numbers() -> None:
    frame = pl.DataFrame({"u": ["1,234", "12,34,567"], "v": ["1,234", "x"]})
    parsed, notes = parse_cells(frame, [])
    assert parsed.equals(frame)
    assert notes == []


@pytest.mark.parametrize("text", ["1", "-1.5", "1,234.5", "2e-3", "inf", "1 234,5", "1.", ".5"])
def test_what_looks_like_a_number(text: str) -> None:
    assert looks_numeric(text)
    assert not looks_numeric(f"<{text}")
    assert not looks_numeric(f"{text} mg")


def test_grouped_digits() -> None:
    assert is_grouped("999,000")
    assert not is_grouped("0,500")
    assert not is_grouped("1000,000")
