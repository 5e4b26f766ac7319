"""One maker of folds: stratified, by groups, repeated; the same for all workflows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from rowsparse.workflow.compare import compare
from rowsparse.workflow.cross_validation import fold_notes, table_folds
from rowsparse.workflow.messages import InputError
from rowsparse.workflow.select import find_path
from rowsparse.workflow.settings import (
    CompareSettings,
    EvaluationSettings,
    PathSettings,
    TableSettings,
)
from rowsparse.workflow.table import Table, read_table

from .planted import SCORE, D, N, X, selected

PATIENT = np.repeat(np.arange(20), N // 20)[np.random.default_rng(0).permutation(N)]


def make(folder: Path, goal: Any, groups: Any = PATIENT, **settings: Any) -> Table:
    path = folder / "table.csv"
    columns = {f"f{j}": X[:, j] for j in range(D)}
    names = [f"p{code}" for code in groups]
    pl.DataFrame({**columns, "patient": names, "goal": goal}).write_csv(path)
    reading = TableSettings(target="goal", groups_column="patient", **settings)
    return read_table(path, reading)


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_no_group_is_in_training_and_test(tmp_path: Path, kind: str) -> None:
    goal = SCORE if kind == "numbers" else np.array(["a", "b"])[(SCORE > 0).astype(int)]
    table = make(tmp_path, goal)
    assert "patient" not in table.names
    assert table.identifiers == ("patient",)
    splits = table_folds(table, EvaluationSettings(cv=4, repeats=3, seed=7))
    assert len(splits) == 12
    for train, test in splits:
        assert not set(PATIENT[train]) & set(PATIENT[test])
        assert train.size + test.size == N
    for at in range(3):
        drawn = [test for _, test in splits[4 * at : 4 * at + 4]]
        np.testing.assert_array_equal(np.sort(np.concatenate(drawn)), np.arange(N))
    assert not np.array_equal(splits[0][1], splits[4][1])
    if kind == "classes":
        shares = [np.mean(table.y[test] == "a") for _, test in splits]
        assert np.ptp(shares) < 0.35


def test_the_first_repetition_is_the_folds_without_one(classes: Table) -> None:
    once = table_folds(classes, EvaluationSettings(seed=3))
    thrice = table_folds(classes, EvaluationSettings(seed=3, repeats=3))
    for one, other in zip(once, thrice[:5], strict=True):
        np.testing.assert_array_equal(one[1], other[1])


def test_samples_of_a_patient_in_both_parts_would_flatter_the_score(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    patient = np.repeat(np.arange(20), 4)
    mark = rng.standard_normal((20, D))[patient] + 0.01 * rng.standard_normal((N, D))
    goal = rng.permutation(np.repeat(["a", "b"], 10))[patient]
    path = tmp_path / "t.csv"
    columns = {f"f{j}": mark[:, j] for j in range(D)}
    pl.DataFrame({**columns, "patient": patient, "goal": goal}).write_csv(path)
    plain = read_table(path, TableSettings(target="goal", drop="patient"))
    kept = read_table(path, TableSettings(target="goal", groups_column="patient"))
    options = {"cv": 5, "repeats": 4, "stability": 0}
    assert selected(plain, 8, **options).score > selected(kept, 8, **options).score + 0.1


def test_every_workflow_has_the_same_scores_and_says_so(tmp_path: Path) -> None:
    table = make(tmp_path, np.array(["a", "b"])[(SCORE > 0).astype(int)])
    shared = {"cv": 4, "repeats": 2, "seed": 1}
    asked = selected(table, 3, stability=4, **shared)
    along = find_path(table, PathSettings(k_max=4, **shared))
    beside = compare(table, CompareSettings(k=(3,), methods=("topk",), **shared))
    assert along.curve.by_k()[3] == pytest.approx((asked.score, asked.score_sd))
    assert beside.curve.mean("accuracy")[0, 0] == pytest.approx(asked.score)
    chosen = selected(table, "auto", k_max=4, stability=0, **shared)
    assert chosen.curve.by_k()[3] == pytest.approx((asked.score, asked.score_sd))
    for result in (asked, along, beside):
        assert result.settings["repeats"] == 2
        assert (
            "Rows with one value of 'patient' stay together in folds and subsamples: 20 groups."
            in result.data.notes
        )
        assert any("were drawn 2 times" in note for note in result.data.notes)
    assert asked.confusion.counts.sum() == 2 * N


def test_few_groups(tmp_path: Path) -> None:
    table = make(tmp_path, SCORE, PATIENT % 3)
    with pytest.raises(
        InputError, match="'patient' has only 3 different values: take at most --cv"
    ):
        selected(table, 2)
    result = selected(table, 2, cv=3)
    assert any("too few for subsamples of whole groups" in text for text in result.warnings)
    assert result.stability is None
    single = make(tmp_path, SCORE, np.zeros(N, dtype=int))
    with pytest.raises(InputError, match="folds need at least 2 groups"):
        selected(single, 2)


def test_nothing_is_said_of_the_usual_folds(classes: Table) -> None:
    assert fold_notes(classes, EvaluationSettings()) == []
