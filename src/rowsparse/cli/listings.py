"""Lists of the methods and of the benchmark data sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rowsparse.cli.outcome import DONE

if TYPE_CHECKING:
    from rowsparse.selectors import SelectorInfo

__all__ = ["list_methods", "list_sets"]

# Least width of a terminal that shows all columns, and width of a file.
_WIDE, _FILE_WIDTH = 120, 150


def list_methods() -> int:
    """``rowsparse methods``: the registry as a table, of two columns on a narrow terminal."""
    from rich.table import Table

    from rowsparse import list_selectors, selector_info

    table = Table(title="Methods for --method and --methods", title_justify="left")
    console, wide = _console()
    table.add_column("Name", style="bold", no_wrap=True)
    if wide:
        table.add_column("Kind", no_wrap=True)
        table.add_column("Targets", min_width=14)
        table.add_column("Reference", min_width=16)
        table.add_column("Needs")
    table.add_column("What it does", min_width=40)
    for name in list_selectors():
        kind, targets, reference, need, summary = _facts(selector_info(name))
        if wide:
            table.add_row(name, kind, targets, reference, need, summary)
            continue
        cited = "" if reference == "none" else reference
        facts = [kind, f"targets: {targets}", cited, need and f"needs {need}"]
        table.add_row(name, f"{summary}\n{'; '.join(filter(None, facts))}")
    console.print(table, markup=False)
    return DONE


def _facts(info: SelectorInfo) -> tuple[str, str, str, str, str]:
    """Kind, targets, reference, what has to be installed, and what a method does."""
    every = ("classification", "multilabel", "regression")
    targets = "all" if info.tasks == every else ", ".join(info.tasks)
    if not info.supervised:
        targets = "none needed"
    return info.kind, targets, info.reference, _need(info), info.summary


def _need(info: SelectorInfo) -> str:
    """Which extra a method needs, and whether it is installed."""
    if info.extra is None:
        return ""
    return f"{info.extra} ({'installed' if info.is_installed else 'not installed'})"


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
