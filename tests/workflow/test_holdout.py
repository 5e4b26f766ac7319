"""Scores on a table that took no part in the selection."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import accuracy_score, f1_score, log_loss, r2_score, roc_auc_score

from rowsparse.workflow.loading import open_table
from rowsparse.workflow.messages import InputError
from rowsparse.workflow.model import score_holdout
from rowsparse.workflow.table import Table

from .planted import selected


def test_classes(classes: Table) -> None:
    model = selected(classes, 3, cv=0, stability=0).model
    held = score_holdout(model, open_table(classes.path))
    answer = model.predict(classes.path)
    assert (held.metric, held.n_samples) == ("accuracy", 80)
    assert held.score == held.scores["accuracy"] == accuracy_score(classes.y, answer)
    assert held.chance == max(classes.target.counts) / 80


def test_the_metric_of_the_selection(classes: Table) -> None:
    model = selected(classes, 3, cv=0, stability=0).model
    held = score_holdout(model, open_table(classes.path), "macro_f1")
    answer = model.predict(classes.path)
    assert held.metric == "macro_f1"
    assert held.score == f1_score(classes.y, answer, average="macro")


def test_auc_and_log_loss(classes: Table) -> None:
    model = selected(classes, 3, cv=0, stability=0, metric="log_loss").model
    said = model.predictions(classes.path)
    held = score_holdout(model, open_table(classes.path), "log_loss")
    assert held.score == pytest.approx(log_loss(classes.y, said.values))
    assert math.isnan(held.chance)
    area = score_holdout(model, open_table(classes.path), "auc")
    assert area.score == pytest.approx(roc_auc_score(classes.y, said.values, multi_class="ovr"))
    assert area.chance == 0.5


def test_a_class_that_the_model_does_not_know_is_wrong(classes: Table) -> None:
    model = selected(classes, 3, cv=0, stability=0).model
    assert model is not None
    is_old = np.arange(80) < 20
    values = np.where(is_old, classes.y, "new")
    frame = pl.read_csv(classes.path).with_columns(goal=pl.Series(values))
    held = score_holdout(model, open_table(frame))
    assert held.score == np.mean(is_old & (model.predict(classes.path) == classes.y)) > 0


@pytest.mark.parametrize("spelt", [str.upper, "{} ".format, "new {}".format])
def test_classes_that_are_spelt_otherwise_are_refused(classes: Table, spelt: Any) -> None:
    model = selected(classes, 3, cv=0, stability=0).model
    assert model is not None
    values = [spelt(name) for name in classes.y.tolist()]
    frame = pl.read_csv(classes.path).with_columns(goal=pl.Series(values))
    with pytest.raises(InputError, match="and those of the model are 'a', 'b' and 'c'"):
        score_holdout(model, open_table(frame))


def test_classes_that_are_numbers(classes: Table) -> None:
    model = selected(classes, 3, cv=0, stability=0).model
    model = replace(model, classes=(1, 2, 3))
    code = np.searchsorted(["a", "b", "c"], classes.y) + 1.0
    frame = pl.read_csv(classes.path).with_columns(goal=pl.Series(code))
    held = score_holdout(model, open_table(frame))
    assert held.score == np.mean(model.predict(frame) == code) > 0.5


def test_labels(labels: Table) -> None:
    model = selected(labels, 3, cv=0, stability=0).model
    held = score_holdout(model, open_table(labels.path))
    answer = model.predict(labels.path)
    assert held.score == f1_score(labels.y, answer, average="macro")
    guess = np.tile(labels.y.mean(axis=0) > 0.5, (80, 1)).astype(int)
    assert held.chance == f1_score(labels.y, guess, average="macro", zero_division=0.0)


def test_numbers(numbers: Table) -> None:
    model = selected(numbers, 3, cv=0, stability=0).model
    held = score_holdout(model, open_table(numbers.path))
    assert held.score == pytest.approx(r2_score(numbers.y, model.predict(numbers.path)))
    assert held.chance == pytest.approx(0.0, abs=1e-12), "the mean of the same numbers"


@pytest.mark.filterwarnings("error")
def test_one_sample_has_no_r2(numbers: Table) -> None:
    model = selected(numbers, 3, cv=0, stability=0).model
    held = score_holdout(model, open_table(pl.read_csv(numbers.path).head(1)))
    assert math.isnan(held.score)


@pytest.mark.parametrize(
    ("goal", "words"),
    [
        (None, "has no column 'goal', the target"),
        (pl.Series([None] + [1.0] * 79), "The target 'goal' is missing in 1 of 80 rows"),
        (pl.lit("text"), "Column 'goal' holds text"),
    ],
)
def test_tables_without_usable_targets(
    numbers: Table, goal: pl.Series | pl.Expr | None, words: str
) -> None:
    model = selected(numbers, 3, cv=0, stability=0).model
    frame = pl.read_csv(numbers.path).drop("goal")
    if goal is not None:
        frame = frame.with_columns(goal.alias("goal"))
    with pytest.raises(InputError, match=words):
        score_holdout(model, open_table(frame))
