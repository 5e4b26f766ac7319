"""The sentences on a search claim no more than is proven."""

from __future__ import annotations

import dataclasses
import math

import pytest

from rowsparse.report import search_words, selection_page
from rowsparse.workflow.results import (
    Certificate,
    ProgressPoint,
)

from . import samples
from .reading import Page, plain


def certified(status: str, gap: float, k: int = 20) -> str:
    return plain(search_words.certificate_sentence(Certificate(status, 10.0, 9.0, gap), k, "TopK"))


def test_a_proven_gap_in_plain_words() -> None:
    assert certified("gap", 0.004) == (
        "No other choice of 20 features can lower the loss by more than 0.4 %; proven."
    )


def test_one_feature_is_singular() -> None:
    assert "choice of 1 feature " in certified("gap", 0.004, k=1)


def test_an_optimal_choice_is_called_the_best_possible() -> None:
    text = certified("optimal", 0.0)
    assert "No other choice of 20 features has a lower loss" in text
    assert text.endswith("proven.")
    assert "not proven" not in text


@pytest.mark.parametrize("gap", [1.0, 3.5, math.inf, math.nan])
def test_a_gap_that_says_nothing_is_not_called_a_proof(gap: float) -> None:
    assert "not proven" in certified("gap", gap)
    assert search_words.certificate_label(Certificate("gap", 1.0, 0.0, gap))[0] == "Not proven"


def test_without_a_proof_nothing_is_claimed() -> None:
    assert "nothing is proven" in certified("heuristic", 0.01)
    silent = plain(search_words.certificate_sentence(None, 5, "ReliefF"))
    assert "not proven" in silent
    assert "ReliefF cannot tell" in silent


def test_the_label_of_a_certificate() -> None:
    label = search_words.certificate_label(Certificate("gap", 10, 9.961, 0.0039))
    assert plain(label[0]) == "Within 0.39 %"
    assert search_words.certificate_label(Certificate("optimal", 1, 1, 0))[0] == "Best possible"
    assert search_words.certificate_label(None)[0] == "Not proven"


def test_the_objective_of_a_search_never_rises() -> None:
    points = (
        ProgressPoint(0.1, 20.0, None),
        ProgressPoint(0.2, 10.0, 5.0),
        ProgressPoint(0.3, 10.0 + 1e-12, 4.0),
        ProgressPoint(0.4, 15.0, None),
        ProgressPoint(0.5, 9.0, 8.0),
    )
    best = search_words.best_so_far(points)
    assert [point.objective for point in best] == [20.0, 10.0, 10.0, 10.0, 9.0]
    assert [point.lower_bound for point in best] == [None, 5.0, 5.0, 5.0, 8.0]
    assert [point.seconds for point in best] == [0.1, 0.2, 0.3, 0.4, 0.5]
    assert search_words.has_course(points)


def test_a_search_in_which_nothing_changed_is_a_sentence() -> None:
    noise = (ProgressPoint(0.1, 12.0), ProgressPoint(0.2, 12.0 + 1e-13), ProgressPoint(0.3, 12.0))
    assert not search_words.has_course(noise)
    assert search_words.progress_sentence(noise) == (
        "The search kept its first choice, with an objective of 12: nothing tried after it was "
        "better."
    )
    assert search_words.progress_sentence(noise[:1]).endswith("no other was tried.")
    page = Page(selection_page(dataclasses.replace(samples.genes(), progress=noise)))
    assert "How the search went" in page.text["h2"]
    assert "Objective and lower bound" not in " ".join(
        drawing.get("aria-label", "") for drawing in page.drawings
    )


def test_progress_says_when_it_was_found_and_how_far_the_proof_came() -> None:
    points = (
        ProgressPoint(0.5, 20.0, 5.0),
        ProgressPoint(1.0, 10.0, 8.0),
        ProgressPoint(4.0, 10.0, 9.9),
    )
    text = plain(search_words.progress_sentence(points))
    assert "found after 1.0 s" in text
    assert "after 4.0 s" in text
    assert "narrowed to 1 %" in text
    closed = (*points, ProgressPoint(5.0, 10.0, 10.0))
    assert "was closed" in search_words.progress_sentence(closed)
    no_bound = tuple(dataclasses.replace(p, lower_bound=None) for p in points)
    assert "with an objective of 10." in search_words.progress_sentence(no_bound)
