"""What is wrong with the input, in one sentence."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["InputError", "listed", "one_line", "shown"]

_LONGEST = 60


class InputError(ValueError):
    """The input cannot be used; the message is one sentence that says why and what to do."""


def shown(name: str) -> str:
    """A name that may be anything, in quotation marks, on one line and not too long.

    >>> print(shown("gene"), shown("two\\nlines"))
    'gene' 'two\\nlines'
    """
    text = repr(name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def listed(names: Sequence[str], most: int = 5) -> str:
    """A few names, and how many more there are.

    >>> listed(["a", "b"]), listed(list("abcdefg"))
    ("'a' and 'b'", "'a', 'b', 'c', 'd', 'e' and 2 more")
    """
    words = [shown(name) for name in names[:most]]
    if len(names) > most:
        words.append(f"{len(names) - most:,} more")
    if len(words) < 2:
        return "".join(words)
    return ", ".join(words[:-1]) + " and " + words[-1]


def one_line(error: Exception) -> str:
    """The first line of what an error says, as a sentence."""
    return str(error).partition("\n")[0].strip().rstrip(".") + "."
