"""Markup is escaped, scales and ticks are where they should be."""

from __future__ import annotations

import math

import pytest

from rowsparse.report.svg import Scale, log_ticks, span, svg, tag, text, ticks

from .reading import parse, place


def test_text_is_escaped_once_and_markup_not_again() -> None:
    inner = tag("tspan", "a < b & c")
    assert tag("text", inner, title='"quoted"') == (
        '<text title="&quot;quoted&quot;"><tspan>a &lt; b &amp; c</tspan></text>'
    )
    assert text("5%", 3, "</text><script>", "tick") == (
        '<text x="5%" y="3" class="tick">&lt;/text&gt;&lt;script&gt;</text>'
    )


def test_a_drawing_has_words_or_is_hidden_from_those_who_cannot_see_it() -> None:
    (spoken,) = parse(svg("chart", 20, label="A & B"))
    assert (spoken.get("role"), spoken.get("aria-label")) == ("img", "A & B")
    (silent,) = parse(svg("chart", 20))
    assert silent.get("aria-hidden") == "true"


def test_a_span_reaches_from_start_to_stop() -> None:
    (rect,) = parse(span(20, 32.5, 4, 10))
    assert place(rect, "x", "width", "y", "height") == [20, 12.5, 4, 10]
    assert rect.get("x", "").endswith("%")
    assert not rect.get("y", "").endswith("%")


def test_ticks_are_round_and_inside() -> None:
    assert ticks(0.31, 0.99, 5) == [0.4, 0.6, 0.8]
    assert ticks(-2, 2, 4) == [-2, -1, 0, 1, 2]
    assert len(ticks(1e6, 1e6 + 1e-7)) <= 100
    assert math.isnan(ticks(math.nan, 1.0)[0])
    assert log_ticks(0.002, 0.03) == [0.002, 0.005, 0.01, 0.02]
    assert len(log_ticks(1e-9, 1e9)) <= 8


def test_a_scale_is_linear_or_logarithmic() -> None:
    assert Scale(0, 10, 100, 200)(5) == 150
    assert Scale(1, 100, 0, 1, log=True)(10) == pytest.approx(0.5)
    assert Scale(3, 3, 0, 10)(3) == 5
