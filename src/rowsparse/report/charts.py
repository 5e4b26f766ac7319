"""Lines over an axis: scores, objectives and bounds, with bands and marks.

Every function returns SVG that has no colours of its own: classes say what a mark is, and the
style sheet of the page says how that looks in the light and in the dark theme.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from rowsparse.report.names import display_width
from rowsparse.report.numbers import number
from rowsparse.report.svg import (
    LETTER,
    Scale,
    Svg,
    log_ticks,
    picture,
    points,
    tag,
    ticks,
    words,
)

__all__ = [
    "N_STYLES",
    "Level",
    "Mark",
    "Series",
    "finite",
    "line_chart",
    "not_too_close",
    "stairs",
    "style_class",
]

# Colours that the style sheet has; further series repeat them dashed.
N_STYLES = 8


@dataclass(frozen=True)
class Series:
    """One line (or, with ``line=False``, its points alone), with a band from low to high."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    band: tuple[Sequence[float], Sequence[float]] | None = None
    style: int = 0
    line: bool = True
    dots: bool = True


@dataclass(frozen=True)
class Mark:
    """An upright line with words: something is special at this x."""

    x: float
    text: str


@dataclass(frozen=True)
class Level:
    """A level line with words: something to compare with."""

    y: float
    text: str


@dataclass(frozen=True)
class _Frame:
    """The room for the marks, and the scales of both axes."""

    x: Scale
    y: Scale
    left: float
    right: float
    top: float
    bottom: float


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
    across = [at for at in x for _ in range(2)][1:]
    up = [value for value in y for _ in range(2)][:-1]
    return across, up


def line_chart(
    series: Sequence[Series],
    *,
    name: str,
    title: str,
    desc: str,
    width: float,
    height: float = 300,
    x_label: str,
    y_label: str,
    x_ticks: Sequence[float] | None = None,
    x_format: Callable[[float], str] = number,
    y_format: Callable[[float], str] = number,
    log_x: bool = False,
    limits: tuple[float, float] | None = None,
    marks: Sequence[Mark] = (),
    levels: Sequence[Level] = (),
) -> Svg:
    """Lines over an axis.

    ``limits`` are values that no score can go beyond; the axis is drawn as far as the data go.
    """
    low, high = _reach(series, [level.y for level in levels], limits)
    y_ticks = ticks(low, high, 5 if height >= 260 else 3)
    texts = [y_format(value) for value in y_ticks]
    left = 14 + LETTER * max(map(display_width, texts))
    frame = _frame(series, low, high, left, width, height, log_x)
    at_x = _x_ticks(frame.x, x_ticks, (frame.right - frame.left) / 64)
    room = frame.right - frame.left
    return picture(
        width,
        height,
        name,
        title,
        desc,
        _y_axis(frame, y_ticks, texts, y_label),
        _x_axis(frame, not_too_close(at_x, frame.x, x_format), x_format, x_label),
        *[_drawn_level(frame, level, series) for level in levels if low <= level.y <= high],
        *[_drawn_mark(frame, mark, room) for mark in marks],
        *[_drawn_band(frame, one) for one in series if one.band is not None],
        *[_drawn_line(frame, one, y_format, x_format) for one in series],
    )


def finite(values: Iterable[float]) -> list[float]:
    """The values without holes."""
    return [float(value) for value in values if math.isfinite(value)]


def _reach(
    series: Sequence[Series], more: Sequence[float], limits: tuple[float, float] | None
) -> tuple[float, float]:
    """From the lowest to the highest value of all, with some air."""
    values = [value for one in series for value in finite(one.y)]
    values += [v for one in series if one.band for side in one.band for v in finite(side)]
    values += finite(more)
    if not values:
        return 0.0, 1.0
    low, high = min(values), max(values)
    air = 0.06 * (high - low) or 0.05 * abs(high) or 0.5
    low, high = low - air, high + air
    return (low, high) if limits is None else (max(low, limits[0]), min(high, limits[1]))


def _frame(
    series: Sequence[Series],
    low: float,
    high: float,
    left: float,
    width: float,
    height: float,
    log_x: bool,
) -> _Frame:
    right, top, bottom = width - 14, 40.0, height - 46
    across = [value for one in series for value in finite(one.x)]
    if log_x:
        across = [value for value in across if value > 0]
    first, last = (min(across), max(across)) if across else (0.0, 1.0)
    if log_x and across:
        first, last = first / 1.25, last * 1.25
    elif first == last:
        first, last = first - 1, last + 1
    return _Frame(
        Scale(first, last, left + 8, right - 8, log_x),
        Scale(low, high, bottom, top),
        left,
        right,
        top,
        bottom,
    )


def _x_ticks(scale: Scale, wanted: Sequence[float] | None, count: float) -> list[float]:
    if wanted is not None and len(wanted) <= 12:
        return [float(value) for value in wanted]
    if scale.log:
        return log_ticks(scale.low, scale.high)
    found = ticks(scale.low, scale.high, max(2, int(count)))
    whole = wanted is None or any(value != int(value) for value in wanted)
    return found if whole else sorted({float(value) for value in found if value == int(value)})


def not_too_close(values: list[float], scale: Scale, form: Callable[[float], str]) -> list[float]:
    """Leave out what would be written over its neighbour."""
    kept: list[float] = []
    free = -math.inf
    for value in values:
        half = LETTER * display_width(form(value)) / 2 + 4
        if scale(value) - half >= free:
            kept.append(value)
            free = scale(value) + half
    return kept


def _y_axis(frame: _Frame, values: Sequence[float], texts: Sequence[str], name: str) -> Svg:
    lines = [
        tag("line", x1=frame.left, x2=frame.right, y1=at, y2=at, class_="grid")
        for at in frame.y.each(values)
    ]
    numbers = [
        words(frame.left - 8, at + 4, text, "tick", "end")
        for at, text in zip(frame.y.each(values), texts, strict=True)
    ]
    return tag("g", *lines, *numbers, words(0, 14, name, "axis"), aria_hidden="true")


def _x_axis(frame: _Frame, values: Sequence[float], form: Callable[[float], str], name: str) -> Svg:
    numbers = [
        words(frame.x(value), frame.bottom + 18, form(value), "tick", "middle") for value in values
    ]
    notches = [
        tag("line", x1=at, x2=at, y1=frame.bottom, y2=frame.bottom + 4, class_="rule")
        for at in frame.x.each(values)
    ]
    base = tag(
        "line", x1=frame.left, x2=frame.right, y1=frame.bottom, y2=frame.bottom, class_="rule"
    )
    title = words((frame.left + frame.right) / 2, frame.bottom + 38, name, "axis", "middle")
    return tag("g", base, *notches, *numbers, title, aria_hidden="true")


def _drawn_level(frame: _Frame, level: Level, series: Sequence[Series]) -> Svg:
    """A level line; its words stand at the end that the other lines are farther from."""
    at = frame.y(level.y)
    ends = [[abs(one.y[side] - level.y) for one in series if len(one.y)] for side in (0, -1)]
    first = min(ends[0], default=0.0) >= min(ends[1], default=0.0)
    beside = at - 6 if at - 18 > frame.top else at + 15
    return tag(
        "g",
        tag("line", x1=frame.left, x2=frame.right, y1=at, y2=at, class_="level"),
        words(frame.left + 6, beside, level.text, "note halo", "start")
        if first
        else words(frame.right - 4, beside, level.text, "note halo", "end"),
    )


def _drawn_mark(frame: _Frame, mark: Mark, room: float) -> Svg:
    at = frame.x(mark.x)
    half = LETTER * display_width(mark.text) / 2
    middle = min(max(at, frame.left + half), frame.left + room - half)
    return tag(
        "g",
        tag("line", x1=at, x2=at, y1=frame.top - 6, y2=frame.bottom, class_="mark"),
        words(middle, frame.top - 10, mark.text, "note", "middle"),
    )


def _kept(*columns: Sequence[float]) -> list[tuple[float, ...]]:
    """The rows without a hole."""
    rows = zip(*columns, strict=True)
    return [row for row in rows if all(math.isfinite(value) for value in row)]


def _drawn_band(frame: _Frame, one: Series) -> Svg:
    if one.band is None:
        return Svg("")
    rows = _kept(one.x, *one.band)
    if not rows:
        return Svg("")
    if len(rows) == 1:
        x, low, high = rows[0]
        place = {"x1": frame.x(x), "x2": frame.x(x), "y1": frame.y(low), "y2": frame.y(high)}
        return tag("line", **place, class_=f"whisker {style_class(one.style)}")
    across = frame.x.each([row[0] for row in rows])
    low_side, high_side = ([_inside(frame, row[side]) for row in rows] for side in (1, 2))
    corners = points(across + across[::-1], low_side + high_side[::-1])
    return tag("polygon", points=corners, class_=f"band {style_class(one.style)}")


def _inside(frame: _Frame, value: float) -> float:
    return frame.y(min(max(value, frame.y.low), frame.y.high))


def _drawn_line(
    frame: _Frame,
    one: Series,
    y_format: Callable[[float], str],
    x_format: Callable[[float], str],
) -> Svg:
    rows = _kept(one.x, one.y)
    if frame.x.log:
        rows = [row for row in rows if row[0] > 0]
    style = style_class(one.style)
    parts: list[str] = []
    if one.line and len(rows) > 1:
        across = frame.x.each([row[0] for row in rows])
        up = frame.y.each([row[1] for row in rows])
        parts.append(tag("polyline", points=points(across, up), class_="line"))
    if one.dots:
        radius = 5.5 if not one.line else 3.2 if len(rows) <= 40 else 1.8
        prefix = f"{one.name}: " if one.name else ""
        parts += [
            tag(
                "circle",
                tag("title", f"{prefix}{y_format(y)} at {x_format(x)}"),
                cx=frame.x(x),
                cy=frame.y(y),
                r=radius,
                class_="dot",
            )
            for x, y in rows
        ]
    if not parts:
        return Svg("")
    return tag("g", *parts, class_=f"series {style}", data_series=one.style)
