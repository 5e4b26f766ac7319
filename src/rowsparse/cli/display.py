"""Progress of a command on standard error: one line that changes, or plain lines in a file."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from types import TracebackType
from typing import Any, Self

from rowsparse.cli.outcome import complain

__all__ = ["Display"]

# Seconds between two plain lines, and before the first.
_SECONDS_BETWEEN = 10.0


class Display:
    """A spinner, what is being done, a bar where the share is known, and the seconds so far.

    Where standard error is no terminal, a plain line tells the step every ten seconds, if it is
    another one. Nothing is shown with ``quiet``.
    """

    def __init__(self, *, quiet: bool, check: Callable[[], None] = lambda: None) -> None:
        self.quiet, self.check = quiet, check
        self._progress: Any = None
        self._task: Any = None
        self._started = self._told = perf_counter()
        self._line = ""

    def __enter__(self) -> Self:
        if self.quiet:
            return self
        from rich.console import Console

        console = Console(stderr=True)
        if console.is_terminal:
            from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn
            from rich.progress import TimeElapsedColumn as Elapsed

            columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False))
            bar = BarColumn(bar_width=20)
            self._progress = Progress(*columns, bar, Elapsed(), console=console, transient=True)
            self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._progress is not None:
            self._progress.stop()
            self._progress = None

    def __call__(self, step: str, share: float | None = None) -> None:
        """Show what is being done, and which share of it is done."""
        self.check()
        if self._progress is None:
            if not self.quiet:
                self._tell(step if share is None else f"{step}, {100 * share:.0f} %")
            return
        total = None if share is None else 1.0
        if self._task is None:
            self._task = self._progress.add_task(step, total=total)
        self._progress.update(self._task, description=step, total=total, completed=share or 0.0)

    def _tell(self, line: str) -> None:
        """Write a plain line, not too often."""
        now = perf_counter()
        if now - self._told < _SECONDS_BETWEEN or line == self._line:
            return
        self._told, self._line = now, line
        complain(f"{now - self._started:6.0f} s  {line}")
