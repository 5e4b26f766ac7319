"""The volcano plot: effect against p-value of all features, the selected ones with their names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rowsparse._arrays import Array
from rowsparse.report.lines import HEAD, LETTER, NARROW, WIDE, Series, line_chart
from rowsparse.report.names import display_width, full, shown
from rowsparse.report.numbers import decimal, p_value
from rowsparse.report.svg import Scale, Svg, across, join, tag, text

if TYPE_CHECKING:
    from rowsparse.workflow.results import RankedFeature
    from rowsparse.workflow.univariate import UnivariateTests

__all__ = ["Label", "placed_labels", "volcano"]

# p-values below 10 to the minus this are drawn there.
_LOWEST = 300.0
# Height in pixels of a line of text and of the whole chart, and radius of a dot.
LINE, HEIGHT, RADIUS = 14.0, 340.0, 4.5
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


def volcano(tests: UnivariateTests, features: Sequence[RankedFeature], most_named: int) -> Svg:
    """The chart.

    Parameters
    ----------
    tests : UnivariateTests
        Of all features.
    features : sequence of RankedFeature
        The selected ones, the strongest first.
    most_named : int
        How many of them get a name, if there is room.
    """
    x, y = _heights(tests)
    at = np.array([feature.index for feature in features], dtype=int)
    others = np.setdiff1d(np.arange(x.size), at)
    threshold = -np.log10(max(tests.threshold(), 10**-_LOWEST)) if tests.count() else np.nan

    def over(x_scale: Scale, y_scale: Scale) -> Svg:
        lines = [y_scale(threshold)] if np.isfinite(threshold) else []
        dots = [
            (x_scale(x[j]), y_scale(y[j]), shown(feature.name, 20))
            for j, feature in zip(at.tolist(), features, strict=True)
        ]
        inside = (HEAD, y_scale(0.0))
        labels = placed_labels(dots[:most_named], lines, inside)
        drawn = [tag("line", x1=0, x2="100%", y1=line, y2=line, class_="level") for line in lines]
        return join(
            [
                *drawn,
                *[
                    _dot(place, down, _hint(feature, tests))
                    for feature, (place, down, _) in zip(features, dots, strict=True)
                ],
                *[label.drawn() for label in labels],
                *[text("100%", HEAD - 10, "dashed: FDR 5 %", "note", "end") for _ in lines],
            ]
        )

    cloud = Series("", x[others].tolist(), y[others].tolist(), is_cloud=True)
    ends = Series("", x[at].tolist(), y[at].tolist(), line=False, dots=False)
    below = f"{tests.count():,} of {x.size:,} features have a false discovery rate of 5 % at most"
    return line_chart(
        [cloud, ends],
        label=f"{tests.effect_name} against p-value of all features, the selected ones marked. "
        f"{below}.",
        height=HEIGHT,
        x_label=tests.effect_name,
        y_label="−log₁₀ of p",
        limits=(0.0, np.inf),
        over=over,
    )


def _dot(at: float, y: float, hint: str) -> Svg:
    title = tag("title", hint)
    return tag("circle", title, cx=across(at), cy=float(y), r=RADIUS, class_="dot s0")


def _heights(tests: UnivariateTests) -> tuple[Array, Array]:
    """Effects, infinite ones at the end of the others, and −log10 of the p-values."""
    known = np.abs(tests.effects[np.isfinite(tests.effects)]).max(initial=0.0) or 1.0
    x = np.nan_to_num(np.clip(tests.effects, -known, known))
    return x, -np.log10(np.maximum(tests.p, 10**-_LOWEST))


def _hint(feature: RankedFeature, tests: UnivariateTests) -> str:
    j = feature.index
    return (
        f"{full(feature.name, 80)}: {tests.effect_name} {decimal(float(tests.effects[j]))}, "
        f"p {p_value(float(tests.p[j]))}, FDR {p_value(float(tests.fdr[j]))}"
    )
