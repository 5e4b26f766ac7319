"""Names of columns and classes as text of a limited width, whatever they hold."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from itertools import accumulate

__all__ = ["FULL_LIMIT", "display_width", "full", "pieces", "shown"]

# The most that a tooltip shows of a name.
FULL_LIMIT = 400
# The joiners of emoji and of Persian or Indic words.
_JOINERS = "\u200c\u200d"
# After what a name may be broken, unless it ends there.
_SEPARATOR = re.compile(r"(?<=[_\-./:|,;])(?=[^\W_])")
_INVISIBLE = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def full(name: object, limit: int = FULL_LIMIT) -> str:
    """The name with control characters made visible, cut at `limit` characters.

    Characters that reorder or hide text (U+202E and its kind) are written out, so that no name
    can disguise itself or what follows it.

    Examples
    --------
    >>> full("a\\tb\\u202ec")
    'a\\\\tb⟨U+202E⟩c'
    """
    text = str(name)
    visible = "".join(map(_visible, text[: limit + 1]))
    if not visible.strip():
        return "(empty name)" if not text else f"({len(text)} blanks)"
    return visible if len(visible) <= limit else _cut(visible, limit - 1) + "…"


def shown(name: object, width: int = 40) -> str:
    """The name in at most `width` columns of an ordinary letter, shortened in the middle.

    Examples
    --------
    >>> shown("a_rather_long_name_of_a_column", 15)
    'a_rather_l…umn'
    """
    # The end of a long name is often what tells it from its neighbours.
    source = str(name)
    text = full(source) if len(source) <= FULL_LIMIT else full(source[:FULL_LIMIT])
    if len(source) <= FULL_LIMIT and display_width(text) <= width:
        return text
    tail_width = (width - 1) // 3
    end = full(source[-2 * tail_width :])
    tail = end[len(end) - _fitting(reversed(end), tail_width) :].lstrip(_JOINERS + "\ufe0f")
    return _cut(text, _fitting(text, width - 1 - display_width(tail))) + "…" + tail


def pieces(text: str) -> list[str]:
    """The text in pieces that end with a separator, where a long name may go on in the next line.

    >>> pieces("GENE1143/x_at")
    ['GENE1143/', 'x_', 'at']
    """
    return _SEPARATOR.split(text)


def display_width(text: str) -> float:
    """Width in columns of an ordinary letter; wide scripts and emoji take two.

    Examples
    --------
    >>> display_width("abc"), display_width("漢字")
    (3.0, 4.0)
    """
    return sum(map(_width, text))


def _visible(character: str) -> str:
    code = ord(character)
    if code < 0x20 or code == 0x7F:
        return repr(character)[1:-1]
    hidden = unicodedata.category(character) in _INVISIBLE and character not in _JOINERS
    # Code points that end in FFFE or FFFF are no characters, and not allowed in XML.
    if hidden or code & 0xFFFE == 0xFFFE:
        return f"⟨U+{code:04X}⟩"
    return character


def _width(character: str) -> float:
    if unicodedata.combining(character) or unicodedata.category(character) in {"Cf", "Mn", "Me"}:
        return 0.0
    if unicodedata.east_asian_width(character) in "WF" or ord(character) > 0x1F000:
        return 2.0
    # An average letter is one; what is much wider or narrower in most fonts, counted so.
    if character in "mwMW@%—…<>=+#~&":
        return 1.5
    return 1.25 if character.isupper() else 1.0


def _fitting(characters: Iterable[str], width: float) -> int:
    """How many characters fit."""
    return sum(used <= width for used in accumulate(map(_width, characters)))


def _cut(text: str, length: int) -> str:
    """The first `length` characters, without the half of a character joined from several."""
    return text[:length].rstrip(_JOINERS)
