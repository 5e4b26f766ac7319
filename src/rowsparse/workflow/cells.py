"""Cells of text as numbers: missing values, decimal commas, thousands separators; rows turned."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from rowsparse.workflow.messages import InputError, numbered, quoted, shown

__all__ = [
    "GROUP_MARKS",
    "MISSING",
    "SAMPLE",
    "is_grouped",
    "looks_numeric",
    "panics_as_errors",
    "parse_cells",
    "required",
    "transpose_frame",
    "whole_as_text",
]


# Cells that are missing values, besides empty ones.
MISSING = ("NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "None", "?")

_TRUTHS = ("true", "True", "TRUE", "false", "False", "FALSE")
_DECIMAL_COMMA = r"^[+-]?\d+,\d+$"
_PLAIN = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
# As 1,234 but not 0,234: may be 1234, or 1.234 with a decimal comma.
_ONE_GROUP = r"^[+-]?[1-9]\d{0,2},\d{3}$"
# Thousands separators besides commas and points: blanks of three widths and apostrophes.
GROUP_MARKS = " \u00a0\u202f'’"
_LOOKS_NUMERIC = re.compile(rf"[+-]?[.,]?\d([\d.,{GROUP_MARKS}]*\d)?[.,]?([eE][+-]?\d+)?")
# Separators of cells that go with either decimal mark; semicolons go with decimal commas.
_NEUTRAL = ("\t", "|", " ")


# What each package is needed for, and the extra that has it.
_PACKAGES = {
    "polars": ("Reading tables", "tables"),
    "fastexcel": ("Reading Excel", "excel"),
    "xlsxwriter": ("Writing Excel", "excel"),
    "anndata": ("Reading .h5ad", "bio"),
}


def required(package: str) -> Any:
    """Import a package, or say how to install it."""
    try:
        return import_module(package)
    except ImportError:
        what, extra = _PACKAGES[package]
        raise ImportError(f'{what} needs {package}: pip install "rowsparse[{extra}]".') from None


@contextmanager
def panics_as_errors() -> Iterator[None]:
    """Raise a panic of polars on a damaged file, which is no Exception, as its ComputeError."""
    polars = required("polars")
    try:
        yield
    except polars.exceptions.PanicException:
        raise polars.exceptions.ComputeError("its contents do not fit together") from None


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
    plain = _DECIMAL_COMMA if decimal_comma else _PLAIN
    thousands = _columns_like(frame, grouped, rf"{grouped}|{plain}|^[+-]?\d+$")
    if separator in _NEUTRAL:
        _refuse_ambiguous(frame, thousands)
    notes = []
    if thousands:
        removed = [(other, "") for other in (mark, *GROUP_MARKS)]
        frame = _with_numbers(frame, thousands, [*removed, (point, ".")])
        notes.append(f"Numbers with thousands separators: {quoted(thousands)}.")
    commas = _columns_like(frame, _DECIMAL_COMMA, rf"{_DECIMAL_COMMA}|{_PLAIN}")
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


# ------------------------------------------------------------------------- rows turned into columns
# Name of the column with the names of the samples.
SAMPLE = "sample"


def transpose_frame(frame: Any) -> tuple[Any, list[str]]:
    """A row for each column but the first, which has the names of the new columns; and notes.

    The names of the samples come first. All other columns are text if any column was.
    """
    polars = required("polars")
    first, *samples = frame.columns
    given = whole_as_text(frame[first]).to_list()
    filled = [name or f"row {j + 1}" for j, name in enumerate(given)]
    # The first of the names is that of the samples, so that no feature keeps it.
    (sample, *names), _ = numbered([SAMPLE, *filled])
    rest = frame.select(samples)
    if all(kind.is_numeric() for kind in rest.dtypes):
        values = rest.cast(polars.Float64).to_numpy().T
        turned = polars.from_numpy(values, schema=names, orient="row")
    else:
        turned = rest.cast(polars.String).transpose(column_names=names)
    notes = []
    renamed = [name for name, old in zip(names, filled, strict=True) if name != old]
    if renamed:
        notes.append(f"Names that come several times got a number: {quoted(renamed)}.")
    return turned.insert_column(0, polars.Series(sample, samples, dtype=polars.String)), notes
