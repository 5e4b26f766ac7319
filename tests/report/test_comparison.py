"""The page of a comparison has every method and number of features."""

from __future__ import annotations

from .made import made, parsed


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
