"""Lists of the methods and of the benchmark data sets."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from rowsparse.cli.outcome import DONE

__all__ = ["list_methods", "list_sets"]

# The package that tells whether an extra is installed.
_PACKAGE_OF = {"deep": "torch"}
# Least width of a terminal that shows all columns, and width of a file.
_WIDE, _FILE_WIDTH = 120, 150


def list_methods() -> int:
    """``rowsparse methods``: the registry as a table."""
    from rich.table import Table

    from rowsparse import list_selectors, selector_info

    table = Table(title="Methods for --method and --methods", title_justify="left")
    console, wide = _console()
    table.add_column("Name", style="bold", no_wrap=True)
    table.add_column("Kind", no_wrap=True)
    table.add_column("Targets", min_width=14)
    table.add_column("Reference", min_width=16)
    table.add_column("Needs")
    if wide:
        table.add_column("What it does", min_width=40)
    for name in list_selectors():
        info = selector_info(name)
        every = ("classification", "multilabel", "regression")
        tasks = "all" if info.tasks == every else ", ".join(info.tasks)
        if not info.supervised:
            tasks = "none needed"
        cells = [name, info.kind, tasks, info.reference, _need(info.extra), info.summary]
        table.add_row(*cells if wide else cells[:-1])
    console.print(table, markup=False)
    return DONE


def _need(extra: str | None) -> str:
    """Which extra a method needs, and whether it is installed."""
    if extra is None:
        return ""
    there = find_spec(_PACKAGE_OF.get(extra, extra)) is not None
    return f"{extra} ({'installed' if there else 'not installed'})"


def list_sets() -> int:
    """``rowsparse datasets``: the catalogue as a table."""
    from rich.table import Table

    from rowsparse.datasets import list_datasets

    console, wide = _console()
    table = Table(title="Data sets for rowsparse.datasets.load", title_justify="left")
    table.add_column("Name", style="bold", no_wrap=True)
    for heading in ("Samples", "Features", "Classes"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("Task", no_wrap=True)
    table.add_column("Download", no_wrap=True)
    if wide:
        table.add_column("Kind")
        table.add_column("Used by")
    for info in list_datasets():
        cells = _row(info)
        table.add_row(*cells if wide else cells[:-2])
    console.print(table, markup=False)
    return DONE


def _console() -> tuple[Any, bool]:
    """A console, and whether it has room for all columns, as everything but a terminal has."""
    from rich.console import Console

    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=max(console.width, _FILE_WIDTH))
    return console, console.width >= _WIDE


def _row(info: Any) -> list[str]:
    return [
        info.name,
        f"{info.n_samples:,}",
        f"{info.n_features:,}",
        str(info.n_classes),
        info.task,
        "yes" if info.downloadable else "by hand",
        info.kind,
        ", ".join(info.papers),
    ]
