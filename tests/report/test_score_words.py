"""The sentences on scores say what the numbers say."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rowsparse.report import selection_page, words
from rowsparse.workflow.columns import SURVIVAL
from rowsparse.workflow.cross_validation import score_curve
from rowsparse.workflow.results import (
    Confusion,
    HoldoutScore,
    KCurve,
    NumberScore,
    SelectionResult,
    SurvivalScore,
    Verdict,
)

from . import samples
from .reading import plain

APART = "the 2 classes of “leukaemia” apart"


def scored(result: SelectionResult, data: dict[str, Any] | None = None, **changes: Any) -> str:
    """What was asked and what the score is, of a result with some changes."""
    known = dataclasses.replace(result.data, **data or {})
    result = dataclasses.replace(result, data=known, **changes)
    return plain(f"{words.asked_sentence(result)} {words.score_sentence(result)}")


@pytest.mark.parametrize(
    ("verdict", "start", "title"),
    [
        (None, "A simple linear model", f"20 features picked to tell {APART}"),
        (
            Verdict("better", "accuracy", 0.1, 0.2),
            "Clearly better than guessing: a simple linear model of 20 features, picked anew",
            f"20 features that tell {APART}",
        ),
        (
            Verdict("unclear", "accuracy", 0.1, 0.2),
            "Perhaps no better than guessing (the gain is within the noise of the folds):",
            f"20 features picked, not shown to tell {APART}",
        ),
        (
            Verdict("worse", "accuracy", 0.1, 0.2, "covariates", 0.97),
            "No better than the covariates alone: a simple linear model of 20 features, picked",
            f"20 features picked, not shown to tell {APART} better than the covariates alone",
        ),
    ],
)
def test_sentence_headline_and_tile_say_no_more_than_the_verdict(
    verdict: Verdict | None, start: str, title: str
) -> None:
    result = dataclasses.replace(samples.genes(), verdict=verdict)
    assert words.score_sentence(result).startswith(start)
    assert words.verdict_words(verdict) in words.verdict_sentence(verdict)
    assert plain(words.headline(result)) == title
    page = selection_page(result)
    assert title in plain(page)
    level = verdict and verdict.level
    assert ("tile warn" in page, "tile good" in page) == (level == "worse", level == "better")
    one = dataclasses.replace(samples.genes(1), verdict=Verdict("better", "accuracy", 0.1, 0.0))
    assert plain(words.headline(one)).startswith("1 feature that tells the 2 classes")


@pytest.mark.parametrize(
    ("result", "changes", "expected"),
    [
        (
            samples.genes,
            {
                "metric": "macro_f1",
                "verdict": Verdict("worse", "macro_f1", 0.0, 0.1, "shuffled", 0.512),
            },
            ["the same predictions, given to the samples at random, give 0.512"],
        ),
        (samples.genes, {"covariate_score": 0.97}, ["with the covariates alone 97.0 %"]),
        (
            samples.genes,
            {"metric": "balanced_accuracy"},
            [
                "reached a balanced accuracy of 95.8 % (100 % is perfect) on samples",
                "guessing the commonest class gives 65.3 %",
            ],
        ),
        (
            samples.genes,
            {"metric": "auc"},
            ["reached an AUC of 0.958 (1 is perfect)", "and guessing gives"],
        ),
        (
            samples.genes,
            {"metric": "log_loss"},
            ["a log loss of 0.958 (0 is perfect)", "guessing the shares of the classes gives"],
        ),
        (samples.genes, {"score": math.nan}, ["was not measured"]),
        (
            samples.numbers_only,
            {},
            [
                "predict the number “price”",
                "explains 84 % of the variation",
                "(R² 0.842 ± 0.031)",
            ],
        ),
        (samples.numbers_only, {"score": -0.2}, ["no better than their mean"]),
        (
            samples.numbers_only,
            {"metric": "d2", "data": {"task": "counts"}},
            [
                "predict the count “price”",
                "explains 84 % of the deviance",
                "(D² 0.842 ± 0.031)",
            ],
        ),
        (
            samples.numbers_only,
            {
                "metric": "concordance",
                "score": 0.7,
                "chance_score": 0.5,
                "data": {"task": "survival", "targets": ("months", "died"), "n_events": 30},
            },
            [
                "30 of them with the event, 6 were picked to predict the time “months” until",
                " simple Cox model of 6 features, picked anew in every fold, reached a concordance "
                "of 0.700 (1 is perfect) on samples it had not seen (± 0.031 over the folds); "
                "guessing gives 0.500.",
            ],
        ),
    ],
)
def test_every_score_is_told_with_what_it_is_compared_with(
    result: Callable[[], SelectionResult], changes: dict[str, Any], expected: list[str]
) -> None:
    said = scored(result(), **changes)
    for text in expected:
        assert text in said


def test_the_survival_of_the_halves() -> None:
    y = np.empty(8, dtype=SURVIVAL)
    y["event"], y["time"] = [1, 1, 1, 1, 1, 0, 0, 0], np.arange(1, 9)
    found = SurvivalScore(y, np.arange(8) < 4, 0.0004)
    assert plain(words.survival_sentence(found, "months")) == (
        "Of the half with the higher risk, 4 of 4 samples have the event, and half are without it "
        "until 2; of the half with the lower risk, 1 of 4 samples have the event, and more than "
        "half are without it until the end (months). The log-rank test of the halves, within the "
        "folds and corrected for the samples that their models share, has p = 4.0·10⁻⁴."
    )
    unknown = dataclasses.replace(found, p_value=math.nan)
    assert words.survival_sentence(unknown, "months").endswith("(\u2068months\u2069).")


def test_the_errors_of_one_number_and_of_several() -> None:
    one = NumberScore("price", 12.345, 20.0, (1.0, 2.0), (1.5, 1.5))
    assert words.errors_sentence([one]) == (
        "The root mean squared error (RMSE) of samples that took no part, in the units of the "
        "target, is 12.3 (20 with the mean as the prediction)."
    )
    two = words.errors_sentence([one, dataclasses.replace(one, name="rent")])
    assert plain(two).count("12.3 for rent (20 with the mean as the prediction)") == 1


CURVE = KCurve("accuracy", (1, 5, 10), (0.7, 0.9, 0.91), (0.02,) * 3, 10, 5, 5)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {},
            "Of the numbers tried, the score is highest with 10 features (91.0 %); 5 already come "
            "within one standard error of that (90.0 %).",
        ),
        (
            {"mean": (0.95, 0.9, math.nan), "best_k": 1, "enough_k": 1},
            "Of the numbers tried, the score is highest with 1 feature (95.0 %).",
        ),
        (
            {"ks": (4, 5, 6), "best_k": 6, "enough_k": 6},
            "The score is highest with 6 features (91.0 %).",
        ),
        ({"mean": (math.nan,) * 3}, "No score could be computed."),
        (
            {"metric": "mae", "mean": (43.21, 40.1, 41.0), "best_k": 5},
            "Of the numbers tried, the score is lowest with 5 features (40.1).",
        ),
    ],
)
def test_the_curve_names_the_best_and_the_first_that_comes_close(
    changes: dict[str, Any], sentence: str
) -> None:
    assert plain(words.curve_sentence(dataclasses.replace(CURVE, **changes))) == sentence


def test_the_sentence_on_the_curve_names_the_k_that_auto_takes() -> None:
    # k = 2 is within one standard deviation of the best, but not within one standard error.
    noise = np.array([-0.04, 0.04, -0.04, 0.04])[:, None]
    curve = score_curve("accuracy", (1, 2, 3, 4), np.array([0.5, 0.87, 0.89, 0.90]) + noise)
    assert curve.chosen_k == 3
    assert "; 3 already come within one standard error" in words.curve_sentence(curve)


def test_the_most_frequent_mistake_is_named() -> None:
    confusion = Confusion(("cat", "dog"), np.array([[8, 1], [3, 9]]), 0.81, 0.1)
    assert plain(words.confusion_sentence(confusion)) == (
        "17 of 21 samples were recognised; the most frequent mistake is dog taken for cat "
        "(3 times)."
    )
    perfect = Confusion(("cat", "dog"), np.diag([4, 5]), 1.0, 0.0)
    assert "no mistake" in words.confusion_sentence(perfect)


@pytest.mark.parametrize(
    ("metric", "chance", "sentence"),
    [
        (
            "accuracy",
            0.45,
            "On the 40 samples of new.csv, the accuracy of the saved model is 50.0 %; guessing the "
            "commonest class gives 45.0 %.",
        ),
        ("macro_f1", 0.25, "saved model is 0.500; guessing gives 0.250."),
        ("r2", -0.1, "of the saved model is 0.500."),
        ("d2", 0.1, "D² of the saved model is 0.500."),
    ],
)
def test_the_score_on_a_holdout(metric: str, chance: float, sentence: str) -> None:
    holdout = HoldoutScore("new.csv", 40, metric, 0.5, chance, {})
    assert plain(words.holdout_sentence(holdout)).endswith(sentence)
