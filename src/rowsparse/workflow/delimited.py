"""Delimited text, CSV and TSV, read by polars in one pass, or two."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from rowsparse._files import check_memory, fits_memory
from rowsparse._text import counted
from rowsparse.workflow.cells import MISSING, parse_cells
from rowsparse.workflow.messages import InputError, shown
from rowsparse.workflow.polars_errors import panics_as_errors, require_polars
from rowsparse.workflow.text_files import (
    Dialect,
    even_rows,
    is_blank,
    is_packed,
    sniff,
    whole_bytes,
)
from rowsparse.workflow.transposing import transpose_frame

__all__ = ["read_delimited"]

# Bytes that one byte of gzip can unpack to, at most.
_MOST_PACKED = 1032
_ROWS_BETWEEN_CHECKS = 1000


def read_delimited(
    path: Path, na_values: Sequence[str] = (), *, transpose: bool = False, as_text: bool = False
) -> tuple[Any, Dialect, list[str]]:
    """Read a table from delimited text.

    Parameters
    ----------
    path : Path
    na_values : sequence of str
        Cells that stand for missing values, besides empty ones and the usual words.
    transpose : bool
        Whether the file has a row for each feature, and a column for each sample.
    as_text : bool
        Whether all cells stay as they are written; otherwise columns hold floats, booleans or text.

    Returns
    -------
    frame : polars.DataFrame
    dialect : Dialect
        How the file is written.
    notes : list of str
        Sentences on how it was read.
    """
    missing = [] if as_text else [*MISSING, *na_values]
    frame, dialect = _raw_table(path, missing, as_text)
    notes = []
    if dialect.n_comments:
        lines = counted(dialect.n_comments, "line")
        notes.append(f"Skipped: {lines} before the header, blank or beginning with '#'.")
    if dialect.encoding == "cp1252":
        notes.append("The file is not UTF-8: it was read as Windows-1252.")
    if transpose:
        frame, more = transpose_frame(frame)
        notes += more
    if as_text:
        return frame, dialect, notes
    frame, more = parse_cells(
        frame, missing, separator=dialect.separator, decimal_comma=dialect.decimal_comma
    )
    return frame, dialect, [*notes, *more]


def _raw_table(path: Path, missing: list[str], as_text: bool) -> tuple[Any, Dialect]:
    """The cells under the names of the header, without blank lines, and how they are written."""
    polars = require_polars()
    dialect = sniff(path, missing)
    for encoding in dict.fromkeys((dialect.encoding, "cp1252")):
        dialect = replace(dialect, encoding=encoding)
        try:
            frame = _cells(polars, path, dialect, missing, as_text)
            break
        except (polars.exceptions.PolarsError, OSError, UnicodeDecodeError) as error:
            if "found more fields than defined" in str(error):
                _blank_rows(path, dialect)  # names the line
            if encoding != "utf-8" or "utf" not in str(error).lower():
                raise InputError(f"{shown(path.name)} cannot be read: {_reason(error)}.") from None
    if frame.width == len(dialect.header):
        frame.columns = list(dialect.header)
    if frame.height and dialect.is_plain and frame[frame.columns[-1]].null_count():
        # Polars takes blank lines for rows, and fills rows that are too short.
        blank = _blank_rows(path, dialect)
        frame = frame.filter(~polars.int_range(frame.height).is_in(blank)) if blank else frame
    return frame, dialect


def _cells(polars: Any, path: Path, dialect: Dialect, missing: list[str], as_text: bool) -> Any:
    """The cells as text, but columns whose first cells are numbers as floats.

    If text turns up below the first rows of such a column, all cells are read as text.
    """
    source: Any = path
    separator = dialect.separator
    if not dialect.is_plain:
        separator = "\t"
        source = _rewritten(path, dialect)
    elif dialect.encoding != "utf-8":
        source = whole_bytes(path).decode(dialect.encoding, errors="replace").encode()
    elif is_packed(path) and not fits_memory(_MOST_PACKED * path.stat().st_size):
        source = whole_bytes(path)
    options: dict[str, Any] = {
        "separator": separator,
        "null_values": missing,
        "decimal_comma": dialect.decimal_comma,
        "infer_schema_length": 0,
    }
    kinds = [polars.String if text else polars.Float64 for text in dialect.is_text]
    with panics_as_errors():
        if as_text:
            return polars.read_csv(source, **options)
        try:
            return polars.read_csv(source, schema_overrides=kinds, **options)
        except polars.exceptions.ComputeError:
            return polars.read_csv(source, **options)


def _rewritten(path: Path, dialect: Dialect) -> bytes:
    """The rows with tabs between the cells, without comments and blank lines."""
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, delimiter="\t", lineterminator="\n")
    errors = "strict" if dialect.encoding == "utf-8" else "replace"
    for index, (_, cells) in enumerate(even_rows(path, dialect, errors=errors)):
        if not is_blank(cells):
            writer.writerow(cells)
        if index % _ROWS_BETWEEN_CHECKS == 0:
            check_memory(buffer.tell())
    return buffer.getvalue().encode()


def _blank_rows(path: Path, dialect: Dialect) -> list[int]:
    """The rows of values, counted from 0, that come from blank lines."""
    rows = islice(even_rows(path, dialect), 1, None)
    return [row for row, (_, cells) in enumerate(rows) if is_blank(cells)]


def _reason(error: Exception) -> str:
    """The first line of what polars says, without its advice."""
    return str(error).partition("\n")[0].strip().rstrip(".:")
