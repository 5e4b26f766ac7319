"""Counts and lists in sentences."""

from __future__ import annotations

import pytest

from rowsparse._text import counted, joined


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("", ""),
        ("a", "a"),
        ("ab", "a and b"),
        ("abc", "a, b and c"),
        ("abcd", "a, b, c and 1 more"),
    ],
)
def test_a_list_ends_with_and(words: str, text: str) -> None:
    assert joined(words, most=3) == text


def test_without_a_limit_every_word_is_there() -> None:
    assert joined(map(str, range(9))) == "0, 1, 2, 3, 4, 5, 6, 7 and 8"


def test_only_one_is_singular() -> None:
    assert [counted(n, "row") for n in (0, 1, 2000)] == ["0 rows", "1 row", "2,000 rows"]
