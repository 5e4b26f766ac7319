"""Blocks of Parquet and Arrow files, with pyarrow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["needed_module", "table_source"]

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
    targets = [target] if isinstance(target, str) else list(target)
    names = _column_names(files[0])
    aside = [*targets, *([] if sample_weight is None else [sample_weight])]
    wanted = [n for n in names if n not in aside] if columns is None else list(columns)
    for name in (*aside, *wanted):
        if name not in names:
            raise ValueError(f"{files[0].name} has no column {name!r}.")

    def read() -> Iterator[tuple[Any, Any, Any]]:
        for file in files:
            for batch in _batches(file, [*wanted, *aside], rows):
                y = [_values(batch, name) for name in targets]
                weights = None if sample_weight is None else _values(batch, sample_weight)
                X = _matrix(batch, wanted)
                yield X, y[0] if isinstance(target, str) else np.column_stack(y), weights

    return read, wanted, sum(_n_batches(file, rows) for file in files)


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
    """Record batches of at most so many rows."""
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
