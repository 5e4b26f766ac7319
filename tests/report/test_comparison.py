"""The page of a comparison has every method and number of features."""

from __future__ import annotations

import dataclasses

from rowsparse.evaluation import Record
from rowsparse.report import comparison_page

from . import samples
from .made import made, parsed
from .reading import Page, plain


def test_the_comparison_has_a_row_for_every_method_and_k() -> None:
    page = parsed("comparison")
    assert (
        len(page.every("tr")) == 1 + 5 * 3 + 2 + 3 + 4 + 3
    )  # with data, settings, versions, times
    words = page.text["main"]
    assert "The protocol is honest" in words
    assert "ValueError: too few rows" in words
    assert "Stability" in words


def test_the_best_of_each_k_is_bold() -> None:
    assert made("comparison").count('class="number best"') == 3


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
