"""The page of a comparison has every method and number of features."""

from __future__ import annotations

import dataclasses

from rowsparse.evaluation import Record
from rowsparse.report import comparison_page
from rowsparse.report.comparison import _rows
from rowsparse.workflow.results import ComparisonResult

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
        row.method for row in sorted(_rows(result.curve), key=lambda row: -row.mean) if row.mean > 0
    ]
    strips = text[text.index('id="scores"') :]
    places = [strips.index(f">{method}</bdi>") for method in methods]
    assert places == sorted(places)
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
    best = min((row for row in _rows(curve) if row.mean > 0), key=lambda row: row.mean)
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
