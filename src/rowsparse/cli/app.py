"""The entry point of the ``rowsparse`` command."""

from __future__ import annotations

import gc
import io
import os
import sys
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING

from rowsparse.cli.outcome import BAD_INPUT, INTERRUPTED, complain, end_on_termination

if TYPE_CHECKING:
    import typer


def main() -> None:
    """Run the command line; the entry point of the ``rowsparse`` command."""
    # Importing scikit-learn makes many objects, no garbage: collecting takes a tenth of the time.
    gc.set_threshold(50_000)
    try:
        end_on_termination()
        _replace_unknown_characters()
        _run()
    except KeyboardInterrupt:  # before the command begins, or in a command without its own handler
        complain("Interrupted.")
        _leave(INTERRUPTED)
    except SystemExit as done:
        if isinstance(done.code, int):
            _leave(done.code)
        raise


def _run() -> None:
    try:
        app = build_app()
    except ImportError:
        complain('The command line needs typer and rich: pip install "rowsparse[cli]".')
        raise SystemExit(BAD_INPUT) from None
    app()


def _replace_unknown_characters() -> None:
    """Print '?' for what the encoding of standard output lacks, as cp1252 of Windows does a minus.

    Files are always written in UTF-8.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):  # not where a program has put another in its place
        sys.stdout.reconfigure(errors="replace")


def _leave(code: int) -> None:
    """End the process at once.

    All files are closed by now. Python's own shutdown would take longer than many a command, and
    after Ctrl-C it would wait for threads whose results are not used.
    """
    with suppress(OSError):  # the reader of a pipe may have closed it
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


def build_app() -> typer.Typer:
    """Make the typer application, with all its commands."""
    import_module("typer")  # fails if it is missing, also if the commands were imported before
    from rowsparse.cli.commands import make_app

    return make_app()
