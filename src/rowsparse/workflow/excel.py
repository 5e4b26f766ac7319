"""Excel workbooks: the first sheet read as text, and tables written with text as text."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from rowsparse.workflow.messages import InputError, quoted, shown
from rowsparse.workflow.polars_errors import require_polars
from rowsparse.workflow.text_files import name_columns

__all__ = ["read_excel", "require_fastexcel", "require_xlsxwriter", "write_excel"]

# What a sheet, and a cell, can hold.
_MOST_ROWS, _MOST_COLUMNS, _LONGEST_TEXT = 1_048_576, 16_384, 32_767


def require_fastexcel() -> Any:
    """Import fastexcel, or say how to install it."""
    try:
        import fastexcel
    except ImportError:
        raise ImportError(
            'Reading Excel needs fastexcel: pip install "rowsparse[excel]".'
        ) from None
    return fastexcel


def read_excel(path: Path) -> tuple[Any, list[int], list[str]]:
    """Read the first sheet of a workbook.

    Returns
    -------
    frame : polars.DataFrame
        The cells as text, without rows and columns that have none.
    rows : list of int
        The row of the sheet, counted from 1, that each row comes from.
    notes : list of str
    """
    polars = require_polars()
    fastexcel = require_fastexcel()
    try:
        workbook = fastexcel.read_excel(path)
        sheets = workbook.sheet_names
        sheet = _exact_text(polars, workbook)
    except fastexcel.FastExcelError as error:
        reason = str(error).partition("\n")[0].strip().rstrip(".")
        raise InputError(
            f"{shown(path.name)} cannot be read as Excel and has to be copied or saved again: "
            f"{reason}."
        ) from None
    filled = sheet.select(~polars.all_horizontal(polars.all().is_null())).to_series().to_list()
    rows = [row for row, yes in enumerate(filled) if yes]
    if not rows:
        raise InputError(f"The first sheet of {shown(path.name)} is empty.")
    header = list(sheet.row(rows[0]))
    names = name_columns(path, [name or "" for name in header])
    frame = sheet[rows[1:]]
    frame.columns = list(names)
    has_name = dict(zip(names, header, strict=True))
    kept = [name for name in names if has_name[name] or frame[name].null_count() < frame.height]
    notes = []
    if len(sheets) > 1:
        notes.append(f"Read: the sheet {shown(sheets[0])}. Not read: {quoted(sheets[1:])}.")
    return frame.select(kept), [row + 1 for row in rows[1:]], notes


def _exact_text(polars: Any, workbook: Any) -> Any:
    """All cells of the first sheet as text, numbers with all their digits."""
    text, numbers = (
        workbook.load_sheet(0, header_row=None, skip_rows=0, dtypes=kind).to_polars()
        for kind in ("string", "float")
    )
    # As text, fastexcel rounds fractions; as numbers, it has none for dates and words.
    is_fraction = polars.all() != polars.all().floor()
    exact = numbers.select(polars.when(is_fraction).then(polars.all()).name.keep())
    exact = exact.cast(polars.String)
    return text.select(
        polars.coalesce(exact[name], text[name]).alias(name) for name in text.columns
    )


def require_xlsxwriter() -> Any:
    """Import xlsxwriter, or say how to install it."""
    try:
        import xlsxwriter
    except ImportError:
        raise ImportError(
            'Writing Excel needs xlsxwriter: pip install "rowsparse[excel]".'
        ) from None
    return xlsxwriter


def write_excel(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a workbook of one sheet; text stays text, also if it looks like a formula or a number.

    Parameters
    ----------
    path : Path
    header : sequence of str
    rows : iterable of sequences
        Numbers, text or booleans; None and NaN are empty cells.
    """
    xlsxwriter = require_xlsxwriter()
    cells = [list(header), *map(list, rows)]
    if len(cells) > _MOST_ROWS or len(header) > _MOST_COLUMNS:
        raise InputError(
            f"A sheet of Excel holds {_MOST_ROWS:,} rows and {_MOST_COLUMNS:,} columns, fewer than "
            f"the {len(cells):,} and {len(header):,} of {shown(path.name)}."
        )
    with xlsxwriter.Workbook(str(path)) as workbook:
        sheet = workbook.add_worksheet()
        sheet.freeze_panes(1, 0)
        for i, row in enumerate(cells):
            for j, value in enumerate(row):
                _write_cell(sheet, i, j, value)


def _write_cell(sheet: Any, i: int, j: int, value: Any) -> None:
    if value is None:
        return
    if isinstance(value, bool):
        sheet.write_boolean(i, j, value)
    elif isinstance(value, int | float):
        if math.isfinite(value):
            sheet.write_number(i, j, value)
    else:
        # Names may hold lone surrogates, which UTF-8 cannot encode.
        text = str(value).encode("utf-8", errors="backslashreplace").decode()
        sheet.write_string(i, j, text[:_LONGEST_TEXT])
