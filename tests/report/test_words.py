"""The sentences of a report say what the numbers say."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from rowsparse.report import selection_page, words
from rowsparse.workflow.feature_count import score_curve
from rowsparse.workflow.results import (
    Certificate,
    Confusion,
    HoldoutScore,
    KCurve,
    ProgressPoint,
    Verdict,
)

from . import samples
from .reading import Page, plain


def certified(status: str, gap: float, k: int = 20) -> str:
    return plain(words.certificate_sentence(Certificate(status, 10.0, 9.0, gap), k, "TopK"))


def stable(stability: tuple[float, float, float] | None, n_forced: int = 0) -> str:
    result = dataclasses.replace(samples.genes(), stability=stability, n_forced=n_forced)
    return words.stability_sentence(result)


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
    assert words.certificate_label(Certificate("gap", 1.0, 0.0, gap))[0] == "Not proven"


def test_without_a_proof_nothing_is_claimed() -> None:
    assert "nothing is proven" in certified("heuristic", 0.01)
    silent = plain(words.certificate_sentence(None, 5, "ReliefF"))
    assert "not proven" in silent
    assert "ReliefF cannot tell" in silent


def test_the_label_of_a_certificate() -> None:
    label = words.certificate_label(Certificate("gap", 10, 9.961, 0.0039))
    assert plain(label[0]) == "Within 0.39 %"
    assert words.certificate_label(Certificate("optimal", 1, 1, 0))[0] == "Best possible"
    assert words.certificate_label(None)[0] == "Not proven"


def test_a_summary_has_three_sentences() -> None:
    for result in (samples.digits(), samples.genes(), samples.numbers_only(), samples.labels()):
        summary = words.summary(result)
        assert len(summary) == 3
        assert all(sentence.endswith(".") for sentence in summary)


def test_the_summary_of_classes() -> None:
    asked, scored, proven = map(plain, words.summary(samples.genes()))
    assert asked == (
        "From the 7,129 features of ALLAML.csv, measured on 72 samples, 20 were picked that "
        "together tell the 2 classes of “leukaemia” apart."
    )
    assert scored == (
        "With these 20 features alone, a simple linear model was right on 95.8 % of samples it had "
        "not seen (± 3.1 over the folds); with all 7,129 features it is 97.2 %, and guessing the "
        "commonest class gives 65.3 %."
    )
    assert "proven" in proven


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
    assert words.score_sentence(result).startswith(start)
    assert words.verdict_words(verdict) in words.verdict_sentence(verdict)
    assert ("tile warn" in selection_page(result)) == (level == "worse")


def test_balanced_accuracy_is_told_where_the_verdict_goes_by_it() -> None:
    result = dataclasses.replace(
        samples.genes(),
        verdict=Verdict("worse", "balanced_accuracy", 0.0, 0.0),
        confusion=Confusion(("a", "b"), np.array([[139, 0], [2, 0]]), 0.986, 0.01),
    )
    said = plain(words.score_sentence(result))
    assert "Balanced accuracy" in said
    assert "is 50.0 %, and guessing gives 50.0 %" in said


def test_the_summary_of_a_number() -> None:
    result = samples.numbers_only()
    asked, scored, _ = map(plain, words.summary(result))
    assert "predict the number “price”" in asked
    assert "explains 84 % of the variation" in scored
    assert "(R² 0.842 ± 0.031)" in scored
    useless = dataclasses.replace(result, score=-0.2)
    assert "no better than their mean" in words.score_sentence(useless)


def test_the_summary_of_labels() -> None:
    asked, scored, _ = map(plain, words.summary(samples.labels()))
    assert "predict the 3 labels class 0, class 1 and class 2" in asked
    assert "a macro-F1 of 0.810 (1 is perfect)" in scored


def test_balanced_accuracy_as_the_score() -> None:
    result = dataclasses.replace(samples.genes(), metric="balanced_accuracy")
    said = plain(words.score_sentence(result))
    assert "reached a balanced accuracy of 95.8 % (100 % is perfect) on samples" in said
    assert "guessing the commonest class gives 65.3 %" in said


def test_one_feature_and_a_chosen_k() -> None:
    one = dataclasses.replace(samples.genes(1), k_was_chosen=True)
    asked = plain(words.asked_sentence(one))
    assert "1 was picked that can tell" in asked
    assert "cross-validation chose how many" in asked
    assert "With that feature alone" in words.score_sentence(one)


def test_a_score_that_was_not_measured() -> None:
    result = dataclasses.replace(samples.genes(), score=math.nan)
    assert "was not measured" in words.score_sentence(result)


@pytest.mark.parametrize(
    ("value", "word"), [(0.1, "low"), (0.39, "low"), (0.4, "fair"), (0.75, "high"), (1.0, "high")]
)
def test_stability_has_a_word(value: float, word: str) -> None:
    assert words.stability_word(value) == word
    assert f"which is {word}" in stable((value, value - 0.05, value + 0.05))


def test_unknown_stability_is_said_to_be_unknown() -> None:
    assert "not known" in stable(None)
    assert "not known" in stable((math.nan, math.nan, math.nan))
    assert "interval" not in stable((0.5, math.nan, math.nan))


def test_stability_is_that_of_what_was_free_to_choose() -> None:
    assert stable((0.17, 0.1, 0.2), 3).startswith(
        "3 features had to be selected. Stability of the others is 0.17 (95 % interval"
    )
    assert "no choice" in stable(None, 20)


def test_the_curve_names_the_best_and_the_first_that_comes_close() -> None:
    curve = KCurve("accuracy", (1, 5, 10), (0.7, 0.9, 0.91), (0.02,) * 3, 10, 5, 5)
    assert plain(words.curve_sentence(curve)) == (
        "Of the numbers tried, the score is highest with 10 features (91.0 %); 5 already come "
        "within one standard error of that (90.0 %)."
    )
    first = dataclasses.replace(curve, mean=(0.95, 0.9, math.nan), best_k=1, enough_k=1)
    assert "highest with 1 feature (95.0 %)." in plain(words.curve_sentence(first))
    each = dataclasses.replace(curve, ks=(4, 5, 6), best_k=6)
    assert plain(words.curve_sentence(each)).startswith("The score is highest with 6 features")
    nothing = dataclasses.replace(curve, mean=(math.nan,) * 3)
    assert words.curve_sentence(nothing) == "No score could be computed."


def test_the_sentence_on_the_curve_names_the_k_that_auto_takes() -> None:
    # k = 2 is within one standard deviation of the best, but not within one standard error.
    noise = np.array([-0.04, 0.04, -0.04, 0.04])[:, None]
    curve = score_curve("accuracy", (1, 2, 3, 4), np.array([0.5, 0.87, 0.89, 0.90]) + noise)
    assert curve.chosen_k == 3
    assert "; 3 already come within one standard error" in words.curve_sentence(curve)


def test_the_most_correlated_pair_is_named_by_rank() -> None:
    r = np.eye(4)
    r[3, 1] = r[1, 3] = -0.93
    assert words.correlation_sentence(r) == (
        "The two most alike are numbers 2 and 4 (r = −0.93): they tell almost the same."
    )
    assert "no two of them" in words.correlation_sentence(np.eye(3))
    assert "one feature only" in words.correlation_sentence(np.ones((1, 1)))


def test_features_encoded_as_several_columns_are_counted_once() -> None:
    result = samples.genes(9, 40)
    result = dataclasses.replace(
        result, k=6, data=dataclasses.replace(result.data, n_features=36, n_columns=40)
    )
    assert words.picked_of(result) == ("6 of 36", "features (9 of 40 columns)")
    asked, score, proof = map(plain, words.summary(result))
    assert asked.startswith("From the 36 features (40 columns) of ALLAML.csv")
    assert "6 (9 columns) were picked that together" in asked
    assert "With these 6 features (9 columns) alone" in score
    assert "with all 36 features (40 columns) it is" in score
    assert "choice of 6 features" in proof
    assert words.picked_of(samples.genes(9, 40)) == ("9 of 40", "features")


def test_the_most_frequent_mistake_is_named() -> None:
    confusion = Confusion(("cat", "dog"), np.array([[8, 1], [3, 9]]), 0.81, 0.1)
    assert plain(words.confusion_sentence(confusion)) == (
        "17 of 21 samples were recognised; the most frequent mistake is dog taken for cat "
        "(3 times)."
    )
    perfect = Confusion(("cat", "dog"), np.diag([4, 5]), 1.0, 0.0)
    assert "no mistake" in words.confusion_sentence(perfect)


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
    assert plain(words.holdout_sentence(holdout)).endswith(sentence)
