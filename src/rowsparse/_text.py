"""Parts of sentences."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["counted", "joined"]


def counted(count: int, noun: str, many: str | None = None) -> str:
    """A count and its noun.

    Examples
    --------
    >>> counted(1, "feature"), counted(7129, "feature"), counted(2, "class", "classes")
    ('1 feature', '7,129 features', '2 classes')
    """
    return f"{count:,} {noun if count == 1 else many or noun + 's'}"


def joined(words: Iterable[str], most: int | None = None) -> str:
    """Words with commas and an "and" between, at most `most` of them.

    Examples
    --------
    >>> joined(["a", "b", "c"]), joined("abcdef", most=3)
    ('a, b and c', 'a, b, c and 3 more')
    """
    every = list(words)
    parts = every[:most]
    if len(parts) < len(every):
        parts.append(f"{len(every) - len(parts):,} more")
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
