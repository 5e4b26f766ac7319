"""Charts of one row each: bars, intervals, boxes and runs, drawn as wide as their place."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from rowsparse._arrays import Array
from rowsparse.report.lines import tick_labels
from rowsparse.report.numbers import finite, number, percent
from rowsparse.report.svg import Scale, Svg, across, join, span, svg, tag, ticks

__all__ = [
    "Interval",
    "Strip",
    "Strips",
    "bar",
    "boxes",
    "dots",
    "gauge",
    "proportions",
    "runs",
    "signed_bars",
]

# Height of a row of a chart, in pixels.
ROW = 20


@dataclass(frozen=True)
class Strip:
    """A row of a chart: its name, its drawing, and a number to stand beside it."""

    name: str
    drawing: Svg
    value: str = ""


@dataclass(frozen=True)
class Strips:
    """Rows over one axis, with a description."""

    label: str
    rows: list[Strip]
    axis: Svg | None = None
    axis_name: str = ""


def bar(share: float, interval: tuple[float, float] | None = None) -> Svg:
    """A bar in a cell of a table, as long as its share; a whisker shows the interval."""
    parts = [span(0, 100, 0, 10, class_="trough"), span(0, _percent(share), 0, 10, class_="length")]
    if interval is not None and all(map(math.isfinite, interval)):
        low, high = map(_percent, interval)
        parts.append(span(low, max(high, low + 1), 3.8, 2.4, class_="reach"))
    # The box gives the cell of the table a width to start from.
    return svg("bar", 10, *parts, viewBox="0 0 100 10", preserveAspectRatio="none")


def _percent(share: float) -> float:
    return 100 * min(max(float(share), 0.0), 1.0) if math.isfinite(share) else 0.0


def gauge(
    value: float, interval: tuple[float, float], *, zones: Sequence[float], label: str
) -> Svg:
    """One number between 0 and 1 with its interval; notches at the limits of the zones."""
    at = _percent(value)
    low, high = (_percent(end) if math.isfinite(end) else at for end in interval)
    places = [across(_percent(zone)) for zone in zones]
    return svg(
        "chart gauge",
        20,
        span(0, 100, 5, 10, rx=5, class_="trough"),
        *[tag("line", x1=x, x2=x, y1=5, y2=15, class_="notch") for x in places],
        span(low, max(high, low + 0.4), 6.5, 7, rx=3.5, class_="reach"),
        tag("circle", cx=across(at), cy=10, r=8, class_="pointer"),
        label=label,
    )


def boxes(groups: Sequence[str], quantiles: Array, label: str) -> Strips:
    """For each group a line from 5 to 95 %, a box from 25 to 75 % and a stroke at the median."""
    values = finite(np.ravel(quantiles)) or [0.0]
    low, high = min(values), max(values)
    if low == high:
        low, high = low - 0.5, high + 0.5
    scale = Scale(low, high, 1, 99)
    marks = _at_least_two(low, high)
    grid = join(
        tag("line", x1=across(at), x2=across(at), y1=0, y2=ROW, class_="grid")
        for at in scale.each(marks)
    )
    rows = [
        Strip(group, svg("strip", ROW, grid, _box(row.tolist(), scale)))
        for group, row in zip(groups, np.asarray(quantiles, dtype=np.float64), strict=True)
    ]
    labels = [(scale(value), number(value)) for value in marks]
    # The small charts are about as wide on a phone as on a large screen.
    axis = svg("strip", ROW, tick_labels(labels, 14, (170, 170)))
    return Strips(label, rows, axis)


def _at_least_two(low: float, high: float) -> list[float]:
    """About three round numbers, and no fewer than two."""
    return next(
        (found for count in (3, 4, 5, 6) if len(found := ticks(low, high, count)) > 1),
        ticks(low, high, 8),
    )


def proportions(groups: Sequence[str], shares: Sequence[float], label: str) -> Strips:
    """For each group a bar as long as its share of ones."""
    rows = []
    for group, share in zip(groups, shares, strict=True):
        parts = [span(0, 100, 5, ROW - 10, class_="trough")]
        parts.append(span(0, _percent(share), 5, ROW - 10, class_="length"))
        rows.append(Strip(group, svg("strip", ROW, *parts), percent(share, 0)))
    return Strips(label, rows)


def _box(row: Sequence[float], scale: Scale) -> Svg:
    if not all(map(math.isfinite, row)):
        return Svg("")
    p5, p25, p50, p75, p95 = scale.each(row)
    hint = f"median {number(row[2])}, middle half {number(row[1])} to {number(row[3])}"
    middle, median = ROW / 2, across(p50)
    return tag(
        "g",
        tag("title", hint),
        tag("line", x1=across(p5), x2=across(p95), y1=middle, y2=middle, class_="whisker"),
        span(p25, max(p75, p25 + 0.6), middle - 5.5, 11, rx=2, class_="box"),
        tag("line", x1=median, x2=median, y1=middle - 7, y2=middle + 7, class_="median"),
        class_="s0",
    )


@dataclass(frozen=True)
class Interval:
    """A named value with the interval around it, and the words for it."""

    name: str
    value: float
    half: float
    words: str
    style: str = "s0"


def dots(
    values: Sequence[Interval],
    levels: Sequence[tuple[float, str]],
    label: str,
    *,
    y_format: Callable[[float], str] = number,
    limits: tuple[float, float] = (-math.inf, math.inf),
) -> Strips:
    """A dot and its interval in each row, over one axis; ``levels`` are upright lines.

    ``levels`` have a value, and the class of the line; ``limits`` are what no value goes beyond.
    """

    def end(one: Interval, sign: int) -> float:
        return min(max(one.value + sign * one.half, limits[0]), limits[1])

    ends = [end(one, sign) for one in values for sign in (-1, 1)]
    known = finite([*ends, *(value for value, _ in levels)]) or [0.0]
    low, high = min(known), max(known)
    if low == high:
        low, high = low - 0.5, high + 0.5
    scale = Scale(low, high, 2, 98)
    marks = ticks(low, high, 5)
    lines = join(
        tag("line", x1=across(scale(at)), x2=across(scale(at)), y1=0, y2=ROW, class_=class_)
        for at, class_ in [*((mark, "grid") for mark in marks), *levels]
    )
    rows = []
    for one in values:
        parts = [lines]
        if math.isfinite(one.value):
            a, b = (across(scale(end(one, sign))) for sign in (-1, 1))
            whisker = tag("line", x1=a, x2=b, y1=ROW / 2, y2=ROW / 2, class_="whisker")
            dot = tag("circle", cx=across(scale(one.value)), cy=ROW / 2, r=5, class_="dot")
            parts.append(tag("g", tag("title", one.words), whisker, dot, class_=one.style))
        rows.append(Strip(one.name, svg("strip", ROW, *parts), one.words))
    labels = [(scale(at), y_format(at)) for at in marks]
    axis = svg("strip", ROW, tick_labels(labels, 14, (560, 130)))
    return Strips(label, rows, axis)


def signed_bars(names: Sequence[str], values: Sequence[float], label: str) -> Strips:
    """Bars to the right for positive numbers, to the left for negative ones."""
    largest = max(map(abs, finite(values)), default=0.0) or 1.0
    scale = Scale(-largest, largest, 0, 100)
    zero = tag("line", x1="50%", x2="50%", y1=0, y2=ROW, class_="rule")
    rows = []
    for name, value in zip(names, values, strict=True):
        low, high = sorted([50.0, scale(value if math.isfinite(value) else 0.0)])
        length = span(low, high, 3, ROW - 6, class_="minus" if value < 0 else "plus")
        rows.append(Strip(name, svg("strip", ROW, length, zero), number(value)))
    return Strips(label, rows)


def runs(names: Sequence[str], ks: Sequence[int], member: Array, label: str) -> Strips:
    """For each feature a bar over those numbers of features at which it is selected."""
    unit = 100 / max(1, len(ks))
    base = tag("line", x1=0, x2="100%", y1=ROW / 2, y2=ROW / 2, class_="grid")
    rows = []
    for name, row in zip(names, member, strict=True):
        bars = []
        for start, stop in _true_runs(row):
            until = f" to {ks[stop - 1]}" if stop - start > 1 else ""
            hint = tag("title", f"k = {ks[start]}{until}")
            bars.append(span(unit * start, unit * stop, 4, ROW - 8, hint, rx=2, class_="plus"))
        rows.append(Strip(name, svg("strip", ROW, base, *bars)))
    every = math.ceil(len(ks) / 18)
    labels = [(unit * (at + 0.5), f"{ks[at]:,}") for at in range(0, len(ks), every)]
    axis = svg("strip", ROW, tick_labels(labels, 14, (560, 170)))
    return Strips(label, rows, axis, "number of features k")


def _true_runs(mask: Array) -> list[tuple[int, int]]:
    """Where each run of True starts and stops."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], np.asarray(mask, dtype=int), [0]])))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))
