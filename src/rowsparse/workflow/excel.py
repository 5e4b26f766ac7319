"""The first sheet of an Excel workbook, as text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rowsparse.workflow.messages import InputError, quoted, shown
from rowsparse.workflow.polars_errors import require_polars
from rowsparse.workflow.text_files import name_columns

__all__ = ["read_excel", "require_fastexcel"]


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
