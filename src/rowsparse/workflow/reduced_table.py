"""The reduced table: the selected columns of a file, in a file of the same format."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from rowsparse._files import write_whole
from rowsparse.workflow.delimited import read_delimited, sniff
from rowsparse.workflow.loading import format_of, load, require_anndata
from rowsparse.workflow.polars_errors import require_polars
from rowsparse.workflow.results import SelectionResult
from rowsparse.workflow.table import Table

__all__ = ["write_reduced"]


def write_reduced(out: Path, table: Table, result: SelectionResult) -> Path:
    """Write the targets, the identifiers and the selected columns as they are in the input.

    The file is called ``reduced`` and has the suffix of the input.
    """
    kind = format_of(table.path)
    packed = table.path.suffix.lower() == ".gz"
    suffix = "".join(table.path.suffixes[-2:]) if packed else table.path.suffix
    path = out / f"reduced{suffix}"
    chosen = {table.origin(feature.index) for feature in result.features}
    write_whole(path, _WRITERS[kind](table, chosen))
    return path


def _kept(table: Table, chosen: set[str], columns: Sequence[str]) -> list[str]:
    wanted = chosen | set(table.target.names) | set(table.identifiers)
    return [name for name in columns if name in wanted]


def _write_text_table(table: Table, chosen: set[str]) -> Callable[[Path], Any]:
    frame, _ = read_delimited(table.path, as_text=True)
    part = frame.select(_kept(table, chosen, frame.columns))
    data = part.write_csv(separator=sniff(table.path).separator).encode()

    def write(path: Path) -> None:
        packed = path.suffix.lower() == ".gz"
        path.write_bytes(gzip.compress(data, mtime=0) if packed else data)

    return write


def _write_frame(table: Table, chosen: set[str]) -> Callable[[Path], Any]:
    polars = require_polars()
    parquet = format_of(table.path) == "parquet"
    frame = polars.read_parquet(table.path) if parquet else load(table.path).frame
    part = frame.select(_kept(table, chosen, frame.columns))
    return part.write_parquet if parquet else part.write_ipc


def _write_npz(table: Table, chosen: set[str]) -> Callable[[Path], Any]:
    arrays = _reduced_arrays(table, chosen)
    return lambda path: np.savez_compressed(path, **arrays)


def _write_mat(table: Table, chosen: set[str]) -> Callable[[Path], Any]:
    from scipy.io import savemat

    arrays = _reduced_arrays(table, chosen)
    arrays["feature_names"] = np.array(arrays["feature_names"], dtype=object)
    arrays["Y"] = np.atleast_2d(arrays.pop("y").T).T
    return lambda path: savemat(path, arrays, do_compression=True)


def _reduced_arrays(table: Table, chosen: set[str]) -> dict[str, Any]:
    loaded = load(table.path)
    columns = [j for j, name in enumerate(loaded.names) if name in chosen]
    part = loaded.matrix[:, columns]
    labels = list(loaded.labels.values())
    return {
        "X": part.toarray() if sp.issparse(part) else part,
        "y": labels[0] if len(labels) == 1 else np.column_stack(labels),
        "feature_names": np.array([loaded.names[j] for j in columns], dtype=str),
    }


def _write_h5ad(table: Table, chosen: set[str]) -> Callable[[Path], Any]:
    data = require_anndata().read_h5ad(table.path)
    columns = [j for j, name in enumerate(load(table.path).names) if name in chosen]
    return data[:, columns].copy().write_h5ad


_WRITERS: dict[str, Callable[[Table, set[str]], Callable[[Path], Any]]] = {
    "csv": _write_text_table,
    "tsv": _write_text_table,
    "parquet": _write_frame,
    "arrow": _write_frame,
    "npz": _write_npz,
    "mat": _write_mat,
    "h5ad": _write_h5ad,
}
