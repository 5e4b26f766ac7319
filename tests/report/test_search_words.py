"""The sentences on a search claim no more than is proven."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest

from rowsparse.report import selection_page, words
from rowsparse.workflow.results import (
    Alternatives,
    Certificate,
    ListedFeature,
    ProgressPoint,
)

from . import samples
from .reading import Page, plain


def certified(status: str, gap: float, k: int = 20) -> str:
    return plain(words.certificate_sentence(Certificate(status, 10.0, 9.0, gap), k, "TopK"))


def test_a_proven_gap_in_plain_words() -> None:
    assert certified("gap", 0.004) == (
        "No other choice of 20 features lowers the loss on these samples by more than 0.4 %; "
        "proven."
    )


def test_one_feature_is_singular() -> None:
    assert "choice of 1 feature " in certified("gap", 0.004, k=1)


def test_an_optimal_choice_has_the_least_loss() -> None:
    text = certified("optimal", 0.0)
    assert "No other choice of 20 features has a lower loss" in text
    assert text.endswith("proven.")
    assert "not proven" not in text


@pytest.mark.parametrize("gap", [1.0, 3.5, math.inf, math.nan])
def test_a_gap_that_says_nothing_is_not_called_a_proof(gap: float) -> None:
    assert "not proven" in certified("gap", gap)
    assert words.certificate_label(Certificate("gap", 1.0, 0.0, gap))[0] == "Not proven"


def test_without_a_proof_nothing_is_claimed() -> None:
    assert "nothing is proven" in certified("heuristic", 0.01)
    silent = plain(words.certificate_sentence(None, 5, "ReliefF"))
    assert "not proven" in silent
    assert "ReliefF cannot tell" in silent


def test_the_label_of_a_certificate() -> None:
    only = plain(words.certificate_sentence(Certificate("only", 1, 1, 0), 5, "TopK"))
    assert only == "There is no other choice of 5 features: they are all that may be selected."
    label = words.certificate_label(Certificate("gap", 10, 9.961, 0.0039))
    assert plain(label[0]) == "Within 0.39 %"
    assert words.certificate_label(Certificate("optimal", 1, 1, 0))[0] == "Least possible"
    assert words.certificate_label(None)[0] == "Not proven"


def test_what_is_proven_stands_beside_what_is_not() -> None:
    genes = dataclasses.replace(samples.genes(), certificate=Certificate("optimal", 1, 1, 0))
    result = dataclasses.replace(genes, stability=(0.16, 0.1, 0.2), score=0.9, metric="accuracy")
    text = plain(words.proven_sentence(result))
    assert "same features (stability 0.16, low)" in text
    assert "(accuracy 90.0 %), is not proven" in text
    silent = dataclasses.replace(result, stability=None, score=math.nan)
    assert "(" not in words.proven_sentence(silent)
    for certificate in (None, Certificate("only", 1, 1, 0), Certificate("gap", 1, 0, math.inf)):
        unproven = dataclasses.replace(result, certificate=certificate)
        assert words.proven_sentence(unproven) == ""


def listed(**more: object) -> str:
    def feature(name: str, verdict: str, **known: object) -> ListedFeature:
        return ListedFeature(name, (0,), verdict, 1.0, 0.1, False, 0.0, True, **known)

    features = (
        feature("held", "all", is_forced=True),
        feature("must", "all"),
        feature("may", "some", copies=("same",)),
    )
    near = Alternatives(0.05, True, 0.05, features, ((0, 1, 2), (0, 1)), (0.0, 0.01))
    return plain(words.alternatives_sentence(dataclasses.replace(near, **more), 2308))


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ({}, "Within 5 % of the best there are exactly 2 choices, from 3 of 2,308 features. "),
        ({}, "Indispensable: must. No other choice comes that close: proven. Of features that"),
        ({"choices": ((0, 1),)}, "there is exactly 1 choice, from"),
        ({"n_uncertain": 1}, "there are 2 choices, from"),
        ({"n_uncertain": 1}, "About 1 of them rounding decides."),
        ({"features": ()}, "Indispensable: none."),
        (
            {"is_complete": False, "proven": 0.03759},
            "The list is not complete: there may be more within 5 % of the best than these 2 "
            "choices, from 3 of 2,308 features; that there are no others within 3.7 % is proven. "
            "Indispensable within 3.7 %: must.",
        ),
        ({"is_complete": False, "proven": -0.2}, "not even that the best of them is the best."),
    ],
)
def test_a_list_of_choices_claims_no_more_than_is_proven(
    known: dict[str, object], expected: str
) -> None:
    text = listed(**known)
    assert expected in text
    if known.get("is_complete") is False:
        assert text.startswith("The list is not complete")
        assert "exactly" not in text


def test_the_objective_of_a_search_never_rises() -> None:
    points = (
        ProgressPoint(0.1, 20.0, None),
        ProgressPoint(0.2, 10.0, 5.0),
        ProgressPoint(0.3, 10.0 + 1e-12, 4.0),
        ProgressPoint(0.4, 15.0, None),
        ProgressPoint(0.5, 9.0, 8.0),
    )
    best = words.best_so_far(points)
    assert [point.objective for point in best] == [20.0, 10.0, 10.0, 10.0, 9.0]
    assert [point.lower_bound for point in best] == [None, 5.0, 5.0, 5.0, 8.0]
    assert [point.seconds for point in best] == [0.1, 0.2, 0.3, 0.4, 0.5]
    assert words.has_course(points)


def test_a_search_in_which_nothing_changed_is_a_sentence() -> None:
    noise = (ProgressPoint(0.1, 12.0), ProgressPoint(0.2, 12.0 + 1e-13), ProgressPoint(0.3, 12.0))
    assert not words.has_course(noise)
    assert words.progress_sentence(noise) == (
        "The search kept its first choice, with an objective of 12: nothing tried after it was "
        "better."
    )
    assert words.progress_sentence(noise[:1]).endswith("no other was tried.")
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
    text = plain(words.progress_sentence(points))
    assert "found after 1.0 s" in text
    assert "after 4.0 s" in text
    assert "narrowed to 1 %" in text
    closed = (*points, ProgressPoint(5.0, 10.0, 10.0))
    assert "was closed" in words.progress_sentence(closed)
    no_bound = tuple(dataclasses.replace(p, lower_bound=None) for p in points)
    assert "with an objective of 10." in words.progress_sentence(no_bound)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"loss": "squared", "alpha": 0.5}, "squared error of a linear model, with a ridge of 0.5"),
        ({"loss": "squared", "alpha": 0.0}, "squared error of a linear model, without a ridge."),
        ({"loss": "l21", "alpha": 0.0}, "norms of the residuals of a linear model, without"),
        ({"loss": "logistic", "alpha": 0.125}, "logistic loss of a linear model, with a ridge of"),
    ],
)
def test_every_loss_is_named_with_its_ridge(settings: dict[str, Any], expected: str) -> None:
    assert expected in words.minimised(settings).replace("\u00a0", " ")


def test_methods_without_such_a_loss_say_nothing() -> None:
    assert words.minimised({"method": "relieff"}) == ""
    assert words.minimised({"loss": None, "alpha": 1.0}) == ""
