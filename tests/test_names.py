"""Names become text that can be shown, and counts and lists parts of sentences."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rowsparse._names import FULL_LIMIT, display_width, full, shown
from rowsparse._text import counted, joined

ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()), max_size=600)


def is_visible(text: str) -> bool:
    bad = {"Cc", "Cs", "Zl", "Zp"}
    return all(unicodedata.category(c) not in bad and (ord(c) & 0xFFFE) != 0xFFFE for c in text)


@given(ANY_TEXT)
def test_any_name_becomes_a_short_visible_text(name: str) -> None:
    text = full(name)
    assert text
    assert len(text) <= FULL_LIMIT
    assert is_visible(text)
    assert text.encode("utf-8")
    assert full(text) == text or len(name) > FULL_LIMIT or "\u200d" in text or "\u200c" in text


@given(ANY_TEXT, st.integers(8, 60))
def test_a_shortened_name_fits(name: str, width: int) -> None:
    text = shown(name, width)
    assert text
    assert is_visible(text)
    # The ellipsis itself is a little wider than the column counted for it.
    assert display_width(text) <= max(width + 1, display_width("(600 blanks)"))


def test_ordinary_names_are_shown_as_they_are() -> None:
    for name in ("age", "X95735_at", "Größe (cm)", "שלום עולם", "👩‍🔬🧬", "a&b<c>", "漢字"):
        assert full(name) == name
        assert shown(name) == name


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a\tb\nc\x00", "a\\tb\\nc\\x00"),
        ("\u202egnp.exe", "⟨U+202E⟩gnp.exe"),
        ("zero\u200bwidth", "zero⟨U+200B⟩width"),
        ("half \ud83d", "half ⟨U+D83D⟩"),
        ("\ufffe", "⟨U+FFFE⟩"),
        ("", "(empty name)"),
        ("   ", "(3 blanks)"),
    ],
)
def test_what_cannot_be_seen_is_written_out(name: str, text: str) -> None:
    assert full(name) == text


def test_a_long_name_keeps_its_beginning_and_its_end() -> None:
    name = "patient_0001_" + "x" * 10_000 + "_mean"
    text = shown(name, 30)
    assert text.startswith("patient_0001_")
    assert text.endswith("_mean")
    assert "…" in text
    assert full(name).endswith("…")
    assert len(full(name)) == FULL_LIMIT


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


def test_only_one_is_singular() -> None:
    assert [counted(n, "row") for n in (0, 1, 2000)] == ["0 rows", "1 row", "2,000 rows"]
