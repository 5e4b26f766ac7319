"""The entry point of the ``rowsparse`` command."""

from __future__ import annotations

import gc
import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING

from rowsparse.cli.outcome import BAD_INPUT, INTERRUPTED, complain

if TYPE_CHECKING:
    import typer

__all__ = ["build_app", "main"]


def main() -> None:
    """Run the command line; the entry point of the ``rowsparse`` command."""
    # Loading scikit-learn makes many objects and no garbage: collecting takes a tenth of the time.
    gc.set_threshold(50_000)
    try:
        app = build_app()
    except ImportError:
        complain('The command line needs typer and rich: pip install "rowsparse[cli]".')
        raise SystemExit(BAD_INPUT) from None
    try:
        app()
    except SystemExit as done:
        if done.code == INTERRUPTED:
            # Threads may still be at work on an answer that nobody waits for.
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(INTERRUPTED)
        raise


def build_app() -> typer.Typer:
    """Make the typer application.

    Returns
    -------
    typer.Typer
        The application, with all its commands.
    """
    import_module("typer")  # missing even where the commands were loaded before
    from rowsparse.cli.commands import make_app

    return make_app()
