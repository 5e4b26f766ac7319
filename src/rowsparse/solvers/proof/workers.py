"""Worker processes that expand parts of the tree of branch and bound."""

from __future__ import annotations

import pickle
import signal
import tempfile
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Self

import numpy as np

from rowsparse._deadline import NO_DEADLINE, Deadline
from rowsparse._threads import one_blas_thread
from rowsparse.solvers.proof.candidates import Candidates
from rowsparse.solvers.proof.expander import Expander
from rowsparse.solvers.proof.subtree import Subtree, SubtreeResult, SubtreeTask

_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")


class WorkerPool:
    """Processes that hold the problem; they are started by the first call of :meth:`is_ready`.

    Leaving the context terminates them. There are none with one job, within a process that is
    itself a worker, and where the problem cannot be written to a temporary file.
    """

    def __init__(self, problem: Candidates, n_jobs: int | None) -> None:
        self._problem, self._n_jobs, self._size = problem, n_jobs, 0
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._processes: list[Any] = []
        # One connection a process; the idle ones are those that wait for a task.
        self._connections: list[Any] = []
        self._idle: list[Any] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._stop()

    def is_ready(self) -> bool:
        """Whether all processes have loaded the problem."""
        if self._size == 0:
            self._size = _number_of_processes(self._n_jobs)
        if self._size < 2:
            return False
        if not self._connections:
            self._start()
        try:
            loading = [one for one in self._connections if one not in self._idle]
            connection: Any
            for connection in wait(loading, 0):
                connection.recv()
                self._idle.append(connection)
        except (EOFError, OSError):
            self._disable()
        return len(self._idle) == self._size > 1

    def results(
        self, tasks: list[SubtreeTask], deadline: Deadline
    ) -> Iterator[SubtreeResult | None]:
        """The results of the tasks, in their order, until the deadline.

        None: the worker crashed; the caller must run this task. After an iteration that was not
        finished the pool must not be used again.
        """
        waiting: deque[tuple[int, SubtreeTask]] = deque(enumerate(tasks))
        busy: dict[Any, int] = {}
        done: dict[int, SubtreeResult] = {}
        try:
            for i in range(len(tasks)):
                while i not in done:
                    while waiting and self._idle:
                        connection = self._idle.pop()
                        busy[connection], task = waiting.popleft()
                        connection.send(task)
                    ready: list[Any] = wait(list(busy), _timeout(deadline.left()))
                    if not ready:
                        return
                    for connection in ready:
                        done[busy.pop(connection)] = connection.recv()
                        self._idle.append(connection)
                yield done.pop(i)
        except (EOFError, OSError):
            self._disable()
            yield from [None] * len(tasks)

    def _start(self) -> None:
        try:
            import joblib

            # Unlike those of the standard library, these processes do not import the main module.
            from joblib.externals.loky.backend import get_context

            context = get_context("loky")
            self._folder = tempfile.TemporaryDirectory(prefix="rowsparse-")
            path = str(Path(self._folder.name) / "problem")
            joblib.dump(self._problem, path)
            for _ in range(self._size):
                connection, other_end = context.Pipe()
                self._connections.append(connection)
                process = context.Process(
                    target=_work,
                    args=(other_end, path),
                    daemon=True,
                    env=dict.fromkeys(_ONE_THREAD, "1"),
                )
                process.start()
                self._processes.append(process)
                other_end.close()
        except (ImportError, OSError, TypeError, pickle.PicklingError):
            self._disable()

    def _disable(self) -> None:
        """Terminate the processes and start no others."""
        self._size = 1
        self._stop()

    def _stop(self) -> None:
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            process.join()
        for connection in self._connections:
            connection.close()
        self._processes, self._connections, self._idle = [], [], []
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


def _work(connection: Connection, path: str) -> None:
    """The loop of a worker, until the main process closes the connection."""
    import joblib

    # Ctrl-C is handled by the main process, which terminates this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # An error ends this process; the main process then runs the task itself and meets the error.
    ignored = np.errstate(over="ignore", invalid="ignore", divide="ignore")
    with suppress(Exception), one_blas_thread(), ignored:
        # Memory mapping lets all processes share one copy of the problem.
        expander = Expander(joblib.load(path, mmap_mode="r"))
        connection.send(None)
        while True:
            task = connection.recv()
            connection.send(Subtree(expander, task).expand(NO_DEADLINE))
