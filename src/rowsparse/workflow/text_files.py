"""Text files: unpacked, decoded, cut into rows of cells, and how they are written."""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, cast

from rowsparse._files import UnreadableFileError, check_memory
from rowsparse.workflow.cells import is_grouped
from rowsparse.workflow.messages import InputError, quoted, shown

__all__ = [
    "Dialect",
    "check_distinct",
    "is_blank",
    "is_packed",
    "line_of",
    "numbered_rows",
    "sniff",
    "whole_bytes",
]

_SEPARATORS = (",", ";", "\t", "|")
_HEAD_BYTES, _STEP_BYTES = 1 << 16, 1 << 24
# Rows that tell numbers from text; text in a later row costs a second pass.
_SAMPLE_ROWS = 5
_GZIP = b"\x1f\x8b"
_DECIMAL_COMMA = re.compile(r"^[+-]?\d+,\d+$")
_DECIMAL_POINT = re.compile(r"^[+-]?\d*\.\d+$")


@dataclass(frozen=True)
class Dialect:
    """How a text file is written; ``is_text`` is a guess from the first rows."""

    separator: str
    encoding: str
    decimal_comma: bool = False
    header: tuple[str, ...] = ()
    is_text: tuple[bool, ...] = ()


def sniff(path: Path, missing: Sequence[str] = ()) -> Dialect:
    """Separator, encoding and names of the columns, from the beginning of a file.

    Parameters
    ----------
    path : Path
    missing : sequence of str
        Cells that stand for missing values, besides empty ones.
    """
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
    dialect = Dialect(separator, encoding)
    header, *rows = [cells for _, cells in islice(numbered_rows(path, dialect), 1 + _SAMPLE_ROWS)]
    comma = _has_decimal_commas(separator, [cell.strip() for row in rows for cell in row])
    names = _named(path, header)
    is_text = _guess(rows, len(names), comma, missing)
    return Dialect(separator, encoding, comma, names, is_text)


def _has_decimal_commas(separator: str, cells: list[str]) -> bool:
    """Whether commas are decimal marks; in 1,234 they may be thousands separators."""
    commas = [cell for cell in cells if _DECIMAL_COMMA.match(cell)]
    if separator == "," or not commas:
        return False
    if not all(map(is_grouped, commas)):
        return True
    # Semicolons are used where the comma is the decimal mark.
    return separator == ";" and not any(map(_DECIMAL_POINT.match, cells))


def _guess(
    rows: list[list[str]], width: int, comma: bool, missing: Sequence[str]
) -> tuple[bool, ...]:
    """Whether the columns hold anything but numbers in the first rows."""
    is_text = [False] * width
    for row in rows:
        for j, cell in enumerate(row[:width]):
            try:
                float(cell.replace(",", ".") if comma else cell)
            except ValueError:
                is_text[j] = is_text[j] or not (not cell.strip() or cell in missing)
    return tuple(is_text)


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


# ------------------------------------------------------------------------------------- rows
def numbered_rows(path: Path, dialect: Dialect) -> Iterator[tuple[int, list[str]]]:
    """The rows as lists of cells, the header first, each with the number of its line."""
    csv.field_size_limit(1 << 27)
    codec = "utf-8-sig" if dialect.encoding == "utf-8" else dialect.encoding
    with _opened(path) as stream:
        text = io.TextIOWrapper(stream, encoding=codec, errors="replace", newline="")
        rows = csv.reader(text, delimiter=dialect.separator)
        line = 1
        try:
            for cells in rows:
                yield line, cells
                line = rows.line_num + 1
        except csv.Error as error:
            raise InputError(f"{shown(path.name)} cannot be read: {error}.") from None


def is_blank(cells: list[str]) -> bool:
    """Whether a row comes from a line with nothing on it."""
    return len(cells) < 2 and not "".join(cells).strip()


def line_of(path: Path, dialect: Dialect, row: int) -> int:
    """The line, counted from 1, of a row of values, counted from 0; blank lines are no rows."""
    filled = ((line, cells) for line, cells in numbered_rows(path, dialect) if not is_blank(cells))
    return next(islice(filled, row + 1, None))[0]


# ------------------------------------------------------------------------------------ bytes
def is_packed(path: Path) -> bool:
    """Whether a file is gzipped."""
    with path.open("rb") as stream:
        return stream.read(2) == _GZIP


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    """The file as a stream of bytes, unpacked if it is gzipped."""
    packed = is_packed(path)
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


def whole_bytes(path: Path) -> bytes:
    """All that a file holds, unpacked."""
    text = io.BytesIO()
    with _opened(path) as stream:
        while part := stream.read(_STEP_BYTES):
            check_memory(text.tell() + len(part))
            text.write(part)
    return text.getvalue()
