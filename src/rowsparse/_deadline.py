"""Time limits that several parts of a computation share."""

from __future__ import annotations

from time import perf_counter

import numpy as np


class Deadline:
    """A number of seconds from now; None sets no limit.

    >>> Deadline(None).expired(), Deadline(0.0).expired()
    (False, True)
    """

    def __init__(self, seconds: float | None) -> None:
        self._end = np.inf if seconds is None else perf_counter() + seconds

    def left(self) -> float:
        """Seconds that are left, negative once the deadline has passed; inf without a limit."""
        return float(self._end - perf_counter())

    def share(self, fraction: float) -> Deadline:
        """A deadline after this fraction of the time that is left.

        >>> Deadline(None).share(0.1).left()
        inf
        """
        return Deadline(fraction * self.left())

    def expired(self) -> bool:
        """Whether no time is left."""
        return self.left() <= 0


NO_DEADLINE = Deadline(None)
