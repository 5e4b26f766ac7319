"""The number of threads of the linear algebra libraries."""

import os
from threading import Barrier, Thread

import numpy as np
import pytest

from rowsparse import TopK, topk_path
from rowsparse._threads import SMALL, blas_threads_for, one_blas_thread
from rowsparse.certificate import verify
from rowsparse.certificate.checking import Checker
from rowsparse.moments.statistics import Statistics
from rowsparse.selectors.topk import topk_problem

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


@pytest.mark.parametrize("first_leaves_first", [True, False])
def test_contexts_of_several_threads_leave_the_number_as_it_was(first_leaves_first):
    steps = [Barrier(2, timeout=60) for _ in range(2)]
    seen = []

    def work(leaves_first):
        with one_blas_thread():
            steps[0].wait()
            seen.append(blas_threads())
            if not leaves_first:
                steps[1].wait()
        if leaves_first:
            steps[1].wait()

    before = blas_threads()
    threads = [Thread(target=work, args=[first_leaves_first == i]) for i in (True, False)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {*seen[0], *seen[1]} == {1}
    assert blas_threads() == before
    with threadpoolctl.threadpool_limits(2), one_blas_thread():
        assert set(blas_threads()) == {1}


def test_a_large_matrix_has_the_threads_of_the_caller():
    with threadpoolctl.threadpool_limits(2):
        before = blas_threads()
        with blas_threads_for(SMALL + 1):
            assert blas_threads() == before
        with blas_threads_for(SMALL):
            assert set(blas_threads()) == {1}


def test_what_is_computed_from_small_data_takes_one_thread_and_restores_the_number(monkeypatch):
    X, y = np.random.default_rng(0).standard_normal((20, 5)), np.arange(20) % 2
    seen = {}
    for owner, name in (
        (topk_problem, "path"),
        (TopK, "_solve"),
        (Statistics, "_add_dense"),
        (Checker, "bound"),
    ):
        plain = getattr(owner, name)

        def watched(*args, name=name, plain=plain):
            seen[name] = blas_threads()
            return plain(*args)

        monkeypatch.setattr(owner, name, watched)
    with threadpoolctl.threadpool_limits(2):
        before = blas_threads()
        selector = TopK(2, loss="squared", certify=True).fit(X, y)
        topk_path(X, y, 2)
        verify(X, y, selector)
        TopK(2, loss="squared").partial_fit(X, y)
        assert len(seen) == 4
        assert all(set(threads) == {1} for threads in seen.values())
        assert blas_threads() == before


def test_tests_have_as_many_threads_as_the_environment_says():
    # One, unless the user asked for more: tests/conftest.py sets it before NumPy is loaded.
    assert max(blas_threads(), default=1) <= int(os.environ["OMP_NUM_THREADS"])
