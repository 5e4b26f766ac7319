"""Text that holds dates."""

from __future__ import annotations

import pytest

from rowsparse.workflow.dates import hold_dates


@pytest.mark.parametrize(
    "date",
    [
        "2024-01-31",
        "2024/1/31",
        "2024-01-31 23:59",
        "2024-01-31T23:59:59.5Z",
        "2024-01-31 00:00:00.000000",
        "2024-01-31 00:00:00+01:00",
        "31.01.2024",
        "01/31/2024",
        "1/31/24",
        "31-Jan-2024",
        "31 January 2024",
        "Jan 31, 2024",
    ],
)
def test_dates(date: str) -> None:
    assert hold_dates([date])


@pytest.mark.parametrize(
    "text", ["2024", "20240131", "2024-13-01", "1.2.3", "1.2.24", "12/5", "January", "10-2", "A1"]
)
def test_other_text(text: str) -> None:
    assert not hold_dates([text])


def test_most_values_decide() -> None:
    assert hold_dates(["2024-01-31", "2024-02-28", "unknown"])
    assert not hold_dates(["2024-01-31", "unknown"])
    assert not hold_dates([])
