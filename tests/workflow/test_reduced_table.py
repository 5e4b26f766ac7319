"""The reduced table has the selected columns as they are in the input, in its format."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from rowsparse.workflow.loading import load
from rowsparse.workflow.writing import write_columns, write_reduced

from .files import N, X, Y, csv, frame, read
from .planted import selected

NAMES = ["sample", "f1", "f4", "f6", "outcome"]


def table() -> pl.DataFrame:
    return frame(sample=[f"s{i}" for i in range(N)]).select("sample", pl.exclude("sample"))


def reduce(path: Path, target: str | None = "outcome", **settings: object) -> Path:
    """The reduced table beside a file, in another folder."""
    data = read(path, target)
    out = path.parent / "out"
    out.mkdir()
    return write_reduced(out, data, selected(data, 3, cv=0, stability=0, **settings))


def test_the_cells_of_a_text_file_are_kept(tmp_path: Path) -> None:
    text = table().with_columns(f1=pl.col("f1").round(3).cast(pl.String) + "00")
    path = tmp_path / "table.csv.gz"
    path.write_bytes(gzip.compress(text.write_csv().encode()))
    reduced = reduce(path)
    assert reduced.name == "reduced.csv.gz"
    assert gzip.decompress(reduced.read_bytes()).decode() == text.select(NAMES).write_csv()


def test_tabs_stay_tabs(tmp_path: Path) -> None:
    path = tmp_path / "table.tsv"
    table().write_csv(path, separator="\t")
    assert reduce(path).read_text().splitlines()[0] == "\t".join(NAMES)


def test_row_names_and_blanks_are_written_so_that_they_can_be_read_again(tmp_path: Path) -> None:
    path = tmp_path / "table.txt"
    lines = table().with_columns(outcome=pl.col("outcome") + " now").write_csv(separator=" ")
    path.write_text("# by hand\n" + lines.removeprefix("sample "))
    reduced = reduce(path)
    assert reduced.read_text().splitlines()[0] == '"column 1" f1 f4 f6 outcome'
    again = read(reduced, "outcome")
    np.testing.assert_array_equal(again.X, X[:, [1, 4, 6]])
    assert again.identifiers == ("column 1",)


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "feather"])
def test_columnar_files(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"table.{suffix}"
    data = table().with_columns(f1=pl.col("f1").cast(pl.Float32))
    data.write_parquet(path) if suffix == "parquet" else data.write_ipc(path)
    reduced = reduce(path)
    read_back = pl.read_parquet(reduced) if suffix == "parquet" else pl.read_ipc(reduced)
    assert read_back.equals(data.select(NAMES))


@pytest.mark.parametrize("suffix", ["npz", "mat"])
def test_arrays(suffix: str, tmp_path: Path) -> None:
    from scipy.io import loadmat, savemat

    y = (Y == "ill").astype(np.int64)
    path = tmp_path / f"table.{suffix}"
    if suffix == "npz":
        np.savez(path, X=X, y=y, feature_names=np.array([f"f{j}" for j in range(10)]))
    else:
        savemat(path, {"X": X, "Y": y[:, None]})
    reduced = reduce(path, None)
    arrays = dict(np.load(reduced)) if suffix == "npz" else loadmat(reduced)
    np.testing.assert_array_equal(arrays["X"], X[:, [1, 4, 6]])
    np.testing.assert_array_equal(arrays["y" if suffix == "npz" else "Y"].ravel(), y)
    assert read(reduced).names == (["f1", "f4", "f6"] if suffix == "npz" else ["x1", "x4", "x6"])


def test_anndata(tmp_path: Path) -> None:
    anndata = pytest.importorskip("anndata")
    import pandas as pd

    obs = pd.DataFrame({"outcome": Y}, index=[f"c{i}" for i in range(N)])
    var = pd.DataFrame(index=[f"f{j}" for j in range(10)])
    data = anndata.AnnData(X.astype(np.float32), obs=obs, var=var)
    data.write_h5ad(tmp_path / "cells.h5ad")
    reduced = anndata.read_h5ad(reduce(tmp_path / "cells.h5ad"))
    assert list(reduced.var_names) == ["f1", "f4", "f6"]
    assert list(reduced.obs.columns) == ["outcome"]


def test_categories_are_not_encoded(tmp_path: Path) -> None:
    sex = ["m" if outcome == "ill" else "f" for outcome in Y]
    path = csv(tmp_path / "table.csv", frame(sex=sex))
    assert pl.read_csv(reduce(path, include="sex"))["sex"].to_list() == sex


@pytest.mark.parametrize("suffix", ["npz", "mat"])
def test_arrays_without_targets(suffix: str, tmp_path: Path) -> None:
    from scipy.io import savemat

    path = tmp_path / f"table.{suffix}"
    np.savez(path, X=X) if suffix == "npz" else savemat(path, {"X": X})
    (tmp_path / "out").mkdir()
    reduced = write_columns(tmp_path / "out", path, {"x6", "x1", "absent"})
    loaded = load(reduced)
    assert (loaded.names, loaded.labels) == (["x1", "x6"], {})
    np.testing.assert_array_equal(loaded.matrix, X[:, [1, 6]])
