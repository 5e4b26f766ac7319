"""Blocks of rows of files and streams: Arrow record batches with pyarrow, HDF5 with h5py.

Record batches come from Parquet and Arrow files and from any Arrow stream; the HDF5 files of
AnnData are read too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rowsparse.streams.block import Block

__all__ = ["arrow_source", "hdf5_source", "needed_module", "table_source"]

_PARQUET, _ARROW = (".parquet", ".pq"), (".arrow", ".feather")

Source = tuple[Callable[[], Iterable[Sequence[Any]]], list[str], int | None]


def needed_module(name: str, extra: str = "stream") -> Any:
    """A module of an extra."""
    try:
        return import_module(name)
    except ImportError:
        package = name.partition(".")[0]
        raise ImportError(
            f'{package} is needed for such data: pip install "rowsparse[{extra}]".'
        ) from None


def table_source(
    path: Path,
    target: str | Sequence[str],
    columns: Sequence[str] | None,
    sample_weight: str | None,
    rows: int,
) -> Source:
    """A function that reads the blocks, the names of the columns of X, and how many blocks."""
    files = _files(path)
    known = _column_names(files[0])
    chosen = _Columns.among(known, files[0].name, target, columns, sample_weight)

    def read() -> Iterator[Block]:
        for file in files:
            for batch in _batches(file, chosen.names, rows):
                yield chosen.block(batch)

    return read, chosen.of_X, sum(_n_batches(file, rows) for file in files)


def arrow_source(
    open_stream: Callable[[], Any],
    target: str | Sequence[str],
    columns: Sequence[str] | None,
    sample_weight: str | None,
    rows: int,
) -> Source:
    """The same for a function that opens a reader of record batches, or an Arrow stream."""
    with _reader(open_stream()) as reader:
        known = list(reader.schema.names)
    chosen = _Columns.among(known, "The stream", target, columns, sample_weight)

    def read() -> Iterator[Block]:
        with _reader(open_stream()) as reader:
            for batch in reader:
                for start in range(0, batch.num_rows, rows):
                    yield chosen.block(batch.slice(start, rows))

    return read, chosen.of_X, None


def _reader(stream: Any) -> Any:
    """A reader of record batches; those of pyarrow are streams themselves."""
    if not hasattr(stream, "__arrow_c_stream__"):
        raise TypeError(
            "read must return a reader of Arrow record batches or an object with "
            f"__arrow_c_stream__; got {type(stream).__name__}."
        )
    return needed_module("pyarrow").RecordBatchReader.from_stream(stream)


@dataclass(frozen=True)
class _Columns:
    """Which columns of a table are X, which are y, and which has the sample weights."""

    of_X: list[str]
    target: str | list[str]
    sample_weight: str | None

    @classmethod
    def among(
        cls,
        known: list[str],
        table: str,
        target: str | Sequence[str],
        columns: Sequence[str] | None,
        sample_weight: str | None,
    ) -> Self:
        """From the parameters; ``columns=None`` takes all others of those known."""
        chosen = cls([], target if isinstance(target, str) else list(target), sample_weight)
        aside = chosen.names
        of_X = [n for n in known if n not in aside] if columns is None else list(columns)
        for name in (*aside, *of_X):
            if name not in known:
                raise ValueError(f"{table} has no column {name!r}.")
        return cls(of_X, chosen.target, sample_weight)

    @property
    def names(self) -> list[str]:
        """The columns that are read."""
        targets = [self.target] if isinstance(self.target, str) else self.target
        return [*self.of_X, *targets, *([] if self.sample_weight is None else [self.sample_weight])]

    def block(self, batch: Any) -> Block:
        """The samples of a record batch."""
        X = _matrix(batch, self.of_X)
        if isinstance(self.target, str):
            y = _values(batch, self.target)
        else:
            y = np.column_stack([_values(batch, name) for name in self.target])
        weights = None if self.sample_weight is None else _values(batch, self.sample_weight)
        return Block(X, y, weights)


def _files(path: Path) -> list[Path]:
    known = (*_PARQUET, *_ARROW)
    files = [path]
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.suffix in known)
        if not files:
            raise ValueError(f"{path} has no files that end in {' or '.join(known)}.")
    for file in files:
        if file.suffix not in known:
            raise ValueError(f"{file} must end in {' or '.join(known)}.")
        if not file.exists():
            raise FileNotFoundError(f"There is no file {file}.")
    return files


def _open_parquet(path: Path) -> Any:
    return needed_module("pyarrow.parquet").ParquetFile(path, memory_map=False, pre_buffer=False)


def _open_arrow(path: Path) -> Any:
    return needed_module("pyarrow.ipc").open_file(path)


def _column_names(path: Path) -> list[str]:
    file = _open_parquet(path) if path.suffix in _PARQUET else _open_arrow(path)
    schema = file.schema_arrow if path.suffix in _PARQUET else file.schema
    return list(schema.names)


def _n_batches(path: Path, rows: int) -> int:
    if path.suffix in _ARROW:
        file = _open_arrow(path)
        sizes = [file.get_batch(i).num_rows for i in range(file.num_record_batches)]
        return sum(-(-size // rows) for size in sizes)
    return -(-int(_open_parquet(path).metadata.num_rows) // rows)


def _batches(path: Path, names: list[str], rows: int) -> Iterator[Any]:
    """Record batches of at most ``rows`` rows."""
    if path.suffix in _PARQUET:
        file = _open_parquet(path)
        missing = [name for name in names if name not in file.schema_arrow.names]
        if missing:
            raise ValueError(f"{path.name} has no column {missing[0]!r}.")
        yield from file.iter_batches(batch_size=rows, columns=names)
        return
    file = _open_arrow(path)
    for i in range(file.num_record_batches):
        batch = file.get_batch(i)
        for start in range(0, batch.num_rows, rows):
            yield batch.slice(start, rows)


def _values(batch: Any, name: str) -> NDArray[Any]:
    if name not in batch.schema.names:
        raise ValueError(f"it has no column {name!r} any more: the data must not change.")
    column = batch.column(batch.schema.get_field_index(name))
    if hasattr(column, "dictionary_decode"):
        column = column.dictionary_decode()
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _matrix(batch: Any, names: list[str]) -> NDArray[Any]:
    """Columns as one array, held by columns as they are in the file."""
    columns = [_values(batch, name) for name in names]
    for name, column in zip(names, columns, strict=True):
        if column.dtype.kind not in "biuf":
            raise ValueError(
                f"X: column {name!r} is not numeric: encode it as numbers or leave it out."
            )
    single = all(column.dtype == np.float32 for column in columns)
    X = np.empty(
        (batch.num_rows, len(names)), dtype=np.float32 if single else np.float64, order="F"
    )
    for j, column in enumerate(columns):
        X[:, j] = column
    return X


# --------------------------------------------------------------------------------------------- HDF5
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
