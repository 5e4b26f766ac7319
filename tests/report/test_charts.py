"""Every chart is well-formed SVG without colours of its own, its marks where they belong."""

from __future__ import annotations

import base64
import io
import math
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import numpy as np
import pytest

from rowsparse.report.bars import bar, box_rows, gauge, signed_bars
from rowsparse.report.charts import Level, Mark, Series, line_chart, stairs, style_class
from rowsparse.report.grids import (
    confusion_matrix,
    membership,
    pixel_picture,
    png_uri,
    signed_heat_map,
    triangle_heat_map,
)
from rowsparse.report.svg import NARROW, WIDE, Scale, Svg, log_ticks, tag, ticks

from .samples import HOSTILE

WORDS = {"name": "chart", "title": "A chart", "desc": "What it shows."}
AXES = {"x_label": "k", "y_label": "score"}


def parse(svg: Svg) -> Element:
    return ElementTree.fromstring(svg)


def classed(root: Element, name: str) -> list[Element]:
    return [one for one in root.iter() if name in (one.get("class") or "").split()]


def place(element: Element, *names: str) -> list[float]:
    return [float(element.get(name, "nan")) for name in names]


def every_chart(width: float, names: tuple[str, ...] = HOSTILE) -> dict[str, Svg]:
    n = len(names)
    rng = np.random.default_rng(0)
    table = rng.normal(size=(n, n))
    how: Any = {**WORDS, "width": width}
    return {
        "line": line_chart(
            [Series(names[0], [1, 2, 3], [1.0, math.nan, 2.0], ([0, 0, 1], [2, 2, 3]))],
            marks=[Mark(2, names[1])], levels=[Level(1.5, names[2])], **AXES, **how,
        ),
        "gauge": gauge(0.5, (0.4, 0.6), ends=("0", "1"), zones=(0.4,), **how),
        "boxes": box_rows(names, rng.normal(size=(n, 5)).cumsum(axis=1).tolist(), **how),
        "bars": signed_bars(names, rng.normal(size=n).tolist(), **how),
        "triangle": triangle_heat_map(np.corrcoef(table), names, **how),
        "heat": signed_heat_map(table, names, names, **how),
        "confusion": confusion_matrix(names, np.abs(10 * table).astype(int), **how),
        "membership": membership(names, range(1, 31), rng.random((n, 30)) > 0.5, **how),
        "pixels": pixel_picture(rng.random((4, 6)), [0, 23], low=0.0, high=1.0, **WORDS),
    }  # fmt: skip


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_every_chart_is_well_formed_titled_and_free_of_styles(width: float) -> None:
    for name, svg in every_chart(width).items():
        root = parse(svg)
        assert root.get("role") == "img", name
        assert [child.tag for child in root[:2]] == ["title", "desc"], name
        ids = [one.get("id") for one in root.iter() if one.get("id")]
        assert root.get("aria-labelledby", "").split() == ids, name
        for one in root.iter():
            assert one.tag != "script", name
            assert "style" not in one.attrib, name
            assert not [key for key in one.attrib if key.startswith("on")], name
            assert one.get("fill") is None, name
            assert one.get("stroke") is None, name


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_no_mark_leaves_its_chart(width: float) -> None:
    names = tuple(f"name {at}" for at in range(12))
    for name, svg in every_chart(width, names).items():
        root = parse(svg)
        wide, high = map(float, root.get("viewBox", "").split()[2:])
        for one in root.iter("rect"):
            x, y, w, h = place(one, "x", "y", "width", "height")
            assert min(x, y) >= -0.01, name
            assert x + w <= wide + 0.01, name
            assert y + h <= high + 0.01, name
        for one in root.iter("text"):
            x, y = place(one, "x", "y")
            assert 0 <= x <= wide, name
            assert 0 <= y <= high, name


def test_nan_and_infinity_never_reach_the_markup() -> None:
    nothing = [math.nan, math.inf, -math.inf]
    holes = Series("a", [1, 2, 3], nothing, (nothing, nothing))
    charts = [
        line_chart([holes], width=WIDE, **AXES, **WORDS),
        line_chart([Series("a", [], [])], width=WIDE, **AXES, **WORDS),
        box_rows(["a"], [[*nothing, 1.0, 2.0]], **WORDS),
        signed_bars(["a", "b", "c"], nothing, width=WIDE, **WORDS),
        signed_heat_map(np.array([nothing]), ["a"], ["x", "y", "z"], width=WIDE, **WORDS),
        bar(math.nan, (math.nan, 1.0)),
        gauge(0.3, (math.nan, math.nan), width=WIDE, ends=("", ""), **WORDS),
    ]  # fmt: skip
    for svg in charts:
        numbers = [value for one in parse(svg).iter() for value in one.attrib.values()]
        assert not [value for value in numbers if value in ("nan", "inf", "-inf")]


def test_a_line_goes_through_its_points() -> None:
    svg = line_chart([Series("a", [1, 2, 4], [0.0, 1.0, 0.5])], width=WIDE, **AXES, **WORDS)
    dots = [place(dot, "cx", "cy") for dot in classed(parse(svg), "dot")]
    (x1, y1), (x2, y2), (x4, y4) = dots
    assert x2 - x1 == pytest.approx((x4 - x1) / 3, abs=0.02)
    assert y1 > y4 > y2  # upwards is less
    assert y4 == pytest.approx((y1 + y2) / 2, abs=0.02)
    titles = [dot.findtext("title") for dot in classed(parse(svg), "dot")]
    assert titles == ["a: 0 at 1", "a: 1 at 2", "a: 0.5 at 4"]


def test_a_band_reaches_from_low_to_high() -> None:
    one = Series("", [1, 2], [0.5, 0.5], ([0.0, 0.4], [1.0, 0.6]))
    root = parse(line_chart([one], width=WIDE, **AXES, **WORDS))
    (band,) = classed(root, "band")
    corners = [tuple(map(float, p.split(","))) for p in band.get("points", "").split()]
    heights = [y for _, y in corners]
    assert len(corners) == 4
    assert heights[3] < heights[2] < heights[1] < heights[0]


def test_marks_and_levels_stand_where_they_should() -> None:
    root = parse(
        line_chart(
            [Series("", [1, 10], [0.0, 1.0])],
            width=WIDE, marks=[Mark(10, "taken: 10")], levels=[Level(1.0, "all")], **AXES, **WORDS,
        )
    )  # fmt: skip
    last = classed(root, "dot")[-1]
    assert place(classed(root, "mark")[0], "x1") == place(last, "cx")
    assert place(classed(root, "level")[0], "y1") == place(last, "cy")


def test_limits_keep_an_axis_within_the_possible() -> None:
    one = Series("", [10, 20], [0.99, 1.0], ([0.9, 0.9], [1.1, 1.1]))
    root = parse(line_chart([one], width=WIDE, limits=(0.0, 1.0), **AXES, **WORDS))
    texts = [text.text for text in root.iter("text")]
    assert "1" in texts
    assert not {"1.05", "1.1"} & set(texts)


def test_bars_are_as_long_as_their_share() -> None:
    root = parse(bar(0.25, (0.1, 0.5)))
    assert place(classed(root, "length")[0], "width") == [25]
    assert place(classed(root, "reach")[0], "x", "width") == [10, 40]
    assert place(classed(parse(bar(7.0)), "length")[0], "width") == [100]
    assert place(classed(parse(bar(-1.0)), "length")[0], "width") == [0]


def test_boxes_show_the_quantiles_in_order() -> None:
    root = parse(box_rows(["a", "b"], [[0, 1, 2, 3, 4], [6, 7, 8, 9, 10]], **WORDS))
    whisker, box, median = (classed(root, name)[0] for name in ("whisker", "box", "median"))
    (x1, x2), (x, w), (m,) = (
        place(whisker, "x1", "x2"),
        place(box, "x", "width"),
        place(median, "x1"),
    )
    assert x1 < x < m < x + w < x2
    assert m == pytest.approx((x1 + x2) / 2, abs=0.02)
    assert place(classed(root, "median")[1], "x1")[0] > x2


def test_a_heat_map_is_as_strong_as_its_numbers() -> None:
    root = parse(
        signed_heat_map(
            np.array([[1.0, -0.5], [0.0, 0.25]]), ["a", "b"], ["x", "y"], width=WIDE, **WORDS
        )
    )
    shades = [(c.get("class"), float(c.get("fill-opacity", "nan"))) for c in root.iter("rect")]
    assert shades == [("plus", 0.7), ("minus", 0.35), ("plus", 0.0), ("plus", 0.17)]
    titles = [cell.findtext("title") for cell in root.iter("rect")]
    assert titles[1] == "a, y: −0.5"


def test_correlations_are_drawn_once_for_each_pair() -> None:
    r = np.array([[1.0, 0.5, -0.8], [0.5, 1.0, 0.0], [-0.8, 0.0, 1.0]])
    root = parse(triangle_heat_map(r, ["a", "b", "c"], width=WIDE, **WORDS))
    titles = [cell.findtext("title") for cell in root.iter("rect")]
    assert titles == ["2 and 1: r = 0.50", "3 and 1: r = −0.80", "3 and 2: r = 0.00"]


def test_a_confusion_matrix_counts() -> None:
    counts = np.array([[8, 2], [0, 5]])
    root = parse(confusion_matrix(["cat", "dog"], counts, width=WIDE, **WORDS))
    numbers = [text.text for text in classed(root, "in")]
    assert numbers == ["8", "2", "0", "5"]
    assert [cell.get("class") for cell in root.iter("rect")] == ["right", "wrong", "wrong", "right"]
    hint = next(root.iter("rect")).findtext("title")
    assert hint is not None
    assert hint.replace("\u00a0", " ") == "cat taken for cat: 8 (80.0 %)"


def test_membership_draws_a_bar_for_each_run() -> None:
    member = np.array([[1, 1, 1, 1], [0, 1, 0, 1]], dtype=bool)
    root = parse(membership(["a", "b"], [1, 2, 3, 5], member, width=WIDE, **WORDS))
    titles = [run.findtext("title") for run in classed(root, "plus")]
    assert titles == ["a: k = 1 to 5", "b: k = 2", "b: k = 5"]


def test_selected_pixels_lie_over_their_place() -> None:
    root = parse(pixel_picture(np.zeros((4, 6)), [0, 7], low=0, high=1, **WORDS, side=60))
    assert [place(p, "x", "y", "width") for p in classed(root, "pixel")] == [
        [0, 0, 10],
        [10, 10, 10],
    ]
    (image,) = root.iter("image")
    assert image.get("href", "").startswith("data:image/png;base64,")


def test_the_png_holds_the_ink() -> None:
    image = pytest.importorskip("matplotlib.image")
    ink = np.array([[0.0, 0.5, 1.0], [1.0, math.nan, 2.0]])
    data = base64.b64decode(png_uri(ink).partition(",")[2])
    read = image.imread(io.BytesIO(data), format="png")
    np.testing.assert_allclose(read[..., -1], [[0, 128 / 255, 1], [1, 0, 1]], atol=0.003)


def test_stairs_keep_each_value_until_the_next() -> None:
    assert stairs([0, 2], [5, 3]) == ([0, 2, 2], [5, 5, 3])
    assert stairs([1], [4]) == ([1], [4])


def test_ticks_are_round_and_inside() -> None:
    assert ticks(0.31, 0.99, 5) == [0.4, 0.6, 0.8]
    assert ticks(-2, 2, 4) == [-2, -1, 0, 1, 2]
    assert ticks(1e6, 1e6 + 1e-7) != []
    assert ticks(math.nan, 1.0)
    assert log_ticks(0.002, 0.03) == [0.002, 0.005, 0.01, 0.02]
    assert len(log_ticks(1e-9, 1e9)) <= 8


def test_a_scale_is_linear_or_logarithmic() -> None:
    assert Scale(0, 10, 100, 200)(5) == 150
    assert Scale(1, 100, 0, 1, log=True)(10) == pytest.approx(0.5)
    assert Scale(3, 3, 0, 10)(3) == 5


def test_series_beyond_the_colours_are_dashed() -> None:
    assert style_class(0) == "s0"
    assert style_class(9) == "s1 dash1"
    assert len({style_class(at) for at in range(24)}) == 24


def test_text_is_escaped_once_and_markup_not_again() -> None:
    inner = tag("tspan", "a < b & c")
    assert tag("text", inner, title='"quoted"') == (
        '<text title="&quot;quoted&quot;"><tspan>a &lt; b &amp; c</tspan></text>'
    )
