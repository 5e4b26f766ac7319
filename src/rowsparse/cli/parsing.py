"""Options that are more than a word or a number."""

from __future__ import annotations

import re

from rowsparse.workflow.errors import InputError, shown

__all__ = ["count_of", "counts_of", "image_of", "names_of"]


def count_of(text: str) -> int | str:
    """The number of features, or "auto"."""
    if text.strip().lower() == "auto":
        return "auto"
    try:
        return int(text)
    except ValueError:
        raise InputError(f"-k must be a whole number or 'auto'; got {shown(text)}.") from None


def counts_of(text: str) -> list[int]:
    """Numbers of features with commas between."""
    try:
        counts = [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        counts = []
    if not counts:
        raise InputError(f"-k must be whole numbers, as in 5,10,20; got {shown(text)}.")
    return sorted(set(counts))


def names_of(text: str | None) -> list[str] | None:
    """Names with commas between."""
    if text is None:
        return None
    return list(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


def image_of(text: str | None) -> tuple[int, int] | None:
    """Height and width, as in "28x28"."""
    if text is None:
        return None
    match = re.fullmatch(r"\s*(\d+)\s*[x×,]\s*(\d+)\s*", text)
    if match is None or 0 in (int(match[1]), int(match[2])):
        raise InputError(f"--image must be height x width, as in 28x28; got {shown(text)}.")
    return int(match[1]), int(match[2])
