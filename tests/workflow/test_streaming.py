"""Selection in one pass over a file, against that from the table in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from rowsparse.workflow import streaming
from rowsparse.workflow.messages import InputError
from rowsparse.workflow.select import select
from rowsparse.workflow.settings import SelectSettings, TableSettings
from rowsparse.workflow.streaming import select_streamed, should_stream
from rowsparse.workflow.table import read_table

pytest.importorskip("pyarrow")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 8))
    y = X[:, 1] - X[:, 4] + 0.3 * rng.standard_normal(300)
    columns: dict[str, Any] = {f"c{j}": X[:, j] for j in range(8)}
    columns |= {"text": ["a", "b"] * 150, "y": y, "kind": np.where(y > 0, "high", "low")}
    pl.DataFrame(columns).write_parquet(tmp_path / "t.parquet")
    return tmp_path / "t.parquet"


@pytest.mark.parametrize("target", ["y", "kind"])
def test_the_features_are_those_of_the_table_in_memory(path: Path, target: str) -> None:
    reading = TableSettings(target=target, drop="text,y,kind".replace(f"{target}", "c0"))
    told: list[tuple[str, float | None]] = []
    settings = SelectSettings(k=3, exclude="c1", cv=3, loss="squared")
    found = select_streamed(path, reading, settings, progress=lambda *a: told.append(a))  # type: ignore[arg-type]
    result = found.completed(select(found.table, found.settings))
    assert np.isnan(result.baseline_score)
    assert result.tests is None
    assert all(feature.fdr is None for feature in result.features)
    whole = select(read_table(path, reading), settings)
    assert {f.name for f in result.features} == {f.name for f in whole.features}
    assert result.objective == pytest.approx(whole.objective)
    assert (result.data.n_samples, result.data.n_features) == (300, 7)
    assert all(f.frequency is not None for f in result.features)
    assert result.stability is not None
    assert "one pass" in result.data.notes[-1]
    assert any("too good" in warning for warning in result.warnings)
    assert ("Reading t.parquet", 1.0) in told


def test_the_number_of_features_comes_from_the_same_pass(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming, "_DESCRIBED_ROWS", 100)
    settings = SelectSettings(k="auto", k_max=5, cv=3, stability=0)
    found = select_streamed(path, TableSettings(target="y", drop="kind"), settings)
    assert found.table.X.shape == (100, 2)
    result = found.completed(select(found.table, found.settings))
    assert result.k_was_chosen
    assert result.curve is not None
    assert (result.curve.chosen_k, result.curve.ks) == (2, (1, 2, 3, 4, 5))
    assert [f.index for f in result.features] == [int(f.name[1:]) for f in result.features]
    assert result.features[0].frequency is None


@pytest.mark.parametrize(
    ("reading", "settings", "message"),
    [
        ({"target": "y", "impute": "mean"}, {}, "needs the whole table"),
        ({"target": "y"}, {"certify": True}, "needs the whole table"),
        ({"target": "y"}, {"loss": "logistic"}, "needs the whole table"),
        ({"target": "y"}, {"method": "rfs"}, "is selected from with"),
        ({}, {}, "is needed: the column to predict"),
        ({"target": "y", "drop": "c*"}, {}, "no columns of numbers"),
    ],
)
def test_what_needs_the_whole_table_is_refused(
    path: Path, reading: dict[str, Any], settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError) as caught:
        select_streamed(path, TableSettings(**reading), SelectSettings(k=2, **settings))
    assert message in str(caught.value)


def test_a_bad_block_is_named(path: Path) -> None:
    frame = pl.read_parquet(path)
    frame[77, "c3"] = None
    frame.write_parquet(path)
    with pytest.raises(InputError) as caught:
        select_streamed(path, TableSettings(target="y"), SelectSettings(k=2))
    assert "Block 0: X contains NaN in column 'c3'" in str(caught.value)


def test_text_files_are_streamed_as_parquet_files_are(path: Path) -> None:
    frame = pl.read_parquet(path).with_row_index("")
    settings = SelectSettings(k=3, cv=3, stability=2, loss="squared")
    reading = TableSettings(target="kind", drop="text,y", na_values="ND")
    found = select_streamed(path, TableSettings(target="kind", drop="text,y"), settings)
    expected = found.completed(select(found.table, found.settings))
    for separator, name in ((",", "t.csv"), (";", "t.txt"), ("\t", "t.tsv")):
        text = path.with_name(name)
        frame.write_csv(text, separator=separator)
        found = select_streamed(text, reading, settings)
        assert found.table.path == text
        result = found.completed(select(found.table, found.settings))
        assert [f.name for f in result.features] == [f.name for f in expected.features]
        assert result.objective == pytest.approx(expected.objective)
        assert result.stability == pytest.approx(expected.stability)
        assert result.data.n_features == 8
    late = pl.when(pl.int_range(300) == 99).then(pl.lit("low")).otherwise(pl.lit("1.5"))
    frame.with_columns(c3=late).write_csv(text, separator="\t")
    with pytest.raises(InputError, match=r"'t\.tsv' cannot be read in blocks, and is too large"):
        select_streamed(text, reading, settings)


def test_only_large_files_are_streamed_unasked(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not should_stream(path)
    assert not should_stream(path.with_suffix(".csv"))
    monkeypatch.setattr(streaming, "fits_memory", lambda n_bytes: n_bytes < 100_000)
    # 300 rows of 11 columns, of 8 bytes, four times.
    assert should_stream(path)
    text = path.with_suffix(".csv")
    pl.read_parquet(path).write_csv(text)
    assert should_stream(text)
    pl.read_parquet(path).head(100).write_csv(text)
    assert not should_stream(text)
    path.write_bytes(b"PAR1 and nothing")
    assert not should_stream(path)
