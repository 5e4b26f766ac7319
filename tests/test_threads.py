"""The number of threads of the linear algebra libraries."""

from __future__ import annotations

import os

import pytest

from rowsparse._threads import one_blas_thread

threadpoolctl = pytest.importorskip("threadpoolctl")


def blas_threads():
    return [
        lib["num_threads"] for lib in threadpoolctl.threadpool_info() if lib["user_api"] == "blas"
    ]


def test_blas_has_one_thread_within_the_context_only():
    with threadpoolctl.threadpool_limits(2):
        before = blas_threads()
        with one_blas_thread():
            assert set(blas_threads()) == {1}
        assert blas_threads() == before
        with one_blas_thread(wanted=False):
            assert blas_threads() == before


def test_tests_have_as_many_threads_as_the_environment_says():
    # One, unless the user asked for more: tests/conftest.py sets it before NumPy is loaded.
    assert max(blas_threads(), default=1) <= int(os.environ["OMP_NUM_THREADS"])
