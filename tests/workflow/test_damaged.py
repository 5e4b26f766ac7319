"""Damaged files of every format: a table or one sentence, and nothing printed."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from scipy.io import savemat

from rowsparse import _files
from rowsparse.workflow.messages import InputError

from .files import read

TRIALS = 60
N = 30
X = np.random.default_rng(0).standard_normal((N, 4))
Y = np.where(X[:, 0] > 0, "ill", "well")
FRAME = pl.DataFrame(
    {**{f"f{j}": X[:, j] for j in range(4)}, "kind": ["a", "b", "c"] * 10, "outcome": Y}
)


def text(separator: str = ",") -> bytes:
    return FRAME.write_csv(separator=separator).encode()


def columnar(write: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    getattr(FRAME, write)(buffer, **options)
    return buffer.getvalue()


def npz(save: Callable[..., None]) -> bytes:
    buffer = io.BytesIO()
    save(buffer, X=X, y=Y, feature_names=np.array(list("abcd")))
    return buffer.getvalue()


def mat(**options: object) -> bytes:
    arrays = {"X": X, "Y": (X[:, :1] > 0).astype(float)}
    if options.pop("sparse", False):
        arrays["X"] = sp.csc_matrix(np.where(X > 0, X, 0))
    if options.pop("cells", False):
        arrays |= {"Y": Y.astype(object), "feature_names": np.array(list("abcd"), object)}
    buffer = io.BytesIO()
    savemat(buffer, arrays, **options)
    return buffer.getvalue()


def h5ad(path: Path) -> None:
    anndata = pytest.importorskip("anndata")
    import pandas as pd

    rows, columns = [f"c{i}" for i in range(N)], pd.DataFrame(index=list("abcd"))
    data = anndata.AnnData(
        sp.csr_matrix(np.where(X > 0, X, 0)), pd.DataFrame({"outcome": Y}, index=rows), columns
    )
    data.write_h5ad(path)


FILES: dict[str, tuple[str, Callable[[], bytes]]] = {
    "csv": ("a.csv", text),
    "tsv": ("a.tsv", lambda: text("\t")),
    "gz": ("a.csv.gz", lambda: gzip.compress(text(), mtime=0)),
    "utf-16": ("a.csv", lambda: text().decode().encode("utf-16")),
    "parquet": ("a.parquet", lambda: columnar("write_parquet")),
    "plain parquet": ("a.parquet", lambda: columnar("write_parquet", compression="uncompressed")),
    "arrow": ("a.arrow", lambda: columnar("write_ipc")),
    "feather": ("a.feather", lambda: columnar("write_ipc", compression="lz4")),
    "stream": ("a.arrow", lambda: columnar("write_ipc_stream")),
    "npz": ("a.npz", lambda: npz(np.savez)),
    "packed npz": ("a.npz", lambda: npz(np.savez_compressed)),
    "mat": ("a.mat", mat),
    "packed mat": ("a.mat", lambda: mat(do_compression=True)),
    "sparse mat": ("a.mat", lambda: mat(sparse=True)),
    "mat with cells": ("a.mat", lambda: mat(cells=True)),
    "oldest mat": ("a.mat", lambda: mat(format="4")),
}


def damaged(content: bytes, seed: int) -> bytes:
    """A bit flipped, the end cut off, or some bytes at random."""
    rng = np.random.default_rng(seed)
    at, spoilt = int(rng.integers(len(content))), bytearray(content)
    if seed % 4 == 0:
        return content[:at]
    if seed % 4 == 1:
        spoilt[at : at + 8] = rng.bytes(8)
    else:
        spoilt[at] ^= 1 << int(rng.integers(8))
    return bytes(spoilt)


def outcome(path: Path) -> str:
    """What comes of a file: a table that can be used, or a sentence."""
    target = "outcome" if path.suffix not in (".npz", ".mat") else None
    try:
        table = read(path, target)
    except InputError as error:
        sentence = str(error)
        assert "\n" not in sentence
        assert sentence.endswith((".", "?"))
        return sentence
    values = table.X.data if sp.issparse(table.X) else table.X
    assert np.isfinite(values).all()
    assert table.X.shape == (len(table.y), len(table.names))
    return "a table"


@pytest.mark.parametrize("kind", FILES)
def test_a_damaged_file_gives_a_table_or_a_sentence(
    kind: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    name, write = FILES[kind]
    path, content = tmp_path / name, write()
    path.write_bytes(content)
    assert outcome(path) == "a table"
    sentences = set()
    for seed in range(TRIALS):
        path.write_bytes(damaged(content, seed))
        sentences.add(outcome(path))
    assert len(sentences) > 1
    printed = capfd.readouterr()
    assert printed.out == ""
    # polars tells of its panics on standard error itself, older releases of more of them.
    assert printed.err == "" or "panicked at crates/polars" in printed.err


def test_a_damaged_anndata_file_gives_a_table_or_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "a.h5ad"
    h5ad(path)
    content = path.read_bytes()
    assert outcome(path) == "a table"
    sentences = set()
    for seed in range(TRIALS // 2):
        path.write_bytes(damaged(content, seed))
        sentences.add(outcome(path))
    assert len(sentences) > 1


@pytest.mark.parametrize("index", [4, 2**30, -1])
def test_a_sparse_anndata_file_with_values_outside_of_the_matrix(
    index: int, tmp_path: Path
) -> None:
    path = tmp_path / "a.h5ad"
    h5ad(path)
    import h5py

    with h5py.File(path, "r+") as file:
        file["X/indices"][3] = index
    assert "cannot be read as AnnData and has to be copied or saved again" in outcome(path)


def test_a_gzip_file_that_unpacks_to_more_than_memory_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(text()))
    for limit, words in ((1e4, "a table"), (1e3, "'a.csv.gz' unpacks to 0.0 GB, and there are")):
        monkeypatch.setattr(_files, "_memory", lambda limit=limit: limit)
        assert words in outcome(path)


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"X": np.zeros((0, 10**12)), "y": np.zeros(0)}, "has no rows: at least two are needed."),
        ({"X": X, "y": np.zeros(N, "M8[D]")}, "must hold numbers or text; it is of type datetime"),
        ({"X": X, "y": X + 1j}, "must hold numbers or text; it is of type complex"),
        ({"X": X, "y": Y, "feature_names": np.empty(4, "V0")}, "values than its header says"),
    ],
)
def test_arrays_whose_shapes_cost_no_bytes_and_those_of_other_types_are_refused(
    arrays: dict[str, np.ndarray], words: str, tmp_path: Path
) -> None:
    np.savez(tmp_path / "a.npz", **arrays)
    assert words in outcome(tmp_path / "a.npz")
