"""How a command ends: exit codes, and one sentence for each error."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

DONE, WARNED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130


def ended(run: Callable[[], int], *, debug: bool = False) -> int:
    """Run a command and return its exit code; an error is printed as one sentence.

    With ``debug`` the error is raised instead.
    """
    try:
        return run()
    except KeyboardInterrupt:
        complain("Interrupted.")
        return INTERRUPTED
    except Exception as error:
        if debug:
            raise
        complain(_sentence(error))
        return BAD_INPUT


def complain(sentence: str) -> None:
    """Write a sentence on standard error."""
    sys.stderr.write(f"{sentence}\n")


def _sentence(error: Exception) -> str:
    """What an error says, in one sentence."""
    from rowsparse._files import UnwritableFileError
    from rowsparse.workflow.messages import InputError

    if isinstance(error, UnwritableFileError):
        return f"Cannot write to {error.filename!r}: {error.strerror}."
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"Cannot read {str(error.filename)!r}: {error.strerror}."
    if isinstance(error, MemoryError):
        return "There is not enough memory for this table."
    first = str(error).partition("\n")[0].strip()
    if isinstance(error, InputError):
        return str(error)
    if isinstance(error, ValueError | TypeError | ImportError) and first:
        return first
    return f"{type(error).__name__}: {first or 'no reason given'}; --debug shows where."


@contextmanager
def interrupts() -> Iterator[Callable[[], None]]:
    """Remember Ctrl-C, also where a search catches it and returns the best result so far.

    Yields a function that raises KeyboardInterrupt if Ctrl-C was pressed.
    """
    pressed = threading.Event()

    def remember(number: int, frame: FrameType | None) -> None:
        pressed.set()
        raise KeyboardInterrupt

    def check() -> None:
        if pressed.is_set():
            raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield check
        return
    before = signal.signal(signal.SIGINT, remember)
    try:
        yield check
    finally:
        signal.signal(signal.SIGINT, before)


def end_on_termination() -> None:
    """Let SIGTERM and SIGHUP end the process as an exception, so that temporary files are removed.

    The exit code is that of a process which such a signal ended, as shells report it.
    """

    def end(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        # What the parent process ignores stays ignored, as SIGHUP under nohup.
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, end)
