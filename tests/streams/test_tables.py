"""Parquet and Arrow files in blocks."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from rowsparse import RowBlocks, TopK
from rowsparse.streams import tables

pytest.importorskip("pyarrow")

rng = np.random.default_rng(0)
FRAME = pd.DataFrame(rng.standard_normal((90, 6)), columns=list("abcdef"))
FRAME["y"] = np.where(FRAME.a + FRAME.b > 0, "yes", "no")
FRAME["w"] = rng.random(90) + 0.1
EXPECTED = TopK(2, random_state=0, loss="squared").fit(FRAME[list("abcdef")], FRAME.y, FRAME.w)


@pytest.mark.parametrize("form", ["parquet", "feather", "folder"])
def test_files_give_the_answer_of_the_whole_table(form: str, tmp_path: Path) -> None:
    path = tmp_path / f"table.{form}"
    if form == "parquet":
        FRAME.to_parquet(path, row_group_size=40)
    elif form == "feather":
        FRAME.astype({"y": "category"}).to_feather(path, compression="uncompressed")
    else:
        path.mkdir()
        for i in range(3):
            FRAME[i * 30 : i * 30 + 30].to_parquet(path / f"part{i}.parquet")
    blocks = RowBlocks.from_table(path, "y", sample_weight="w", rows=25)
    assert blocks.n_blocks == {"parquet": 4, "feather": 4, "folder": 6}[form]
    found = TopK(2, random_state=0, loss="squared").fit(blocks)
    assert found.get_feature_names_out().tolist() == EXPECTED.get_feature_names_out().tolist()
    np.testing.assert_allclose(found.objective_, EXPECTED.objective_)


@pytest.mark.parametrize("form", ["reader", "table", "polars"])
def test_what_an_engine_hands_out_gives_the_answer_of_the_whole_table(form: str) -> None:
    pa = pytest.importorskip("pyarrow")
    table = pa.Table.from_pandas(FRAME, preserve_index=False)
    read: Any = {"reader": lambda: table.to_reader(40), "table": lambda: table}.get(form)
    if form == "polars":
        frame = pytest.importorskip("polars").from_arrow(table)
        if not hasattr(frame, "__arrow_c_stream__"):
            pytest.skip("this release of polars has none")
        read = lambda: frame  # noqa: E731
    blocks = RowBlocks.from_arrow(read, "y", sample_weight="w", rows=25)
    assert next(len(block.y) for _, block in blocks.blocks()) == 25
    for _ in range(2):
        found = TopK(2, random_state=0, loss="squared").fit(blocks)
        assert found.get_feature_names_out().tolist() == EXPECTED.get_feature_names_out().tolist()
        np.testing.assert_allclose(found.objective_, EXPECTED.objective_)
    _, (X, y, weights) = next(RowBlocks.from_arrow(read, ["b", "d"], columns=["a"]).blocks())
    np.testing.assert_array_equal(X[:, 0], FRAME.a[: len(X)])
    assert (y.shape, weights) == ((len(X), 2), None)


def test_a_stream_that_is_none_or_changes_is_refused() -> None:
    pa = pytest.importorskip("pyarrow")
    tables = [pa.table({"a": [0.0, 1.0], "y": [0.5, 1.0]})] * 2 + [pa.table({"y": [0.5, 1.0]})]
    left = iter(tables)
    blocks = RowBlocks.from_arrow(lambda: next(left).to_reader(), "y")
    TopK(1).fit(blocks)
    with pytest.raises(ValueError, match="Block 0: it has no column 'a' any more"):
        TopK(1).fit(blocks)
    with pytest.raises(ValueError, match="The stream has no column 'z'"):
        RowBlocks.from_arrow(lambda: tables[0], "z")
    with pytest.raises(TypeError, match="read must be a function that opens the data; got Table"):
        RowBlocks.from_arrow(tables[0], "y")
    with pytest.raises(TypeError, match="with __arrow_c_stream__; got list"):
        RowBlocks.from_arrow(lambda: [1], "y")


def test_missing_values_and_text_are_refused_by_block_and_name(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    frame = FRAME.copy()
    frame.loc[60, "c"] = None
    frame.to_parquet(path)
    blocks = RowBlocks.from_table(path, "y", columns=list("abc"), rows=25)
    with pytest.raises(ValueError, match="Block 2: X contains NaN in column 'c'"):
        TopK(1).fit(blocks)
    with pytest.raises(ValueError, match="Block 0: X: column 'y' is not numeric"):
        TopK(1).fit(RowBlocks.from_table(path, "a"))


def test_a_file_that_shrinks_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    FRAME.to_parquet(path)
    blocks = RowBlocks.from_table(path, "y", sample_weight="w")
    TopK(1).fit(blocks)
    FRAME[:50].to_parquet(path)
    with pytest.raises(ValueError, match="Block 0 is not as it was"):
        TopK(1).fit(blocks)
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(ValueError, match="Block 0: "):
        TopK(1).fit(blocks)


def test_paths_and_columns_that_are_not_there(tmp_path: Path) -> None:
    FRAME.to_parquet(tmp_path / "t.parquet")
    for path, target, error, message in (
        (tmp_path / "t.parquet", "z", ValueError, "no column 'z'"),
        (tmp_path / "t.csv", "y", ValueError, "must end in"),
        (tmp_path / "no.parquet", "y", FileNotFoundError, "There is no file"),
    ):
        with pytest.raises(error, match=message):
            RowBlocks.from_table(path, target)
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="has no files that end in"):
        RowBlocks.from_table(tmp_path / "empty", "y")


def test_the_extra_is_named() -> None:
    with pytest.raises(ImportError, match=r'pip install "rowsparse\[stream\]"'):
        tables.needed_module("no_such_module.at_all")
