"""What the shell offers where an option takes methods, or columns of the table."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

__all__ = ["columns", "methods", "metrics", "several_columns", "several_methods"]

# Where shells leave the line that is being typed.
_LINES = ("_TYPER_COMPLETE_ARGS", "COMP_WORDS")
# The shell shows no more than a few anyway.
_MOST = 500


def methods(incomplete: str) -> list[str]:
    """Names of methods."""
    return _beginning(incomplete, _quietly(_methods))


def several_methods(incomplete: str) -> list[str]:
    """Names of methods, after those that stand before a comma."""
    return _after_comma(incomplete, ["all", *_quietly(_methods)])


def metrics(incomplete: str) -> list[str]:
    """Names of scores."""
    return _beginning(incomplete, _quietly(_metrics))


def columns(incomplete: str) -> list[str]:
    """Columns of the table that the line names."""
    return _beginning(incomplete, _quietly(_columns))


def several_columns(incomplete: str) -> list[str]:
    """Columns of the table, after those that stand before a comma."""
    return _after_comma(incomplete, _quietly(_columns))


def _beginning(incomplete: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(incomplete)][:_MOST]


def _after_comma(incomplete: str, names: Iterable[str]) -> list[str]:
    before, comma, last = incomplete.rpartition(",")
    taken = set(before.split(","))
    found = [name for name in _beginning(last, names) if name not in taken and "," not in name]
    return [f"{before}{comma}{name}" for name in found]


def _quietly(find: Callable[[], list[str]]) -> list[str]:
    """What a function finds; nothing on an error, which would spoil the line being typed."""
    try:
        return find()
    except Exception:
        return []


def _methods() -> list[str]:
    from rowsparse import list_selectors

    return list_selectors()


def _metrics() -> list[str]:
    from rowsparse.evaluation import METRICS

    return list(dict.fromkeys(name for names in METRICS.values() for name in names))


def _columns() -> list[str]:
    """The header of the first file on the line, without reading the rest of it."""
    from rowsparse.workflow.loading import format_of

    # An option without its value ends the parsing of a line, so that the words are looked at.
    words = shlex.split(next(filter(None, map(os.environ.get, _LINES)), ""))
    files = (Path(word).expanduser() for word in words)
    path = next(file for file in files if file.is_file() and file.suffix)
    if "--transpose" in words:
        return []
    kind = format_of(path)
    if kind in ("csv", "tsv"):
        from rowsparse.workflow.text_files import sniff

        return list(sniff(path).header)
    import polars

    schema: Any = polars.read_parquet_schema if kind == "parquet" else polars.read_ipc_schema
    return list(schema(path)) if kind in ("parquet", "arrow") else []
