"""A selection is compared with what needs none, on the same folds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import t as student_t

from rowsparse.evaluation.metrics import METRICS
from rowsparse.workflow.compare import compare
from rowsparse.workflow.cross_validation import (
    GUESS,
    cross_validate,
    guess,
    imbalance_note,
    judged,
    table_folds,
)
from rowsparse.workflow.plan import make_plan
from rowsparse.workflow.select import find_path
from rowsparse.workflow.settings import (
    CompareSettings,
    EvaluationSettings,
    MethodSettings,
    PathSettings,
    TableSettings,
)
from rowsparse.workflow.table import Table, read_table

from .planted import N, make, selected

NOISE = np.random.default_rng(8)
METHOD = MethodSettings(method="fstatistic")


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
    other = np.array([-0.1, 0.1, 0.0, 0.05, -0.05])
    found = judged("r2", splits, scores, {GUESS: other})
    gains = scores - other
    assert found.gain == pytest.approx(gains.mean())
    error = gains.std(ddof=1) * np.sqrt(1 / 5 + 1 / 4)
    assert found.margin == pytest.approx(student_t.ppf(0.975, 4) * error)
    assert (found.level, found.opponent_score) == ("better", pytest.approx(0.0))
    level = scores - gains.mean()  # no gain on average
    assert judged("r2", splits, level - 0.01, {GUESS: other}).level == "worse"
    assert judged("r2", splits, level + 0.5 * found.margin, {GUESS: other}).level == "unclear"
    assert judged("r2", splits, other, {GUESS: other}).level == "worse"
    assert judged("mae", splits, other - 1, {GUESS: other}).level == "better"


def test_the_verdict_is_on_the_opponent_that_is_hardest_to_beat(numbers: Table) -> None:
    splits = table_folds(numbers, EvaluationSettings())
    scores = np.array([0.5, 0.52, 0.51, 0.5, 0.49])
    others = {"guess": scores - 0.4, "shuffled": scores - [0.3, 0.2, -0.4, 0.1, 0.1]}
    found = judged("r2", splits, scores, others)
    assert (found.level, found.opponent) == ("unclear", "shuffled")
    assert judged("r2", splits, scores, others | {"covariates": scores}).opponent == "covariates"


def noise(kind: str, folder: Path, seed: int) -> Table:
    rng = np.random.default_rng(seed)
    columns: dict[str, Any] = {f"x{j}": rng.standard_normal(60) for j in range(20)}
    if kind == "multilabel":
        columns |= {f"goal{j}": rng.integers(0, 2, 60) for j in range(3)}
    else:
        columns["goal"] = {
            "two": rng.permutation(["a", "b"] * 30),
            "five": rng.permutation(list("abcde") * 12),
            "numbers": rng.standard_normal(60),
            "counts": rng.poisson(3.0, 60),
        }[kind]
    path = folder / "noise.parquet"
    pl.DataFrame(columns).write_parquet(path)
    task = "counts" if kind == "counts" else "auto"
    return read_table(path, TableSettings(target="goal*", task=task))


@pytest.mark.parametrize("kind", ["two", "five", "multilabel", "numbers", "counts"])
def test_noise_is_seldom_better_than_guessing(tmp_path: Path, kind: str) -> None:
    """Of 12 tables 2 at most, for every metric: more have a chance of 2 % at a share of 5 %.

    ``python -m benchmarks verdicts`` has 200 of each, and the other workflows.
    """
    plans = [make_plan(noise(kind, tmp_path, at), METHOD, at) for at in range(12)]
    for metric in METRICS[plans[0].table.task]:
        levels = []
        for plan in plans:
            splits = table_folds(plan.table, EvaluationSettings())
            found = cross_validate(plan, [4], splits, metric=metric, with_all=False)
            levels.append(found.held_out(4).verdict().level)
        assert levels.count("better") <= 2, metric


def test_a_number_of_features_that_was_chosen_is_scored_without_its_fold(tmp_path: Path) -> None:
    """Of 15 numbers of features the best scores well on noise, if its own folds choose it."""
    scores, best = [], []
    for seed in range(12):
        table = noise("two", tmp_path, seed)
        result = selected(table, "auto", stability=0, method="fstatistic")
        scores.append(result.score)
        best.append(max(result.curve.mean))
    assert np.mean(best) > 0.58
    assert np.mean(scores) < 0.55


def test_planted_features_are_better_than_guessing(classes: Table, numbers: Table) -> None:
    for table in (classes, numbers):
        assert selected(table, 3, stability=0).verdict.level == "better"
        assert find_path(table, PathSettings(k_max=3)).verdict.level == "better"
        settings = CompareSettings(k=(2, 3), methods=("topk", "fstatistic"))
        assert compare(table, settings).verdict.level == "better"
    assert selected(classes, 3, stability=0, cv=0).verdict is None
    assert selected(classes, 3, stability=0, metric="macro_f1").verdict.level == "better"


def test_what_the_covariates_tell_is_no_merit_of_the_features(tmp_path: Path) -> None:
    age = NOISE.normal(60, 10, N)
    goal = np.where(age + 4 * NOISE.standard_normal(N) > 60, "ill", "well")
    table = make(tmp_path, age=age, goal=goal)
    alone = selected(table, 2, stability=0, adjust="age")
    assert alone.score > 0.7
    assert (alone.verdict.opponent, alone.verdict.level) == ("covariates", "worse")
    assert alone.verdict.opponent_score == alone.covariate_score
    along = find_path(table, PathSettings(k_max=2, adjust="age")).verdict
    beside = compare(table, CompareSettings(k=(2,), methods=("topk",), adjust="age")).verdict
    assert along.opponent == beside.opponent == "covariates"


def test_extreme_imbalance_is_scored_by_what_is_not_misled(tmp_path: Path) -> None:
    goal = NOISE.permutation(np.array(["common"] * (N - 6) + ["rare"] * 6))
    table = make(tmp_path, goal=goal)
    result = selected(table, 2, stability=0)
    assert result.metric == result.verdict.metric == "auc"
    assert result.verdict.level != "better"
    note = (
        "The class 'common' has 74 samples and 'rare' has 6: scored by --metric auc, as accuracy "
        "would say little."
    )
    assert note in result.warnings
    assert note in find_path(table, PathSettings(k_max=2)).warnings
    assert note in compare(table, CompareSettings(k=(2,), methods=("topk",))).warnings
    asked = selected(table, 2, stability=0, metric="accuracy")
    assert asked.score > 0.9
    assert asked.verdict.level != "better"
    assert "accuracy says little here; --metric balanced_accuracy" in asked.warnings[0]
    for metric in ("balanced_accuracy", "macro_f1", "auc"):
        assert imbalance_note(table, metric, metric) is None
    few = make(tmp_path, goal=["rare"] * 2 + ["common"] * (N - 2))
    assert selected(few, 2, stability=0).metric == "balanced_accuracy"


def test_ordinary_classes_and_numbers_have_no_such_note(classes: Table, numbers: Table) -> None:
    assert imbalance_note(classes, "accuracy", None) is None
    assert imbalance_note(numbers, "r2", None) is None
    assert selected(classes, 2, stability=0).metric == "accuracy"
