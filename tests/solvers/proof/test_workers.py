"""Branch and bound in several processes: the same proof, and all processes end."""

import os
import signal
import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp

from rowsparse import TopK
from rowsparse._deadline import Deadline
from rowsparse.solvers.proof import tree
from rowsparse.solvers.proof.workers import WorkerPool

from .problems import after, prove


@pytest.fixture
def pools(monkeypatch):
    """Processes take part from the second round on; yields the pools that were started."""
    seen = []
    start, is_ready, results = WorkerPool._start, WorkerPool.is_ready, WorkerPool.results

    def started(pool):
        start(pool)
        pool.started = list(pool._processes)
        pool.n_tasks = 0
        seen.append(pool)

    def ready(pool):
        while not is_ready(pool) and pool._size > 1:
            time.sleep(0.01)
        return is_ready(pool)

    def counted(pool, tasks, deadline):
        pool.n_tasks += len(tasks)
        return results(pool, tasks, deadline)

    monkeypatch.setattr(tree, "_SECONDS_BEFORE_WORKERS", -1.0)
    monkeypatch.setattr(WorkerPool, "_start", started)
    monkeypatch.setattr(WorkerPool, "is_ready", ready)
    monkeypatch.setattr(WorkerPool, "results", counted)
    yield seen
    for pool in seen:
        assert pool._folder is None
        assert not any(process.is_alive() for process in pool.started)


def correlated(seed, n, d, c):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + rng.standard_normal((n, 1))
    Y = rng.standard_normal((n, c)) + X[:, :c]
    return X - X.mean(axis=0), Y - Y.mean(axis=0)


def same(one, two):
    assert np.array_equal(one.support, two.support)
    assert (one.objective, one.lower_bound) == (two.objective, two.lower_bound)
    assert (one.nodes, one.complete, one.root_bound) == (two.nodes, two.complete, two.root_bound)
    assert len(one.steps) == len(two.steps)
    for mine, other in zip(one.steps, two.steps, strict=True):
        assert (mine.kind, mine.feature) == (other.kind, other.feature)
        if mine.dual is not None:
            assert np.array_equal(mine.dual.features, other.dual.features)
            assert np.array_equal(mine.dual.V, other.dual.V)


@pytest.mark.parametrize(
    ("n", "d", "c", "ridge", "options"),
    [
        (40, 45, 2, 3.0, {}),  # by the Gram matrix
        pytest.param(  # by the columns
            *(15, 300, 2, 1.5, {"include": [4, 7], "exclude": [0, 9]}), marks=pytest.mark.long
        ),
        pytest.param(60, 42, 3, 0.0, {"gap_tol": 4e-3}, marks=pytest.mark.long),  # without a ridge
    ],
)
def test_the_proof_does_not_depend_on_the_number_of_processes(pools, n, d, c, ridge, options):
    X, Y = correlated(n, n, d, c)
    one, two = (prove(X, Y, 6, ridge, n_jobs=jobs, **options) for jobs in (1, 2))
    assert one.complete
    assert one.nodes > 100
    same(one, two)
    assert len(pools) == 1
    assert pools[0].n_tasks > 20


@pytest.mark.long
@pytest.mark.parametrize("kind", [sp.csr_array, np.float32])
def test_selector_gives_the_same_certificate_for_any_number_of_processes(pools, kind):
    X, Y = correlated(1, 30, 80, 2)
    X = kind(np.where(np.abs(X) > 0.5, X, 0.0))
    fits = [
        TopK(6, alpha=0.1, certify=True, include=[3], n_jobs=jobs, random_state=0).fit(X, Y)
        for jobs in (1, 2)
    ]
    for name in ("objective_", "lower_bound_", "gap_", "root_bound_", "n_nodes_", "status_"):
        assert getattr(fits[0], name) == getattr(fits[1], name)
    assert np.array_equal(fits[0].support_, fits[1].support_)
    assert pools[0].n_tasks > 0


def hard_problem():
    rng = np.random.default_rng(1)
    X, Y = rng.standard_normal((60, 400)), rng.standard_normal((60, 3))
    return X - X.mean(axis=0), Y - Y.mean(axis=0)


class AfterTasks(Deadline):
    """Passes once the workers have some tasks, however long they take to start."""

    def __init__(self, pools):
        self._pools = pools

    def left(self):
        return 0.0 if self._pools and self._pools[0].n_tasks > 20 else np.inf


@pytest.mark.long
def test_the_deadline_ends_the_processes_and_leaves_a_bound(pools):
    X, Y = hard_problem()
    proof = prove(X, Y, 10, 1.0, n_jobs=2, deadline=AfterTasks(pools))
    assert not proof.complete
    assert 0 < proof.lower_bound < proof.objective
    assert proof.stopped


@pytest.fixture
def interruptible():
    """Ctrl-C as usual, also where the tests were started with it ignored (in the background)."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def ctrl_c():
    """A monitor that sends Ctrl-C a moment after the 50th node."""
    timers = []

    def monitor(objective, *, lower_bound, nodes):
        if nodes > 50 and not timers:
            timers.append(threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)))
            timers[0].start()
        return False

    return monitor


@pytest.mark.posix
@pytest.mark.usefixtures("interruptible")
def test_interrupt_ends_the_processes_and_keeps_what_is_proven(pools, ctrl_c):
    X, Y = hard_problem()
    root = prove(X, Y, 10, 1.0, monitor=after(0))
    proof = prove(X, Y, 10, 1.0, keep_on_interrupt=True, n_jobs=2, monitor=ctrl_c)
    assert proof.stopped
    assert root.root_bound <= proof.lower_bound < proof.objective
    assert pools[0].n_tasks > 0


@pytest.mark.long
@pytest.mark.posix
@pytest.mark.usefixtures("interruptible")
def test_interrupt_ends_the_processes_and_goes_through(pools, ctrl_c):
    X, Y = hard_problem()
    with pytest.raises(KeyboardInterrupt):
        prove(X, Y, 10, 1.0, n_jobs=2, monitor=ctrl_c)
    assert len(pools) == 1


def test_monitor_stops_at_the_same_node_for_any_number_of_processes(pools):
    X, Y = hard_problem()
    proofs = [prove(X, Y, 10, 1.0, n_jobs=jobs, monitor=after(90)) for jobs in (1, 2)]
    assert 90 <= proofs[0].nodes < 100
    same(*proofs)
    assert pools[0].n_tasks > 0


@pytest.mark.posix
def test_death_of_a_process_does_not_change_the_proof(pools):
    X, Y = correlated(40, 40, 45, 2)
    dead = []

    def kill(objective, **details):
        if pools and not dead:
            dead.append(pools[0].started[0].pid)
            os.kill(dead[0], signal.SIGKILL)
        return False

    same(prove(X, Y, 6, 3.0), prove(X, Y, 6, 3.0, n_jobs=2, monitor=kill))
    assert dead


def test_easy_proofs_start_no_processes(monkeypatch):
    monkeypatch.setattr(tree, "_SECONDS_BEFORE_WORKERS", 1e6)
    monkeypatch.setattr(WorkerPool, "_start", lambda pool: pytest.fail("a process was started"))
    X, Y = correlated(3, 30, 20, 1)
    assert prove(X, Y, 4, 5.0, n_jobs=-1).complete


@pytest.mark.parametrize(
    ("seconds", "nodes", "expected"), [(9, 9, True), (9, 99, False), (0.5, 1, False)]
)
def test_processes_start_where_the_open_nodes_will_take_long(seconds, nodes, expected):
    running = tree.Tree.__new__(tree.Tree)
    running._start, running.nodes = time.perf_counter() - seconds, nodes
    running._open = [None] * 3
    assert running._takes_long(2) is expected
