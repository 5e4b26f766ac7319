"""The page of a comparison has every method and number of features."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from matplotlib.figure import Figure

from rowsparse.evaluation import Record, SelectionCurve
from rowsparse.report import comparison_charts, comparison_page
from rowsparse.report.charts import _fit_to_figure
from rowsparse.report.comparison import _MOST_AGREED, _agreement, method_rows
from rowsparse.workflow.results import ComparisonResult

from ..plotting.looking import overlapping
from . import samples
from .made import made, parsed
from .reading import Page, plain


def test_the_comparison_has_a_row_for_every_method_and_k() -> None:
    page = parsed("comparison")
    rows = made("comparison").partition('id="method-table"')[2].partition("</table>")[0]
    assert rows.count("<tr") == 1 + 5 * 3
    words = page.text["main"]
    assert "The protocol is honest" in words
    assert "ValueError: too few rows" in words
    assert "Stability" in words


def test_the_best_of_each_k_is_bold() -> None:
    assert made("comparison").count('class="number best"') == 3


def one_k() -> ComparisonResult:
    result = samples.comparison()
    records = [record for record in result.curve.records if record.k == 10]
    return dataclasses.replace(result, curve=dataclasses.replace(result.curve, records=records))


def test_one_k_is_a_list_sorted_by_score_with_reference_lines() -> None:
    result = one_k()
    text = comparison_page(result)
    page = Page(text)
    assert "The methods, best first" in page.text["h2"]
    assert "Score against the number of features" not in page.text["h2"]
    methods = [
        row.method
        for row in sorted(method_rows(result.curve), key=lambda row: -row.mean)
        if row.mean > 0
    ]
    chart, _ = comparison_charts(result)
    axes = Figure((10, chart.height / 72)).add_subplot()
    chart.draw(axes)
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names[: len(methods)] == methods
    assert sorted(names) == sorted(result.curve.selectors)
    levels = [line for line in axes.lines if line.get_linestyle() == "--"]
    assert [line.get_xdata()[0] for line in levels] == [0.93]
    words = plain(page.text["main"])
    assert "ashed line: all features 93.0 %" in words
    assert "outside of the chart: guessing 41.0 %" in words


def test_lower_is_better_for_errors() -> None:
    result = one_k()
    records = [
        dataclasses.replace(record, scores={"log_loss": record.scores.get("accuracy", 0.0)})
        for record in result.curve.records
    ]
    curve = dataclasses.replace(result.curve, records=records, metric="log_loss")
    best = min((row for row in method_rows(curve) if row.mean > 0), key=lambda row: row.mean)
    words = plain(Page(comparison_page(dataclasses.replace(result, curve=curve))).text["main"])
    assert f"The lowest log loss, {best.mean:.3f}, was reached by {best.method}" in words


def test_the_table_of_methods_becomes_cards() -> None:
    text = made("comparison")
    assert 'id="method-table" class="results ranked"' in text
    assert text.count('<span class="cell-label">Redundancy</span>') == 15


def test_published_scores_are_said_to_be_too_high() -> None:
    words = parsed("published").text["main"]
    assert "these scores are too high" in words
    assert "Stability is 1" not in words


def test_methods_that_failed_do_not_count_as_compared() -> None:
    result = samples.comparison(("TopK", "RFS", "MRMR"))
    records = [
        Record(r.selector, r.estimator, r.protocol, r.k, r.split, error="ValueError: no")
        if r.selector == "RFS"
        else r
        for r in result.curve.records
    ]
    curve = dataclasses.replace(result.curve, records=records)
    page = Page(comparison_page(dataclasses.replace(result, curve=curve)))
    assert page.text["h1"].startswith("2 methods compared")
    assert "2 methods picked 5, 10 and 20 of" in plain(page.text["main"])


@pytest.mark.parametrize("n_methods", [2, 24])
def test_every_method_has_its_line_its_point_and_its_entry_of_the_legend(n_methods: int) -> None:
    names = tuple(f"method {at}" for at in range(n_methods))
    result = samples.comparison(names)
    scores, times = comparison_charts(result)
    axes = Figure((10, scores.height / 72)).add_subplot()
    scores.draw(axes)
    lines = [one for one in axes.lines if one.get_marker() == "o"]
    assert [line.get_gid() for line in lines] == [f"series-{at}" for at in range(n_methods)]
    assert len({(line.get_color(), line.get_linestyle()) for line in lines}) == n_methods
    means = [
        [row.mean for row in method_rows(result.curve) if row.method == name] for name in names
    ]
    assert np.allclose([line.get_ydata() for line in lines], means, equal_nan=True)
    assert axes.get_legend() is None
    axes = Figure((10, times.height / 72), dpi=72).add_subplot()
    times.draw(axes)
    _fit_to_figure(axes)
    times.finish(axes)
    assert axes.texts
    assert [line.get_gid() for line in axes.lines] == [f"series-{at}" for at in range(n_methods)]
    assert axes.get_xscale() == "log"
    assert overlapping(list(axes.texts)) == []
    assert scores.file().count("method 1") >= 1


NAMES = tuple(f"f{j}" for j in range(100))


def supports(**chosen: list[tuple[int, ...]]) -> SelectionCurve:
    records = [
        Record(method, "SVM", "honest", 2, split, support=support)
        for method, every in chosen.items()
        for split, support in enumerate(every)
    ]
    return SelectionCurve(records, "classification", "honest", 100)


def test_features_that_most_methods_agree_on_come_first() -> None:
    found = _agreement(
        supports(
            A=[(0, 1), (0, 1), (0, 1), (0, 1)],
            B=[(0, 2), (0, 2), (3, 2), (3, 1)],
            C=[(5, 6), (5, 6), (5, 6), (5, 0)],
        ),
        NAMES,
        2,
    )
    assert found is not None
    assert list(found.chart.rows[:2]) == ["f0", "f1"]
    assert set(found.chart.rows) == {"f0", "f1", "f2", "f3", "f5", "f6"}
    assert [plain(cell.text) for cell in found.chart.cells[0]] == ["100 %", "50 %", "25 %"]
    assert "no feature is selected by all 3 methods" in found.sentence
    found = _agreement(supports(A=[(0, 1)], B=[(1, 2)]), NAMES, 2)
    assert found is not None
    assert plain(found.sentence).endswith(
        "selected by all 2 methods in at least half of the folds: f1."
    )


def test_too_many_features_are_counted_and_one_method_has_nobody_to_agree_with() -> None:
    found = _agreement(supports(A=[tuple(range(50))], B=[tuple(range(40))]), NAMES, 2)
    assert found is not None
    assert (len(found.chart.rows), found.n_left_out) == (_MOST_AGREED, 50 - _MOST_AGREED)
    assert _agreement(supports(A=[(0, 1)]), NAMES, 2) is None
    assert _agreement(supports(A=[(0, 1)], B=[(0, 1)]), (), 2) is None
