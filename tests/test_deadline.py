"""Time limits."""

from __future__ import annotations

import numpy as np
import pytest

from rowsparse import _deadline
from rowsparse._deadline import NO_DEADLINE, Deadline


def test_time_runs_down_to_the_deadline(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(_deadline, "perf_counter", lambda: now[0])
    deadline = Deadline(3.0)
    assert deadline.left() == pytest.approx(3.0)
    now[0] = 102.5
    assert deadline.left() == pytest.approx(0.5)
    assert not deadline.expired()
    now[0] = 103.0
    assert deadline.expired()
    now[0] = 1e9
    assert not NO_DEADLINE.expired()
    assert NO_DEADLINE.left() == np.inf
