"""Lines over an axis: scores, objectives and bounds, with bands.

The markup has no colours of its own: classes say what a mark is, and the style sheet of the page
says how that looks in the light and in the dark theme.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rowsparse._names import display_width
from rowsparse.report.numbers import finite, number
from rowsparse.report.svg import Scale, Svg, across, join, log_ticks, svg, tag, text, ticks

__all__ = [
    "HEAD",
    "LETTER",
    "NARROW",
    "WIDE",
    "Series",
    "line_chart",
    "stairs",
    "style_class",
    "tick_labels",
]

# Colours that the style sheet has; further series repeat them dashed.
N_STYLES = 8
# Width of an ordinary letter of the charts' type, in pixels.
LETTER = 7.2
# Width in pixels of a plot on a large screen or on paper, and on a phone.
WIDE, NARROW = 700, 240
# Space in pixels above the plot for the words of a mark, and below it for the ticks.
HEAD, FOOT = 24, 22


@dataclass(frozen=True)
class Series:
    """One line (or, with ``line=False``, its points alone), with a band from low to high.

    A cloud is thousands of points, drawn as one shape: those that fall together are one.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    band: tuple[Sequence[float], Sequence[float]] | None = None
    style: int = 0
    line: bool = True
    dots: bool = True
    line_class: str = "line"
    is_cloud: bool = False


def style_class(style: int) -> str:
    """The classes of a colour and, beyond the last, of its dashes."""
    return f"s{style % N_STYLES}" + (f" dash{style // N_STYLES % 3}" if style >= N_STYLES else "")


def stairs(x: Sequence[float], y: Sequence[float]) -> tuple[list[float], list[float]]:
    """The corners of a line that keeps each value until the next one.

    Examples
    --------
    >>> stairs([0, 1, 2], [5, 3, 2])
    ([0, 1, 1, 2, 2], [5, 5, 3, 3, 2])
    """
    return [at for at in x for _ in range(2)][1:], [value for value in y for _ in range(2)][:-1]


def line_chart(
    series: Sequence[Series],
    *,
    label: str,
    x_label: str,
    y_label: str,
    height: float = 250,
    x_ticks: Sequence[float] | None = None,
    y_format: Callable[[float], str] = number,
    log_x: bool = False,
    limits: tuple[float, float] = (-math.inf, math.inf),
    mark: tuple[float, str] | None = None,
    levels: Sequence[tuple[float, str]] = (),
    over: Callable[[Scale, Scale], Svg] | None = None,
) -> Svg:
    """Lines over an axis, with the names of both axes.

    ``limits`` are values that no score can go beyond; the axis is drawn as far as the data go.
    ``mark`` is an x where something is special, ``levels`` are y to compare with, each with words.
    ``over`` draws more, on both scales.
    """
    low, high = _reach(series, levels, limits)
    x = _x_scale(series, log_x)
    y = Scale(low, high, height - FOOT, HEAD)
    at_y = ticks(low, high, 5 if height >= 220 else 3)
    texts = [y_format(value) for value in at_y]
    gutter = 10 + LETTER * max(map(display_width, texts))
    numbers = [
        text(gutter - 8, place + 4, words, "tick", "end")
        for place, words in zip(y.each(at_y), texts, strict=True)
    ]
    plot = svg(
        "chart",
        height,
        *[_level_line(place, "grid") for place in y.each(at_y)],
        *_x_axis(x, _x_ticks(x, x_ticks), height - FOOT),
        _drawn_levels(x, y, [one for one in levels if low <= one[0] <= high], series),
        _drawn_mark(x, mark, height - FOOT) if mark else Svg(""),
        *[_drawn_band(x, y, one, height) for one in series],
        *[_drawn_line(x, y, one, y_format, height) for one in series],
        over(x, y) if over else Svg(""),
        label=label,
    )
    axis = tag("svg", *numbers, width=gutter, height=float(height), aria_hidden="true")
    return join(
        [
            tag("p", y_label, class_="axis"),
            tag("div", axis, plot, class_="plot"),
            tag("p", x_label, class_="axis below"),
        ]
    )


def tick_labels(
    labels: Sequence[tuple[float, str]], y: float, widths: tuple[float, float] = (WIDE, NARROW)
) -> Svg:
    """Words at places below an axis; those without room on a phone are marked to be hidden there.

    Parameters
    ----------
    labels : sequence of (float, str)
        Places in percent, in ascending order, and what to write there.
    y : float
        Where the words stand.
    widths : tuple of float
        Pixels that the axis is at least wide, on a large screen and on a phone.
    """
    shown = _spaced(labels, widths[0])
    on_phone = _spaced(shown, widths[1])
    return join(
        text(across(at), y, words, "tick" if (at, words) in on_phone else "tick extra", "middle")
        for at, words in shown
    )


def _spaced(labels: Sequence[tuple[float, str]], width: float) -> list[tuple[float, str]]:
    """The labels without those that would be written over their neighbours."""
    kept: list[tuple[float, str]] = []
    free = -math.inf
    for at, words in labels:
        middle, half = at / 100 * width, LETTER * display_width(words) / 2 + 3
        if middle - half >= free:
            kept.append((at, words))
            free = middle + half
    return kept


def _reach(
    series: Sequence[Series], levels: Sequence[tuple[float, str]], limits: tuple[float, float]
) -> tuple[float, float]:
    """From the lowest to the highest value of all, with some air."""
    columns = [column for one in series for column in (one.y, *(one.band or ()))]
    values = [value for column in columns for value in finite(column)]
    values += finite(value for value, _ in levels)
    if not values:
        return 0.0, 1.0
    low, high = min(values), max(values)
    air = 0.06 * (high - low) or 0.05 * abs(high) or 0.5
    return max(low - air, limits[0]), min(high + air, limits[1])


def _x_scale(series: Sequence[Series], log: bool) -> Scale:
    values = [value for one in series for value in finite(one.x) if value > 0 or not log]
    first, last = (min(values), max(values)) if values else (1.0, 2.0)
    if log:
        first, last = first / 1.25, last * 1.25
    elif first == last:
        first, last = first - 1, last + 1
    return Scale(first, last, 1.5, 98.5, log)


def _x_ticks(scale: Scale, wanted: Sequence[float] | None) -> list[float]:
    if wanted is not None and len(wanted) <= 12:
        return [float(value) for value in wanted]
    if scale.log:
        return log_ticks(scale.low, scale.high)
    found = ticks(scale.low, scale.high, 10)
    return found if wanted is None else [value for value in found if value == int(value)]


def _level_line(y: float, class_: str) -> Svg:
    return tag("line", x1=0, x2="100%", y1=y, y2=y, class_=class_)


def _upright(x: float, y1: float, y2: float, class_: str) -> Svg:
    return tag("line", x1=across(x), x2=across(x), y1=float(y1), y2=float(y2), class_=class_)


def _x_axis(scale: Scale, values: Sequence[float], bottom: float) -> list[Svg]:
    labels = [(scale(value), number(value)) for value in values]
    notches = [_upright(at, bottom, bottom + 4, "rule") for at, _ in labels]
    return [_level_line(bottom, "rule"), *notches, tick_labels(labels, bottom + 18)]


def _drawn_levels(
    x: Scale, y: Scale, levels: Sequence[tuple[float, str]], series: Sequence[Series]
) -> Svg:
    """Level lines, each with its words at the end, above or below, where most room is left."""
    # Obstacles: heights in pixels over ranges in percent.
    taken: list[tuple[float, float, float]] = []
    for one in series:
        places = [(x(a), y(b)) for a, b in _rows_on(x, one)]
        for (a, b), (c, d) in pairwise(places):
            steps = [at / 8 for at in range(9)]
            taken += [(a + (c - a) * at, a + (c - a) * at, b + (d - b) * at) for at in steps]
        taken += [(a, a, b) for a, b in places]
    parts = []
    for value, words in levels:
        obstacles = [*taken, *((0.0, 100.0, y(other)) for other, _ in levels if other != value)]
        width = 100 * LETTER * display_width(words) / NARROW
        ends = {"start": (0.0, width), "end": (100.0 - width, 100.0)}
        room = {
            (anchor, middle): min(
                (abs(at - middle) for a, b, at in obstacles if b >= left and a <= right),
                default=math.inf,
            )
            for anchor, (left, right) in ends.items()
            for middle in (y(value) - 10, y(value) + 11)
            if HEAD - 8 < middle < y(y.low) - 4
        }
        anchor, middle = max(room, key=lambda place: round(room[place], 6))
        parts.append(_level_line(y(value), "level"))
        place = "0.6%" if anchor == "start" else "99.4%"
        parts.append(text(place, middle + 4, words, "note halo", anchor))
        taken += [(*ends[anchor], middle - 6), (*ends[anchor], middle + 6)]
    return join(parts)


def _drawn_mark(x: Scale, mark: tuple[float, str], bottom: float) -> Svg:
    at = x(mark[0])
    anchor = "start" if at < 20 else "end" if at > 80 else "middle"
    line = _upright(at, HEAD - 6, bottom, "mark")
    return join([line, text(across(at), HEAD - 10, mark[1], "note", anchor)])


def _kept(*columns: Sequence[float]) -> list[tuple[float, ...]]:
    """The rows without a hole."""
    return [row for row in zip(*columns, strict=True) if all(map(math.isfinite, row))]


def _rows_on(x: Scale, one: Series) -> list[tuple[float, ...]]:
    """The points that have a place on the scale."""
    return [row for row in _kept(one.x, one.y) if row[0] > 0 or not x.log]


def _stretched(
    shape: str, places: Sequence[tuple[float, float]], height: float, class_: str
) -> Svg:
    """A line or an area through places given in percent across and in pixels down."""
    points = " ".join(f"{a:.2f},{b:.1f}" for a, b in places)
    # Points cannot be percentages: the inner drawing is stretched, its strokes are not.
    return tag(
        "svg",
        tag(shape, points=points, class_=class_),
        viewBox=f"0 0 100 {height:g}",
        preserveAspectRatio="none",
    )


def _drawn_cloud(places: Sequence[tuple[float, float]], height: float) -> Svg:
    """Points as strokes without length, on a grid of half a percent and of two pixels."""
    cells = sorted({(round(2 * a), round(b / 2)) for a, b in places})
    path = tag("path", d="".join(f"M{a} {b}h0" for a, b in cells), class_="cloud")
    box = f"0 0 200 {height / 2:g}"
    return tag("svg", path, viewBox=box, preserveAspectRatio="none")


def _drawn_band(x: Scale, y: Scale, one: Series, height: float) -> Svg:
    rows = _kept(one.x, *one.band) if one.band is not None else []
    if not rows:
        return Svg("")
    sides = [[(x(row[0]), _inside(y, row[side])) for row in rows] for side in (1, 2)]
    if len(rows) == 1:
        (at, low), (_, high) = sides[0][0], sides[1][0]
        return _upright(at, low, high, f"whisker {style_class(one.style)}")
    corners = sides[0] + sides[1][::-1]
    return _stretched("polygon", corners, height, f"band {style_class(one.style)}")


def _inside(y: Scale, value: float) -> float:
    return y(min(max(value, y.low), y.high))


def _drawn_line(
    x: Scale, y: Scale, one: Series, y_format: Callable[[float], str], height: float
) -> Svg:
    rows = _rows_on(x, one)
    if one.is_cloud:
        return _drawn_cloud([(x(a), y(b)) for a, b in rows], height)
    parts: list[str] = []
    if one.line and len(rows) > 1:
        parts.append(
            _stretched("polyline", [(x(a), y(b)) for a, b in rows], height, one.line_class)
        )
    if one.dots:
        radius = 5.5 if not one.line else 3.2 if len(rows) <= 40 else 1.8
        prefix = f"{one.name}: " if one.name else ""
        hints = [tag("title", f"{prefix}{y_format(b)} at {number(a)}") for a, b in rows]
        parts += [
            tag("circle", hint, cx=across(x(a)), cy=y(b), r=radius, class_="dot")
            for hint, (a, b) in zip(hints, rows, strict=True)
        ]
    if not parts:
        return Svg("")
    return tag("g", *parts, class_=f"series {style_class(one.style)}", data_series=one.style)
