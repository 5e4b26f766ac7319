"""Progress of a command: one line on standard error, if that is a terminal."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

__all__ = ["Display"]


class Display:
    """A spinner, what is being done, a bar where the share is known, and the seconds so far.

    Nothing is shown with ``quiet``, and where standard error is no terminal.
    """

    def __init__(self, *, quiet: bool, check: Callable[[], None] = lambda: None) -> None:
        self.quiet, self.check = quiet, check
        self._progress: Any = None
        self._task: Any = None

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
            return
        total = None if share is None else 1.0
        if self._task is None:
            self._task = self._progress.add_task(step, total=total)
        self._progress.update(self._task, description=step, total=total, completed=share or 0.0)
