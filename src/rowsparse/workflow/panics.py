"""Damaged files make polars panic: it prints a trace and raises what is not an Exception."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from threading import RLock
from typing import IO, Any

__all__ = ["panics_as_errors", "require_polars"]

_STDERR = 2
# Standard error is one for all threads.
_TURN = RLock()


def require_polars() -> Any:
    """The package polars, or a sentence that says how to get it."""
    try:
        import polars
    except ImportError:
        raise ImportError('Reading tables needs polars: pip install "rowsparse[tables]".') from None
    return polars


@contextmanager
def panics_as_errors() -> Iterator[None]:
    """Raise a panic of polars as its ComputeError, and leave out what it prints."""
    polars = require_polars()
    try:
        with _TURN, _held_back():
            yield
    except polars.exceptions.PanicException:
        raise polars.exceptions.ComputeError("its contents do not fit together") from None


@contextmanager
def _held_back() -> Iterator[None]:
    """Keep what is written to standard error, by Rust too, for afterwards; not on errors."""
    if sys.__stderr__ is None:  # there is none, and its number may be that of another file
        yield
        return
    with ExitStack() as stack:
        with suppress(OSError):  # where there is no room for a file, nothing is kept
            real = os.dup(_STDERR)
            stack.callback(os.close, real)
            held = stack.enter_context(tempfile.TemporaryFile())
            _flush()
            os.dup2(held.fileno(), _STDERR)
            stack.push(partial(_put_back, real, held))
        yield


def _put_back(real: int, held: IO[bytes], error: type[BaseException] | None, *_: Any) -> None:
    _flush()
    os.dup2(real, _STDERR)
    held.seek(0)
    if error is None:
        with suppress(OSError):
            os.write(_STDERR, held.read())


def _flush() -> None:
    with suppress(AttributeError, OSError, ValueError):
        sys.stderr.flush()
