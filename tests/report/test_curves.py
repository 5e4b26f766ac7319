"""The curve of scores: its band, its mark and its limits."""

from __future__ import annotations

import math

from rowsparse.report.curves import k_curve, mean_and_band, score_axis
from rowsparse.workflow.results import KCurve

from .reading import classed, parse, place, plain


def test_the_band_is_one_standard_deviation_and_nothing_where_it_is_unknown() -> None:
    mean, (low, high) = mean_and_band((0.5, 0.75), (0.25, math.nan))
    assert (mean, low, high) == ([0.5, 0.75], [0.25, 0.75], [0.75, 0.75])


def test_only_r2_may_be_negative() -> None:
    assert score_axis("accuracy")["limits"] == (0.0, 1.0)
    assert score_axis("r2")["limits"] == (-math.inf, 1.0)
    assert plain(score_axis("accuracy")["y_format"](0.5)) == "50 %"


def test_the_chosen_k_is_marked() -> None:
    curve = KCurve("accuracy", (1, 5, 10), (0.7, 0.9, 0.91), (0.02,) * 3, 10, 5, 5)
    root = parse(k_curve(curve, "taken", (0.95, "all features")))
    (mark,), dots = classed(root, "mark"), classed(root, "dot")
    assert place(mark, "x1") == place(dots[1], "cx")
    assert [one.text for one in classed(root, "note")] == ["all features", "taken: 5"]
