"""Files of all formats, as columns that may be features or targets."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import file_digest
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rowsparse._arrays import Index
from rowsparse._files import UnreadableFileError
from rowsparse._mat import read_mat
from rowsparse._npz import read_npz
from rowsparse.workflow.cells import MISSING, parse_cells
from rowsparse.workflow.delimited import read_delimited
from rowsparse.workflow.excel import read_excel
from rowsparse.workflow.messages import InputError, quoted, setting, shown
from rowsparse.workflow.naming import numbered
from rowsparse.workflow.polars_errors import panics_as_errors, require_polars
from rowsparse.workflow.queries import query_frame, read_sqlite
from rowsparse.workflow.text_files import Dialect, check_distinct, line_of
from rowsparse.workflow.transposing import SAMPLE, transpose_frame

__all__ = [
    "FORMATS",
    "Loaded",
    "check_is_file",
    "checksum",
    "format_of",
    "load",
    "pandas_values",
    "require_anndata",
]

ArrayReader = Callable[[Path, Collection[str]], tuple[dict[str, Any], list[str]]]

# By the suffix of a file.
FORMATS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".txt": "csv",
    ".xlsx": "excel",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".npz": "npz",
    ".mat": "mat",
    ".h5ad": "h5ad",
    ".sqlite": "sqlite",
    ".sqlite3": "sqlite",
    ".db": "sqlite",
}


def _row_place(row: int) -> str:
    return f"row {row + 1}"


@dataclass(frozen=True)
class Loaded:
    """What a file holds.

    Attributes
    ----------
    frame : polars.DataFrame or None
        A table whose columns may be features or targets.
    matrix : array or sparse matrix, or None
        Features, for the formats that store them apart from the targets.
    names : list of str
        Names of the columns of ``matrix``.
    labels : dict of str to array
        Columns beside ``matrix`` that may be targets.
    notes : list of str
        Sentences on how the file was read.
    place : callable
        Where people find a row, counted from 0, in the file: "line 7" or "row 6".
    """

    frame: Any = None
    matrix: Any = None
    names: list[str] = field(default_factory=list)
    labels: dict[str, NDArray[Any]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    place: Callable[[int], str] = _row_place

    @property
    def candidates(self) -> list[str]:
        """Names of the columns that may be targets."""
        return list(self.labels) if self.frame is None else list(self.frame.columns)

    @property
    def n_rows(self) -> int:
        """Number of samples."""
        return int(self.matrix.shape[0] if self.frame is None else self.frame.height)

    def rows(self, kept: Index) -> Loaded:
        """Some of the rows."""
        return replace(
            self,
            frame=None if self.frame is None else self.frame[kept.tolist()],
            matrix=None if self.matrix is None else self.matrix[kept],
            labels={name: values[kept] for name, values in self.labels.items()},
            place=lambda row: self.place(int(kept[row])),
        )


def checksum(path: Path) -> str:
    """The sha256 of a file."""
    with path.open("rb") as stream:
        return file_digest(stream, "sha256").hexdigest()


def format_of(path: Path) -> str:
    """The format of a file, by its suffix; ``.gz`` may follow that of a text file."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    packed = bool(suffixes) and suffixes[-1] == ".gz"
    last = suffixes[-2:-1] if packed else suffixes[-1:]
    kind = FORMATS.get(last[0]) if last else None
    if kind is None or (packed and kind not in ("csv", "tsv")):
        raise InputError(
            f"{shown(path.name)} is of no known type: give a file that ends in .csv, .tsv (also "
            ".gz), .xlsx, .parquet, .arrow, .feather, .npz, .mat, .h5ad or .sqlite."
        )
    return kind


def load(
    path: Path,
    na_values: Sequence[str] = (),
    *,
    transpose: bool = False,
    as_text: bool = False,
    with_target: bool = True,
    query: str | None = None,
) -> Loaded:
    """Read a file, whatever its format.

    Parameters
    ----------
    path : Path
    na_values : sequence of str
        Cells of text that stand for missing values, besides the usual words.
    transpose : bool
        Whether the file has a row for each feature, and a column for each sample.
    as_text : bool
        Whether the cells of text files stay as they are written.
    with_target : bool
        Whether a file of arrays without y is refused.
    query : str, optional
        SQL that makes the table of what the file holds; then no cells stay as they are written.
    """
    kind = format_of(path)
    if kind != "sqlite" and query is not None:
        loaded = load(path, na_values, transpose=transpose, with_target=with_target)
        if loaded.frame is None:
            raise InputError(
                f"{setting('query')} is about tables with columns, and {shown(path.name)} holds "
                "arrays: leave it out."
            )
        frame = query_frame(loaded.frame, query, path)
        return Loaded(frame=frame, notes=loaded.notes)
    if path.is_dir():
        raise InputError(f"{shown(path.name)} is a folder, not a file.")
    check_is_file(path)
    if path.stat().st_size == 0:
        raise InputError(f"{shown(path.name)} is empty.")
    if kind in ("csv", "tsv"):
        return _text(path, na_values, transpose=transpose, as_text=as_text)
    reader = partial(_sqlite, query=query) if kind == "sqlite" else _READERS[kind]
    if not with_target and kind in ("npz", "mat"):
        reader = partial(reader, with_target=False)
    loaded = reader(path)
    if not (na_values or transpose or kind == "excel"):
        return loaded
    if loaded.frame is None:
        raise InputError(
            f"{setting('transpose' if transpose else 'na_values')} is about tables with columns, "
            f"and {shown(path.name)} holds arrays: leave it out."
        )
    frame, turned = transpose_frame(loaded.frame) if transpose else (loaded.frame, [])
    frame, parsed = parse_cells(frame, [*MISSING, *na_values])
    place = partial(_column_place, frame) if transpose else loaded.place
    return replace(loaded, frame=frame, notes=[*loaded.notes, *turned, *parsed], place=place)


def check_is_file(path: Path) -> None:
    """Refuse a file that is not there."""
    if not path.is_file():
        raise InputError(f"There is no file {shown(str(path))}.")


def _text(path: Path, na_values: Sequence[str], *, transpose: bool, as_text: bool) -> Loaded:
    frame, dialect, notes = read_delimited(path, na_values, transpose=transpose, as_text=as_text)
    if transpose:
        return Loaded(frame=frame, notes=notes, place=partial(_column_place, frame))
    place = partial(_line_place, path, dialect)
    return Loaded(frame=frame, notes=notes, place=place)


def _line_place(path: Path, dialect: Dialect, row: int) -> str:
    return f"line {line_of(path, dialect, row):,}"


def _column_place(transposed: Any, row: int) -> str:
    return f"column {shown(transposed[SAMPLE][row])}"


def _excel(path: Path) -> Loaded:
    frame, rows, notes = read_excel(path)
    return Loaded(frame=frame, notes=notes, place=lambda row: f"row {rows[row]}")


def _sqlite(path: Path, query: str | None) -> Loaded:
    return Loaded(frame=read_sqlite(path, query))


def _parquet(path: Path) -> Loaded:
    polars = require_polars()
    return Loaded(frame=_columnar(polars.read_parquet, path, "Parquet"))


def _arrow(path: Path) -> Loaded:
    polars = require_polars()
    with path.open("rb") as stream:
        is_file = stream.read(6) == b"ARROW1"
    read = polars.read_ipc if is_file else polars.read_ipc_stream
    if "memory_map" in signature(read).parameters:
        # Older versions map the file into memory; offsets in a damaged one may lie outside of it.
        read = partial(read, memory_map=False)
    return Loaded(frame=_columnar(read, path, "Arrow"))


def _columnar(read: Callable[[Path], Any], path: Path, kind: str) -> Any:
    polars = require_polars()
    categories = polars.selectors.categorical() | polars.selectors.by_dtype(polars.Enum)
    try:
        with panics_as_errors():
            return read(path).with_columns(categories.cast(polars.String))
    except polars.exceptions.DuplicateError:
        raise InputError(
            f"{shown(path.name)} has several columns of one name: rename them so that each name "
            "comes once."
        ) from None
    except (polars.exceptions.PolarsError, OSError, ValueError) as error:
        raise _unreadable(path, kind, error) from None


def _unreadable(path: Path, kind: str, error: Exception) -> InputError:
    reason = str(error).partition("\n")[0].strip().rstrip(".")
    name = shown(path.name)
    return InputError(
        f"{name} cannot be read as {kind} and has to be copied or saved again: {reason}."
    )


# ------------------------------------------------------------------------------- NPZ and MAT
def _arrays(
    path: Path, *, read: ArrayReader, targets: tuple[str, ...], with_target: bool = True
) -> Loaded:
    """X, y and perhaps feature_names, as features and labels."""
    file = shown(path.name)
    try:
        arrays, found = read(path, {"X", "feature_names", *targets})
    except UnreadableFileError as error:
        raise InputError(f"{file} {error}") from None
    target = next((name for name in targets if name in arrays), None)
    if "X" not in arrays or (target is None and with_target):
        has = quoted(found) or "none"
        needs = f"arrays X and {targets[0]}" if with_target else "array X"
        raise InputError(f"{file} needs the {needs}; it has {has}.")
    X = arrays["X"]
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise InputError(
            f"X in {file} must be a matrix of numbers; it is of shape {X.shape} and type {X.dtype}."
        )
    if X.shape[0] == 0:
        raise InputError(f"X in {file} has no rows: at least two are needed.")
    names = _names(path, arrays.get("feature_names"), X.shape[1])
    if target is None:
        return Loaded(matrix=X, names=names)
    y = _labels(file, target, arrays[target], X.shape)
    labels = {target: y} if y.ndim == 1 else {f"{target}{j}": y[:, j] for j in range(y.shape[1])}
    return Loaded(matrix=X, names=names, labels=labels)


def _labels(file: str, name: str, y: Any, shape: tuple[int, int]) -> NDArray[Any]:
    """The array y with a row for each sample."""
    flat = y.ndim == 1 or (y.ndim == 2 and 1 in y.shape)
    n_rows = math.prod(y.shape) if flat else y.shape[0] if y.ndim == 2 else None
    if n_rows != shape[0]:
        raise InputError(
            f"X and {name} in {file} must have one row for each sample; they are of the shapes "
            f"{shape} and {y.shape}."
        )
    if y.dtype.kind not in "biufUSO":
        raise InputError(f"{name} in {file} must hold numbers or text; it is of type {y.dtype}.")
    y = np.asarray(y.toarray() if sp.issparse(y) else y)
    return y.ravel() if flat else y


def _names(path: Path, stored: NDArray[Any] | None, width: int) -> list[str]:
    """Names of the columns of X; x0, x1 and so on where the file has none."""
    if stored is None:
        return [f"x{j}" for j in range(width)]
    if sp.issparse(stored) or stored.size != width:
        raise InputError(
            f"{shown(path.name)} has {stored.size} feature_names for {width} columns of X."
        )
    names = [str(name) for name in np.ravel(stored)]
    check_distinct(path, names)
    return names


# ------------------------------------------------------------------------------------ AnnData
def require_anndata() -> Any:
    """Import anndata, or say how to install it."""
    try:
        import anndata
    except ImportError:
        raise ImportError('Reading .h5ad needs anndata: pip install "rowsparse[bio]".') from None
    return anndata


def _h5ad(path: Path) -> Loaded:
    anndata = require_anndata()
    try:
        with warnings.catch_warnings():
            # Repeated names get a note below.
            warnings.simplefilter("ignore")
            data = anndata.read_h5ad(path)
        if sp.issparse(data.X):
            # Later operations of SciPy do not check the indices.
            data.X.check_format(full_check=True)
    except Exception as error:
        raise _unreadable(path, "AnnData", error) from None
    if data.X is None:
        raise InputError(f"{shown(path.name)} has no matrix X.")
    names, repeated = numbered(data.var_names.astype(str).tolist())
    notes = []
    if repeated:
        notes.append(
            f"{repeated} variables share their name with an earlier one: a number was added."
        )
    labels = {str(name): pandas_values(data.obs[name]) for name in data.obs.columns}
    matrix = sp.csr_array(data.X) if sp.issparse(data.X) else np.asarray(data.X)
    return Loaded(matrix=matrix, names=names, labels=labels, notes=notes)


def pandas_values(column: Any) -> NDArray[Any]:
    """A column of pandas as numbers, or as objects with None for what is missing."""
    if column.dtype.kind in "biuf" and not column.isna().any():
        return np.asarray(column.to_numpy())
    values = column.astype(object)
    return np.asarray(values.where(~column.isna(), None), dtype=object)


_READERS: dict[str, Callable[..., Loaded]] = {
    "excel": _excel,
    "parquet": _parquet,
    "arrow": _arrow,
    "npz": partial(_arrays, read=read_npz, targets=("y", "Y")),
    "mat": partial(_arrays, read=read_mat, targets=("Y", "y")),
    "h5ad": _h5ad,
}
