"""Threads: how many, and work spread over them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from typing import TypeVar

from rowsparse._threads import one_blas_thread

__all__ = ["in_threads", "thread_backend", "thread_count"]

Result = TypeVar("Result")

_MOST_THREADS = 4


def thread_count(n_jobs: int | None) -> int:
    """How many threads to use; by default as many as there are cores, but at most four."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(1, min(cores or 1, _MOST_THREADS)) if n_jobs is None else max(1, n_jobs)


def in_threads(
    work: Iterable[Callable[[], Result]],
    n_jobs: int | None,
    done: Callable[[int], None] = lambda count: None,
) -> list[Result]:
    """The results of all calls, in their order.

    ``done`` is called with the number of finished calls, each time that one is finished.
    """
    calls = list(work)
    workers = min(thread_count(n_jobs), len(calls))
    if workers < 2:
        results = []
        for at, call in enumerate(calls):
            results.append(call())
            done(at + 1)
        return results
    pool = ThreadPoolExecutor(workers)
    try:
        with one_blas_thread():
            futures = [pool.submit(call) for call in calls]
            for count, future in enumerate(as_completed(futures), start=1):
                future.result()
                done(count)
        return [future.result() for future in futures]
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


@contextmanager
def thread_backend(workers: int) -> Iterator[None]:
    """Let scikit-learn run in so many threads what it runs in parallel."""
    from joblib import parallel_config

    if workers < 2:
        yield
        return
    with parallel_config("threading", n_jobs=workers), one_blas_thread():
        yield
