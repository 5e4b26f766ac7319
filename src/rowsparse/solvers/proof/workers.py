"""Processes in which parts of the tree of branch and bound grow."""

from __future__ import annotations

import pickle
import signal
import tempfile
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import cache
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Self

import numpy as np

from rowsparse.solvers.proof.candidates import Candidates
from rowsparse.solvers.proof.nodes import Goal, Harvest, Homes, Task
from rowsparse.solvers.proof.tree import Subtree

_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")


def one_blas_thread() -> AbstractContextManager[Any]:
    """No threads within products: with matrices as small as these they only wait.

    The last digits depend on the number of threads, which must be the same wherever a node is
    expanded.
    """
    controller = _blas_controller()
    return nullcontext() if controller is None else controller.limit(limits=1, user_api="blas")


@cache
def _blas_controller() -> Any:
    """What sets the threads of BLAS; finding the libraries takes longer than an easy proof."""
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return None
    return ThreadpoolController()


class Crew:
    """Processes that know the problem; started when first asked whether they are ready.

    Leaving the context ends them, whatever they are at. There are none where they cannot be had:
    with one job, within a process that is somebody's worker, or without room for the problem.
    """

    def __init__(self, problem: Candidates, goal: Goal, n_jobs: int | None) -> None:
        self._problem, self._goal = problem, goal
        self._n_jobs, self._size = n_jobs, 0
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._processes: list[Any] = []
        self._lines: list[Any] = []
        # Those that have nothing to do.
        self._idle: list[Any] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._end()

    def is_ready(self) -> bool:
        """Whether all are there to work."""
        if self._size == 0:
            self._size = _number_of_processes(self._n_jobs)
        if self._size < 2:
            return False
        if not self._lines:
            self._begin()
        try:
            absent = [line for line in self._lines if line not in self._idle]
            line: Any
            for line in wait(absent, 0):
                line.recv()
                self._idle.append(line)
        except (EOFError, OSError):
            self._give_up()
        return len(self._idle) == self._size > 1

    def harvests(self, tasks: list[Task], left: Callable[[], float]) -> Iterator[Harvest | None]:
        """What the tasks come to, in their order, while there are seconds left.

        None stands for a task that a process died of: the caller had better do it. A crew that
        was not asked for all of them is not to be asked again.
        """
        waiting: deque[tuple[int, Task]] = deque(enumerate(tasks))
        busy: dict[Any, int] = {}
        done: dict[int, Harvest] = {}
        try:
            for i in range(len(tasks)):
                while i not in done:
                    while waiting and self._idle:
                        line = self._idle.pop()
                        busy[line], task = waiting.popleft()
                        line.send(task)
                    ready: list[Any] = wait(list(busy), _timeout(left()))
                    if not ready:
                        return
                    for line in ready:
                        done[busy.pop(line)] = line.recv()
                        self._idle.append(line)
                yield done.pop(i)
        except (EOFError, OSError):
            self._give_up()
            yield from [None] * len(tasks)

    def _begin(self) -> None:
        try:
            import joblib

            # Unlike those of the standard library, these do not run the caller's script again.
            from joblib.externals.loky.backend import get_context

            context = get_context("loky")
            self._folder = tempfile.TemporaryDirectory(prefix="rowsparse-")
            path = str(Path(self._folder.name) / "problem")
            joblib.dump(self._problem, path)
            for _ in range(self._size):
                line, other_end = context.Pipe()
                self._lines.append(line)
                process = context.Process(
                    target=_work,
                    args=(other_end, path, self._goal),
                    daemon=True,
                    env=dict.fromkeys(_ONE_THREAD, "1"),
                )
                process.start()
                self._processes.append(process)
                other_end.close()
        except (ImportError, OSError, TypeError, pickle.PicklingError):
            self._give_up()

    def _give_up(self) -> None:
        self._size = 1
        self._end()

    def _end(self) -> None:
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            process.join()
        for line in self._lines:
            line.close()
        self._processes, self._lines, self._idle = [], [], []
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None


def _timeout(seconds: float) -> float | None:
    return None if np.isinf(seconds) else max(seconds, 0.0)


def _number_of_processes(n_jobs: int | None) -> int:
    if n_jobs in (None, 1) or parent_process() is not None:
        return 1
    from joblib import effective_n_jobs

    return int(effective_n_jobs(n_jobs))


def _work(line: Connection, path: str, goal: Goal) -> None:
    """What each process does, until the other end of the line is gone."""
    import joblib

    # Ctrl-C is for the process that has the answer: it ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Of the problem, all processes share one copy. An error ends the process, and whoever asked
    # meets it again on doing the task.
    ignored = np.errstate(over="ignore", invalid="ignore", divide="ignore")
    with suppress(Exception), one_blas_thread(), ignored:
        homes = Homes(joblib.load(path, mmap_mode="r"))
        line.send(None)
        while True:
            task = line.recv()
            line.send(Subtree(homes, goal, task).grow())
