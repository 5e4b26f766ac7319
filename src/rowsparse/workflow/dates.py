"""Columns of text that hold dates."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["DATES_ADVICE", "hold_dates"]

DATES_ADVICE = "write it as a number, as in days since a fixed date"

_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_DAY, _NUMBER = r"(0?[1-9]|[12]\d|3[01])", r"(0?[1-9]|1[0-2])"
_YEAR = r"(1[5-9]\d\d|20\d\d)"
_TIME = r"([ T]+\d{1,2}:\d\d(:\d\d(\.\d+)?)?( ?[ap]m)?( ?Z| ?[+-]\d\d:?\d\d| [A-Z]{3,4})?)?"
_DATE = re.compile(
    rf"({_YEAR}([-/.]){_NUMBER}\3{_DAY}"
    rf"|({_DAY}[-/.]{_NUMBER}|{_NUMBER}[-/.]{_DAY})[-/.]{_YEAR}"
    rf"|({_DAY}/{_NUMBER}|{_NUMBER}/{_DAY})/\d\d"
    rf"|{_DAY}[- .]*{_MONTH}[-, .]*(\d\d)?\d\d"
    rf"|{_MONTH}[ .]*{_DAY},? *{_YEAR}){_TIME}",
    re.IGNORECASE,
)


def hold_dates(values: Iterable[str]) -> bool:
    """Whether more than half of the values are dates.

    >>> hold_dates(["2024-01-31", "2024-02-01 12:30", "unknown"]), hold_dates(["1.2.3", "2.0.1"])
    (True, False)
    """
    are = [_DATE.fullmatch(value) is not None for value in values]
    return 2 * sum(are) > len(are)
