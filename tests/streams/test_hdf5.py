"""HDF5 files in blocks, with the layout of AnnData."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from rowsparse import RowBlocks, TopK

h5py = pytest.importorskip("h5py")

rng = np.random.default_rng(0)
X = rng.poisson(0.3, (80, 12)).astype(np.float32)
LABELS = np.array(["t", "b"])[(X[:, 2] + X[:, 5] > 0).astype(int)]
EXPECTED = TopK(2, random_state=0).fit(X, LABELS)


def write_anndata(path: Path, kind: str = "csr_matrix") -> None:
    """What AnnData writes, as far as it is read."""
    stored = sp.csr_array(X)
    with h5py.File(path, "w") as file:
        group = file.create_group("X")
        group.attrs["encoding-type"], group.attrs["shape"] = kind, stored.shape
        for name in ("data", "indices", "indptr"):
            group[name] = getattr(stored, name)
        codes = (LABELS == "t").astype(np.int8)
        file["obs/kind/codes"], file["obs/kind/categories"] = codes, [b"b", b"t"]
        file["var/index"] = [f"g{j}".encode() for j in range(12)]
        file["var"].attrs["_index"] = "index"
        file["numbers"] = np.arange(80.0)


def test_rows_of_a_csr_matrix_are_read_as_such(tmp_path: Path) -> None:
    path = tmp_path / "cells.h5ad"
    write_anndata(path)
    blocks = RowBlocks.from_hdf5(path, "kind", rows=30)
    _, (first, _, _) = next(blocks.blocks())
    assert sp.issparse(first)
    np.testing.assert_array_equal(first.toarray(), X[:30])
    found = TopK(2, random_state=0).fit(RowBlocks.from_hdf5(path, "kind", rows=30))
    np.testing.assert_array_equal(found.support_, EXPECTED.support_)
    assert found.feature_names_in_.tolist() == [f"g{j}" for j in range(12)]


def test_dense_datasets(tmp_path: Path) -> None:
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        file["data/X"], file["y"] = X, (LABELS == "t").astype(int)
    found = TopK(2, random_state=0).fit(RowBlocks.from_hdf5(path, "y", X="data/X", rows=7))
    np.testing.assert_array_equal(found.support_, EXPECTED.support_)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "kind", "X": "nothing"}, "no dataset 'nothing'"),
        ({"target": "nothing"}, "no dataset 'nothing', nor one in obs"),
        ({"target": "var/index"}, "has 12 samples but 'X' has 80"),
    ],
)
def test_what_the_file_does_not_have(options: dict[str, Any], message: str, tmp_path: Path) -> None:
    write_anndata(tmp_path / "cells.h5ad")
    with pytest.raises(ValueError, match=message):
        RowBlocks.from_hdf5(tmp_path / "cells.h5ad", **options)
    with pytest.raises(FileNotFoundError, match="no file"):
        RowBlocks.from_hdf5(tmp_path / "other.h5ad", "kind")


def test_matrices_by_columns_and_missing_labels_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "cells.h5ad"
    write_anndata(path, "csc_matrix")
    with pytest.raises(ValueError, match="write it as a CSR matrix"):
        RowBlocks.from_hdf5(path, "kind")
    write_anndata(path)
    with h5py.File(path, "r+") as file:
        file["obs/kind/codes"][3] = -1
    with pytest.raises(ValueError, match="'kind' has missing values"):
        RowBlocks.from_hdf5(path, "kind")
