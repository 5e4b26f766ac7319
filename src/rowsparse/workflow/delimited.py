"""Delimited text, CSV and TSV: few passes over a wide file, and no loop over its cells."""

from __future__ import annotations

import csv
import gzip
import io
import re
from collections import Counter
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any, cast

from rowsparse.workflow.errors import InputError, listed, shown

__all__ = ["MISSING", "Dialect", "read_delimited", "require_polars", "sniff"]

# What stands for no value, besides an empty cell.
MISSING = ("NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "?")

_SEPARATORS = (",", ";", "\t", "|")
_HEAD_BYTES = 1 << 16
# Rows that tell numbers from text; a later surprise costs a second pass.
_SAMPLE_ROWS = 5
_TRUTHS = ("true", "True", "TRUE", "false", "False", "FALSE")
_GZIP = b"\x1f\x8b"
_DECIMAL_COMMA = re.compile(r"^-?\d+,\d+$")


@dataclass(frozen=True)
class Dialect:
    """How a text file is written; ``is_text`` is a guess from the first rows."""

    separator: str
    encoding: str
    decimal_comma: bool
    header: tuple[str, ...]
    is_text: tuple[bool, ...]


def require_polars() -> Any:
    """The package polars, or a sentence that says how to get it."""
    try:
        import polars
    except ImportError:
        raise ImportError('Reading tables needs polars: pip install "rowsparse[tables]".') from None
    return polars


def read_delimited(path: Path, *, as_text: bool = False) -> tuple[Any, list[str]]:
    """The table as a polars frame, and sentences on what was noticed.

    Columns hold floats, booleans or text; with ``as_text`` all cells stay as they are written.
    """
    polars = require_polars()
    dialect = sniff(path)
    notes = []
    if dialect.encoding == "cp1252":
        notes.append("The file is not UTF-8: it was read as Windows-1252.")
    source: Any = path
    if dialect.encoding != "utf-8":
        text = _bytes(path).decode(dialect.encoding, errors="replace")
        source = text.encode()
    options: dict[str, Any] = {
        "separator": dialect.separator,
        "null_values": [] if as_text else list(MISSING),
        "decimal_comma": dialect.decimal_comma,
    }
    try:
        if as_text:
            frame = polars.read_csv(source, infer_schema_length=0, **options)
        else:
            frame = _typed(polars, source, dialect, options)
    except (polars.exceptions.ComputeError, polars.exceptions.NoDataError) as error:
        if dialect.encoding == "utf-8" and "utf" in str(error).lower():
            return _read_as_windows(path, dialect, options, as_text, polars)
        raise InputError(f"{shown(path.name)} cannot be read: {_reason(error)}.") from None
    if frame.width == len(dialect.header):
        frame.columns = list(dialect.header)
    return frame, notes


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
    """Numbers as floats; text that turns up beyond the first rows makes all cells text at first."""
    kinds = [polars.String if text else polars.Float64 for text in dialect.is_text]
    try:
        frame = polars.read_csv(source, schema_overrides=kinds, infer_schema_length=0, **options)
    except polars.exceptions.ComputeError:
        frame = polars.read_csv(source, infer_schema_length=0, **options)
    return numbers_from_text(polars, frame, decimal_comma=options["decimal_comma"])


def numbers_from_text(polars: Any, frame: Any, *, decimal_comma: bool = False) -> Any:
    """Columns of text that hold nothing but numbers, as numbers."""
    text = [name for name, kind in zip(frame.columns, frame.dtypes, strict=True)
            if kind == polars.String]  # fmt: skip
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
    flags = [name for name, yes in zip(rest, truths, strict=True)
             if yes and frame[name].null_count() < frame.height]  # fmt: skip
    return frame.with_columns(polars.col(flags).str.to_lowercase() == "true") if flags else frame


def _read_as_windows(
    path: Path, dialect: Dialect, options: dict[str, Any], as_text: bool, polars: Any
) -> tuple[Any, list[str]]:
    data = _bytes(path).decode("cp1252", errors="replace").encode()
    if as_text:
        frame = polars.read_csv(data, infer_schema_length=0, **options)
    else:
        frame = _typed(polars, data, dialect, options)
    return frame, ["The file is not UTF-8: it was read as Windows-1252."]


def _reason(error: Exception) -> str:
    """The first line of what polars says, without its advice."""
    first = str(error).partition("\n")[0].strip().rstrip(".:")
    if "found more fields than defined" in first:
        return "a row has more cells than there are column names"
    return first


# ------------------------------------------------------------------------------- the header
def _open(path: Path) -> IO[Any]:
    with path.open("rb") as stream:
        packed = stream.read(2) == _GZIP
    return cast(IO[Any], gzip.open(path, "rb") if packed else path.open("rb"))


def _head(path: Path) -> bytes:
    try:
        with _open(path) as stream:
            return stream.read(_HEAD_BYTES)
    except (EOFError, gzip.BadGzipFile, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise InputError(f"{shown(path.name)} is not a whole gzip file.") from None


def _bytes(path: Path) -> bytes:
    with _open(path) as stream:
        return stream.read()


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
    with _open(path) as stream:
        text = io.TextIOWrapper(stream, encoding=codec, errors="replace", newline="")
        rows = csv.reader(text, delimiter=separator)
        try:
            return list(islice(rows, 1 + _SAMPLE_ROWS))
        except csv.Error as error:
            raise InputError(f"{shown(path.name)} cannot be read: {error}.") from None


def _named(path: Path, header: list[str]) -> tuple[str, ...]:
    """Names of the columns: those without one get a number, and none comes twice."""
    names = [cell.strip() for cell in header]
    twice = [name for name, times in Counter(names).items() if times > 1 and name]
    if twice:
        raise InputError(
            f"{shown(path.name)} has several columns of the name {listed(twice)}: rename them so "
            "that each name comes once."
        )
    return tuple(name or f"column {j + 1}" for j, name in enumerate(names))
