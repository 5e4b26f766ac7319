"""Columns that know the target are named, and others are not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp

from rowsparse.workflow.compare import compare
from rowsparse.workflow.leakage import Leaks, find_leaks
from rowsparse.workflow.plan import make_plan
from rowsparse.workflow.select import find_path
from rowsparse.workflow.settings import (
    CompareSettings,
    MethodSettings,
    PathSettings,
    TableSettings,
)
from rowsparse.workflow.table import Table, read_table

from .planted import selected

N = 120
_rng = np.random.default_rng(5)
X = _rng.standard_normal((N, 6))
CLASSES = _rng.integers(0, 3, N)
GOAL = _rng.standard_normal(N)


def make(folder: Path, goal: Any, **columns: Any) -> Table:
    path = folder / "t.csv"
    names = {f"f{j}": X[:, j] for j in range(6)}
    pl.DataFrame({**names, **columns, "goal": goal}).write_csv(path)
    return read_table(path, TableSettings(target="goal"))


def leaks(table: Table, **settings: Any) -> Leaks:
    return find_leaks(make_plan(table, MethodSettings(**settings)))


@pytest.mark.parametrize(
    "column",
    [
        CLASSES * 1.5,
        np.array([7, 1, 4])[CLASSES],
        np.exp(10 * CLASSES + X[:, 0]),
        np.array(["x", "y", "z"])[CLASSES],
        np.array([3, 5, 8])[CLASSES] + 10 * _rng.integers(0, 4, N),
    ],
    ids=["copy", "bijection", "separated", "words", "finer"],
)
def test_what_tells_the_classes(tmp_path: Path, column: Any) -> None:
    goal = np.array(["a", "b", "c"])[CLASSES]
    assert leaks(make(tmp_path, goal, suspect=column)) == Leaks(("suspect",))


@pytest.mark.parametrize(
    "column", [2 * GOAL + 1, np.exp(3 * GOAL), GOAL.round(2)], ids=["line", "order", "rounded"]
)
def test_what_tells_numbers(tmp_path: Path, column: Any) -> None:
    assert leaks(make(tmp_path, GOAL, suspect=column)) == Leaks(("suspect",))


def test_what_tells_one_label(tmp_path: Path) -> None:
    labels = (X[:, :2] + _rng.standard_normal((N, 2)) > 0).astype(int)
    path = tmp_path / "t.csv"
    columns = {f"f{j}": X[:, j] for j in range(6)}
    more = {"suspect": labels[:, 1] * 3.0, "l0": labels[:, 0], "l1": labels[:, 1]}
    pl.DataFrame({**columns, **more}).write_csv(path)
    table = read_table(path, TableSettings(target="l*"))
    assert leaks(table).predicting == ("suspect",)


def test_honest_columns_are_not_suspect(tmp_path: Path) -> None:
    goal = np.array(["a", "b", "c"])[CLASSES]
    good = CLASSES + 0.3 * X[:, 0]
    flag = (CLASSES == 2).astype(int)
    group = np.array(["x", "y", "z", "w"])[np.where(X[:, 1] > 1, 3, CLASSES)]
    assert leaks(make(tmp_path, goal, good=good, flag=flag, group=group)) == Leaks()
    assert leaks(make(tmp_path, GOAL, good=GOAL + 0.2 * X[:, 0])) == Leaks()
    # Sorted classes do not make a column of zeros and ones follow them.
    sparse = np.isin(np.arange(N), [5, 60])
    assert leaks(make(tmp_path, np.sort(goal), rare=sparse)) == Leaks()


def test_a_column_in_the_order_of_the_rows(tmp_path: Path) -> None:
    times = np.sort(_rng.random(N))
    times[[3, 4]] = times[[4, 3]]
    mixed = np.array(["a", "b"])[CLASSES % 2]
    assert leaks(make(tmp_path, mixed, time=times)) == Leaks()
    half = np.repeat(["a", "b"], N // 2)
    half[[10, 100]] = ["b", "a"]
    assert leaks(make(tmp_path, half, time=times)) == Leaks((), ("time",))
    drift = np.arange(N) + 15 * X[:, 0]
    assert leaks(make(tmp_path, drift, time=times)) == Leaks((), ("time",))


def test_what_chance_would_give_is_not_told(tmp_path: Path) -> None:
    path = tmp_path / "t.npz"
    noise = np.random.default_rng(0).standard_normal((20, 3000))
    y = np.array([0] * 16 + [1] * 4)
    noise[:, 7] = y
    np.savez(path, X=noise, y=y)
    table = read_table(path)
    assert leaks(table) == Leaks()
    few = read_table(path, TableSettings(drop=",".join(f"x{j}" for j in range(8, 3000))))
    assert leaks(few) == Leaks(("x7",))


def test_sparse_tables(classes: Table) -> None:
    X = sp.csr_array(np.column_stack([classes.X, classes.y == "a", classes.y == "b"]))
    code = sp.csr_array(np.searchsorted(["a", "b", "c"], classes.y)[:, None] * 1.0)
    wide = Table(sp.hstack([X, code]).tocsr(), [f"x{j}" for j in range(15)], classes.target, Path())
    assert leaks(wide) == Leaks(("x14",))


def test_every_workflow_warns_and_columns_left_out_are_not_told(tmp_path: Path) -> None:
    table = make(tmp_path, GOAL, copy=GOAL * 2)
    settings = {"cv": 2}
    found = (
        selected(table, 2, stability=0, **settings),
        find_path(table, PathSettings(k_max=2, **settings)),
        compare(table, CompareSettings(k=(1,), methods=("topk",), **settings)),
    )
    for result, remedy in zip(found, ("exclude", "exclude", "drop"), strict=True):
        assert result.data.leaks == ("copy",)
        assert result.warnings[0] == (
            "'copy' alone predicts the target almost perfectly: if it is a copy of it, or is known "
            f"only afterwards, leave it out with --{remedy} copy."
        )
    for out in ({"exclude": "copy"}, {"adjust": "copy"}):
        assert selected(table, 2, cv=0, stability=0, **out).data.leaks == ()


@pytest.mark.parametrize("write", [str, "P{}".format, int])
def test_a_column_of_patients_is_for_the_folds(tmp_path: Path, write: Any) -> None:
    patients = np.repeat(np.arange(N // 4), 4)
    column = [write(100 + p * p) for p in patients.tolist()]
    table = make(tmp_path, ["ill" if p % 3 else "well" for p in patients], patient=column)
    result = selected(table, 2, cv=0, stability=0)
    assert result.data.leaks == ("patient",)
    assert "take --groups-column patient, which keeps these rows together" in result.warnings[0]
    assert not any("--exclude" in sentence for sentence in result.warnings)


def test_many_patients_get_a_note(tmp_path: Path) -> None:
    column = [f"P{p}" for p in np.repeat(np.arange(70), 2)]
    path = tmp_path / "table.csv"
    x = np.random.default_rng(0).standard_normal(140)
    pl.DataFrame({"patient": column, "x": x, "goal": ["a", "b"] * 70}).write_csv(path)
    notes = read_table(path, TableSettings(target="goal")).notes
    assert any("take --groups-column patient" in note for note in notes)
