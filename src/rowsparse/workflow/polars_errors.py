"""Polars, and its panics as ordinary errors.

On a damaged file polars may panic: it prints a trace to standard error and raises an exception
that does not derive from Exception.
"""

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
# All threads share standard error.
_LOCK = RLock()


def require_polars() -> Any:
    """Import polars, or say how to install it."""
    try:
        import polars
    except ImportError:
        raise ImportError('Reading tables needs polars: pip install "rowsparse[tables]".') from None
    return polars


@contextmanager
def panics_as_errors() -> Iterator[None]:
    """Raise a panic of polars as its ComputeError, and suppress what it prints."""
    polars = require_polars()
    try:
        with _LOCK, _stderr_held_back():
            yield
    except polars.exceptions.PanicException:
        raise polars.exceptions.ComputeError("its contents do not fit together") from None


@contextmanager
def _stderr_held_back() -> Iterator[None]:
    """Delay what is written to standard error, by Rust too; discard it if the block raises."""
    if sys.__stderr__ is None:  # its file descriptor may belong to another file
        yield
        return
    with ExitStack() as stack:
        with suppress(OSError):  # no room for a temporary file: nothing is held back
            real = os.dup(_STDERR)
            stack.callback(os.close, real)
            held = stack.enter_context(tempfile.TemporaryFile())
            _flush()
            os.dup2(held.fileno(), _STDERR)
            stack.push(partial(_restore, real, held))
        yield


def _restore(real: int, held: IO[bytes], error: type[BaseException] | None, *_: Any) -> None:
    _flush()
    os.dup2(real, _STDERR)
    held.seek(0)
    if error is None:
        with suppress(OSError):
            os.write(_STDERR, held.read())


def _flush() -> None:
    with suppress(AttributeError, OSError, ValueError):
        sys.stderr.flush()
