"""Bars, gauges and distributions."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rowsparse.report.charts import finite, not_too_close, style_class
from rowsparse.report.names import display_width, full
from rowsparse.report.numbers import number
from rowsparse.report.svg import LETTER, Scale, Svg, join, label, picture, tag, ticks, words

__all__ = ["bar", "box_rows", "gauge", "signed_bars"]


def bar(share: float, interval: tuple[float, float] | None = None) -> Svg:
    """A bar in a cell of a table, as long as its share; a whisker shows the interval."""
    length = 100 * _unit(share)
    parts = [tag("rect", x=0, y=0, width=100, height=10, class_="trough")]
    parts.append(tag("rect", x=0, y=0, width=float(length), height=10, class_="length"))
    if interval is not None and all(map(math.isfinite, interval)):
        low, high = (100 * _unit(value) for value in interval)
        parts.append(tag("rect", x=low, y=4, width=max(0.6, high - low), height=2, class_="reach"))
    return tag(
        "svg",
        *parts,
        class_="bar",
        viewBox="0 0 100 10",
        preserveAspectRatio="none",
        aria_hidden="true",
    )


def _unit(value: float) -> float:
    return min(max(float(value), 0.0), 1.0) if math.isfinite(value) else 0.0


def gauge(
    value: float,
    interval: tuple[float, float],
    *,
    name: str,
    title: str,
    desc: str,
    width: float,
    ends: tuple[str, str],
    zones: Sequence[float] = (),
) -> Svg:
    """One number between 0 and 1 with its interval, and words at both ends."""
    width = min(width, 560)
    scale = Scale(0, 1, 12, width - 12)
    at = scale(_unit(value))
    low, high = (scale(_unit(end)) if math.isfinite(end) else at for end in interval)
    return picture(
        width,
        64,
        name,
        title,
        desc,
        tag("rect", x=12, y=24, width=width - 24.0, height=10, rx=5, class_="trough"),
        *[
            tag("line", x1=scale(zone), x2=scale(zone), y1=24, y2=34, class_="notch")
            for zone in zones
        ],
        tag("rect", x=low, y=25.5, width=max(2.0, high - low), height=7, rx=3.5, class_="reach"),
        tag("circle", cx=at, cy=29, r=8, class_="pointer"),
        words(12, 56, ends[0], "note"),
        words(width - 12, 56, ends[1], "note", "end"),
    )


def box_rows(
    groups: Sequence[str],
    quantiles: Sequence[Sequence[float]],
    *,
    name: str,
    title: str,
    desc: str,
    width: float = 280,
) -> Svg:
    """For each group a line from 5 to 95 %, a box from 25 to 75 % and a notch at the median."""
    room = min(
        96.0, max(28.0, 8 + LETTER * max((display_width(str(g)) for g in groups), default=0))
    )
    values = [value for row in quantiles for value in finite(row)] or [0.0]
    low, high = min(values), max(values)
    if low == high:
        low, high = low - 0.5, high + 0.5
    scale = Scale(low, high, room + 8, width - 12)
    step = 22.0 if len(groups) <= 6 else 17.0
    bottom = 4 + step * len(groups)
    marks = [
        value
        for value in not_too_close(ticks(low, high, 3), scale, number)
        if scale(value) + LETTER * display_width(number(value)) / 2 <= width
    ]
    rows = [
        _box_row(group, row, 4 + step * (at + 0.5), scale, room, at if len(groups) <= 8 else 0)
        for at, (group, row) in enumerate(zip(groups, quantiles, strict=True))
    ]
    return picture(
        width,
        bottom + 24,
        name,
        title,
        desc,
        join(tag("line", x1=at, x2=at, y1=2, y2=bottom, class_="grid") for at in scale.each(marks)),
        *rows,
        join(words(scale(v), bottom + 17, number(v), "tick", "middle") for v in marks),
    )


def _box_row(
    group: str, row: Sequence[float], y: float, scale: Scale, room: float, style: int
) -> Svg:
    parts = [label(room, y + 4, group, room, anchor="end")]
    if all(math.isfinite(value) for value in row):
        p5, p25, p50, p75, p95 = scale.each(row)
        parts += [
            tag("line", x1=p5, x2=p95, y1=y, y2=y, class_="whisker"),
            tag("rect", x=p25, y=y - 5.5, width=max(1.5, p75 - p25), height=11, rx=2, class_="box"),
            tag("line", x1=p50, x2=p50, y1=y - 7, y2=y + 7, class_="median"),
        ]
    return tag("g", *parts, class_=style_class(style))


def signed_bars(
    names: Sequence[str],
    values: Sequence[float],
    *,
    name: str,
    title: str,
    desc: str,
    width: float,
) -> Svg:
    """Bars to the right for positive numbers, to the left for negative ones."""
    largest = max((abs(value) for value in finite(values)), default=0.0) or 1.0
    room = min(0.36 * width, 6 + _widest(names))
    scale = Scale(-largest, largest, room + 60, width - 56)
    rows = []
    for at, (text, value) in enumerate(zip(names, values, strict=True)):
        y = 14 + 24.0 * at
        end = scale(value if math.isfinite(value) else 0.0)
        side = ("end", -6) if value < 0 else ("start", 6)
        rows += [
            label(room, y + 4, text, room, anchor="end"),
            tag(
                "rect",
                x=min(end, scale(0)),
                y=y - 7,
                width=abs(end - scale(0)),
                height=14,
                class_="minus" if value < 0 else "plus",
            ),
            words(end + side[1], y + 4, number(value), "tick", side[0]),
        ]
    height = 8 + 24.0 * len(names)
    zero = tag("line", x1=scale(0), x2=scale(0), y1=2, y2=height - 2, class_="rule")
    return picture(width, height, name, title, desc, *rows, zero)


def _widest(names: Sequence[str]) -> float:
    return 8 + LETTER * max((display_width(full(name, 60)) for name in names), default=0)
