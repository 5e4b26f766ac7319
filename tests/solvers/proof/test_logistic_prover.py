"""Proofs with the logistic loss: the best choice of all, or a valid bound."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rowsparse._deadline import NO_DEADLINE, Deadline
from rowsparse.solvers.proof import logistic_candidates
from rowsparse.solvers.proof.logistic_prover import certify_logistic

from .problems import logistic_loss, logistic_oracle, random_labels


def proven(X, Y, k, ridge, omega=None, intercept=True, *, include=(), exclude=(), **options):
    loss = logistic_loss(X, Y, omega, intercept)
    others = np.setdiff1d(np.arange(X.shape[1]), [*include, *exclude])
    start = np.array([*include, *others][:k], dtype=np.intp)
    objective = loss.fit(X[:, start], ridge=max(ridge, 1e-9), tol=1e-12).objective
    given_options = {"gap_tol": 1e-6, "keep_on_interrupt": False}
    given_options |= {"monitor": lambda progress: False, "n_jobs": None, "deadline": NO_DEADLINE}
    given_options |= {"search": lambda: (start, objective)}
    return certify_logistic(
        loss,
        k,
        start,
        objective,
        ridge=ridge,
        include=np.array(include, dtype=np.intp),
        exclude=np.array(exclude, dtype=np.intp),
        **given_options | options,
    )


# Screening leaves one feature to choose, which another relaxation finds.
@example(3925)
@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_proof_equals_enumeration_and_its_bound_is_never_above(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(4, 20)), int(rng.integers(2, 8))
    k = int(rng.integers(1, d + 1))
    X = rng.standard_normal((n, d))
    if rng.random() < 0.3:
        X[:, -1] = X[:, 0]
    if rng.random() < 0.2:
        X[:, 0] = 0.0
    Y, omega = random_labels(rng, n, int(rng.integers(1, 4)))
    if rng.random() < 0.3:  # separable
        Y[:, 0] = X[:, -1] > np.median(X[:, -1])
    ridge, intercept = 10.0 ** rng.uniform(-3, 2), bool(rng.random() < 0.6)
    order = rng.permutation(d)
    include = order[: rng.integers(0, k)].tolist()
    exclude = order[k:][: rng.integers(0, d - k + 1)].tolist()
    # The last features by all their choices: at once, after a relaxation, or hardly ever.
    few, most = [(30, 300), (0, 300), (0, 1)][seed % 3]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(logistic_candidates, "_FEW_WAYS", few)
        patch.setattr(logistic_candidates, "_MAX_WAYS", most)
        proof = proven(X, Y, k, ridge, omega, intercept, include=include, exclude=exclude)
    oracle = logistic_oracle(X, Y, k, ridge, omega, intercept, include, exclude)
    best = oracle.best()
    assert proof.lower_bound <= best
    assert 0 <= proof.root_bound <= proof.lower_bound
    assert proof.objective == pytest.approx(float(best), rel=2e-6, abs=1e-9 * float(oracle.total))
    assert proof.optimal(2e-6) or best <= 1e-6 * oracle.total
    assert set(include) <= set(proof.support) <= set(range(d)) - set(exclude)


def test_without_a_ridge_or_labels_nothing_is_proven():
    rng = np.random.default_rng(0)
    X, (Y, omega) = rng.standard_normal((12, 5)), random_labels(rng, 12, 1)
    proof = proven(X, Y, 2, 0.0, omega)
    assert (proof.lower_bound, proof.root_bound, proof.nodes) == (0.0, 0.0, 0)
    assert proven(X, Y[:, :0], 2, 1.0, omega).lower_bound == 0.0


def test_a_deadline_and_a_monitor_leave_a_valid_bound():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((40, 60))
    Y = (X[:, :3].sum(axis=1, keepdims=True) + rng.standard_normal((40, 1)) > 0).astype(float)
    late = proven(X, Y, 4, 2.0, deadline=Deadline(0.0))
    assert (late.lower_bound, late.nodes) == (0.0, 0)
    stopped = proven(X, Y, 4, 2.0, monitor=lambda progress: progress.nodes >= 3)
    complete = proven(X, Y, 4, 2.0)
    assert complete.optimal(1e-6)
    assert 0 < stopped.lower_bound <= complete.objective
    assert stopped.nodes < complete.nodes
    assert len(complete.steps) > len(stopped.steps)


def test_processes_do_not_change_the_proof(monkeypatch):
    from rowsparse.solvers.proof import branch

    monkeypatch.setattr(branch, "_SECONDS_BEFORE_WORKERS", 0.0)
    rng = np.random.default_rng(5)
    X = rng.standard_normal((40, 80))
    Y = (X[:, :3].sum(axis=1, keepdims=True) + rng.standard_normal((40, 1)) > 0).astype(float)
    one, two = (proven(X, Y, 4, 4.0, n_jobs=n) for n in (1, 2))
    assert (one.lower_bound, one.nodes) == (two.lower_bound, two.nodes)
    assert one.support.tolist() == two.support.tolist()
