"""Delimited text, CSV and TSV: how it is written, read by polars, and its cells as numbers."""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import IO, Any, cast

from rowsparse._files import UnreadableFileError, check_memory, fits_memory
from rowsparse._text import counted
from rowsparse.workflow.messages import InputError, quoted, required, setting, shown

# Cells that are missing values, besides empty ones.
MISSING = ("NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "None", "?")
# Thousands separators besides commas and points: blanks of three widths and apostrophes.
GROUP_MARKS = " \u00a0\u202f'’"
_SEPARATORS = (",", ";", "\t", "|")
_HEAD_BYTES, _STEP_BYTES = 1 << 16, 1 << 24
# Rows that tell numbers from text; text in a later row costs a second pass.
_SAMPLE_ROWS = 5
_GZIP = b"\x1f\x8b"
_DECIMAL_COMMA = re.compile(rf"^[+-]?\d+([.{GROUP_MARKS}]\d{{3}})*,\d+$")
_DECIMAL_POINT = re.compile(r"^[+-]?\d*\.\d+$")


@dataclass(frozen=True)
class Dialect:
    """How a text file is written.

    A ``separator`` that is a blank stands for any number of blanks. ``n_comments`` are the lines
    before the header. With ``has_row_names``, the first cell of each row is a name that the header
    has no cell for. ``is_text`` says whether columns hold anything but numbers, a guess from the
    first rows.
    """

    separator: str
    encoding: str
    n_comments: int = 0
    has_row_names: bool = False
    decimal_comma: bool = False
    header: tuple[str, ...] = ()
    is_text: tuple[bool, ...] = ()

    @property
    def is_plain(self) -> bool:
        """Whether polars can read such a file as it is."""
        return not (self.n_comments or self.has_row_names or self.separator == " ")


def sniff(path: Path, missing: Sequence[str] = (), header_row: int | None = None) -> Dialect:
    """Separator, encoding and names of the columns, from the beginning of a file.

    ``missing`` are cells that stand for missing values, besides empty ones. ``header_row``, counted
    from 1, is the line with the names; by default the first that is neither blank nor a comment.
    """
    head = _head(path)
    if not head.strip():
        raise InputError(f"{shown(path.name)} is empty.")
    encoding = _encoding(head)
    if encoding == "utf-8" and b"\x00" in head:
        raise InputError(
            f"{shown(path.name)} is not a text file: give its format by its suffix, as in .parquet."
        )
    dialect = _with_layout(path, Dialect(",", encoding), head, header_row)
    header, *rows = _first_rows(path, dialect)
    comma = _has_decimal_commas(dialect.separator, [cell.strip() for row in rows for cell in row])
    names = name_columns(path.name, header)
    is_text = _guess(rows, len(names), comma, missing)
    return replace(dialect, decimal_comma=comma, header=names, is_text=is_text)


def _with_layout(
    path: Path, dialect: Dialect, head: bytes, header_row: int | None = None
) -> Dialect:
    """The dialect with its separator, and what is unusual about header and rows."""
    text = head.decode(dialect.encoding, errors="replace").lstrip("\ufeff")
    lines = list(io.StringIO(text, newline=""))
    is_skipped = [line[0] == "#" or not line.strip() for line in lines]
    n_marked = is_skipped.index(False) if False in is_skipped else len(lines)
    if header_row is not None:
        n_marked = header_row - 1
        if n_marked >= len(lines):
            raise InputError(
                f"{setting('header_row', header_row)}: {shown(path.name)} has no such line near "
                "its beginning."
            )
    found = _with_separator(path, replace(dialect, n_comments=n_marked), lines)
    if n_marked and header_row is None:
        above = _with_separator(path, replace(dialect, n_comments=n_marked - 1), lines)
        if _has_marked_header(path, above):
            found = above
        elif n_marked == len(lines):
            raise InputError(f"{shown(path.name)} holds nothing but lines that begin with '#'.")
    header, *rows = _first_rows(path, found)
    is_short = bool(rows) and {len(row) for row in rows} == {len(header) + 1}
    # An empty last cell comes from a separator at the end of each row.
    return replace(found, has_row_names=is_short and any(row[-1].strip() for row in rows))


def _with_separator(path: Path, dialect: Dialect, lines: list[str]) -> Dialect:
    """The dialect with the separator of the header."""
    mark = _separator("".join(lines[dialect.n_comments :]))
    if ".tsv" in path.suffixes:
        mark = "\t"
    spaced = replace(dialect, separator=" ")
    if not mark and _is_even(path, spaced):
        return spaced
    return replace(dialect, separator=mark or ",")


def _first_rows(path: Path, dialect: Dialect) -> list[list[str]]:
    """The cells of the first rows: names of columns, then values."""
    first = [row for _, row in islice(numbered_rows(path, dialect), 1 + _SAMPLE_ROWS)]
    header, *rows = first or [[]]
    return [header, *(row for row in rows if not is_blank(row))]


def _is_even(path: Path, dialect: Dialect) -> bool:
    """Whether the first rows have several cells, all as many as the header or one more."""
    header, *rows = _first_rows(path, dialect)
    widths = {len(row) for row in rows}
    return widths in ({len(header)}, {len(header) + 1}) and min(widths) > 1


def _has_marked_header(path: Path, dialect: Dialect) -> bool:
    """Whether a line that begins with "#" is the header: it has names, and the next one numbers."""
    header, *rows = _first_rows(path, dialect)
    return (
        _is_even(path, dialect)
        and not any(map(looks_numeric, header))
        and any(map(looks_numeric, rows[0]))
    )


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
    """The separator that the first line has most of, outside quotation marks; "" for none."""
    line = re.sub(r'"[^"]*"', "", text).partition("\n")[0]
    counts = Counter({mark: line.count(mark) for mark in _SEPARATORS})
    mark, count = counts.most_common(1)[0]
    return mark if count else ""


def name_columns(source: str, header: list[str]) -> tuple[str, ...]:
    """Names of the columns: those without one get a number, and none comes twice."""
    names = [cell.strip() for cell in header]
    check_distinct(source, [name for name in names if name])
    return tuple(name or f"column {j + 1}" for j, name in enumerate(names))


def check_distinct(source: str, names: list[str]) -> None:
    """Refuse a table with two columns of one name."""
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise InputError(
            f"{shown(source)} has several columns of the name {quoted(twice)}: rename them so "
            "that each name comes once."
        )


# ------------------------------------------------------------------------------------- rows
def numbered_rows(
    path: Path, dialect: Dialect, *, errors: str = "replace"
) -> Iterator[tuple[int, list[str]]]:
    """The rows as lists of cells, the header first, each with the number of its line.

    ``errors`` says what happens to bytes that cannot be decoded, as in :func:`open`.
    """
    csv.field_size_limit(1 << 27)
    codec = "utf-8-sig" if dialect.encoding == "utf-8" else dialect.encoding
    with _opened(path) as stream:
        text = io.TextIOWrapper(stream, encoding=codec, errors=errors, newline="")
        lines: Iterator[str] = islice(text, dialect.n_comments, None)
        blanks = dialect.separator == " "
        if blanks:
            lines = (line.strip() + "\n" for line in lines)
        rows = csv.reader(lines, delimiter=dialect.separator, skipinitialspace=blanks)
        line = first = dialect.n_comments + 1
        try:
            for cells in rows:
                no_name = [""] if dialect.has_row_names and line == first else []
                yield line, [*no_name, *cells]
                line = first + rows.line_num
        except csv.Error as error:
            raise InputError(f"{shown(path.name)} cannot be read: {error}.") from None


def is_blank(cells: list[str]) -> bool:
    """Whether a row comes from a line with nothing on it."""
    return len(cells) < 2 and not "".join(cells).strip()


def even_rows(
    path: Path, dialect: Dialect, *, errors: str = "replace"
) -> Iterator[tuple[int, list[str]]]:
    """The same; refused at the first row that has not as many cells as the header."""
    width = len(dialect.header)
    for line, cells in numbered_rows(path, dialect, errors=errors):
        if len(cells) != width and not is_blank(cells):
            raise InputError(
                f"Line {line:,} of {shown(path.name)} has {counted(len(cells), 'cell')}, and the "
                f"header has {width:,}: correct the line, or remove it if it is no row of the "
                "table."
            )
        yield line, cells


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


# ----------------------------------------------------------------------------------- read by polars
# Bytes that one byte of gzip can unpack to, at most.
_MOST_PACKED = 1032
_ROWS_BETWEEN_CHECKS = 1000


@contextmanager
def panics_as_errors() -> Iterator[None]:
    """Raise a panic of polars on a damaged file, which is no Exception, as its ComputeError."""
    polars = required("polars")
    try:
        yield
    except polars.exceptions.PanicException:
        raise polars.exceptions.ComputeError("its contents do not fit together") from None


def read_delimited(
    path: Path,
    na_values: Sequence[str] = (),
    as_text: bool = False,
    header_row: int | None = None,
) -> tuple[Any, Dialect]:
    """Read the cells of delimited text, under the names of the header and without blank lines.

    With ``as_text`` all cells stay as they are written; otherwise columns hold text or floats.
    Returns the frame of polars, and how the file is written.
    """
    polars = required("polars")
    missing = [] if as_text else [*MISSING, *na_values]
    dialect = sniff(path, missing, header_row)
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


# -------------------------------------------------------------------------------- cells as numbers
_TRUTHS = ("true", "True", "TRUE", "false", "False", "FALSE")
_COMMA_WITHIN = r"^[+-]?\d+,\d+$"
_PLAIN = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
# As 1,234 but not 0,234: may be 1234, or 1.234 with a decimal comma.
_ONE_GROUP = r"^[+-]?[1-9]\d{0,2},\d{3}$"
_LOOKS_NUMERIC = re.compile(rf"[+-]?[.,]?\d([\d.,{GROUP_MARKS}]*\d)?[.,]?([eE][+-]?\d+)?")
# Separators of cells that go with either decimal mark; semicolons go with decimal commas.
_NEUTRAL = ("\t", "|", " ")


def is_grouped(text: str) -> bool:
    """Whether a comma may be a thousands separator.

    >>> [is_grouped(text) for text in ("1,234", "0,234", "1,23", "12,345,678")]
    [True, False, False, True]
    """
    return re.match(r"^[+-]?[1-9]\d{0,2}(,\d{3})+$", text) is not None


def looks_numeric(text: str) -> bool:
    """Whether a cell is a number, with marks of any kind between its digits.

    >>> [looks_numeric(text) for text in ("1.5", "1,234.5", "-2e3", "inf", "<0.1", "A1")]
    [True, True, True, True, False, False]
    """
    if _LOOKS_NUMERIC.fullmatch(text):
        return True
    try:
        float(text)
    except ValueError:
        return False
    return True


def whole_as_text(column: Any) -> Any:
    """A column of polars as text, whole numbers without a point."""
    polars = required("polars")
    if column.dtype.is_float():
        whole = column.cast(polars.Int64, strict=False)
        if whole.cast(polars.Float64).equals(column.cast(polars.Float64)):
            column = whole
    return column.cast(polars.String)


def parse_cells(
    frame: Any, missing: Sequence[str], *, separator: str = ",", decimal_comma: bool = False
) -> tuple[Any, list[str]]:
    """Columns of text that hold only numbers, or only true and false, as such; and notes on that.

    ``missing`` are cells that stand for missing values, besides the usual words and those of
    nothing but blanks; a "*" in one stands for any characters. ``separator`` is that of the file,
    whose numbers are written as in 1,5 with ``decimal_comma``.
    """
    polars = required("polars")
    whole, text = frame, _text_columns(frame)
    if not text or frame.height == 0:
        return frame, []
    # A step on a frame takes a moment for each of its columns, whatever it does to them.
    frame = polars.DataFrame([whole[name] for name in text])
    cells = polars.col(text).str.strip_chars()
    absent = cells.is_in(["", *MISSING, *missing])
    patterns = [re.escape(word).replace(r"\*", ".*") for word in missing if "*" in word]
    if patterns:
        absent |= cells.str.contains(f"^(?s:{'|'.join(patterns)})$")
    cells = polars.when(absent).then(None).otherwise(cells).name.keep()
    frame = frame.with_columns(cells)
    frame = _with_numbers(frame, text, [(",", ".")] if decimal_comma else [])
    frame, notes = _with_marks(frame, separator, decimal_comma)
    rest = _text_columns(frame)
    truths = frame.select(polars.col(rest).is_in(_TRUTHS).all()).row(0) if rest else ()
    flags = [name for name, yes in zip(rest, truths, strict=True) if yes]
    flags = [name for name in flags if frame[name].null_count() < frame.height]
    flagged = polars.col(flags).str.to_lowercase() == "true"
    frame = frame.with_columns(flagged) if flags else frame
    parsed = dict(zip(text, frame.get_columns(), strict=True))
    return polars.DataFrame([parsed.get(it.name, it) for it in whole.get_columns()]), notes


def _text_columns(frame: Any) -> list[str]:
    polars = required("polars")
    kinds = zip(frame.columns, frame.dtypes, strict=True)
    return [name for name, kind in kinds if kind == polars.String]


def _with_numbers(frame: Any, names: list[str], replaced: list[tuple[str, str]]) -> Any:
    """The frame with those of the columns as numbers that hold nothing else.

    ``replaced`` has the characters to replace in the cells first.
    """
    polars = required("polars")
    cells = polars.col(names)
    for mark, by in replaced:
        cells = cells.str.replace_all(mark, by, literal=True)
    numbers = frame.select(cells.cast(polars.Float64, strict=False))
    lost = numbers.null_count().row(0)
    absent = frame.select(names).null_count().row(0)
    is_number = [a == b < frame.height for a, b in zip(lost, absent, strict=True)]
    whole = [name for name, yes in zip(names, is_number, strict=True) if yes]
    return frame.with_columns(*numbers.select(whole))


def _with_marks(frame: Any, separator: str, decimal_comma: bool) -> tuple[Any, list[str]]:
    """Numbers with thousands separators, and columns of decimal commas among decimal points."""
    mark, point = (".", ",") if decimal_comma else (",", ".")
    grouped = rf"^[+-]?[1-9]\d{{0,2}}([{mark}{GROUP_MARKS}]\d{{3}})+(\{point}\d+)?$"
    plain = _COMMA_WITHIN if decimal_comma else _PLAIN
    thousands = _columns_like(frame, grouped, rf"{grouped}|{plain}|^[+-]?\d+$")
    if separator in _NEUTRAL:
        _refuse_ambiguous(frame, thousands)
    notes = []
    if thousands:
        removed = [(other, "") for other in (mark, *GROUP_MARKS)]
        frame = _with_numbers(frame, thousands, [*removed, (point, ".")])
        notes.append(f"Numbers with thousands separators: {quoted(thousands)}.")
    commas = _columns_like(frame, _COMMA_WITHIN, rf"{_COMMA_WITHIN}|{_PLAIN}")
    if commas:
        frame = _with_numbers(frame, commas, [(",", ".")])
        notes.append(f"Commas in {quoted(commas)} were read as decimal commas.")
    return frame, notes


def _columns_like(frame: Any, some: str, every: str) -> list[str]:
    """Columns of text with a cell that matches ``some`` while all match ``every``."""
    polars = required("polars")
    text = _text_columns(frame)
    for pattern, reduce in ((some, "any"), (every, "all")):
        if not text:
            break
        cells = polars.col(text).str.contains(pattern)
        found = frame.select(getattr(cells, reduce)()).row(0)
        text = [name for name, yes in zip(text, found, strict=True) if yes]
    return text


def _refuse_ambiguous(frame: Any, names: list[str]) -> None:
    """Refuse a column like 1,234 and 5,678, where no cell tells what the comma means."""
    for name in names:
        cells = frame[name].drop_nulls()
        if cells.str.contains(_ONE_GROUP).all():
            first = cells[0]
            raise InputError(
                f"Column {shown(name)} holds {shown(first)}, which may be "
                f"{first.replace(',', '')} or {first.replace(',', '.')}: save the table without "
                "thousands separators and with decimal points."
            )
