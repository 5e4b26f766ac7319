"""The page of a selection says what was found, and no more."""

from __future__ import annotations

import dataclasses

import numpy as np

from rowsparse.report import selection_page
from rowsparse.report.selection import _MOST_CLASSES, _MOST_DRAWN, _MOST_ROWS
from rowsparse.workflow.results import Alternatives, Certificate, Confusion, ListedFeature

from . import samples
from .made import made, parsed
from .reading import Page


def test_the_selection_is_told_in_the_order_of_the_questions() -> None:
    ids = [a["id"] for a in parsed("digits").every("section")]
    assert ids == [
        "features",
        "tests",
        "curve",
        "correlation",
        "distributions",
        "coefficients",
        "stability",
        "progress",
        "confusion",
        "classes",
        "data",
        "settings",
    ]


def test_what_was_not_measured_has_no_section() -> None:
    ids = [a["id"] for a in parsed("numbers").every("section")]
    assert ids == [
        "features",
        "correlation",
        "distributions",
        "coefficients",
        "stability",
        "data",
        "settings",
    ]
    words = parsed("numbers").text["main"]
    assert "Selected in" not in words
    assert "its stability is not known" in words


def test_the_summary_the_tiles_and_the_settings_are_on_the_page() -> None:
    words = parsed("digits").text["main"].replace("\u00a0", " ")
    for expected in (
        "No other choice of 10 features lowers the loss on these samples by more than 0.39 %;",
        "Within 0.39 %",
        "10 of 64",
        "fair; 1 is best",
        "random_state",
        "scikit-learn",
        samples.SHA,
        "The column “id” was left out",
    ):
        assert expected in words


def test_every_feature_is_in_the_table_with_its_numbers() -> None:
    result = samples.digits()
    cells = [a["data-v"] for a in parsed("digits").every("td") if "data-v" in a]
    for feature in result.features:
        assert str(feature.rank) in cells
        assert str(feature.score) in cells
        assert str(feature.frequency) in cells


def test_warnings_are_shown_before_everything_else() -> None:
    text = made("genes")
    assert text.index("before it had converged") < text.index('id="features"')
    assert 'class="warnings"' not in made("digits")


def test_large_results_are_cut_with_a_word() -> None:
    many = selection_page(samples.genes(_MOST_ROWS + 20, 20_000))
    assert f"The first {_MOST_ROWS} of {_MOST_ROWS + 20}" in many
    assert f"The first {_MOST_DRAWN} features are drawn." in many
    assert len(many) < 1_500_000


def test_too_many_classes_are_a_table_of_mistakes() -> None:
    n = _MOST_CLASSES + 5
    counts = np.diag(np.full(n, 10))
    counts[3, 8] = 7
    result = samples.genes(5, 100, n)
    names = tuple(f"class {at}" for at in range(n))
    text = selection_page(
        dataclasses.replace(result, confusion=Confusion(names, counts, 0.98, 0.01))
    )
    page = Page(text)
    assert "confusion-chart" not in text
    assert "class 3 taken for" in page.text["main"].replace("\u2068", "").replace("\u2069", "")
    assert "there are too many classes" in text
    assert "5 more." in page.text["main"]


def test_an_optimal_choice_is_marked_as_proven() -> None:
    best = dataclasses.replace(samples.genes(), certificate=Certificate("optimal", 1, 1, 0, 3))
    page = selection_page(best)
    assert "Least possible" in page
    assert "tile good" not in page, "the least loss says nothing about other samples"


def test_the_choices_that_are_nearly_as_good() -> None:
    features = tuple(
        ListedFeature(name, (j,), "some" if j else "all", 1.0 - j / 4, 0.03, j > 0, 0.0, True)
        for j, name in enumerate(("must <b>", "may", "might"))
    )
    near = Alternatives(0.02, True, 0.02, features, ((0, 1), (0, 2)), (0.0, 0.011))
    result = dataclasses.replace(samples.genes(), alternatives=near)
    text = selection_page(result)
    page = Page(text)
    assert [a["id"] for a in page.every("section")][:2] == ["features", "alternatives"]
    drawn = text[text.index("Are they the only ones?") :].partition("</figure>")[0]
    for words in ("exactly 2 choices", "must &lt;b&gt;", "might", "1.1 %"):
        assert words in drawn
    table = text[text.index('id="alternatives-table"') :].partition("</table>")[0]
    assert "≥\u00a03\u00a0%" in table
    assert table.count("<tr") == 4
    assert selection_page(result) == text
