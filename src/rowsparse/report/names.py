"""Names of columns and classes as markup and in sentences."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Iterable

from rowsparse._names import shown
from rowsparse._text import joined
from rowsparse.report.svg import Svg

__all__ = ["breakable", "isolated", "listing", "repeated"]

_FIRST_ISOLATE, _END_ISOLATE = "\u2068", "\u2069"


def breakable(text: str) -> Svg:
    """The text as markup that a browser may break after each underscore."""
    return Svg(html.escape(text, quote=False).replace("_", "_<wbr>"))


def isolated(name: object, width: int = 40) -> str:
    """A shortened name for use inside a sentence: right-to-left letters turn nothing around it."""
    return f"{_FIRST_ISOLATE}{shown(name, width)}{_END_ISOLATE}"


def listing(names: Iterable[object], limit: int = 4, width: int = 24) -> str:
    """Names as a list in a sentence, at most `limit` of them.

    Examples
    --------
    >>> listing(["a", "b", "c"]).replace("\\u2068", "").replace("\\u2069", "")
    'a, b and c'
    """
    return joined((isolated(name, width) for name in names), limit)


def repeated(names: Iterable[str]) -> set[str]:
    """The names that occur more than once."""
    return {name for name, count in Counter(names).items() if count > 1}
