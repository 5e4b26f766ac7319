"""Missing values are counted, or replaced by medians."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from .files import N, X, Y, csv, frame, read, refusal


def test_missing_values_are_counted_and_the_worst_columns_named(tmp_path: Path) -> None:
    table = frame().with_columns(
        pl.when(pl.int_range(pl.len()) < 5).then(None).otherwise(pl.col("f2")).alias("f2"),
        pl.when(pl.int_range(pl.len()) < 9).then(None).otherwise(pl.col("f7")).alias("f7"),
    )
    path = csv(tmp_path / "a.csv", table)
    assert refusal(path) == (
        "The table has 14 missing values in 2 of 10 columns, most in 'f7' (9) and 'f2' (5): fill "
        "them with impute='median', or leave columns out with drop."
    )
    filled = read(path, "outcome", impute="median")
    assert filled.X[:9, 7].tolist() == [np.median(X[9:, 7])] * 9
    np.testing.assert_array_equal(filled.X[9:], X[9:])
    assert "14 missing values in 2 columns replaced by the median" in filled.notes[0]
    assert read(path, "outcome", drop="f2,f7").X.shape == (N, 8)


def test_missing_categories(tmp_path: Path) -> None:
    colour = [None if i < 4 else ["red", "green", "green", "blue"][i % 4] for i in range(N)]
    path = csv(tmp_path / "a.csv", frame(colour=colour))
    assert "4 missing values in 1 of 11 columns, most in 'colour' (4)" in refusal(path)
    table = read(path, "outcome", impute="median")
    assert table.X[:4, table.names.index("colour=green")].tolist() == [1.0] * 4


def test_a_column_without_any_value(tmp_path: Path) -> None:
    path = csv(tmp_path / "a.csv", frame(void=pl.Series([None] * N, dtype=pl.Float64)))
    assert "'void' (90)" in refusal(path)
    table = read(path, "outcome", impute="median")
    assert "void" not in table.names
    assert any("without any value: 'void'" in note for note in table.notes)


def test_infinity_is_refused(tmp_path: Path) -> None:
    bad = X.copy()
    bad[3, 2] = np.inf
    np.savez(tmp_path / "a.npz", X=bad, y=Y)
    assert refusal(tmp_path / "a.npz", None) == "'x2' holds infinity: clip or drop."
    bad[3, 2] = np.nan
    np.savez(tmp_path / "a.npz", X=bad, y=Y)
    assert "1 missing value in 1 of 10 columns" in refusal(tmp_path / "a.npz", None)
