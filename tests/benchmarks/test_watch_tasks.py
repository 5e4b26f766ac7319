"""Every watched task runs with this revision, and a revision without a thing says None."""

from __future__ import annotations

import pytest

from benchmarks import watch_tasks


@pytest.mark.long
@pytest.mark.parametrize("name", watch_tasks.tasks())
@pytest.mark.filterwarnings("ignore")
def test_a_task_runs(name: str) -> None:
    assert watch_tasks.tasks()[name]() is not None


def test_what_a_revision_does_not_have_has_no_time() -> None:
    def missing() -> None:
        from rowsparse import NoSuchSelector  # noqa: F401

    assert watch_tasks.measure(missing, 1) is None
    time = watch_tasks.measure(lambda: sum(range(1000)), 2)
    assert time is not None
    assert time >= 0
