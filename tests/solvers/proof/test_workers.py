"""Branch and bound in several processes: the same proof, and nobody left behind."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp

from rowsparse import TopK
from rowsparse.design import make_design
from rowsparse.solvers.losses.squared import least_squares_objective
from rowsparse.solvers.proof import branch
from rowsparse.solvers.proof.candidates import Candidates
from rowsparse.solvers.proof.diagonal import uniform_diagonal
from rowsparse.solvers.proof.workers import Crew
from rowsparse.solvers.subset.exchange import forward

NONE = np.zeros(0, dtype=np.intp)


@pytest.fixture
def crews(monkeypatch):
    """Processes take part from the second round on; the list has what each crew did."""
    seen = []
    begin, is_ready, harvests = Crew._begin, Crew.is_ready, Crew.harvests

    def begun(crew):
        begin(crew)
        crew.pids = [process.pid for process in crew._processes]
        crew.n_tasks = 0
        seen.append(crew)

    def ready(crew):
        while not is_ready(crew) and crew._size > 1:
            time.sleep(0.01)
        return is_ready(crew)

    def counted(crew, tasks, left):
        crew.n_tasks += len(tasks)
        return harvests(crew, tasks, left)

    monkeypatch.setattr(branch, "_PATIENCE", -1.0)
    monkeypatch.setattr(Crew, "_begin", begun)
    monkeypatch.setattr(Crew, "is_ready", ready)
    monkeypatch.setattr(Crew, "harvests", counted)
    yield seen
    for crew in seen:
        assert crew._folder is None
        assert not any(is_alive(pid) for pid in crew.pids)


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def prove(X, Y, k, ridge, *, include=NONE, exclude=NONE, **options):
    design, _ = make_design(X, center=True, scale=False)
    keep = np.setdiff1d(np.arange(X.shape[1]), exclude)
    problem = Candidates.of(design, Y, ridge, keep)
    diagonal = uniform_diagonal(problem, k, np.asarray(include, dtype=np.intp))
    if diagonal is not None:
        problem = problem.with_diagonal(diagonal)
    order = forward(design, Y, k + len(include) + len(exclude), ridge=ridge)
    order = order[~np.isin(order, [*include, *exclude])]
    start = np.concatenate([include, order])[:k].astype(np.intp)
    objective = least_squares_objective(design, Y, start, ridge=ridge)
    return branch.BranchAndBound(
        problem, k, start, objective, include=np.asarray(include, dtype=np.intp), **options
    ).run()


def random_problem(seed, n, d, c):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + rng.standard_normal((n, 1))
    return X, rng.standard_normal((n, c)) + X[:, :c]


def same(one, two):
    assert np.array_equal(one.support, two.support)
    assert (one.objective, one.lower_bound) == (two.objective, two.lower_bound)
    assert (one.nodes, one.complete, one.root_bound) == (two.nodes, two.complete, two.root_bound)
    assert len(one.steps) == len(two.steps)
    for mine, other in zip(one.steps, two.steps, strict=True):
        assert (mine.kind, mine.feature) == (other.kind, other.feature)
        if mine.dual is not None:
            assert np.array_equal(mine.dual.features, other.dual.features)
            assert np.array_equal(mine.dual.W, other.dual.W)


@pytest.mark.parametrize(
    ("n", "d", "c", "ridge", "options"),
    [
        (40, 45, 2, 3.0, {}),  # by the Gram matrix
        (15, 300, 2, 1.5, {"include": [4, 7], "exclude": [0, 9]}),  # by the columns
        (60, 42, 3, 0.0, {"gap_tol": 4e-3}),  # without a ridge
    ],
)
def test_the_proof_does_not_depend_on_the_number_of_processes(crews, n, d, c, ridge, options):
    X, Y = random_problem(n, n, d, c)
    one, two = (
        prove(X, Y - Y.mean(axis=0), 6, ridge, n_jobs=jobs, keep=True, **options) for jobs in (1, 2)
    )
    assert one.complete
    assert one.nodes > 100
    same(one, two)
    assert len(crews) == 1
    assert crews[0].n_tasks > 20


@pytest.mark.parametrize("kind", [sp.csr_array, np.float32])
def test_selector_gives_the_same_certificate_for_any_number_of_processes(crews, kind):
    X, Y = random_problem(1, 30, 80, 2)
    X = kind(np.where(np.abs(X) > 0.5, X, 0.0))
    fits = [
        TopK(6, alpha=0.1, certify=True, include=[3], n_jobs=jobs, random_state=0).fit(X, Y)
        for jobs in (1, 2)
    ]
    for name in ("objective_", "lower_bound_", "gap_", "root_bound_", "n_nodes_", "status_"):
        assert getattr(fits[0], name) == getattr(fits[1], name)
    assert np.array_equal(fits[0].support_, fits[1].support_)
    assert crews[0].n_tasks > 0


def hard_problem():
    rng = np.random.default_rng(1)
    return rng.standard_normal((60, 400)), rng.standard_normal((60, 3))


def test_time_limit_ends_the_processes_and_leaves_a_bound(crews):
    X, Y = hard_problem()
    proof = prove(X, Y - Y.mean(axis=0), 10, 1.0, n_jobs=2, time_limit=8.0)
    assert not proof.complete
    assert 0 < proof.lower_bound < proof.objective
    assert proof.stopped
    assert crews[0].n_tasks > 0


@pytest.fixture
def interruptible():
    """Ctrl-C as usual, also where the tests were started with it ignored (in the background)."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_interrupt_ends_the_processes_and_keeps_what_is_proven(crews):
    X, Y = hard_problem()
    root = prove(X, Y - Y.mean(axis=0), 10, 1.0, monitor=lambda progress: True)
    timers = []

    def ctrl_c(progress):
        if progress.nodes > 50 and not timers:
            timers.append(threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)))
            timers[0].start()
        return False

    options = {"n_jobs": 2, "time_limit": 60.0, "monitor": ctrl_c}
    proof = prove(X, Y - Y.mean(axis=0), 10, 1.0, keep_on_interrupt=True, **options)
    assert proof.stopped
    assert root.root_bound <= proof.lower_bound < proof.objective
    assert crews[0].n_tasks > 0
    timers.clear()
    with pytest.raises(KeyboardInterrupt):
        prove(X, Y - Y.mean(axis=0), 10, 1.0, **options)
    assert len(crews) == 2


def test_monitor_stops_at_the_same_node_for_any_number_of_processes(crews):
    X, Y = hard_problem()
    proofs = [
        prove(X, Y - Y.mean(axis=0), 10, 1.0, n_jobs=jobs, monitor=lambda p: p.nodes >= 90)
        for jobs in (1, 2)
    ]
    assert 90 <= proofs[0].nodes < 100
    same(*proofs)
    assert crews[0].n_tasks > 0


def test_death_of_a_process_does_not_change_the_proof(crews):
    X, Y = random_problem(40, 40, 45, 2)
    dead = []

    def kill(progress):
        if crews and not dead:
            dead.append(crews[0].pids[0])
            os.kill(dead[0], signal.SIGKILL)
        return False

    Y = Y - Y.mean(axis=0)
    same(prove(X, Y, 6, 3.0), prove(X, Y, 6, 3.0, n_jobs=2, monitor=kill))
    assert dead


def test_easy_proofs_start_no_processes(monkeypatch):
    monkeypatch.setattr(branch, "_PATIENCE", 1e6)
    monkeypatch.setattr(Crew, "_begin", lambda crew: pytest.fail("a process was started"))
    X, Y = random_problem(3, 30, 20, 1)
    assert prove(X, Y - Y.mean(axis=0), 4, 5.0, n_jobs=-1).complete
