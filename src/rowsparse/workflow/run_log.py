"""While a workflow runs: threads, and what is recorded (progress, seconds, warnings, versions)."""

from __future__ import annotations

import os
import platform
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib import import_module
from typing import Any, Protocol, TypeVar

from sklearn.exceptions import ConvergenceWarning

from rowsparse._threads import one_blas_thread


class ProgressCallback(Protocol):
    """Called with what is being done, and with the share of it that is done, if known.

    It may raise KeyboardInterrupt to stop the workflow.
    """

    def __call__(self, step: str, share: float | None = None) -> None: ...


def silent(step: str, share: float | None = None) -> None:
    """Show no progress."""


@dataclass
class StepTimer:
    """Seconds of each step, by name."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Add the time spent in the block to that of a step."""
        start = time.perf_counter()
        try:
            yield
        finally:
            passed = time.perf_counter() - start
            self.seconds[name] = round(self.seconds.get(name, 0.0) + passed, 3)


@dataclass
class CollectedWarnings:
    """The warnings of a fit as sentences, each once, and whether it converged."""

    sentences: list[str] = field(default_factory=list)
    converged: bool = True


@contextmanager
def collect_warnings() -> Iterator[CollectedWarnings]:
    """Collect the warnings for users that are raised in the block; show none."""
    result = CollectedWarnings()
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


def recorded(settings: Any, effective: dict[str, Any]) -> dict[str, Any]:
    """What a result records: the date, the settings, and what took effect in place of None."""
    date = datetime.now(UTC).isoformat(timespec="seconds")
    given = {name: value for name, value in asdict(settings).items() if value is not None}
    return {"date": date, **given, **effective}


def versions() -> dict[str, str]:
    """Of Python and of the packages that the result depends on."""
    modules = {name: name for name in ("rowsparse", "numpy", "scipy")} | {"scikit-learn": "sklearn"}
    found = {name: str(import_module(it).__version__) for name, it in modules.items()}
    return {"python": platform.python_version(), **found}


# ------------------------------------------------------------------------------------------ threads
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
    """The results of all calls, in their order; ``done`` is told how many there are so far."""
    from joblib import Parallel, delayed

    workers, results = thread_count(n_jobs), []
    with one_blas_thread(workers > 1):
        parallel = Parallel(workers, prefer="threads", return_as="generator")
        for result in parallel(delayed(call)() for call in work):
            results.append(result)
            done(len(results))
    return results
