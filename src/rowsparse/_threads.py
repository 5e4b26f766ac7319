"""Threads of the linear algebra library."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from threading import Lock
from typing import Any

# Entries of a matrix up to which a second thread of BLAS costs more time than it saves.
SMALL = 1 << 20


def one_blas_thread(wanted: bool = True) -> AbstractContextManager[None]:
    """Limit BLAS to one thread within the context, if ``wanted``.

    More threads do not pay on small matrices, nor where several computations run side by side.
    The last digits of a product depend on the number of threads. The number belongs to the process:
    the thread that sets the limit restores what was before, and contexts inside of it, or of other
    threads at the same time, change nothing.
    """
    return _limited() if wanted else nullcontext()


def blas_threads_for(n_entries: float) -> AbstractContextManager[None]:
    """One thread of BLAS for a matrix of few entries, else as many as the caller has set."""
    return one_blas_thread(n_entries <= SMALL)


# Held by the thread that has set the limit.
_LIMITED = Lock()


@contextmanager
def _limited() -> Iterator[None]:
    if not _LIMITED.acquire(blocking=False):
        yield
        return
    try:
        with _controller().limit(limits=1, user_api="blas"):
            yield
    finally:
        _LIMITED.release()


@cache
def _controller() -> Any:
    """The handle of the loaded libraries; finding them takes longer than an easy proof."""
    from threadpoolctl import ThreadpoolController  # a dependency of scikit-learn

    return ThreadpoolController()
