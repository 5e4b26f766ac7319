"""What all commands share: progress, clocks, threads, and the versions of what ran."""

from __future__ import annotations

import os
import platform
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from sklearn.exceptions import ConvergenceWarning

from rowsparse._threads import one_blas_thread

__all__ = [
    "Clock",
    "Progress",
    "Told",
    "in_threads",
    "silent",
    "thread_backend",
    "threads",
    "told",
    "versions",
]

Result = TypeVar("Result")

_MOST_THREADS = 4


class Progress(Protocol):
    """Told what is being done, and which share of it is done if that is known.

    It may raise KeyboardInterrupt to end everything.
    """

    def __call__(self, step: str, share: float | None = None) -> None: ...


def silent(step: str, share: float | None = None) -> None:
    """The progress that nobody watches."""


@dataclass
class Clock:
    """Seconds of each step, by name."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            passed = time.perf_counter() - start
            self.seconds[name] = round(self.seconds.get(name, 0.0) + passed, 3)


@dataclass
class Told:
    """What a method had to say while it ran."""

    sentences: list[str] = field(default_factory=list)
    converged: bool = True


@contextmanager
def told() -> Iterator[Told]:
    """Collect warnings as sentences, each once."""
    result = Told()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield result
        finally:
            for item in caught:
                sentence = str(item.message).partition("\n")[0].strip()
                if issubclass(item.category, ConvergenceWarning):
                    result.converged = False
                elif not issubclass(item.category, UserWarning):
                    continue
                if sentence not in result.sentences:
                    result.sentences.append(sentence)


def threads(n_jobs: int | None) -> int:
    """How many threads to use; all cores up to four, unless told otherwise."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(1, min(cores or 1, _MOST_THREADS)) if n_jobs is None else max(1, n_jobs)


def in_threads(
    work: Iterable[Callable[[], Result]],
    n_jobs: int | None,
    done: Callable[[int], None] = lambda count: None,
) -> list[Result]:
    """The results of all calls, in their order; ``done`` hears how many are finished."""
    calls = list(work)
    workers = min(threads(n_jobs), len(calls))
    if workers < 2:
        results = []
        for at, call in enumerate(calls):
            results.append(call())
            done(at + 1)
        return results
    pool = ThreadPoolExecutor(workers)
    try:
        # Each thread has a core of its own already.
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
    """Let what scikit-learn runs in parallel use so many threads."""
    from joblib import parallel_config

    if workers < 2:
        yield
        return
    with parallel_config("threading", n_jobs=workers), one_blas_thread():
        yield


def versions() -> dict[str, str]:
    """Of Python and of the packages that decide what comes out."""
    import numpy
    import scipy
    import sklearn

    import rowsparse

    found: dict[str, Any] = {"python": platform.python_version(), "rowsparse": rowsparse}
    found |= {"numpy": numpy, "scipy": scipy, "scikit-learn": sklearn}
    return {name: str(getattr(it, "__version__", it)) for name, it in found.items()}
