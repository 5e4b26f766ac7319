"""Delimited text, CSV and TSV, read by polars in one pass, or two."""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import IO, Any, cast

from rowsparse._files import UnreadableFileError, check_memory, fits_memory
from rowsparse.workflow.messages import InputError, quoted, shown
from rowsparse.workflow.polars_errors import panics_as_errors, require_polars

__all__ = ["MISSING", "Dialect", "check_distinct", "read_delimited", "sniff"]

# Cells that are missing values, besides empty ones.
MISSING = ("NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "?")

_SEPARATORS = (",", ";", "\t", "|")
_HEAD_BYTES, _STEP_BYTES = 1 << 16, 1 << 24
# Rows that tell numbers from text; text in a later row costs a second pass.
_SAMPLE_ROWS = 5
_TRUTHS = ("true", "True", "TRUE", "false", "False", "FALSE")
_GZIP = b"\x1f\x8b"
# Bytes that one byte of gzip can unpack to, at most.
_MOST_PACKED = 1032
_DECIMAL_COMMA = re.compile(r"^-?\d+,\d+$")


@dataclass(frozen=True)
class Dialect:
    """How a text file is written; ``is_text`` is a guess from the first rows."""

    separator: str
    encoding: str
    decimal_comma: bool
    header: tuple[str, ...]
    is_text: tuple[bool, ...]


def read_delimited(path: Path, *, as_text: bool = False) -> tuple[Any, list[str]]:
    """The table as a polars frame, and notes on how it was read.

    Columns hold floats, booleans or text; with ``as_text`` all cells stay as they are written.
    """
    polars = require_polars()
    dialect = sniff(path)
    for encoding in dict.fromkeys((dialect.encoding, "cp1252")):
        try:
            frame = _frame(polars, path, replace(dialect, encoding=encoding), as_text)
            break
        except (polars.exceptions.PolarsError, OSError) as error:
            if encoding != "utf-8" or "utf" not in str(error).lower():
                raise InputError(f"{shown(path.name)} cannot be read: {_reason(error)}.") from None
    if frame.width == len(dialect.header):
        frame.columns = list(dialect.header)
    windows = ["The file is not UTF-8: it was read as Windows-1252."]
    return frame, windows if encoding == "cp1252" else []


def _frame(polars: Any, path: Path, dialect: Dialect, as_text: bool) -> Any:
    source: Any = path
    if dialect.encoding != "utf-8":
        source = _bytes(path).decode(dialect.encoding, errors="replace").encode()
    elif _is_packed(path) and not fits_memory(_MOST_PACKED * path.stat().st_size):
        source = _bytes(path)
    options: dict[str, Any] = {
        "separator": dialect.separator,
        "null_values": [] if as_text else list(MISSING),
        "decimal_comma": dialect.decimal_comma,
    }
    with panics_as_errors():
        if as_text:
            return polars.read_csv(source, infer_schema_length=0, **options)
        return _typed(polars, source, dialect, options)


def sniff(path: Path) -> Dialect:
    """Separator, encoding and names of the columns, from the beginning of a file."""
    head = _head(path)
    if not head.strip():
        raise InputError(f"{shown(path.name)} is empty.")
    encoding = _encoding(head)
    if encoding == "utf-8" and b"\x00" in head:
        raise InputError(
            f"{shown(path.name)} is not a text file: give its format by its suffix, as in .parquet."
        )
    first = head.decode(encoding, errors="replace").lstrip("\ufeff")
    separator = "\t" if ".tsv" in path.suffixes else _separator(first)
    header, *rows = _first_rows(path, encoding, separator)
    comma = separator != "," and any(
        _DECIMAL_COMMA.match(cell.strip()) for row in rows for cell in row
    )
    names = _named(path, header)
    return Dialect(separator, encoding, comma, names, _guess(rows, len(names), comma))


def _guess(rows: list[list[str]], width: int, comma: bool) -> tuple[bool, ...]:
    """Whether the columns hold anything but numbers in the first rows."""
    is_text = [False] * width
    for row in rows:
        for j, cell in enumerate(row[:width]):
            try:
                float(cell.replace(",", ".") if comma else cell)
            except ValueError:
                is_text[j] = is_text[j] or not (not cell.strip() or cell in MISSING)
    return tuple(is_text)


def _typed(polars: Any, source: Any, dialect: Dialect, options: dict[str, Any]) -> Any:
    """Numbers as floats; if text turns up below the first rows, all cells are read as text."""
    kinds = [polars.String if text else polars.Float64 for text in dialect.is_text]
    try:
        frame = polars.read_csv(source, schema_overrides=kinds, infer_schema_length=0, **options)
    except polars.exceptions.ComputeError:
        frame = polars.read_csv(source, infer_schema_length=0, **options)
    return _parsed(polars, frame, options["decimal_comma"])


def _parsed(polars: Any, frame: Any, decimal_comma: bool) -> Any:
    """Columns of text that hold only numbers, or only true and false, as such."""
    kinds = zip(frame.columns, frame.dtypes, strict=True)
    text = [name for name, kind in kinds if kind == polars.String]
    if not text or frame.height == 0:
        return frame
    cells = polars.col(text).str.strip_chars()
    cells = polars.when(cells.is_in(["", *MISSING])).then(None).otherwise(cells).name.keep()
    stripped = frame.select(cells)
    plain = stripped
    if decimal_comma:
        plain = stripped.select(polars.all().str.replace(",", ".", literal=True))
    numbers = plain.select(polars.all().cast(polars.Float64, strict=False))
    lost = numbers.null_count().row(0)
    absent = stripped.null_count().row(0)
    is_number = [a == b < frame.height for a, b in zip(lost, absent, strict=True)]
    whole = [name for name, yes in zip(text, is_number, strict=True) if yes]
    # Cells with nothing but blanks are missing in columns of text too.
    rest = [name for name, yes in zip(text, is_number, strict=True) if not yes]
    frame = frame.with_columns(*numbers.select(whole), *stripped.select(rest))
    truths = frame.select(polars.col(rest).is_in(_TRUTHS).all()).row(0) if rest else ()
    flags = [name for name, yes in zip(rest, truths, strict=True) if yes]
    flags = [name for name in flags if frame[name].null_count() < frame.height]
    return frame.with_columns(polars.col(flags).str.to_lowercase() == "true") if flags else frame


def _reason(error: Exception) -> str:
    """The first line of what polars says, without its advice."""
    first = str(error).partition("\n")[0].strip().rstrip(".:")
    if "found more fields than defined" in first:
        return "a row has more cells than there are column names"
    return first


# ------------------------------------------------------------------------------- the header
def _is_packed(path: Path) -> bool:
    with path.open("rb") as stream:
        return stream.read(2) == _GZIP


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    """The file as a stream of bytes, unpacked if it is gzipped."""
    packed = _is_packed(path)
    try:
        with cast(IO[bytes], gzip.open(path)) if packed else path.open("rb") as stream:
            yield stream
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise InputError(f"{shown(path.name)} is not a whole gzip file.") from None
    except UnreadableFileError as error:
        raise InputError(f"{shown(path.name)} {error}") from None


def _head(path: Path) -> bytes:
    with _opened(path) as stream:
        return stream.read(_HEAD_BYTES)


def _bytes(path: Path) -> bytes:
    text = io.BytesIO()
    with _opened(path) as stream:
        while part := stream.read(_STEP_BYTES):
            check_memory(text.tell() + len(part))
            text.write(part)
    return text.getvalue()


def _encoding(head: bytes) -> str:
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    try:
        # The last character may be cut off.
        head[: -4 if len(head) == _HEAD_BYTES else None].decode("utf-8")
    except UnicodeDecodeError as error:
        if len(head) < _HEAD_BYTES or error.start < len(head) - 8:
            return "cp1252"
    return "utf-8"


def _separator(text: str) -> str:
    """The separator that the first line has most of, outside quotation marks."""
    line = re.sub(r'"[^"]*"', "", text).partition("\n")[0]
    counts = Counter({mark: line.count(mark) for mark in _SEPARATORS})
    mark, count = counts.most_common(1)[0]
    return mark if count else ","


def _first_rows(path: Path, encoding: str, separator: str) -> list[list[str]]:
    """The cells of the first rows: names of columns, then values."""
    csv.field_size_limit(1 << 27)
    codec = "utf-8-sig" if encoding == "utf-8" else encoding
    with _opened(path) as stream:
        text = io.TextIOWrapper(stream, encoding=codec, errors="replace", newline="")
        rows = csv.reader(text, delimiter=separator)
        try:
            return list(islice(rows, 1 + _SAMPLE_ROWS))
        except csv.Error as error:
            raise InputError(f"{shown(path.name)} cannot be read: {error}.") from None


def _named(path: Path, header: list[str]) -> tuple[str, ...]:
    """Names of the columns: those without one get a number, and none comes twice."""
    names = [cell.strip() for cell in header]
    check_distinct(path, [name for name in names if name])
    return tuple(name or f"column {j + 1}" for j, name in enumerate(names))


def check_distinct(path: Path, names: list[str]) -> None:
    """Refuse a file with two columns of one name."""
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise InputError(
            f"{shown(path.name)} has several columns of the name {quoted(twice)}: rename them so "
            "that each name comes once."
        )
