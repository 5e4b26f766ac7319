"""Charts of one row each: their lengths are those of the numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rowsparse.report.strips import (
    Interval,
    bar,
    boxes,
    dots,
    gauge,
    proportions,
    runs,
    signed_bars,
)
from rowsparse.report.svg import Svg

from .reading import classed, parse, place


def test_bars_are_as_long_as_their_share() -> None:
    root = parse(bar(0.25, (0.1, 0.5)))
    assert place(classed(root, "length")[0], "width") == [25]
    assert place(classed(root, "reach")[0], "x", "width") == [10, 40]
    assert place(classed(parse(bar(7.0)), "length")[0], "width") == [100]
    assert place(classed(parse(bar(-1.0)), "length")[0], "width") == [0]


def test_a_gauge_shows_the_value_its_interval_and_the_zones() -> None:
    root = parse(gauge(0.7, (0.6, 0.75), zones=(0.4, 0.75), label="stable"))
    assert place(classed(root, "pointer")[0], "cx") == [70]
    assert place(classed(root, "reach")[0], "x", "width") == [60, 15]
    assert [place(notch, "x1") for notch in classed(root, "notch")] == [[40], [75]]
    assert classed(root, "chart")[0].get("aria-label") == "stable"


def test_boxes_show_the_quantiles_in_order() -> None:
    chart = boxes(["a", "b"], np.array([[0, 1, 2, 3, 4], [6, 7, 8, 9, 10.0]]), "x")
    assert [row.name for row in chart.rows] == ["a", "b"]
    first, second = (parse(row.drawing) for row in chart.rows)
    (whisker,), (box,), (median,) = (classed(first, n) for n in ("whisker", "box", "median"))
    x1, x2 = place(whisker, "x1", "x2")
    x, width = place(box, "x", "width")
    (middle,) = place(median, "x1")
    assert x1 < x < middle < x + width < x2
    assert middle == pytest.approx((x1 + x2) / 2, abs=0.02)
    assert place(classed(second, "median")[0], "x1")[0] > x2
    assert chart.axis is not None
    assert [tick.text for tick in classed(parse(chart.axis), "tick")] == ["0", "5", "10"]


def test_signed_bars_go_to_both_sides_of_the_middle() -> None:
    chart = signed_bars(["a", "b"], [2.0, -1.0], "x")
    assert [row.value for row in chart.rows] == ["2", "−1"]
    (plus,) = classed(parse(chart.rows[0].drawing), "plus")
    (minus,) = classed(parse(chart.rows[1].drawing), "minus")
    assert place(plus, "x", "width") == [50, 50]
    assert place(minus, "x", "width") == [25, 25]


def test_runs_have_a_bar_each() -> None:
    member = np.array([[1, 1, 1, 1], [0, 1, 0, 1]], dtype=bool)
    chart = runs(["a", "b"], [1, 2, 3, 5], member, "x")
    bars = [classed(parse(row.drawing), "plus") for row in chart.rows]
    assert [[one.findtext("title") for one in row] for row in bars] == [
        ["k = 1 to 5"],
        ["k = 2", "k = 5"],
    ]
    assert [place(one, "x", "width") for row in bars for one in row] == [
        [0, 100],
        [25, 25],
        [75, 25],
    ]


def test_nan_and_infinity_never_reach_the_markup() -> None:
    nothing = [math.nan, math.inf, -math.inf]
    drawings: list[Svg] = [
        bar(math.nan, (math.nan, 1.0)),
        gauge(0.3, (math.nan, math.nan), zones=(), label="x"),
        *[row.drawing for row in boxes(["a"], np.array([[*nothing, 1.0, 2.0]]), "x").rows],
        *[row.drawing for row in signed_bars(["a", "b", "c"], nothing, "x").rows],
    ]
    for drawing in drawings:
        assert "nan" not in drawing
        assert "inf" not in drawing


def test_dots_and_reference_lines_share_an_axis() -> None:
    values = [Interval("a", 0.9, 0.2, "90 %"), Interval("b", 0.5, 0.1, "50 %")]
    chart = dots(values, [(0.7, "level")], "scores", limits=(0.0, 1.0))
    assert [(row.name, row.value) for row in chart.rows] == [("a", "90 %"), ("b", "50 %")]
    roots = [parse(row.drawing) for row in chart.rows]
    first, second = (place(classed(root, "dot")[0], "cx")[0] for root in roots)
    level = place(classed(roots[0], "level")[0], "x1")[0]
    assert second < level < first
    assert level == pytest.approx((first + second) / 2)
    # No interval goes beyond what is possible.
    assert place(classed(roots[0], "whisker")[0], "x2")[0] == 98


@pytest.mark.parametrize("ends", [(-1.4, 1.7), (0.01, 0.019), (99.0, 101.0), (-3.0, 0.9)])
def test_boxes_have_two_ticks_at_least(ends: tuple[float, float]) -> None:
    low, high = ends
    chart = boxes(["a"], np.linspace(low, high, 5)[None], "x")
    assert chart.axis is not None
    assert len(classed(parse(chart.axis), "tick")) >= 2


def test_proportions_are_bars_with_their_share() -> None:
    chart = proportions(["a", "b"], [0.25, 1.0], "smokers")
    assert [row.value.replace("\u00a0", " ") for row in chart.rows] == ["25 %", "100 %"]
    lengths = [place(classed(parse(row.drawing), "length")[0], "width")[0] for row in chart.rows]
    assert lengths == [25.0, 100.0]
