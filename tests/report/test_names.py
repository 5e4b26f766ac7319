"""Names of columns and classes in markup and in sentences."""

from __future__ import annotations

from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from rowsparse._names import full
from rowsparse.report.page import breakable
from rowsparse.report.words import isolated, listing, repeated

from .reading import plain
from .samples import HOSTILE

ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()), max_size=600)


@given(ANY_TEXT)
def test_any_name_in_any_place_is_well_formed_xml(name: str) -> None:
    element = ElementTree.fromstring(f"<p>{breakable(full(name))}</p>".replace("<wbr>", ""))
    assert element.text == full(name)


def test_a_name_in_a_sentence_is_isolated() -> None:
    assert isolated("שלום") == "\u2068שלום\u2069"
    assert "\u202e" not in isolated("\u202eevil")


def test_lists_of_names_end_with_and() -> None:
    assert plain(listing(["a"])) == "a"
    assert plain(listing(["a", "b"])) == "a and b"
    assert plain(listing("abcdef", limit=3)) == "a, b, c and 3 more"


def test_duplicates_are_found() -> None:
    assert repeated(HOSTILE) == {"same name"}


def test_long_names_may_break_after_separators_only_as_text() -> None:
    assert breakable("a_b<c>__d") == "a_<wbr>b&lt;c&gt;__<wbr>d"
    assert breakable("GENE1143/x-1.5;&") == "GENE1143/<wbr>x-<wbr>1.<wbr>5;&amp;"
