"""Words in sentences."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["listed"]


def listed(words: Iterable[str], most: int | None = None, last: str = "and") -> str:
    """Words as a list in a sentence, at most `most` of them.

    Examples
    --------
    >>> listed(["a", "b", "c"]), listed("abcdef", most=3), listed("ab", last="or")
    ('a, b and c', 'a, b, c and 3 more', 'a or b')
    """
    every = list(words)
    parts = every[:most]
    if len(parts) < len(every):
        parts.append(f"{len(every) - len(parts):,} more")
    return f" {last} ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
