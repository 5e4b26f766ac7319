"""Columns of numbers with a few words in them, which are mistakes and no categories."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

from rowsparse._text import counted
from rowsparse.workflow.cells import looks_numeric
from rowsparse.workflow.messages import InputError, setting, shown

__all__ = ["refuse_mixed"]

# Longer words are not repeated as the value of a setting.
_LONGEST_WORD = 20


def refuse_mixed(
    name: str, values: NDArray[Any], place: Callable[[int], str], *, mostly: float, otherwise: str
) -> None:
    """Refuse a column of text if most of its values are numbers.

    Parameters
    ----------
    name : str
        Of the column.
    values : array of str or None
    place : callable
        Where in the file a row, counted from 0, is.
    mostly : float
        The share of numbers from which on the column is one of numbers.
    otherwise : str
        What else can be done, as the end of the sentence.
    """
    present = [(row, value) for row, value in enumerate(values.tolist()) if value is not None]
    words = [(row, value) for row, value in present if not looks_numeric(value)]
    if not words or len(present) - len(words) <= mostly * len(present):
        return
    row, word = words[0]
    usable = len(word) <= _LONGEST_WORD and "," not in word
    missing = setting("na_values", word) if usable else setting("na_values")
    more = f" and other text in {counted(len(words) - 1, 'more row')}" if len(words) > 1 else ""
    raise InputError(
        f"Column {shown(name)} holds numbers, but {shown(word)} in {place(row)}{more}: correct the "
        f"file, say with {missing} that it is a missing value, or {otherwise}."
    )
