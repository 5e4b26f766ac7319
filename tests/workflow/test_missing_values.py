"""Missing values are counted, or replaced by medians."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rowsparse.workflow.compare import compare
from rowsparse.workflow.select import select
from rowsparse.workflow.settings import CompareSettings, SelectSettings

from .files import N, X, Y, csv, frame, read, refusal


def test_missing_values_are_counted_and_the_worst_columns_named(tmp_path: Path) -> None:
    table = frame().with_columns(
        pl.when(pl.int_range(pl.len()) < 5).then(None).otherwise(pl.col("f2")).alias("f2"),
        pl.when(pl.int_range(pl.len()) < 9).then(None).otherwise(pl.col("f7")).alias("f7"),
    )
    path = csv(tmp_path / "a.csv", table)
    assert refusal(path) == (
        "The table has 14 missing values in 2 of 10 columns, most in 'f7' (9) and 'f2' (5): fill "
        "them with --impute median, or leave columns out with --drop."
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
    for kind in (pl.Float64, pl.String):
        void = frame(void=pl.Series([None] * N, dtype=kind))
        void.write_parquet(tmp_path / "a.parquet")
        for file in (path, tmp_path / "a.parquet"):
            table = read(file, "outcome")
            assert "void" not in table.names
            assert table.notes == ("Left out, being empty: 'void'.",)


def test_patterns_of_missing_values(tmp_path: Path) -> None:
    words = {2: "<0.5", 7: "<LOD", 8: "n.d. (1)", 9: "below (x)"}
    text = [words.get(i, repr(float(X[i, 2]))) for i in range(N)]
    path = csv(tmp_path / "a.csv", frame(amount=text))
    assert "'<0.5' in line 4 and other text in 3 more rows" in refusal(path)
    assert "'n.d. (1)' in line 10 and" in refusal(path, na_values="<*")
    table = read(path, "outcome", na_values="<*, n.d.*, *(x)", impute="median")
    amount = table.X[:, table.names.index("amount")]
    assert amount[list(words)].tolist() == [np.median(np.delete(X[:, 2], list(words)))] * 4
    two = csv(tmp_path / "b.csv", frame(amount=[*text[:8], *map(repr, X[8:, 2].tolist())]))
    assert "--na-values '<*' that it is" in refusal(two)


def test_infinity_is_refused(tmp_path: Path) -> None:
    bad = X.copy()
    bad[3, 2] = np.inf
    np.savez(tmp_path / "a.npz", X=bad, y=Y)
    assert refusal(tmp_path / "a.npz", None) == "'x2' holds infinity: clip or --drop."
    bad[3, 2] = np.nan
    np.savez(tmp_path / "a.npz", X=bad, y=Y)
    assert "1 missing value in 1 of 10 columns" in refusal(tmp_path / "a.npz", None)


@pytest.mark.parametrize("impute", ["median", "mean", "most_frequent"])
def test_what_fills_gaps_is_that_of_the_given_rows(tmp_path: Path, impute: str) -> None:
    rng = np.random.default_rng(0)
    level = rng.integers(0, 5, N).astype(float)
    level[::7] = np.nan
    colour = rng.choice(["red", "green", "blue"], N).astype(object)
    sex = rng.choice(["m", "f"], N).astype(object)
    colour[::5] = sex[::9] = None
    more = {
        "level": pl.Series(level).fill_nan(None),
        "colour": colour.tolist(),
        "sex": sex.tolist(),
    }
    table = read(csv(tmp_path / "t.csv", frame(**more)), "outcome", impute=impute)
    rows = np.arange(40, N)
    filled = table.filled_from(rows)
    imputer = SimpleImputer(strategy=impute).fit(level[rows, None])
    expected = imputer.transform(level[:, None])[:, 0]
    np.testing.assert_allclose(filled.X[:, filled.names.index("level")], expected)
    words = SimpleImputer(missing_values=None, strategy="most_frequent")
    for name, values in (("colour", colour), ("sex", sex)):
        known = words.fit(values[rows, None]).transform(values[:, None])[:, 0]
        for column in [label for label in filled.names if label.startswith(f"{name}=")]:
            is_so = known == column.partition("=")[2]
            np.testing.assert_array_equal(filled.X[:, filled.names.index(column)], is_so)
    everything = table.filled_from(np.arange(N))
    np.testing.assert_allclose(everything.X, table.X)


def test_folds_fill_from_training_rows_and_the_model_from_all(tmp_path: Path) -> None:
    # Test rows with gaps would be told apart by a statistic of all rows.
    rng = np.random.default_rng(0)
    goal = rng.standard_normal(N)
    level = goal + 0.1 * rng.standard_normal(N)
    level[rng.random(N) < 0.4] = np.nan
    more = {"level": pl.Series(level).fill_nan(None), "goal": goal}
    path = csv(tmp_path / "t.csv", frame(**more))
    table = read(path, "goal", impute="mean", drop="outcome")
    result = select(table, SelectSettings(k=1, cv=3, stability=0, include="level"))
    scores = []
    for train, test in KFold(3, shuffle=True, random_state=0).split(level):
        model = make_pipeline(SimpleImputer(), StandardScaler(), LinearRegression())
        model.fit(level[train, None], goal[train])
        scores.append(model.score(level[test, None], goal[test]))
    assert result.score == pytest.approx(np.mean(scores))
    beside = compare(
        read(path, "goal", impute="mean", drop="outcome,f*"),
        CompareSettings(k=(1,), cv=3, methods=("topk",)),
    )
    assert beside.curve.mean("r2")[0, 0] == pytest.approx(np.mean(scores))
    assert result.model.columns[0].fill == pytest.approx(np.nanmean(level))
