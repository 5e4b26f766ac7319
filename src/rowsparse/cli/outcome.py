"""How a command ends: exit codes, one sentence for each error, and nothing left half-done."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["BAD_INPUT", "DONE", "INTERRUPTED", "WARNED", "complain", "ended", "interrupts"]

DONE, WARNED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130


def ended(run: Callable[[], int], *, debug: bool = False) -> int:
    """Run a command and turn whatever goes wrong into a sentence and an exit code.

    With ``debug`` the traceback of an error is shown too.
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
    """Put an error in one sentence."""
    if isinstance(error, OSError) and error.strerror:
        name = str(error.filename2 or error.filename)
        return f"Cannot write to {name!r}: {error.strerror}."
    if isinstance(error, MemoryError):
        return "There is not enough memory for this table."
    first = str(error).partition("\n")[0].strip()
    if isinstance(error, ValueError | TypeError | ImportError) and first:
        return first
    return f"{type(error).__name__}: {first or 'no reason given'}; --debug shows where."


@contextmanager
def interrupts() -> Iterator[Callable[[], None]]:
    """Remember Ctrl-C, even where a search takes it as a wish for the answer so far.

    The function given raises KeyboardInterrupt if there was one.
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
