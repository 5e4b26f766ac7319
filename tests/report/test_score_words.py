"""The sentences on scores say what the numbers say."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from rowsparse.report import score_words, selection_page, words
from rowsparse.workflow.feature_count import score_curve
from rowsparse.workflow.results import (
    Confusion,
    HoldoutScore,
    KCurve,
    Verdict,
)

from . import samples
from .reading import plain


@pytest.mark.parametrize(
    ("level", "start"),
    [
        ("better", "Clearly better than guessing: with these 20 features alone, a simple"),
        ("unclear", "Perhaps no better than guessing (the gain is within the noise of the folds):"),
        ("worse", "No better than guessing: with these 20 features alone, a simple"),
    ],
)
def test_the_verdict_comes_first(level: str, start: str) -> None:
    verdict = Verdict(level, "accuracy", 0.1, 0.2)
    result = dataclasses.replace(samples.genes(), verdict=verdict)
    assert score_words.score_sentence(result).startswith(start)
    assert score_words.verdict_words(verdict) in score_words.verdict_sentence(verdict)
    assert ("tile warn" in selection_page(result)) == (level == "worse")


def test_balanced_accuracy_is_told_where_the_verdict_goes_by_it() -> None:
    result = dataclasses.replace(
        samples.genes(),
        verdict=Verdict("worse", "balanced_accuracy", 0.0, 0.0),
        confusion=Confusion(("a", "b"), np.array([[139, 0], [2, 0]]), 0.986, 0.01),
    )
    said = plain(score_words.score_sentence(result))
    assert "Balanced accuracy" in said
    assert "is 50.0 %, and guessing gives 50.0 %" in said


def test_the_summary_of_a_number() -> None:
    result = samples.numbers_only()
    asked, scored = plain(words.asked_sentence(result)), plain(score_words.score_sentence(result))
    assert "predict the number “price”" in asked
    assert "explains 84 % of the variation" in scored
    assert "(R² 0.842 ± 0.031)" in scored
    useless = dataclasses.replace(result, score=-0.2)
    assert "no better than their mean" in score_words.score_sentence(useless)


def test_balanced_accuracy_as_the_score() -> None:
    result = dataclasses.replace(samples.genes(), metric="balanced_accuracy")
    said = plain(score_words.score_sentence(result))
    assert "reached a balanced accuracy of 95.8 % (100 % is perfect) on samples" in said
    assert "guessing the commonest class gives 65.3 %" in said


@pytest.mark.parametrize(
    ("metric", "words"),
    [
        ("auc", "reached an AUC of 0.958 (1 is perfect)"),
        ("log_loss", "reached a log loss of 0.958 (0 is perfect)"),
    ],
)
def test_other_metrics_as_the_score(metric: str, words: str) -> None:
    result = dataclasses.replace(samples.genes(), metric=metric)
    said = plain(score_words.score_sentence(result))
    assert words in said
    assert ("guessing the shares of the classes gives" in said) == (metric == "log_loss")


def test_of_an_error_the_lowest_is_best() -> None:
    curve = KCurve("mae", (1, 5), (43.21, 40.1), (2.0, 2.0), 5, 5, 5)
    assert score_words.curve_sentence(curve).endswith("score is lowest with 5 features (40.1).")


def test_a_score_that_was_not_measured() -> None:
    result = dataclasses.replace(samples.genes(), score=math.nan)
    assert "was not measured" in score_words.score_sentence(result)


def test_the_curve_names_the_best_and_the_first_that_comes_close() -> None:
    curve = KCurve("accuracy", (1, 5, 10), (0.7, 0.9, 0.91), (0.02,) * 3, 10, 5, 5)
    assert plain(score_words.curve_sentence(curve)) == (
        "Of the numbers tried, the score is highest with 10 features (91.0 %); 5 already come "
        "within one standard error of that (90.0 %)."
    )
    first = dataclasses.replace(curve, mean=(0.95, 0.9, math.nan), best_k=1, enough_k=1)
    assert "highest with 1 feature (95.0 %)." in plain(score_words.curve_sentence(first))
    each = dataclasses.replace(curve, ks=(4, 5, 6), best_k=6)
    assert plain(score_words.curve_sentence(each)).startswith(
        "The score is highest with 6 features"
    )
    nothing = dataclasses.replace(curve, mean=(math.nan,) * 3)
    assert score_words.curve_sentence(nothing) == "No score could be computed."


def test_the_sentence_on_the_curve_names_the_k_that_auto_takes() -> None:
    # k = 2 is within one standard deviation of the best, but not within one standard error.
    noise = np.array([-0.04, 0.04, -0.04, 0.04])[:, None]
    curve = score_curve("accuracy", (1, 2, 3, 4), np.array([0.5, 0.87, 0.89, 0.90]) + noise)
    assert curve.chosen_k == 3
    assert "; 3 already come within one standard error" in score_words.curve_sentence(curve)


def test_the_most_frequent_mistake_is_named() -> None:
    confusion = Confusion(("cat", "dog"), np.array([[8, 1], [3, 9]]), 0.81, 0.1)
    assert plain(score_words.confusion_sentence(confusion)) == (
        "17 of 21 samples were recognised; the most frequent mistake is dog taken for cat "
        "(3 times)."
    )
    perfect = Confusion(("cat", "dog"), np.diag([4, 5]), 1.0, 0.0)
    assert "no mistake" in score_words.confusion_sentence(perfect)


@pytest.mark.parametrize(
    ("metric", "score", "chance", "sentence"),
    [
        (
            "accuracy",
            0.85,
            0.45,
            "On the 40 samples of new.csv, the accuracy of the saved model is 85.0 %; guessing the "
            "commonest class gives 45.0 %.",
        ),
        ("macro_f1", 0.5, 0.25, "saved model is 0.500; guessing gives 0.250."),
        ("r2", 0.5, -0.1, "of the saved model is 0.500."),
    ],
)
def test_the_score_on_a_holdout(metric: str, score: float, chance: float, sentence: str) -> None:
    holdout = HoldoutScore("new.csv", 40, metric, score, chance, {metric: score})
    assert plain(score_words.holdout_sentence(holdout)).endswith(sentence)
