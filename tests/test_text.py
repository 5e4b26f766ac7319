"""Lists in sentences."""

from __future__ import annotations

import pytest

from rowsparse._text import listed


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
    assert listed(words, most=3) == text


def test_without_a_limit_every_word_is_there() -> None:
    assert listed(map(str, range(9)), last="or") == "0, 1, 2, 3, 4, 5, 6, 7 or 8"
