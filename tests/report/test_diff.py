"""The page of two results says what is the same and what differs."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from rowsparse.report import diff_page
from rowsparse.report.diff import coefficient_words, diff_sentences, score_words
from rowsparse.workflow.diff import FeatureDiff, ResultDiff, ScoreDiff

from .reading import Page, plain
from .samples import HOSTILE

DIFF = ResultDiff(
    names=("one", HOSTILE[0]),
    settings=(("k", "2", "3"), (HOSTILE[1], HOSTILE[2], HOSTILE[7])),
    features=(
        FeatureDiff("gene", (1, 2), ((0.5, -0.75), (0.1, 0.2))),
        FeatureDiff(HOSTILE[2], (2, None), ((1.0, 0.0), ())),
        FeatureDiff(HOSTILE[3], (None, 1), ((), (0.3, math.nan))),
    ),
    scores=(
        ScoreDiff("selected features", ("accuracy", "accuracy"), (0.9, 0.95), (0.02, 0.01)),
        ScoreDiff("stability", ("stability", "stability"), (0.4, math.nan)),
    ),
    outputs=(("ALL", "AML"), ("ALL", "AML")),
)


def test_everything_is_on_the_page_as_text() -> None:
    page = Page(diff_page(DIFF))
    words = page.text["main"]
    for name in (HOSTILE[0], HOSTILE[2], HOSTILE[3], "gene"):
        assert name in words
    assert len(page.every("script")) == 1
    assert page.every("img") == []
    assert [one["id"] for one in page.every("section")] == ["scores", "features", "settings"]


def test_the_sentences() -> None:
    same, scores, settings = map(plain, diff_sentences(replace(DIFF, names=("A", "B"))))
    assert same == "1 feature is in both; 1 only in A and 1 only in B."
    assert scores == (
        "The accuracy is 90.0 % in A and 95.0 % in B: that is more than the spread over the folds "
        "(± 2.0)."
    )
    assert settings == "2 settings or facts of the data differ."
    equal = replace(DIFF, settings=(), scores=())
    assert diff_sentences(equal)[-1] == "Settings, data and versions are the same."


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"metrics": ("accuracy", "macro_f1")}, "cannot be compared"),
        ({"values": (0.9, 0.9)}, "is 90.0 % in both"),
        ({"values": (0.9, 0.91)}, "within the spread"),
        ({"spreads": (math.nan, math.nan)}, "95.0 % in "),
    ],
)
def test_the_sentence_on_the_scores(change: dict[str, object], words: str) -> None:
    main = replace(DIFF.scores[0], **change)
    assert words in plain(diff_sentences(replace(DIFF, scores=(main,)))[1])


def test_scores_and_coefficients_in_a_few_words() -> None:
    assert plain(score_words(DIFF.scores[0], 0)) == "90.0 % ± 2.0"
    assert score_words(DIFF.scores[1], 1) == "–"
    assert plain(coefficient_words(DIFF.features[0], 0, DIFF.outputs[0])) == "−0.750 (AML)"
    assert coefficient_words(DIFF.features[1], 1, DIFF.outputs[1]) == ""
    assert plain(coefficient_words(DIFF.features[2], 1, ())) == "0.300"
