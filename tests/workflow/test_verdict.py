"""A selection is compared with guessing on the same folds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import t as student_t

from rowsparse.workflow.compare import compare
from rowsparse.workflow.folds import table_folds
from rowsparse.workflow.path import find_path
from rowsparse.workflow.settings import CompareSettings, EvaluationSettings, PathSettings
from rowsparse.workflow.table import Table
from rowsparse.workflow.verdict import (
    compare_with_guessing,
    guess,
    imbalance_warning,
    verdict_metric,
)

from .planted import N, make, selected

NOISE = np.random.default_rng(8)


def test_a_guess_is_the_commonest_class_or_the_mean(classes: Table, numbers: Table) -> None:
    train, test = np.arange(0, N, 2), np.arange(1, N, 2)
    values, counts = np.unique(classes.y[train], return_counts=True)
    guessed = guess(classes, train, test)
    assert set(guessed.answers) == {values[counts.argmax()]}
    np.testing.assert_allclose(guessed.values, np.tile(counts / train.size, (test.size, 1)))
    np.testing.assert_allclose(guess(numbers, train, test).answers, numbers.y[train].mean())


def test_the_margin_is_that_of_a_corrected_t_test(numbers: Table) -> None:
    splits = table_folds(numbers, EvaluationSettings())
    scores = np.array([0.2, 0.5, 0.3, 0.4, 0.35])
    chance = []
    for train, test in splits:
        y, mean = numbers.y[test], numbers.y[train].mean()
        chance.append(1 - np.sum((y - mean) ** 2) / np.sum((y - y.mean()) ** 2))
    gains = scores - chance
    found = compare_with_guessing(numbers, splits, "r2", scores)
    assert found.gain == pytest.approx(gains.mean())
    error = gains.std(ddof=1) * np.sqrt(1 / 5 + 1 / 4)
    assert found.margin == pytest.approx(student_t.ppf(0.95, 4) * error)
    assert found.level == "better"
    level = scores - gains.mean()  # no gain on average
    assert compare_with_guessing(numbers, splits, "r2", level - 0.01).level == "worse"
    barely = level + 0.5 * found.margin
    assert compare_with_guessing(numbers, splits, "r2", barely).level == "unclear"
    assert compare_with_guessing(numbers, splits, "r2", np.array(chance)).level == "worse"


@pytest.mark.parametrize("goal", [NOISE.permutation(["a", "b"] * 40), NOISE.normal(size=N)])
def test_noise_is_no_better_than_guessing(tmp_path: Path, goal: Any) -> None:
    table = make(tmp_path, goal=goal)
    result = selected(table, 3, stability=0)
    assert result.verdict is not None
    assert result.verdict.level != "better"
    assert find_path(table, PathSettings(k_max=2)).verdict.level != "better"
    assert compare(table, CompareSettings(k=(2,), methods=("topk",))).verdict.level != "better"


def test_planted_features_are_better_than_guessing(classes: Table, numbers: Table) -> None:
    for table in (classes, numbers):
        assert selected(table, 3, stability=0).verdict.level == "better"
        assert find_path(table, PathSettings(k_max=3)).verdict.level == "better"
    assert selected(classes, 3, stability=0, cv=0).verdict is None


def test_extreme_imbalance_is_told_and_judged_by_balanced_accuracy(tmp_path: Path) -> None:
    goal = np.array(["common"] * (N - 2) + ["rare"] * 2)
    table = make(tmp_path, goal=NOISE.permutation(goal))
    assert verdict_metric(table, "accuracy") == "balanced_accuracy"
    result = selected(table, 2, stability=0)
    assert result.score > 0.9
    assert result.verdict.metric == "balanced_accuracy"
    assert result.verdict.level != "better"
    warning = imbalance_warning(table)
    assert warning is not None
    assert "'common' has 78 samples and 'rare' has 2" in warning
    assert warning in result.warnings
    assert warning in find_path(table, PathSettings(k_max=2)).warnings
    assert warning in compare(table, CompareSettings(k=(2,), methods=("topk",))).warnings


def test_ordinary_classes_and_numbers_have_no_such_warning(classes: Table, numbers: Table) -> None:
    assert imbalance_warning(classes) is None
    assert imbalance_warning(numbers) is None
    assert verdict_metric(classes, "accuracy") == "accuracy"
    assert verdict_metric(numbers, "r2") == "r2"
