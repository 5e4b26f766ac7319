"""Questions to a picture that was drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def visible_texts(texts: Sequence[Any]) -> list[Any]:
    """Those with words, after the figure was laid out."""
    if texts:
        texts[0].figure.figure.draw_without_rendering()
    return [text for text in texts if text.get_text() and text.get_visible()]


def overlapping(texts: Sequence[Any]) -> list[tuple[str, str]]:
    """Pairs of texts that are written over each other, by more than a pixel."""
    boxes = [(text.get_text(), text.get_window_extent()) for text in visible_texts(texts)]
    return [
        (words, others)
        for i, (words, a) in enumerate(boxes)
        for others, b in boxes[i + 1 :]
        if min(a.x1, b.x1) - max(a.x0, b.x0) > 1 and min(a.y1, b.y1) - max(a.y0, b.y0) > 1
    ]
