"""The table from standard input."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import BadZipFile, ZipFile

__all__ = ["STANDARD_INPUT", "input_file"]

# What stands for standard input in the place of a file.
STANDARD_INPUT = Path("-")

# How files begin; all others are text.
_SUFFIXES = {
    b"PAR1": ".parquet",
    b"ARROW1": ".arrow",
    b"MATLAB": ".mat",
    b"\x89HDF": ".h5ad",
    b"SQLite f": ".sqlite",
}


@contextmanager
def input_file(data: Path) -> Iterator[Path]:
    """The file that holds the table: for ``-`` a temporary one with what standard input holds."""
    if data != STANDARD_INPUT:
        yield data
        return
    if sys.stdin.isatty():
        from rowsparse.workflow.messages import InputError

        raise InputError(
            "The table is to come from standard input, and that is a terminal: pipe it in, as in "
            "'zcat genes.csv.gz | rowsparse select - -t diagnosis -k 20'."
        )
    with TemporaryDirectory() as folder:
        path = Path(folder) / "stdin"
        with path.open("wb") as stream:
            shutil.copyfileobj(sys.stdin.buffer, stream)
        yield path.rename(path.with_suffix(_suffix(path)))


def _suffix(path: Path) -> str:
    """The suffix that the format of a file has."""
    with path.open("rb") as stream:
        head = stream.read(8)
    if head.startswith(b"PK"):
        try:
            with ZipFile(path) as archive:
                is_excel = any(name.startswith("xl/") for name in archive.namelist())
        except BadZipFile:
            is_excel = False
        return ".xlsx" if is_excel else ".npz"
    found = (suffix for start, suffix in _SUFFIXES.items() if head.startswith(start))
    return next(found, ".csv")
