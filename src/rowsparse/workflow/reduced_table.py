"""The reduced table: the selected columns of a file, in a file of the same format."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from rowsparse._files import write_whole
from rowsparse.workflow.excel import write_excel
from rowsparse.workflow.labels import load_joined
from rowsparse.workflow.loading import format_of, load, require_anndata
from rowsparse.workflow.polars_errors import require_polars
from rowsparse.workflow.results import SelectionResult
from rowsparse.workflow.settings import TableSettings
from rowsparse.workflow.table import Table
from rowsparse.workflow.text_files import sniff

__all__ = ["write_columns", "write_reduced"]


def write_reduced(
    out: Path, table: Table, result: SelectionResult, kind: str | None = None
) -> Path:
    """Write the targets, the identifiers and the selected columns as they are in the input."""
    chosen = {table.origin(feature.index) for feature in (*result.features, *result.covariates)}
    wanted = {*chosen, *table.target.names, *table.identifiers}
    return write_columns(out, table.path, wanted, table.reading, kind)


def write_columns(
    out: Path,
    table: Path,
    wanted: set[str],
    reading: TableSettings | None = None,
    form: str | None = None,
) -> Path:
    """Write some columns of a file as they are there.

    Parameters
    ----------
    out : Path
        The folder; the file in it is called ``reduced`` and has the suffix of the table, unless
        ``form`` says otherwise.
    table : Path
        The file.
    wanted : set of str
        The columns; names that the table does not have are ignored. Columns beside a matrix X,
        which may be targets, are kept in any case.
    reading : TableSettings, optional
        Whether the table is transposed or joined with labels; the file has a row for each sample.
    form : {"csv", "xlsx"}, optional
        What a table of columns is written as; arrays keep their format.
    """
    kind = format_of(table)
    is_query = reading is not None and reading.query is not None
    if kind in ("excel", "sqlite") or is_query or (form is not None and kind in _FRAME_WRITERS):
        usual = "xlsx" if kind == "excel" else "csv"
        return _write_cells(out / f"reduced.{form or usual}", table, wanted, reading)
    packed = table.suffix.lower() == ".gz"
    suffix = "".join(table.suffixes[-2:]) if packed else table.suffix
    path = out / f"reduced{suffix}"
    if kind in _FRAME_WRITERS:
        write = _FRAME_WRITERS[kind](table, wanted, reading or TableSettings())
    else:
        write = _ARRAY_WRITERS[kind](table, wanted)
    write_whole(path, write)
    return path


def _write_text_table(
    table: Path, wanted: set[str], reading: TableSettings
) -> Callable[[Path], Any]:
    frame = load_joined(table, reading, as_text=True).frame
    part = frame.select([name for name in frame.columns if name in wanted])
    data = part.write_csv(separator=sniff(table).separator).encode()

    def write(path: Path) -> None:
        packed = path.suffix.lower() == ".gz"
        path.write_bytes(gzip.compress(data, mtime=0) if packed else data)

    return write


def _write_cells(path: Path, table: Path, wanted: set[str], reading: TableSettings | None) -> Path:
    """Write columns as CSV or Excel, numbers as numbers."""
    frame = load_joined(table, reading or TableSettings(), with_target=False).frame
    part = frame.select([name for name in frame.columns if name in wanted])

    def write(temporary: Path) -> None:
        if path.suffix == ".xlsx":
            write_excel(temporary, part.columns, part.iter_rows())
        else:
            temporary.write_bytes(part.write_csv().encode())

    write_whole(path, write)
    return path


def _write_frame(table: Path, wanted: set[str], reading: TableSettings) -> Callable[[Path], Any]:
    polars = require_polars()
    parquet = format_of(table) == "parquet"
    is_plain = parquet and not (reading.transpose or reading.labels)
    # Types such as categories are kept by polars itself only.
    frame = polars.read_parquet(table) if is_plain else load_joined(table, reading).frame
    part = frame.select([name for name in frame.columns if name in wanted])
    return part.write_parquet if parquet else part.write_ipc


def _write_npz(table: Path, wanted: set[str]) -> Callable[[Path], Any]:
    arrays = _reduced_arrays(table, wanted)
    return lambda path: np.savez_compressed(path, **arrays)


def _write_mat(table: Path, wanted: set[str]) -> Callable[[Path], Any]:
    from scipy.io import savemat

    arrays = _reduced_arrays(table, wanted)
    arrays["feature_names"] = np.array(arrays["feature_names"], dtype=object)
    if "y" in arrays:
        arrays["Y"] = np.atleast_2d(arrays.pop("y").T).T
    return lambda path: savemat(path, arrays, do_compression=True)


def _reduced_arrays(table: Path, wanted: set[str]) -> dict[str, Any]:
    loaded = load(table, with_target=False)
    columns = [j for j, name in enumerate(loaded.names) if name in wanted]
    part = loaded.matrix[:, columns]
    arrays = {
        "X": part.toarray() if sp.issparse(part) else part,
        "feature_names": np.array([loaded.names[j] for j in columns], dtype=str),
    }
    labels = list(loaded.labels.values())
    if labels:
        arrays["y"] = labels[0] if len(labels) == 1 else np.column_stack(labels)
    return arrays


def _write_h5ad(table: Path, wanted: set[str]) -> Callable[[Path], Any]:
    data = require_anndata().read_h5ad(table)
    columns = [j for j, name in enumerate(load(table).names) if name in wanted]
    return data[:, columns].copy().write_h5ad


_FrameWriter = Callable[[Path, set[str], TableSettings], Callable[[Path], Any]]
_FRAME_WRITERS: dict[str, _FrameWriter] = {
    "csv": _write_text_table,
    "tsv": _write_text_table,
    "parquet": _write_frame,
    "arrow": _write_frame,
}
_ARRAY_WRITERS: dict[str, Callable[[Path, set[str]], Callable[[Path], Any]]] = {
    "npz": _write_npz,
    "mat": _write_mat,
    "h5ad": _write_h5ad,
}
