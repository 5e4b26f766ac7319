"""Tables with a row for each feature."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from rowsparse.workflow.loading import transpose_frame

from .files import N, X, Y, frame, read, refusal

SAMPLES = [f"s{i}" for i in range(N)]
NAMES = [f"f{j}" for j in range(10)]


def turned(outcome: bool = True) -> pl.DataFrame:
    """The table of the other tests with features in rows."""
    genes = pl.DataFrame(X.T, schema=SAMPLES)
    if outcome:
        genes = pl.concat([genes.cast(pl.String), pl.DataFrame([Y], schema=SAMPLES, orient="row")])
    return genes.insert_column(0, pl.Series("gene", [*NAMES, *["outcome"] * outcome]))


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet"])
def test_the_table_is_the_one_with_samples_in_rows(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.{suffix}"
    if suffix == "parquet":
        turned().write_parquet(path)
    else:
        turned().write_csv(path, separator="," if suffix == "csv" else "\t")
    table = read(path, "outcome", transpose=True)
    frame().write_csv(tmp_path / "b.csv")
    same = read(tmp_path / "b.csv", "outcome")
    np.testing.assert_array_equal(table.X, same.X)
    assert table.names == same.names
    assert table.target.classes == same.target.classes
    assert table.identifiers == ("sample",)


def test_row_names_of_r_and_decimal_commas(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    lines = turned().write_csv(separator=";").replace(".", ",").removeprefix("gene;")
    path.write_text(lines)
    np.testing.assert_array_equal(read(path, "outcome", transpose=True).X, X)


def test_numbers_stay_numbers_and_names_become_unique() -> None:
    genes = pl.DataFrame({"id": [7.0, 12.0, 7.0, None], "s1": [1, 2, 3, 4], "s2": [0.5, 1, 2, 3]})
    result, notes = transpose_frame(genes)
    assert result.to_dict(as_series=False) == {
        "sample": ["s1", "s2"],
        "7": [1.0, 0.5],
        "12": [2.0, 1.0],
        "7 (2)": [3.0, 2.0],
        "row 4": [4.0, 3.0],
    }
    assert notes == ["Names that come several times got a number: '7 (2)'."]


def test_a_feature_called_sample() -> None:
    result, _ = transpose_frame(pl.DataFrame({"id": ["sample", "b"], "s1": [1, 2]}))
    assert result.columns == ["sample", "sample (2)", "b"]


def test_a_word_among_numbers_is_found_in_its_column(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    lines = turned().write_csv().splitlines()
    cells = lines[3].split(",")
    cells[5] = "<LOD"
    path.write_text("\n".join([*lines[:3], ",".join(cells), *lines[4:]]))
    assert "Column 'f2' holds numbers, but '<LOD' in column 's4':" in refusal(path, transpose=True)


def test_arrays_are_not_transposed(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", X=X, y=Y)
    assert refusal(tmp_path / "a.npz", None, transpose=True) == (
        "--transpose is about tables with columns, and 'a.npz' holds arrays: leave it out."
    )
