"""A line chart is well-formed, has no colours of its own, and its marks are where they belong."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest

from rowsparse.report.lines import Series, line_chart, stairs, style_class, tick_labels

from .reading import classed, parse, place
from .samples import HOSTILE

WORDS = {"label": "What it shows.", "x_label": "k", "y_label": "score"}


def test_hostile_names_are_text_and_nothing_has_a_style() -> None:
    root = parse(
        line_chart(
            [Series(HOSTILE[0], [1, 2, 3], [1.0, math.nan, 2.0], ([0, 0, 1], [2, 2, 3]))],
            label=HOSTILE[1],
            x_label=HOSTILE[2],
            y_label=HOSTILE[3],
            mark=(2, HOSTILE[4]),
            levels=[(1.5, HOSTILE[5])],
        )
    )
    (plot,) = classed(root, "chart")
    assert plot.get("aria-label") == HOSTILE[1]
    assert [one.text for one in classed(root, "note")] == [HOSTILE[5], HOSTILE[4]]
    assert [one.text for one in classed(root, "axis")] == [HOSTILE[3], HOSTILE[2]]
    assert {one.tag for one in root.iter()}.isdisjoint({"script", "img", "style"})
    for one in root.iter():
        assert {"style", "fill", "stroke"}.isdisjoint(one.attrib)
        assert not [key for key in one.attrib if key.startswith("on")]


def test_nothing_leaves_the_chart_and_places_across_are_percentages() -> None:
    one = Series("", range(1, 31), [0.9 - 0.5 / k for k in range(1, 31)])
    root = parse(line_chart([one], height=250, **WORDS))
    for element in classed(root, "chart")[0].iter():
        for key in ("x", "x1", "x2", "cx"):
            assert 0 <= float(element.get(key, "0").removesuffix("%")) <= 100
            assert element.get(key, "0%").endswith("%") or element.get(key) == "0"
        for key in ("y", "y1", "y2", "cy"):
            assert 0 <= float(element.get(key, "0")) <= 250


def test_nan_and_infinity_never_reach_the_markup() -> None:
    nothing = [math.nan, math.inf, -math.inf]
    for series in ([Series("a", [1, 2, 3], nothing, (nothing, nothing))], [Series("a", [], [])]):
        for log_x in (False, True):
            root = parse(line_chart(series, log_x=log_x, **WORDS))
            values = " ".join(value for one in root.iter() for value in one.attrib.values())
            assert "nan" not in values
            assert "inf" not in values


def test_a_line_goes_through_its_points() -> None:
    root = parse(line_chart([Series("a", [1, 2, 4], [0.0, 1.0, 0.5])], **WORDS))
    dots = [place(dot, "cx", "cy") for dot in classed(root, "dot")]
    (x1, y1), (x2, y2), (x4, y4) = dots
    assert x2 - x1 == pytest.approx((x4 - x1) / 3, abs=0.02)
    assert y1 > y4 > y2  # upwards is less
    assert y4 == pytest.approx((y1 + y2) / 2, abs=0.02)
    titles = [dot.findtext("title") for dot in classed(root, "dot")]
    assert titles == ["a: 0 at 1", "a: 1 at 2", "a: 0.5 at 4"]
    (line,) = classed(root, "line")
    corners = [tuple(map(float, pair.split(","))) for pair in line.get("points", "").split()]
    assert corners == [pytest.approx(dot, abs=0.06) for dot in dots]


def test_a_band_reaches_from_low_to_high() -> None:
    one = Series("", [1, 2], [0.5, 0.5], ([0.0, 0.4], [1.0, 0.6]))
    (band,) = classed(parse(line_chart([one], **WORDS)), "band")
    heights = [float(pair.split(",")[1]) for pair in band.get("points", "").split()]
    assert len(heights) == 4
    assert heights[3] < heights[2] < heights[1] < heights[0]


def test_the_band_of_a_single_point_is_a_stroke() -> None:
    one = Series("", [5], [0.5], ([0.4], [0.7]))
    root = parse(line_chart([one], **WORDS))
    (stroke,), (dot,) = classed(root, "whisker"), classed(root, "dot")
    low, high = place(stroke, "y1", "y2")
    assert high < place(dot, "cy")[0] < low


def test_marks_and_levels_stand_where_they_should() -> None:
    root = parse(
        line_chart(
            [Series("", [1, 10], [0.0, 1.0])],
            mark=(10, "taken: 10"),
            levels=[(1.0, "all")],
            **WORDS,
        )
    )
    last = classed(root, "dot")[-1]
    assert place(classed(root, "mark")[0], "x1") == place(last, "cx")
    assert place(classed(root, "level")[0], "y1") == place(last, "cy")
    words = {one.text: one.get("text-anchor") for one in classed(root, "note")}
    assert words == {"all": "start", "taken: 10": "end"}


def test_limits_keep_an_axis_within_the_possible() -> None:
    one = Series("", [10, 20], [0.99, 1.0], ([0.9, 0.9], [1.1, 1.1]))
    texts = {tick.text for tick in classed(parse(line_chart([one], **WORDS)), "tick")}
    assert "1.05" in texts
    root = parse(line_chart([one], limits=(0.0, 1.0), **WORDS))
    texts = {tick.text for tick in classed(root, "tick")}
    assert "1" in texts
    assert "1.05" not in texts


def test_a_logarithmic_axis_leaves_out_what_is_not_positive() -> None:
    one = Series("", [0.0, 0.01, 0.1, 1.0], [1.0, 2.0, 3.0, 4.0])
    dots = classed(parse(line_chart([one], log_x=True, **WORDS)), "dot")
    a, b, c = (place(dot, "cx")[0] for dot in dots)
    assert b - a == pytest.approx(c - b, abs=0.02)


def test_labels_never_overlap_and_fewer_are_left_on_a_phone() -> None:
    labels = [(at * 1.0, f"{1000 + at:,}") for at in range(101)]
    texts = list(parse(tick_labels(labels, 10, (700, 240))))
    for width, kept in (
        (700, texts),
        (240, [one for one in texts if "extra" not in one.get("class", "").split()]),
    ):
        places = [place(one, "x")[0] / 100 * width for one in kept]
        gaps = [b - a for a, b in pairwise(places)]
        assert len(kept) > 3
        assert min(gaps) > 35  # as wide as "1,000" in 12.5 pixels


def test_stairs_keep_each_value_until_the_next() -> None:
    assert stairs([0, 2], [5, 3]) == ([0, 2, 2], [5, 5, 3])
    assert stairs([1], [4]) == ([1], [4])


def test_series_beyond_the_colours_are_dashed() -> None:
    assert style_class(0) == "s0"
    assert style_class(9) == "s1 dash1"
    assert len({style_class(at) for at in range(24)}) == 24


def test_the_words_of_a_level_stand_where_no_line_is() -> None:
    rising = Series("", [1, 2, 3], [0.0, 0.5, 1.0])
    # Near the start of the line there is no room below, near its end none above.
    root = parse(line_chart([rising], levels=[(0.1, "low"), (0.95, "high")], **WORDS))
    anchors = {one.text: one.get("text-anchor") for one in classed(root, "halo")}
    assert anchors == {"low": "end", "high": "start"}


def test_two_levels_close_together_have_their_words_apart() -> None:
    flat = Series("", [1, 2], [0.0, 0.0])
    root = parse(line_chart([flat], levels=[(1.0, "first"), (1.01, "second")], **WORDS))
    first, second = ((one.get("text-anchor"), place(one, "y")[0]) for one in classed(root, "halo"))
    assert first[0] != second[0] or abs(first[1] - second[1]) > 12
