"""Labels in a file of their own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from rowsparse.workflow.messages import InputError
from rowsparse.workflow.settings import TableSettings
from rowsparse.workflow.table import Table
from rowsparse.workflow.writing import write_reduced

from .files import N, X, Y, read, refusal
from .planted import selected

SAMPLES = [f"s{i}" for i in range(N)]
ORDER = np.random.default_rng(1).permutation(N)


def genes(names: list[str] = SAMPLES) -> pl.DataFrame:
    """A row for each of ten features."""
    table = pl.DataFrame(X.T, schema=names)
    return table.insert_column(0, pl.Series("gene", [f"f{j}" for j in range(10)]))


def pheno(names: list[str] = SAMPLES) -> pl.DataFrame:
    """A row for each sample, in another order."""
    shuffled = {"patient": [names[i] for i in ORDER], "outcome": Y[ORDER]}
    return pl.DataFrame(shuffled | {"age": 20.0 + ORDER % 50})


def joined(folder: Path, table: pl.DataFrame, labels: pl.DataFrame, **settings: object) -> Table:
    table.write_csv(folder / "genes.csv")
    labels.write_csv(folder / "pheno.csv")
    options = {"labels": str(folder / "pheno.csv"), "by": "patient", "transpose": True}
    return read(folder / "genes.csv", "outcome", **(options | settings))


def refused(folder: Path, table: pl.DataFrame, labels: pl.DataFrame, **settings: object) -> str:
    with pytest.raises(InputError) as caught:
        joined(folder, table, labels, **settings)
    return str(caught.value)


def test_rows_are_joined_by_name_whatever_their_order(tmp_path: Path) -> None:
    table = joined(tmp_path, genes(), pheno())
    assert table.names == [*[f"f{j}" for j in range(10)], "age"]
    np.testing.assert_array_equal(table.X[:, :10], X)
    np.testing.assert_array_equal(table.X[:, 10], 20.0 + np.arange(N) % 50)
    np.testing.assert_array_equal(table.y, Y)
    assert table.identifiers == ("patient",)
    assert table.notes[0] == "Joined with 'pheno.csv' by 'patient': 'outcome' and 'age' added."


def test_samples_in_rows(tmp_path: Path) -> None:
    samples = pl.DataFrame({"patient": SAMPLES, **{f"f{j}": X[:, j] for j in range(10)}})
    table = joined(tmp_path, samples, pheno(), transpose=False, drop="age")
    np.testing.assert_array_equal(table.X, X)
    np.testing.assert_array_equal(table.y, Y)


def test_names_with_leading_zeros(tmp_path: Path) -> None:
    names = [f"{i:03d}" for i in range(N)]
    table = joined(tmp_path, genes(names), pheno(names), drop="age")
    np.testing.assert_array_equal(table.y, Y)


def test_samples_that_one_file_lacks(tmp_path: Path) -> None:
    table = joined(tmp_path, genes().drop("s7"), pheno().filter(pl.col("patient") != "s3"))
    kept = [i for i in range(N) if i not in (3, 7)]
    np.testing.assert_array_equal(table.X[:, :10], X[kept])
    np.testing.assert_array_equal(table.y, Y[kept])
    assert table.notes[1:3] == (
        "Left out: 1 sample without a row in 'pheno.csv', 's3'.",
        "1 row of 'pheno.csv' not used: the table has no such samples.",
    )


def test_a_word_among_numbers_is_found_by_its_sample(tmp_path: Path) -> None:
    age = pl.when(pl.col("patient") == "s5").then(pl.lit("old")).otherwise(pl.col("age"))
    sentence = refused(tmp_path, genes(), pheno().with_columns(age=age))
    assert "Column 'age' holds numbers, but 'old' in sample 's5':" in sentence


def test_what_cannot_be_joined(tmp_path: Path) -> None:
    strangers = [f"x{i}" for i in range(N)]
    assert refused(tmp_path, genes(), pheno(strangers)) == (
        "No sample of 'genes.csv' is in 'pheno.csv': --by patient is 's0' in the first row of one "
        f"and 'x{ORDER[0]}' in that of the other."
    )
    twice = pl.concat([pheno(), pheno().filter(pl.col("patient") == "s4")])
    assert refused(tmp_path, genes(), twice) == (
        "--by patient must name each sample once: in 'pheno.csv', 's4' comes several times."
    )
    assert refused(tmp_path, genes(), pheno(), by="id").startswith(
        "--by: there is no column 'id' in 'pheno.csv'; it has 'patient', 'outcome' and 'age'."
    )
    assert "both have the columns 'f3': rename" in refused(
        tmp_path, genes(), pheno().rename({"age": "f3"})
    )
    np.savez(tmp_path / "a.npz", X=X, y=Y)
    labels = {"labels": str(tmp_path / "pheno.csv"), "by": "patient"}
    assert "'a.npz' holds arrays: leave it out." in refusal(tmp_path / "a.npz", **labels)
    with pytest.raises(InputError, match="--labels and --by need each other"):
        TableSettings(labels="pheno.csv")


def test_the_reduced_table_has_samples_in_rows(tmp_path: Path) -> None:
    table = joined(tmp_path, genes(), pheno(), drop="age")
    (tmp_path / "out").mkdir()
    path = write_reduced(tmp_path / "out", table, selected(table, 3, cv=0, stability=0))
    again = read(path, "outcome")
    assert again.names == ["f1", "f4", "f6"]
    np.testing.assert_array_equal(again.X, X[:, [1, 4, 6]])
    np.testing.assert_array_equal(again.y, Y)
