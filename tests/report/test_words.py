"""The sentences of a report say what was asked and picked."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

from rowsparse.report import words
from rowsparse.workflow.results import SelectionResult

from . import samples
from .reading import plain


def stable(stability: tuple[float, float, float] | None, n_forced: int = 0) -> str:
    result = dataclasses.replace(samples.genes(), stability=stability, n_forced=n_forced)
    return words.stability_sentence(result)


def said(result: SelectionResult) -> tuple[str, str]:
    return plain(words.asked_sentence(result)), plain(words.score_sentence(result))


def test_the_summary_of_classes() -> None:
    asked, scored = said(samples.genes())
    assert asked == (
        "From the 7,129 features of ALLAML.csv, measured on 72 samples, 20 were picked to "
        "tell the 2 classes of “leukaemia” apart."
    )
    assert scored == (
        "A simple linear model of 20 features, picked anew in every fold, was right on 95.8 % of "
        "samples it had not seen (± 3.1 over the folds); with all 7,129 features it is 97.2 % and "
        "guessing the commonest class gives 65.3 %."
    )


def test_the_summary_of_labels() -> None:
    asked, scored = said(samples.labels())
    assert "predict the 3 labels class 0, class 1 and class 2" in asked
    assert "a macro-F1 of 0.810 (1 is perfect)" in scored


def test_one_feature_and_a_chosen_k() -> None:
    one = dataclasses.replace(samples.genes(1), k_was_chosen=True)
    asked = plain(words.asked_sentence(one))
    assert "1 was picked to tell" in asked
    assert "cross-validation chose how many" in asked
    assert "linear model of 1 feature, picked" in words.score_sentence(one)


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


def test_what_the_p_values_are_of() -> None:
    tests = samples.with_tests(samples.genes(5, 100)).tests
    assert tests is not None
    said = words.tests_sentence(tests)
    assert said.startswith(f"{tests.count()} of 100 features differ by themselves")
    assert "t test on the whole table, before the selection" in said
    assert "higher in AML" in plain(words.direction_words(tests))
    labels = dataclasses.replace(tests, n_targets=3)
    assert "for each of the 3 targets (the smallest, times 3)" in words.tests_sentence(labels)
    assert "label that it differs most in" in words.direction_words(labels)
    numbers = dataclasses.replace(tests, effect_name="correlation")
    assert "rises with the target" in words.direction_words(numbers)


@pytest.mark.parametrize(
    ("changes", "words_"),
    [
        ({"covariates": ("age", "sex")}, "by themselves given age and sex, with a false"),
        ({"covariates": ("age",)}, "those of the t test, given age, on the whole table"),
        (
            {"unit": "means", "groups_column": "patient", "n_groups": 30},
            "on the means of the 30 groups of rows that patient names",
        ),
        (
            {"unit": "clusters", "groups_column": "patient", "n_groups": 30},
            "robust against dependence within the 30 groups of rows that patient names",
        ),
    ],
)
def test_what_the_tests_account_for(changes: dict[str, Any], words_: str) -> None:
    tests = samples.with_tests(samples.genes()).tests
    assert tests is not None
    assert words_ in plain(words.tests_sentence(dataclasses.replace(tests, **changes)))


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
    asked, score = said(result)
    assert asked.startswith("From the 36 features (40 columns) of ALLAML.csv")
    assert "6 (9 columns) were picked to" in asked
    assert "model of 6 features (9 columns), picked" in score
    assert "with all 36 features (40 columns) it is" in score
    assert words.picked_of(samples.genes(9, 40)) == ("9 of 40", "features")
