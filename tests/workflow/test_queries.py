"""Tables made by SQL, from files and from SQLite databases."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from rowsparse.workflow.new_table import open_table
from rowsparse.workflow.reduced_table import write_reduced
from rowsparse.workflow.settings import TableSettings

from .files import N, X, Y, csv, frame, read, refusal
from .planted import selected

OLD = "SELECT f1, f4, f6, outcome FROM data WHERE age > 40"
AGE = np.arange(N) % 80


def database(path: Path, **tables: pl.DataFrame) -> Path:
    with sqlite3.connect(path) as connection:
        for named, table in tables.items():
            name = named.replace('"', '""')
            columns = ", ".join(f'"{column}"' for column in table.columns)
            marks = ", ".join("?" * table.width)
            connection.execute(f'CREATE TABLE "{name}" ({columns})')
            connection.executemany(f'INSERT INTO "{name}" VALUES ({marks})', table.rows())
    connection.close()
    return path


@pytest.mark.parametrize("suffix", ["csv", "parquet", "db"])
def test_rows_and_columns_by_query(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"data.{suffix}"
    table = frame(age=AGE)
    if suffix == "db":
        database(path, data=table)
    else:
        getattr(table, f"write_{suffix}")(path)
    found = read(path, "outcome", query=OLD)
    assert found.names == ["f1", "f4", "f6"]
    np.testing.assert_allclose(found.X, X[AGE > 40][:, [1, 4, 6]])
    assert found.y.tolist() == Y[AGE > 40].tolist()
    result = selected(found, 2, cv=0, stability=0)
    path = write_reduced(tmp_path, found, result)
    assert path.name == "reduced.csv"
    assert pl.read_csv(path).height == found.X.shape[0]
    again = open_table(found.path, TableSettings(query=OLD))
    assert result.model.predict(again).size == found.X.shape[0]


def test_the_name_of_the_file_is_a_table_too(tmp_path: Path) -> None:
    path = csv(tmp_path / "my visits.csv", frame())
    assert read(path, "outcome", query='SELECT f1, outcome FROM "my visits"').names == ["f1"]


def test_the_only_table_of_a_database_needs_no_query(tmp_path: Path) -> None:
    gaps = frame(
        level=[None, *range(1, N)], word=[None if i < 3 else "xy"[i % 2] for i in range(N)]
    )
    path = database(tmp_path / "a.sqlite", **{'odd "name"': gaps})
    table = read(path, "outcome", impute="median", keep_all=True)
    assert {"level", "word=y"} <= set(table.names)
    assert set(table.gaps) == {"level", "word"}


@pytest.mark.parametrize("suffix", ["csv", "db"])
@pytest.mark.parametrize(
    "query", ["SELEC 1", "SELECT nosuch FROM data", "SELECT * FROM nosuch", "DROP TABLE data", ""]
)
def test_queries_that_fail_are_told_in_a_sentence(tmp_path: Path, suffix: str, query: str) -> None:
    path = tmp_path / f"data.{suffix}"
    if suffix == "db":
        database(path, data=frame())
    else:
        csv(path, frame())
    assert refusal(path, query=query).startswith("query")
    assert read(path, "outcome").X.shape == (N, 10)


def test_refusals(tmp_path: Path) -> None:
    two = database(tmp_path / "two.db", a=frame(), b=frame())
    assert refusal(two) == (
        "'two.db' has the tables 'a' and 'b': say what to take, as in query='SELECT * FROM \"a\"'."
    )
    assert refusal(two, query="SELECT a.f1, b.f1 FROM a, b LIMIT 3") == (
        "query gives several columns the name 'f1'."
    )
    broken = tmp_path / "broken.db"
    broken.write_bytes(b"no database at all" * 100)
    assert "cannot be read as an SQLite database" in refusal(broken)
    np.savez(tmp_path / "a.npz", X=X, y=Y)
    assert "holds arrays: leave it out" in refusal(tmp_path / "a.npz", None, query=OLD)
    assert refusal(csv(tmp_path / "c.csv", frame(age=AGE)), query=OLD + " AND age > 400") == (
        "The table has no rows: at least two are needed."
    )
