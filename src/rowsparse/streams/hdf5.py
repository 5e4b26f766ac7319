"""Blocks of HDF5 files, those of AnnData among them, with h5py."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rowsparse.streams.tables import Source, needed_module

__all__ = ["hdf5_source"]


def hdf5_source(path: Path, target: str, X: str, rows: int) -> Source:
    """A function that reads the blocks, the names of the columns of X, and how many blocks."""
    h5py = needed_module("h5py")
    if not path.exists():
        raise FileNotFoundError(f"There is no file {path}.")
    with h5py.File(path, "r") as file:
        if X not in file:
            raise ValueError(f"{path.name} has no dataset {X!r}.")
        n = _shape(path, file[X])[0]
        names = _names(file)
        y = _targets(path, file, target)
    if y.shape[0] != n:
        raise ValueError(f"{target!r} has {y.shape[0]} samples but {X!r} has {n}.")

    def read() -> Iterator[tuple[Any, Any]]:
        with h5py.File(path, "r") as file:
            stored = file[X]
            pointers = stored["indptr"][:] if hasattr(stored, "keys") else None
            for start in range(0, n, rows):
                stop = min(start + rows, n)
                if pointers is None:
                    yield stored[start:stop], y[start:stop]
                else:
                    yield _csr_rows(stored, pointers, start, stop), y[start:stop]

    return read, names, -(-n // rows)  # type: ignore[return-value]


def _shape(path: Path, stored: Any) -> tuple[int, int]:
    if not hasattr(stored, "keys"):
        return int(stored.shape[0]), int(stored.shape[1])
    kind = stored.attrs.get("encoding-type", "csr_matrix")
    if kind != "csr_matrix" or "indptr" not in stored:
        raise ValueError(
            f"{path.name} holds X by columns or in another form: write it as a CSR matrix."
        )
    n, d = stored.attrs["shape"]
    return int(n), int(d)


def _csr_rows(stored: Any, pointers: NDArray[Any], start: int, stop: int) -> Any:
    first, last = int(pointers[start]), int(pointers[stop])
    part = (stored["data"][first:last], stored["indices"][first:last])
    shape = (stop - start, int(stored.attrs["shape"][1]))
    return sp.csr_array((*part, pointers[start : stop + 1] - first), shape=shape)


def _names(file: Any) -> list[str] | None:
    """The names of the columns, in a file of AnnData."""
    if "var" not in file or "_index" not in file["var"].attrs:
        return None
    return _text(file["var"][file["var"].attrs["_index"]][:]).tolist()


def _targets(path: Path, file: Any, target: str) -> NDArray[Any]:
    found = file.get(f"obs/{target}", file.get(target))
    if found is None:
        raise ValueError(f"{path.name} has no dataset {target!r}, nor one in obs.")
    if hasattr(found, "keys"):  # categories
        codes = found["codes"][:]
        if np.any(codes < 0):
            raise ValueError(f"{target!r} has missing values: drop those samples first.")
        return _text(found["categories"][:])[codes]
    return _text(found[:])


def _text(values: NDArray[Any]) -> NDArray[Any]:
    """Bytes as text; numbers as they are."""
    if values.dtype.kind not in "OS":
        return values
    return np.array([v.decode() if isinstance(v, bytes) else v for v in values.tolist()])
