"""Threads of the linear algebra libraries."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any


def one_blas_thread(wanted: bool = True) -> AbstractContextManager[Any]:
    """Limit BLAS and OpenMP to one thread within the context, if ``wanted``.

    More threads do not pay on small matrices, nor where several computations run side by side.
    The last digits of a product depend on the number of threads.
    """
    return _controller().limit(limits=1) if wanted else nullcontext()


@cache
def _controller() -> Any:
    """The handle of the loaded libraries; finding them takes longer than an easy proof."""
    from threadpoolctl import ThreadpoolController  # a dependency of scikit-learn

    return ThreadpoolController()
