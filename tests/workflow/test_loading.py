"""Every format gives the same table, and what cannot be read has its sentence."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp

from .files import N, X, Y, csv, frame, read, refusal


def write_every(folder: Path) -> dict[str, Path]:
    table = frame()
    paths = {kind: folder / f"table.{kind}" for kind in ("csv", "tsv", "parquet", "arrow")}
    table.write_csv(paths["csv"])
    table.write_csv(paths["tsv"], separator="\t")
    table.write_parquet(paths["parquet"])
    table.write_ipc(paths["arrow"])
    paths["feather"] = folder / "table.feather"
    table.write_ipc(paths["feather"], compression="lz4")
    paths["stream"] = folder / "stream.arrow"
    table.write_ipc_stream(paths["stream"])
    for kind in ("csv", "tsv"):
        paths[f"{kind}.gz"] = folder / f"packed.{kind}.gz"
        paths[f"{kind}.gz"].write_bytes(gzip.compress(paths[kind].read_bytes()))
    return paths


@pytest.mark.parametrize(
    "kind", ["csv", "tsv", "parquet", "arrow", "feather", "stream", "csv.gz", "tsv.gz"]
)
def test_every_table_format_gives_the_same_table(kind: str, tmp_path: Path) -> None:
    table = read(write_every(tmp_path)[kind], "outcome")
    np.testing.assert_array_equal(table.X, X)
    assert table.names == [f"f{j}" for j in range(10)]
    assert table.y.tolist() == Y.tolist()
    assert table.target.classes == ("healthy", "ill")
    assert table.target.counts == (int((Y == "healthy").sum()), int((Y == "ill").sum()))
    assert table.notes == ()


def test_npz_with_and_without_names(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", X=X, y=Y, feature_names=np.array([f"g{j}" for j in range(10)]))
    np.savez(tmp_path / "b.npz", X=X.astype(np.float32), y=Y)
    named, plain = read(tmp_path / "a.npz"), read(tmp_path / "b.npz", "y")
    assert named.names[3] == "g3"
    assert plain.names[3] == "x3"
    assert plain.X.dtype == np.float32
    np.testing.assert_array_equal(named.X, X)
    assert named.task == plain.task == "classification"


def test_npz_with_several_labels(tmp_path: Path) -> None:
    labels = (X[:, :3] > 0).astype(int)
    np.savez(tmp_path / "a.npz", X=X, y=labels)
    table = read(tmp_path / "a.npz")
    assert table.task == "multilabel"
    assert table.target.names == ("y0", "y1", "y2")
    assert read(tmp_path / "a.npz", "y1").task == "classification"


@pytest.mark.parametrize("sparse", [False, True])
def test_mat(sparse: bool, tmp_path: Path) -> None:
    from scipy.io import savemat

    counts = np.maximum(np.round(X), 0)
    codes = (Y == "ill").astype(float)[:, None]
    savemat(tmp_path / "a.mat", {"X": sp.csc_array(counts) if sparse else counts, "Y": codes})
    table = read(tmp_path / "a.mat")
    assert sp.issparse(table.X) == sparse
    np.testing.assert_array_equal(table.X.toarray() if sparse else table.X, counts)
    assert table.target.classes == ("0", "1")


def test_mat_with_cells_of_text(tmp_path: Path) -> None:
    from scipy.io import savemat

    names = np.array([f"gene {j}" for j in range(10)], dtype=object)
    savemat(tmp_path / "a.mat", {"X": X, "Y": Y.astype(object), "feature_names": names})
    table = read(tmp_path / "a.mat")
    assert table.names[2] == "gene 2"
    assert table.target.classes == ("healthy", "ill")


def test_anndata_stays_sparse(tmp_path: Path) -> None:
    anndata = pytest.importorskip("anndata")
    import pandas as pd

    counts = sp.csr_matrix(np.maximum(np.round(X), 0))
    obs = pd.DataFrame({"kind": pd.Categorical(Y)}, index=[f"cell{i}" for i in range(N)])
    var = pd.DataFrame(index=["TP53", *[f"g{j}" for j in range(1, 9)], "TP53"])
    anndata.AnnData(counts, obs=obs, var=var).write_h5ad(tmp_path / "a.h5ad")
    table = read(tmp_path / "a.h5ad", "kind")
    assert sp.issparse(table.X)
    assert table.names[-1] == "TP53 (2)"
    assert "1 variables share" in table.notes[0]
    assert table.target.classes == ("healthy", "ill")
    assert "column to predict" in refusal(tmp_path / "a.h5ad", None)


def test_missing_anndata(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "anndata", None)
    (tmp_path / "a.h5ad").write_bytes(b"x")
    with pytest.raises(ImportError, match=r'pip install "rowsparse\[bio\]"'):
        read(tmp_path / "a.h5ad", "kind")


def test_types_of_parquet(tmp_path: Path) -> None:
    frame(
        flag=[i % 3 == 0 for i in range(N)],
        whole=pl.Series(np.arange(N) % 7, dtype=pl.Int32),
        kind=pl.Series(["ab"[i % 2] for i in range(N)], dtype=pl.Categorical),
    ).write_parquet(tmp_path / "a.parquet")
    table = read(tmp_path / "a.parquet", "outcome")
    assert table.names[10:] == ["flag", "whole", "kind=b"]
    assert table.X.dtype == np.float64


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.csv", b"", "'a.csv' is empty."),
        ("a.csv", b"  \n \n", "'a.csv' is empty."),
        ("a.csv", b"a,b,outcome\n", "The table has no rows: at least two are needed."),
        ("a.csv", b"a,b,outcome\n1,2,x\n", "The table has one row only: at least two are needed."),
        ("a.csv", b"a,b,a,outcome\n1,2,3,x\n", "'a.csv' has several columns of the name 'a'"),
        (
            "a.csv",
            b"a,outcome\n1,x\n2,y,3\n",
            "Line 3 of 'a.csv' has 3 cells, and the header has 2",
        ),
        ("a.csv", b"PAR1\x00\x01\x00", "'a.csv' is not a text file"),
        ("a.csv.gz", b"\x1f\x8b\x08garbage", "'a.csv.gz' is not a whole gzip file."),
        ("a.parquet", b"no parquet", "'a.parquet' cannot be read as Parquet"),
        ("a.arrow", b"no arrow", "'a.arrow' cannot be read as Arrow"),
        ("a.npz", b"no zip", "'a.npz' is not an NPZ file."),
        ("a.mat", b"no matlab file at all", "'a.mat' cannot be read as MAT"),
        ("a.ods", b"PK", "'a.ods' is of no known type: give a file that ends in .csv"),
        ("a.parquet.gz", b"x", "'a.parquet.gz' is of no known type"),
        ("noending", b"x", "'noending' is of no known type"),
    ],
)
def test_files_that_cannot_be_read(name: str, content: bytes, words: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    assert words in refusal(tmp_path / name)


def test_no_file_and_a_folder(tmp_path: Path) -> None:
    assert refusal(tmp_path / "no.csv").startswith("There is no file ")
    (tmp_path / "folder.csv").mkdir()
    assert refusal(tmp_path / "folder.csv") == "'folder.csv' is a folder, not a file."
    csv(tmp_path / "folder.csv" / "t.tsv", frame())
    assert refusal(tmp_path / "folder.csv").endswith("not a file: it has the tables 't.tsv'.")


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"A": X, "y": Y}, "needs the arrays X and y; it has 'A' and 'y'."),
        ({"X": X}, "needs the arrays X and y; it has 'X'."),
        ({"X": X[0], "y": Y}, "must be a matrix of numbers"),
        ({"X": X, "y": Y[1:]}, "one row for each sample"),
        ({"X": X, "y": Y, "feature_names": np.array(["a"])}, "has 1 feature_names for 10 columns"),
        ({"X": X, "y": Y, "feature_names": np.array(["a"] * 10)}, "columns of the name 'a'"),
        ({"X": X, "y": np.array(list(Y), dtype=object)}, "holds Python objects"),
    ],
)
def test_arrays_that_do_not_fit(arrays: dict[str, np.ndarray], words: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", **arrays)
    assert words in refusal(tmp_path / "a.npz", None)


def test_missing_values_of_columnar_files_and_arrays(tmp_path: Path) -> None:
    level = ["<LOD" if i == 3 else f"{i % 7}.5" for i in range(N)]
    frame(level=level).write_parquet(tmp_path / "a.parquet")
    assert "but '<LOD' in row 4:" in refusal(tmp_path / "a.parquet")
    table = read(tmp_path / "a.parquet", "outcome", na_values="<LOD", impute="median")
    assert table.X[:5, -1].tolist() == [0.5, 1.5, 2.5, 3.5, 4.5]
    np.savez(tmp_path / "a.npz", X=X, y=Y)
    assert refusal(tmp_path / "a.npz", None, na_values="<LOD") == (
        "--na-values is about tables with columns, and 'a.npz' holds arrays: leave it out."
    )
