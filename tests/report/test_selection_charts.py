"""The charts of a selection hold its numbers, and no name covers anything."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from rowsparse.report import selection_charts, selection_page
from rowsparse.report.charts import _fit_to_figure
from rowsparse.report.selection import (
    _MOST_CURVES,
    _drawn_classes,
    _observed,
)
from rowsparse.workflow.columns import SURVIVAL
from rowsparse.workflow.results import (
    ClassScore,
    KCurve,
    NumberScore,
    ProgressPoint,
    SelectionResult,
    SurvivalScore,
)

from ..plotting.looking import overlapping
from . import samples
from .reading import plain


def drawn(result: SelectionResult, name: str, width: float = 10.0) -> Any:
    """The axes of the chart of a name."""
    (chart,) = [one for one in selection_charts(result) if one.name == name]
    axes = Figure((width, chart.height / 72), dpi=72).add_subplot()
    chart.draw(axes)
    _fit_to_figure(axes)
    chart.finish(axes)
    return axes


def row_names(axes: Any) -> list[str]:
    return [label.get_text() for label in axes.get_yticklabels()]


def test_what_was_measured_has_a_chart() -> None:
    names = [chart.name for chart in selection_charts(samples.with_tests(samples.digits()))]
    assert names == ["volcano", "curve", "stability", "search", "roc", "precision-recall"]
    assert [chart.name for chart in selection_charts(samples.numbers_only())] == ["coefficients"]


def test_the_curve_has_its_scores_and_what_they_are_compared_with() -> None:
    curve = KCurve("accuracy", (1, 5, 10), (0.7, 0.9, 0.99), (0.02, math.nan, 0.02), 10, 5, 5)
    axes = drawn(dataclasses.replace(samples.genes(), curve=curve, baseline_score=0.95), "curve")
    line = next(one for one in axes.lines if len(one.get_xdata()) == 3)
    assert line.get_xydata().tolist() == [[1, 0.7], [5, 0.9], [10, 0.99]]
    (errors,) = axes.collections
    # A share is never above 1, and a spread that is not known is not drawn.
    assert [end[1] for _, end in errors.get_segments()] == pytest.approx([0.72, 0.9, 1.0])
    assert [plain(text) for text in axes.get_legend_handles_labels()[1]] == [
        "all features: 95.0 %",
        "k = 5",
    ]
    assert plain(axes.yaxis.get_major_formatter()(0.9)) == "90 %"
    assert axes.get_ylim()[1] < 1.02


@pytest.mark.parametrize("width", [4.4, 10.0])
def test_every_feature_is_a_point_of_the_volcano_and_names_stand_apart(width: float) -> None:
    result = samples.with_tests(samples.genes(8, 300))
    assert result.tests is not None
    axes = drawn(result, "volcano", width)
    chosen = [feature.index for feature in result.features]
    (dots,) = axes.collections
    assert np.allclose(dots.get_offsets()[:, 0], result.tests.effects[chosen])
    assert np.allclose(dots.get_offsets()[:, 1], -np.log10(result.tests.p[chosen]))
    assert [words.partition(":")[0] for words in dots.get_urls()] == [
        feature.name for feature in result.features
    ]
    assert len(axes.lines[0].get_xdata()) == 292
    names = [text for text in axes.texts if text.get_text()]
    assert 3 < len(names) <= 8
    assert overlapping(names) == []


def test_infinite_effects_and_p_of_zero_are_inside() -> None:
    result = samples.with_tests(samples.genes(3, 30))
    assert result.tests is not None
    j = result.features[0].index
    result.tests.effects[j], result.tests.p[j], result.tests.fdr[j] = np.inf, 0.0, 0.0
    (dots,) = drawn(result, "volcano").collections
    assert np.isfinite(dots.get_offsets()).all()


def test_a_volcano_of_many_features_is_a_small_drawing() -> None:
    result = samples.with_tests(samples.genes(20, 20_000))
    assert len(selection_charts(result)[0].file()) < 100_000


def test_coefficients_go_to_both_sides_and_have_their_numbers() -> None:
    result = samples.numbers_only()
    axes = drawn(result, "coefficients")
    values = [feature.coefficients[0] for feature in result.features]
    bars = axes.patches
    assert [bar.get_width() for bar in bars] == values
    assert len({bar.get_facecolor() for bar in bars if bar.get_width() < 0}) <= 1
    assert row_names(axes) == [feature.name for feature in result.features]
    assert axes.yaxis_inverted()


def test_stability_and_its_interval_end_at_one() -> None:
    result = dataclasses.replace(samples.digits(), stability=(0.98, 0.9, 1.07))
    axes = drawn(result, "stability")
    interval, point = axes.lines
    assert interval.get_xdata().tolist() == [0.9, 1.0]
    assert point.get_xdata()[0] == 0.98
    assert [bar.get_x() for bar in axes.patches] == [0.0, 0.4, 0.75]


def test_the_search_is_drawn_with_and_without_a_bound() -> None:
    points = (ProgressPoint(0.1, 281.42), ProgressPoint(0.4, 281.40), ProgressPoint(0.9, 281.38))
    axes = drawn(dataclasses.replace(samples.genes(), progress=points), "search")
    assert axes.get_legend_handles_labels()[1] == ["objective"]
    low, high = axes.get_ylim()
    ticks = [tick for tick in axes.get_yticks() if low <= tick <= high]
    words = {axes.yaxis.get_major_formatter()(tick) for tick in ticks}
    assert len(words) == len(ticks) >= 3
    bounded = tuple(dataclasses.replace(one, lower_bound=one.objective - 1) for one in points)
    axes = drawn(dataclasses.replace(samples.genes(), progress=bounded), "search")
    assert axes.get_legend_handles_labels()[1] == ["objective", "lower bound"]
    assert axes.lines[1].get_ydata().tolist() == pytest.approx([280.42, 280.42, 280.42])


def class_score(name: str, auc: float) -> ClassScore:
    roc, precision = ((0.0, 0.0, 1.0), (0.0, auc, 1.0)), ((1.0, 0.8, 0.0), (0.25, auc, 1.0))
    return ClassScore(name, 5, 0.25, 0.8, 0.9, auc, 0.7, *roc, *precision)


def test_roc_curves_of_one_of_two_classes_and_of_the_worst_of_many() -> None:
    two = (class_score("no", 0.9), class_score("yes", 0.9))
    result = dataclasses.replace(samples.genes(n_classes=2), class_scores=two)
    axes = drawn(result, "roc")
    assert axes.get_legend_handles_labels()[1] == ["yes"]
    assert axes.lines[1].get_xydata().tolist() == [[0, 0], [0, 0.9], [1, 1]]
    assert axes.lines[1].get_gid() == "series-0"
    axes = drawn(result, "precision-recall")
    assert list(axes.lines[0].get_ydata()) == [0.25, 0.25]
    assert axes.lines[1].get_xydata().tolist() == [[1, 0.25], [0.8, 0.9], [0, 1]]
    many = tuple(class_score(f"c{at}", 0.9 - at / 100) for at in range(30))
    found, n_left_out = _drawn_classes(dataclasses.replace(samples.digits(), class_scores=many))
    assert [one.name for one in found] == [f"c{at}" for at in range(30 - _MOST_CURVES, 30)]
    assert n_left_out == 30 - _MOST_CURVES
    nothing = (ClassScore("x", 0, 0.0, math.nan, math.nan, math.nan, math.nan),)
    assert _drawn_classes(dataclasses.replace(samples.digits(), class_scores=nothing)) == ([], 0)


PRICES = NumberScore("price", 1.25, 2.5, (1.0, 2.0, 4.0), (1.5, 1.5, 3.5))


def test_observed_against_predicted() -> None:
    chart = _observed("observed", PRICES)
    axes = Figure().add_subplot()
    chart.draw(axes)
    (points,) = axes.collections
    assert points.get_offsets().tolist() == [[1.5, 1.0], [1.5, 2.0], [3.5, 4.0]]
    (line,) = axes.lines
    assert line.get_slope() == 1.0
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("predicted", "observed")
    assert "RMSE 1.25" in chart.label


def test_the_page_has_a_chart_for_each_number() -> None:
    result = dataclasses.replace(samples.numbers_only(), number_scores=(PRICES,))
    page = plain(selection_page(result))
    assert "is 1.25 (2.5 with the mean as the prediction)." in page
    assert 'id="observed"' in page
    assert "observed" in [chart.name for chart in selection_charts(result)]
    several = [dataclasses.replace(PRICES, name=f"target {at}") for at in range(9)]
    many = dataclasses.replace(result, number_scores=tuple(several))
    names = {chart.name for chart in selection_charts(many)}
    assert {f"observed-{at}" for at in range(1, 7)} <= names
    assert "The first 6 targets are drawn." in plain(selection_page(many))
    assert 'id="observed"' not in selection_page(samples.genes())


def test_the_survival_of_the_halves_is_drawn() -> None:
    y = np.empty(8, dtype=SURVIVAL)
    y["event"], y["time"] = [1, 1, 1, 1, 1, 0, 0, 0], np.arange(1, 9)
    found = SurvivalScore(y, np.arange(8) < 4, 0.0004)
    result = samples.numbers_only()
    data = dataclasses.replace(result.data, task="survival", targets=("months", "died"), n_events=5)
    result = dataclasses.replace(result, metric="concordance", data=data, survival=found)
    axes = drawn(result, "survival")
    higher, lower = axes.lines
    assert higher.get_ydata().tolist() == [1, 0.75, 0.5, 0.25, 0]
    assert lower.get_ydata().tolist() == [1, 0.75, 0.75, 0.75, 0.75]
    assert axes.get_xlabel() == "months"
    assert plain(axes.yaxis.get_major_formatter()(0.5)) == "50 %"
    page = plain(selection_page(result))
    assert "Do higher risks mean earlier events?" in page
    assert "has p = 4.0·10⁻⁴." in page
    assert 'id="survival"' not in selection_page(samples.genes())
