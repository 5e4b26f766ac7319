"""Files of every kind, as columns that may be features or targets."""

from __future__ import annotations

import warnings
import zipfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import file_digest
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rowsparse.workflow.delimited import read_delimited, require_polars
from rowsparse.workflow.errors import InputError, listed, shown

__all__ = ["FORMATS", "Loaded", "checksum", "format_of", "load", "require_anndata"]

# By the suffix of a file.
FORMATS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".txt": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".npz": "npz",
    ".mat": "mat",
    ".h5ad": "h5ad",
}


@dataclass(frozen=True)
class Loaded:
    """What a file holds.

    Attributes
    ----------
    frame : polars.DataFrame or None
        A table whose columns may be features or targets.
    matrix : array or sparse matrix, or None
        Features apart from all else, for the formats that keep them apart.
    names : list of str
        Names of the columns of ``matrix``.
    labels : dict of str to array
        What may be a target beside ``matrix``.
    notes : list of str
        Sentences on what was noticed.
    """

    frame: Any = None
    matrix: Any = None
    names: list[str] = field(default_factory=list)
    labels: dict[str, NDArray[Any]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def candidates(self) -> list[str]:
        """Names of the columns that may be targets."""
        return list(self.labels) if self.frame is None else list(self.frame.columns)


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
            ".gz), .parquet, .arrow, .feather, .npz, .mat or .h5ad."
        )
    return kind


def load(path: Path) -> Loaded:
    """Read a file, whatever its format."""
    kind = format_of(path)
    if path.is_dir():
        raise InputError(f"{shown(path.name)} is a folder, not a file.")
    if not path.exists():
        raise InputError(f"There is no file {shown(str(path))}.")
    if path.stat().st_size == 0:
        raise InputError(f"{shown(path.name)} is empty.")
    return _READERS[kind](path)


def _text(path: Path) -> Loaded:
    frame, notes = read_delimited(path)
    return Loaded(frame=frame, notes=notes)


def _parquet(path: Path) -> Loaded:
    polars = require_polars()
    return Loaded(frame=_columnar(polars.read_parquet, path, "Parquet"))


def _arrow(path: Path) -> Loaded:
    polars = require_polars()
    with path.open("rb") as stream:
        is_file = stream.read(6) == b"ARROW1"
    read = polars.read_ipc if is_file else polars.read_ipc_stream
    return Loaded(frame=_columnar(read, path, "Arrow"))


def _columnar(read: Callable[[Path], Any], path: Path, kind: str) -> Any:
    polars = require_polars()
    try:
        frame = read(path)
    except polars.exceptions.DuplicateError:
        raise InputError(
            f"{shown(path.name)} has several columns of one name: rename them so that each name "
            "comes once."
        ) from None
    except (polars.exceptions.PolarsError, OSError, ValueError) as error:
        raise _unreadable(path, kind, error) from None
    categories = polars.selectors.categorical() | polars.selectors.by_dtype(polars.Enum)
    return frame.with_columns(categories.cast(polars.String))


def _unreadable(path: Path, kind: str, error: Exception) -> InputError:
    reason = str(error).partition("\n")[0].strip().rstrip(".")
    return InputError(f"{shown(path.name)} cannot be read as {kind}: {reason}.")


# ------------------------------------------------------------------------------- NPZ and MAT
def _npz(path: Path) -> Loaded:
    if not zipfile.is_zipfile(path):
        raise InputError(f"{shown(path.name)} is not an NPZ file.")
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (zipfile.BadZipFile, OSError, EOFError, ValueError) as error:
        if "allow_pickle" in str(error):
            raise InputError(
                f"{shown(path.name)} holds Python objects, which are not read: save names as text, "
                "as in np.array(names, dtype=str)."
            ) from None
        raise InputError(f"{shown(path.name)} is not an NPZ file.") from None
    return _arrays(path, arrays, ("y", "Y"))


def _mat(path: Path) -> Loaded:
    from scipy.io import loadmat

    try:
        arrays = loadmat(path)
    except NotImplementedError:
        raise InputError(
            f"{shown(path.name)} is of MATLAB's version 7.3: save it with the option '-v7'."
        ) from None
    except Exception as error:
        raise _unreadable(path, "MAT", error) from None
    if "feature_names" in arrays:
        arrays["feature_names"] = _texts(arrays["feature_names"])
    return _arrays(path, arrays, ("Y", "y"))


def _arrays(path: Path, arrays: dict[str, Any], targets: tuple[str, ...]) -> Loaded:
    """X, y and perhaps feature_names, as features and labels."""
    target = next((name for name in targets if name in arrays), None)
    if "X" not in arrays or target is None:
        found = [name for name in arrays if not name.startswith("__")]
        raise InputError(
            f"{shown(path.name)} needs the arrays X and {targets[0]}; it has "
            f"{listed(found) or 'none'}."
        )
    X, y = arrays["X"], arrays[target]
    if X.ndim != 2 or (not sp.issparse(X) and X.dtype.kind not in "biuf"):
        raise InputError(
            f"X in {shown(path.name)} must be a matrix of numbers; it is of shape {X.shape} and "
            f"type {X.dtype}."
        )
    y = np.asarray(y.toarray() if sp.issparse(y) else y)
    if y.dtype.kind == "O":
        y = _texts(y)
    if y.ndim == 2 and 1 in y.shape:
        y = y.ravel()
    if y.ndim not in (1, 2) or y.shape[0] != X.shape[0]:
        raise InputError(
            f"X and {target} in {shown(path.name)} must have one row for each sample; they are of "
            f"the shapes {X.shape} and {y.shape}."
        )
    names = [f"x{j}" for j in range(X.shape[1])]
    if "feature_names" in arrays:
        names = np.asarray(arrays["feature_names"]).astype(str).ravel().tolist()
        if len(names) != X.shape[1]:
            raise InputError(
                f"{shown(path.name)} has {len(names)} feature_names for {X.shape[1]} columns of X."
            )
    return Loaded(
        matrix=X,
        names=_unique(path, names),
        labels={target: y} if y.ndim == 1 else {f"{target}{j}": y[:, j] for j in range(y.shape[1])},
    )


def _texts(values: NDArray[Any]) -> NDArray[Any]:
    """MATLAB's cells of text, or objects that are text, as an array of text."""
    return np.array([str(np.squeeze(value)) for value in np.ravel(values)])


def _unique(path: Path, names: list[str]) -> list[str]:
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise InputError(
            f"{shown(path.name)} has several columns of the name {listed(twice)}: rename them so "
            "that each name comes once."
        )
    return names


# ------------------------------------------------------------------------------------ AnnData
def require_anndata() -> Any:
    """The package anndata, or a sentence that says how to get it."""
    try:
        import anndata
    except ImportError:
        raise ImportError('Reading .h5ad needs anndata: pip install "rowsparse[bio]".') from None
    return anndata


def _h5ad(path: Path) -> Loaded:
    anndata = require_anndata()
    try:
        with warnings.catch_warnings():
            # Names that repeat are told of below.
            warnings.simplefilter("ignore")
            data = anndata.read_h5ad(path)
    except Exception as error:
        raise _unreadable(path, "AnnData", error) from None
    if data.X is None:
        raise InputError(f"{shown(path.name)} has no matrix X.")
    names, repeated = _numbered(data.var_names.astype(str).tolist())
    notes = []
    if repeated:
        notes.append(
            f"{repeated} variables share their name with an earlier one: a number was added."
        )
    labels = {str(name): _obs_column(data.obs[name]) for name in data.obs.columns}
    matrix = sp.csr_array(data.X) if sp.issparse(data.X) else np.asarray(data.X)
    return Loaded(matrix=matrix, names=names, labels=labels, notes=notes)


def _obs_column(column: Any) -> NDArray[Any]:
    """A column of pandas as numbers, or as objects with None for what is missing."""
    if column.dtype.kind in "biuf" and not column.isna().any():
        return np.asarray(column.to_numpy())
    values = column.astype(object)
    return np.asarray(values.where(~column.isna(), None), dtype=object)


def _numbered(names: list[str]) -> tuple[list[str], int]:
    """Names made unique as in 'TP53', 'TP53 (2)', and how many were changed."""
    taken, result, changed = set(names), [], 0
    seen: Counter[str] = Counter()
    for name in names:
        seen[name] += 1
        fresh = name
        while seen[name] > 1 and fresh in taken:
            fresh = f"{name} ({seen[name]})"
            seen[name] += fresh in taken
        changed += fresh != name
        taken.add(fresh)
        result.append(fresh)
    return result, changed


_READERS: dict[str, Callable[[Path], Loaded]] = {
    "csv": _text,
    "tsv": _text,
    "parquet": _parquet,
    "arrow": _arrow,
    "npz": _npz,
    "mat": _mat,
    "h5ad": _h5ad,
}
