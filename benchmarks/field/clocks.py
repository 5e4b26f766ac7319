"""Clocks that count processor seconds.

Also those by which packages keep their time limits, so that a busy machine does not shorten what
they are given. To be called before these packages are imported.
"""

from __future__ import annotations

import time

wall_clock = time.monotonic


def count_processor_seconds() -> None:
    """For the rest of the process and for those that it forks."""
    for name in ("time", "perf_counter", "monotonic"):
        setattr(time, name, time.process_time)
