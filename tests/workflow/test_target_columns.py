"""Which columns are targets, and what they are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from rowsparse.workflow.columns import find_columns
from rowsparse.workflow.settings import TableSettings

from .files import N, X, csv, frame, read, refusal


def test_a_pattern_of_labels_is_multilabel(tmp_path: Path) -> None:
    labels = {f"label_{j}": (X[:, j] > 0).astype(int) for j in range(3)}
    path = csv(tmp_path / "a.csv", frame(**labels).drop("outcome"))
    for target in ("label_*", "label_0, label_1,label_2"):
        table = read(path, target)
        assert table.task == "multilabel"
        assert table.y.shape == (N, 3)
        assert table.target.classes == ("label_0", "label_1", "label_2")
    assert read(path, "label_*", task="regression").task == "regression"
    assert "one target column" in refusal(path, "label_*", task="classification")


def test_several_numbers_are_regression(tmp_path: Path) -> None:
    path = csv(tmp_path / "a.csv", frame(s=X[:, 1] * 2, t=X[:, 2] + 1))
    table = read(path, "s,t", drop="outcome")
    assert table.task == "regression"
    assert table.y.shape == (N, 2)
    assert "0 or 1; 's' and 't'" in refusal(path, "s,t", task="multilabel")
    assert "'outcome' holds text" in refusal(path, "s,outcome")


@pytest.mark.parametrize(
    ("values", "task"),
    [
        (np.arange(N) % 3, "classification"),
        (np.arange(N), "regression"),
        ((np.arange(N) % 2).astype(float), "classification"),
        (np.linspace(0, 1, N), "regression"),
        (np.arange(N) % 2 == 0, "classification"),
    ],
)
def test_what_one_target_is(values: np.ndarray, task: str, tmp_path: Path) -> None:
    path = csv(tmp_path / "a.csv", frame(goal=values))
    table = read(path, "goal")
    assert table.task == task
    assert read(path, "goal", task="regression").task == "regression"
    assert read(path, "goal", task="classification").task == "classification"
    if task == "classification" and len(set(values.tolist())) > 2:
        assert "taken as classes" in table.notes[0]


def test_numbers_that_may_be_classes_are_noted(tmp_path: Path) -> None:
    path = csv(tmp_path / "a.csv", frame(goal=np.r_[np.arange(3), np.arange(2, N - 1) % 3 + 2]))
    table = read(path, "goal")
    assert table.task == "regression"
    assert "5 different whole numbers, taken as numbers (--task classification" in table.notes[0]


def test_a_name_with_a_comma_is_found_whole() -> None:
    assert find_columns("drop", "a,b", ["a,b", "a", "b"]) == ["a,b"]
    assert find_columns("drop", "b,a", ["a", "b"]) == ["a", "b"]
    assert find_columns("drop", "x[1]", ["x[1]", "x1"]) == ["x[1]"]
    assert find_columns("drop", None, ["a"]) == []


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("outcom", "there is no column 'outcom' in the table; did you mean 'outcome'?"),
        ("label_*", "no column of the table matches 'label_*'."),
        (None, "Name the column to predict with --target; the table has 'f0'"),
        ("", "Name the column to predict with --target"),
    ],
)
def test_targets_that_are_not_there(target: str | None, words: str, tmp_path: Path) -> None:
    assert words in refusal(csv(tmp_path / "a.csv", frame()), target)


def test_a_target_of_numbers_with_a_word(tmp_path: Path) -> None:
    goal = [*[f"{i}.5" for i in range(N - 1)], "lost"]
    path = csv(tmp_path / "a.csv", frame(goal=goal))
    assert refusal(path, "goal") == (
        "Column 'goal' holds numbers, but 'lost' in line 91: correct the file, say with "
        "--na-values lost that it is a missing value, or take its values as classes with "
        "--task classification."
    )
    assert "missing in 1 of 90 rows" in refusal(path, "goal", na_values="lost")
    grades = ["0", "1", "2", "3+"] * (N // 4) + ["0", "0"]
    table = read(csv(tmp_path / "b.csv", frame(goal=grades)), "goal")
    assert table.target.classes == ("0", "1", "2", "3+")


def test_counts_are_what_they_are_said_to_be(tmp_path: Path) -> None:
    visits = np.arange(N) % 4
    path = csv(tmp_path / "a.csv", frame(visits=visits, fewer=visits - 1, half=visits / 2))
    table = read(path, "visits", task="counts")
    assert (table.task, table.target.classes, table.y.dtype) == ("counts", (), float)
    asked = TableSettings(target="visits").for_loss("poisson")
    assert asked.task == "counts"
    assert TableSettings(target="visits").for_loss(None).task == "auto"
    assert TableSettings(task="regression").for_loss("poisson").task == "regression"
    assert read(path, "half", task="counts").y.max() == 1.5, "a rate may be a count of half days"
    assert refusal(path, "fewer", task="counts") == (
        "The target 'fewer' is -1 in line 2, and counts are 0 or more: correct it, or take the "
        "target as numbers with --task regression."
    )
    assert "'outcome' holds text, and --task counts needs" in refusal(path, task="counts")
    assert "counts takes one target column" in refusal(path, "visits,half", task="counts")
    big = csv(tmp_path / "b.csv", frame(visits=visits * 1e17))
    assert "a count of 3e+17, which is too large" in refusal(big, "visits", task="counts")


def test_target_refusals(tmp_path: Path) -> None:
    gap = frame(goal=[None, None, *range(N - 2)])
    path = csv(tmp_path / "a.csv", gap.with_columns(same=pl.lit("x")))
    assert refusal(path, "goal") == (
        "The target 'goal' is missing in 2 of 90 rows: leave them out with --drop-missing-target."
    )
    path = csv(tmp_path / "a.csv", frame(same=["x"] * N))
    assert refusal(path, "same") == (
        "The target 'same' is the same in every row: nothing to predict."
    )
    assert "holds text" in refusal(path, "outcome", task="regression")
    assert "several target columns" in refusal(path, "outcome", task="multilabel")
    assert "cannot be both" in refusal(path, "outcome", drop="outcome")
    assert "--drop: there is no column 'f99'" in refusal(path, "outcome", drop="f99")
