"""SQL: a query on a table that was read, and tables in SQLite databases."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from rowsparse.workflow.messages import InputError, quoted, setting, shown
from rowsparse.workflow.polars_errors import panics_as_errors, require_polars

__all__ = ["TABLE", "query_frame", "read_sqlite"]

# What a query calls the table, beside the name of its file without the suffix.
TABLE = "data"


def query_frame(frame: Any, query: str, path: Path) -> Any:
    """What an SQL query makes of a table.

    Parameters
    ----------
    frame : polars.DataFrame
    query : str
        A SELECT from ``data``, or from the name of the file without its suffixes.
    path : Path
        The file.
    """
    polars = require_polars()
    tables = {path.name.partition(".")[0]: frame, TABLE: frame}
    try:
        with panics_as_errors():
            found = polars.SQLContext(tables).execute(query, eager=True)
    except (polars.exceptions.PolarsError, ValueError, OSError) as error:
        raise _refusal(error) from None
    return _checked(found)


def read_sqlite(path: Path, query: str | None) -> Any:
    """What a query makes of a database, or its only table.

    Returns
    -------
    polars.DataFrame
    """
    polars = require_polars()
    address = f"{path.resolve().as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(address, uri=True)) as database:
            if query is None:
                cursor = database.execute(f"SELECT * FROM {_only_table(database, path)}")
            else:
                cursor = database.execute(query)
            names = [column[0] for column in cursor.description or ()]
            rows = cursor.fetchall()
    except (sqlite3.Error, sqlite3.Warning) as error:
        if query is None:
            raise InputError(
                f"{shown(path.name)} cannot be read as an SQLite database: {error}."
            ) from None
        raise _refusal(error) from None
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"{setting('query')} gives several columns the name {quoted(twice)}.")
    frame = polars.DataFrame(
        {name: _column(polars, name, [row[j] for row in rows]) for j, name in enumerate(names)}
    )
    return _checked(frame)


def _column(polars: Any, name: str, values: list[Any]) -> Any:
    """A column of a database, in which every cell has a type of its own."""
    kinds = {type(value) for value in values if value is not None}
    if bytes in kinds:
        return polars.Series(name, values, dtype=polars.Object)
    if str in kinds:
        words = [None if value is None else str(value) for value in values]
        return polars.Series(name, words, dtype=polars.String)
    kind = polars.Float64 if float in kinds or not kinds else polars.Int64
    return polars.Series(name, values, dtype=kind)


def _only_table(database: sqlite3.Connection, path: Path) -> str:
    """The name of the table in a database that has one, as SQL."""
    found = database.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")
    names = [str(row[0]) for row in found if not str(row[0]).startswith("sqlite_")]
    if not names:
        raise InputError(f"{shown(path.name)} has no table.")
    quoted_name = '"' + names[0].replace('"', '""') + '"'
    if len(names) > 1:
        raise InputError(
            f"{shown(path.name)} has the tables {quoted(names)}: say what to take, as in "
            f"{setting('query', f'SELECT * FROM {quoted_name}')}."
        )
    return quoted_name


def _checked(frame: Any) -> Any:
    if not frame.width:
        raise InputError(f"{setting('query')} must be a SELECT, which gives columns.")
    return frame


def _refusal(error: Exception) -> InputError:
    reason = str(error).partition("\n")[0].strip().rstrip(".")
    return InputError(f"{setting('query')}: {reason}.")
