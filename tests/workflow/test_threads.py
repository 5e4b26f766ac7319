"""Threads change neither the order nor the answer."""

from __future__ import annotations

import pytest

from rowsparse.workflow.run_log import in_threads
from rowsparse.workflow.table import Table

from .planted import selected


def test_threads_keep_the_order_and_raise_what_fails() -> None:
    done: list[int] = []
    assert in_threads([lambda i=i: i * i for i in range(6)], 3, done.append) == [
        i * i for i in range(6)
    ]
    assert done == [1, 2, 3, 4, 5, 6]
    with pytest.raises(ZeroDivisionError):
        in_threads([lambda: 1 // 0, lambda: 1], 2)


def test_threads_do_not_change_the_answer(classes: Table) -> None:
    one, two = (selected(classes, 3, stability=6, n_jobs=jobs) for jobs in (1, 3))
    assert one.features == two.features
    assert (one.score, one.stability) == (two.score, two.stability)
