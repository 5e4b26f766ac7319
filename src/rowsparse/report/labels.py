"""Names beside the dots of a chart, where there is room for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rowsparse._names import display_width
from rowsparse.report.lines import LETTER, NARROW, WIDE
from rowsparse.report.svg import Svg, across, tag

__all__ = ["RADIUS", "Label", "placed_labels"]

# Height in pixels of a line of text, and radius of a dot.
LINE, RADIUS = 14.0, 4.5
# Where a label may stand beside its dot: to the right or left, and how many pixels lower.
_PLACES = tuple((side, lower) for lower in (4.0, -7.0, 15.0) for side in (1, -1))


@dataclass(frozen=True)
class Label:
    """Words beside a dot, at a percentage across and a pixel down."""

    words: str
    at: float
    y: float
    side: int = 1
    is_extra: bool = False

    def box(self, width: float) -> tuple[float, float, float, float]:
        """Left, right, top and bottom on a plot of so many pixels."""
        start = self.at * width / 100 + self.side * (RADIUS + 4)
        end = start + self.side * LETTER * display_width(self.words)
        return min(start, end), max(start, end), self.y - LINE + 3, self.y + 3

    def reach(self, width: float) -> tuple[float, float, float, float]:
        """The box, and the way from the dot to it.

        What is off this on a narrow plot is off it on any wider one.
        """
        left, right, top, bottom = self.box(width)
        at = self.at * width / 100
        return min(left, at), max(right, at), top, bottom

    def drawn(self) -> Svg:
        """The words."""
        anchor = "start" if self.side > 0 else "end"
        class_ = "note halo extra" if self.is_extra else "note halo"
        # Percentages and pixels cannot be added in an attribute: the gap is a shift of the text.
        return tag(
            "text",
            self.words,
            x=across(self.at),
            y=float(self.y),
            dx=float(self.side * (RADIUS + 4)),
            class_=class_,
            text_anchor=anchor,
        )


def placed_labels(
    dots: Sequence[tuple[float, float, str]],
    lines: Sequence[float],
    limits: tuple[float, float],
    uprights: Sequence[float] = (),
) -> list[Label]:
    """Labels that stand on no line, no other label and no dot; the first come first.

    What has no room on a phone is marked to be hidden there, and what has none on a large screen
    is left out.

    Parameters
    ----------
    dots : sequence of (float, float, str)
        Percentage across, pixel down, and words.
    lines : sequence of float
        Heights of lines, in pixels.
    limits : tuple of float
        Top and bottom of the plot.
    uprights : sequence of float
        Places of upright lines, in percent.
    """
    found: list[Label] = []
    for width, is_extra in ((NARROW, False), (WIDE, True)):
        named = {(label.at, label.words) for label in found}
        for at, y, words in dots:
            if (at, words) in named:
                continue
            for side, lower in _PLACES:
                label = Label(words, at, y + lower, side, is_extra)
                if _is_free(label, width, found, dots, lines, limits, uprights):
                    found.append(label)
                    break
    return found


def _is_free(
    label: Label,
    width: float,
    others: Sequence[Label],
    dots: Sequence[tuple[float, float, str]],
    lines: Sequence[float],
    limits: tuple[float, float],
    uprights: Sequence[float],
) -> bool:
    left, right, top, bottom = label.reach(width)
    if left < 0 or right > width or top < limits[0] or bottom > limits[1]:
        return False
    if any(top - 1 < y < bottom + 1 for y in lines):
        return False
    if any(left - 2 < at * width / 100 < right + 2 for at in uprights):
        return False
    for other in others:
        a, b, c, d = other.reach(width)
        if left < b + 3 and a < right + 3 and top < d and c < bottom:
            return False
    for at, y, words in dots:
        x = at * width / 100
        across_it = left < x + RADIUS and x - RADIUS < right
        is_own = (at, words) == (label.at, label.words)
        if across_it and top < y + RADIUS and y - RADIUS < bottom and not is_own:
            return False
    return True
