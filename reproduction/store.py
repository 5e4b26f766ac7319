"""Results on disk, each kept as soon as it is there."""

from __future__ import annotations

import csv
import io
import json
import math
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

from reproduction.declare import Row, RunTask
from rowsparse._files import write_whole

_SCHEMA = """
CREATE TABLE IF NOT EXISTS tasks (
    size TEXT NOT NULL, key TEXT NOT NULL, experiment TEXT NOT NULL,
    seconds REAL NOT NULL, rows TEXT NOT NULL, PRIMARY KEY (size, key)
) WITHOUT ROWID
"""
# Digits that are kept in the text form.
_DIGITS = 6


class ResultStore:
    """A file of finished tasks; a killed run loses only what was running.

    ``size`` names the size of the experiments: results of different sizes are kept apart. All
    methods raise ValueError if the file is damaged, of another kind, or cannot be used.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> with ResultStore(Path(folder.name) / "results.db", "quick") as store:
    ...     store.put(RunTask("table1", "iris", "rfs"), [{"k": 2, "accuracy": 0.9}], 0.1)
    ...     store.done(), store.rows("table1")
    ({'table1/iris/rfs/0/{}'}, [{'k': 2, 'accuracy': 0.9}])
    >>> folder.cleanup()
    """

    def __init__(self, path: Path | str, size: str = "standard") -> None:
        self.path, self.size = Path(path), size
        self.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._connection = sqlite3.connect(self.path, timeout=60.0, isolation_level=None)
        except sqlite3.Error as error:
            raise self._unusable(error) from None
        try:
            # With a write-ahead log a transaction survives the death of the process.
            self._execute("PRAGMA journal_mode=WAL")
            self._execute("PRAGMA synchronous=NORMAL")
            self._execute(_SCHEMA)
        except ValueError:
            self._connection.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._connection.close()

    def _execute(self, command: str, *values: Any) -> list[tuple[Any, ...]]:
        """The rows that SQLite answers with."""
        try:
            return self._connection.execute(command, values).fetchall()
        except sqlite3.Error as error:
            raise self._unusable(error) from None

    def _unusable(self, error: Exception) -> ValueError:
        reason = str(error).partition("\n")[0].rstrip(".")
        return ValueError(
            f"{str(self.path)!r} cannot be used as a file of results ({reason}): if no other "
            "program is using it, move it away, and the run begins anew."
        )

    def _parsed(self, text: str) -> list[Row]:
        try:
            rows = json.loads(text)
        except (TypeError, ValueError) as error:
            raise self._unusable(error) from None
        if not (isinstance(rows, list) and all(isinstance(row, dict) for row in rows)):
            raise self._unusable(ValueError("a task without rows"))
        return rows

    def done(self) -> set[str]:
        """Keys of the tasks that are finished."""
        found = self._execute("SELECT key FROM tasks WHERE size = ?", self.size)
        return {key for (key,) in found}

    def put(self, task: RunTask, rows: list[Row], seconds: float) -> None:
        """Keep the rows of a finished task, all of them or none."""
        text = json.dumps([_plain(row) for row in rows])
        self._execute(
            "INSERT OR REPLACE INTO tasks VALUES (?, ?, ?, ?, ?)",
            *(self.size, task.key, task.experiment, seconds, text),
        )

    def failed(self) -> list[str]:
        """Keys of the tasks that ended in an error."""
        found = self._execute("SELECT key, rows FROM tasks WHERE size = ?", self.size)
        return [key for key, text in found if any(row.get("error") for row in self._parsed(text))]

    def forget_failures(self) -> int:
        """Drop the tasks that ended in an error, so that they are tried again; how many."""
        failed = self.failed()
        for key in failed:
            self._execute("DELETE FROM tasks WHERE size = ? AND key = ?", self.size, key)
        return len(failed)

    def rows(self, experiment: str) -> list[Row]:
        """All rows of an experiment, by the keys of their tasks."""
        found = self._execute(
            "SELECT rows FROM tasks WHERE size = ? AND experiment = ? ORDER BY key",
            *(self.size, experiment),
        )
        return [row for (text,) in found for row in self._parsed(text)]

    def write_text(self, path: Path, experiments: Iterable[str]) -> None:
        """Write the rows as lines of JSON or as a CSV file: one line a row, six digits."""
        rows = [
            {"experiment": name, **_rounded(row)} for name in experiments for row in self.rows(name)
        ]
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".csv":
            text = _as_csv(rows)
        else:
            text = "".join(json.dumps(row, sort_keys=True) + "\n" for row in rows)
        write_whole(path, lambda temporary: temporary.write_text(text, encoding="utf-8"))


def read_rows(path: Path) -> dict[str, list[Row]]:
    """Rows by experiment, from what :meth:`ResultStore.write_text` wrote."""
    found: dict[str, list[Row]] = {}
    rows: list[Row]
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".csv":
            rows = [
                {name: _value(cell) for name, cell in row.items() if cell != ""}
                for row in csv.DictReader(io.StringIO(text))
            ]
        else:
            rows = [json.loads(line) for line in text.splitlines()]
        for row in rows:
            found.setdefault(row.pop("experiment"), []).append(row)
    except (AttributeError, KeyError, TypeError, ValueError, csv.Error):
        raise ValueError(
            f"{str(path)!r} does not hold results, one row with its 'experiment' a line: run the "
            "command without --rebuild, which writes it anew."
        ) from None
    return found


def _as_csv(rows: list[Row]) -> str:
    """Fields in the order of their first use; what a row does not have is left empty."""
    fields = list(dict.fromkeys(name for row in rows for name in row))
    file = io.StringIO()
    writer = csv.DictWriter(file, fields or ["experiment"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()


def _value(text: str) -> str | int | float:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def _plain(row: Row) -> Row:
    """NumPy's numbers as Python's, and no number that JSON does not know."""
    plain = {name: getattr(value, "item", lambda v=value: v)() for name, value in row.items()}
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in plain.items()
    }


def _rounded(row: Row) -> Row:
    return {
        name: float(f"{value:.{_DIGITS}g}") if isinstance(value, float) else value
        for name, value in row.items()
    }
