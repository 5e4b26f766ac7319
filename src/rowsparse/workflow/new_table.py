"""Tables that a saved model is applied to: columns by name, whatever the table is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rowsparse._arrays import Array
from rowsparse.workflow.labels import load_joined
from rowsparse.workflow.loading import Loaded, format_of, pandas_values
from rowsparse.workflow.messages import InputError, shown
from rowsparse.workflow.settings import TableSettings
from rowsparse.workflow.target_columns import missing_in
from rowsparse.workflow.text_files import check_distinct

__all__ = ["NewTable", "as_numbers", "as_text", "open_table"]


@dataclass(frozen=True)
class NewTable:
    """Columns of a table, read when they are asked for.

    Attributes
    ----------
    source : str
        What messages call the table.
    n_rows : int
        Number of samples.
    names : sequence of str
        Columns that may be features.
    values : callable
        The values of such a column, by its name.
    target_names : sequence of str
        Columns that may be targets or identifiers; the same as ``names`` in a table of columns.
    target_values : callable
        The values of such a column.
    path : Path or None
        The file, if it is one.
    reading : TableSettings
        How the file was read.
    """

    source: str
    n_rows: int
    names: Sequence[str]
    values: Callable[[str], NDArray[Any]]
    target_names: Sequence[str]
    target_values: Callable[[str], NDArray[Any]]
    path: Path | None = None
    reading: TableSettings = field(default_factory=TableSettings)

    def with_targets(self, targets: Sequence[str]) -> NewTable:
        """The rows that have a value of every target."""
        missing = [missing_in(self.target_values(name)) for name in targets]
        kept = np.flatnonzero(~np.any(missing, axis=0))
        if kept.size == self.n_rows:
            return self
        return replace(
            self,
            n_rows=kept.size,
            values=lambda name: self.values(name)[kept],
            target_values=lambda name: self.target_values(name)[kept],
        )

    def as_written(self, names: Sequence[str]) -> list[list[Any]]:
        """The values of some columns; those of a text file exactly as they stand there."""
        if names and self.path is not None and format_of(self.path) in ("csv", "tsv"):
            frame = load_joined(self.path, self.reading, as_text=True, with_target=False).frame
            return [frame[name].to_list() for name in names]
        return [self.target_values(name).tolist() for name in names]


def open_table(table: Any, reading: TableSettings | None = None) -> NewTable:
    """Open a file, or a data frame of polars or pandas.

    Parameters
    ----------
    table : str, Path, data frame or NewTable
        A file in any format that :func:`rowsparse.workflow.table.read_table` reads, with or
        without targets, or a data frame.
    reading : TableSettings, optional
        How a file is read: which cells are missing values, and whether it is transposed or joined
        with labels.
    """
    if isinstance(table, NewTable):
        return table
    if isinstance(table, str | Path):
        path = Path(table)
        reading = reading or TableSettings()
        loaded = load_joined(path, reading, with_target=False)
        if loaded.frame is None:
            return _from_matrix(loaded, path)
        return replace(_from_frame(loaded.frame, path.name, path), reading=reading)
    if not hasattr(table, "columns"):
        raise TypeError(
            "The table must be the path of a file or a data frame of polars or pandas; got "
            f"{type(table).__name__}."
        )
    return _from_frame(table, "the data frame", None)


def _from_frame(frame: Any, source: str, path: Path | None) -> NewTable:
    names = [str(name) for name in frame.columns]
    check_distinct(Path(source), names)
    columns = dict(zip(names, frame.columns, strict=True))

    def values(name: str) -> NDArray[Any]:
        column = frame[columns[name]]
        return pandas_values(column) if hasattr(column, "isna") else np.asarray(column)

    return NewTable(source, len(frame), names, values, names, values, path)


def _from_matrix(loaded: Loaded, path: Path) -> NewTable:
    place = {name: j for j, name in enumerate(loaded.names)}

    def values(name: str) -> NDArray[Any]:
        column = loaded.matrix[:, [place[name]]]
        return np.asarray(column.toarray() if sp.issparse(column) else column).ravel()

    labels = loaded.labels
    return NewTable(
        path.name, loaded.n_rows, loaded.names, values, list(labels), labels.__getitem__, path
    )


def as_numbers(name: str, values: NDArray[Any]) -> Array:
    """A column as numbers, NaN where they are missing; text and infinity are refused."""
    if values.dtype.kind not in "biuf":
        values = _parsed(name, values)
    numbers = values.astype(np.float64)
    if np.isinf(numbers).any():
        raise InputError(f"Column {shown(name)} holds infinity: clip it first.")
    return numbers


def _parsed(name: str, values: NDArray[Any]) -> Array:
    """Python objects as numbers, as in a column of booleans of which some are missing."""
    text = [value for value in values.tolist() if isinstance(value, str)]
    try:
        if not text and values.dtype.kind == "O":
            present = [np.nan if value is None else value for value in values.tolist()]
            return np.array(present, dtype=np.float64)
    except (TypeError, ValueError):
        pass
    example = f"text such as {shown(text[0])}" if text else "other values"
    raise InputError(f"Column {shown(name)} holds {example}; the model needs numbers.")


def as_text(values: NDArray[Any]) -> NDArray[Any]:
    """A column as text, None where it is missing; whole numbers without a decimal point."""
    # Categories such as 1, 2 and "x" are read as numbers where no "x" is among them.
    return np.array([_word(value) for value in values.tolist()], dtype=object)


def _word(value: Any) -> str | None:
    if value is None or value != value:
        return None
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
