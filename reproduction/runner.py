"""Runs what is not done yet, in processes, and keeps every result at once."""

from __future__ import annotations

import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any

from threadpoolctl import threadpool_limits

from reproduction.declare import Paper, Row, RunTask, Size
from reproduction.store import ResultStore
from rowsparse._text import joined
from rowsparse.datasets import MissingDataError, load
from rowsparse.datasets.catalog import catalogue

Run = Callable[[RunTask], list[Row]]


@dataclass(frozen=True)
class RunProgress:
    """Tasks done and in all, an estimate of the seconds left, and the last task."""

    done: int
    total: int
    seconds_left: float
    last: str


def pending(
    paper: Paper, store: ResultStore, size: Size, only: str | None = None
) -> list[tuple[Run, RunTask]]:
    """The tasks that the store does not have yet."""
    done = store.done()
    return [
        (experiment.run, task)
        for experiment in paper.chosen(only)
        for task in experiment.tasks(size)
        if task.key not in done
    ]


def run_paper(
    paper: Paper,
    store: ResultStore,
    size: Size,
    *,
    only: str | None = None,
    n_jobs: int = 1,
    time_limit: float | None = None,
    progress: Callable[[RunProgress], None] = lambda progress: None,
) -> int:
    """Do all tasks of a paper that are not done; how many failed.

    ``only`` names a single experiment. A task that takes more than ``time_limit`` seconds counts as
    failed; the row of a failed task has its error. ``progress`` is called after every task. Raises
    MissingDataError before anything is run if a data set of the catalogue is not here.
    """
    work = pending(paper, store, size, only)
    _check_data(paper.name, [task.dataset for _, task in work])
    start, failed = time.perf_counter(), 0
    for done, (task, rows, seconds) in enumerate(_results(work, n_jobs, time_limit), start=1):
        store.put(task, rows, seconds)
        failed += any(row.get("error") for row in rows)
        left = (time.perf_counter() - start) / done * (len(work) - done)
        progress(RunProgress(done, len(work), left, task.key))
    return failed


def _check_data(paper: str, datasets: Iterable[str]) -> None:
    """Refuse to start without the benchmark sets that the tasks will load."""
    missing = []
    for name in dict.fromkeys(datasets):
        if name in catalogue():
            try:
                load(name, download=False)
            except MissingDataError:
                missing.append(name)
    if missing:
        raise MissingDataError(
            f"{paper} needs data that is not here, {joined(missing)}: docs/datasets.md says where "
            "to get it; name the folder that has it in the environment variable ROWSPARSE_DATA."
        )


def _results(
    work: list[tuple[Run, RunTask]], n_jobs: int, time_limit: float | None
) -> Iterator[tuple[RunTask, list[Row], float]]:
    if n_jobs == 1:
        for run, task in work:
            yield task, *_done(run, task, time_limit)
        return
    waiting = iter(work)
    # Few are handed out ahead, so that little is lost when the run is stopped.
    with ProcessPoolExecutor(n_jobs, mp_context=get_context("spawn")) as pool:
        running: dict[Future[Any], RunTask] = {}

        def hand_out() -> None:
            for run, task in waiting:
                running[pool.submit(_done, run, task, time_limit)] = task
                if len(running) >= 2 * n_jobs:
                    return

        hand_out()
        try:
            while running:
                ready, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in ready:
                    yield running.pop(future), *future.result()
                hand_out()
        except BrokenProcessPool:
            names = ", ".join(sorted(task.key for task in running.values()))
            raise RuntimeError(
                f"A process died, for lack of memory perhaps, while these were running: {names}."
            ) from None
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _done(run: Run, task: RunTask, time_limit: float | None) -> tuple[list[Row], float]:
    """Rows and seconds of a task; an error becomes a row."""
    start = time.perf_counter()
    with warnings.catch_warnings(), threadpool_limits(1):
        # Runs of published settings warn by the thousand that they did not converge.
        warnings.simplefilter("ignore")
        try:
            with limited(time_limit):
                rows = run(task)
        except Exception as error:
            rows = [
                {
                    "dataset": task.dataset,
                    "method": task.method,
                    "split": task.split,
                    "error": f"{type(error).__name__}: {error}",
                }
            ]
    return rows, time.perf_counter() - start


@contextmanager
def limited(seconds: float | None, *, processor: bool = False) -> Iterator[None]:
    """Raise TimeoutError in the block after so many seconds, where the system can do that.

    Seconds on the clock, or of the processor, which do not depend on what else is running.
    """
    main = threading.current_thread() is threading.main_thread()
    if seconds is None or not main or not hasattr(signal, "setitimer"):
        yield
        return
    timer = signal.ITIMER_PROF if processor else signal.ITIMER_REAL
    number = signal.SIGPROF if processor else signal.SIGALRM

    def expired(number: int, frame: Any) -> None:
        raise TimeoutError(f"stopped after {seconds:g} seconds")

    before = signal.signal(number, expired)
    signal.setitimer(timer, seconds)
    try:
        yield
    finally:
        signal.setitimer(timer, 0.0)
        signal.signal(number, before)
