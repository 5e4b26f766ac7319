"""Proofs by branch and bound, with a better diagonal, or by trying all choices."""

from __future__ import annotations

import numpy as np
import pytest

from rowsparse._deadline import NO_DEADLINE, Deadline
from rowsparse.certificate.proof import Kind
from rowsparse.design import make_design
from rowsparse.design.compressed import compressed_design
from rowsparse.solvers.proof import prover
from rowsparse.solvers.proof.prover import SelectionProblem, certify

from .problems import NONE, best_choice, value_of


def certified(X, Y, k, ridge, *, include=NONE, exclude=NONE, deadline=NO_DEADLINE, **options):
    keep = np.setdiff1d(np.arange(X.shape[1]), [*exclude, *include])
    start = np.concatenate([include, keep])[:k].astype(np.intp)
    settings = {"gap_tol": 1e-6, "keep_on_interrupt": False, "n_jobs": None}
    settings |= {"monitor": lambda progress: False} | options
    value = value_of(X, Y, start, max(ridge, 1e-12))
    settings = {"search": lambda: (start, value)} | settings
    return certify(
        make_design(X, center=False, scale=False)[0],
        Y,
        k,
        start,
        value,
        ridge=ridge,
        include=np.asarray(include, dtype=np.intp),
        exclude=np.asarray(exclude, dtype=np.intp),
        deadline=deadline,
        **settings,
    )


def random_data(seed, n, d, c=2):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)), rng.standard_normal((n, c))


@pytest.mark.parametrize("shape", [(30, 9), (8, 10)])
@pytest.mark.parametrize("ridge", [0.0, 1.0])
@pytest.mark.parametrize(("include", "exclude"), [((), ()), ((4,), (0, 7))])
def test_the_proven_choice_is_the_best_of_all(shape, ridge, include, exclude):
    X, Y = random_data(1, *shape)
    proof = certified(X, Y, 3, ridge, include=include, exclude=exclude)
    best, support = best_choice(X, Y, 3, ridge, include, exclude)
    assert tuple(proof.support) == support
    assert proof.objective == pytest.approx(best)
    assert proof.optimal(1e-6)
    assert proof.root_bound <= proof.lower_bound <= best * (1 + 1e-12)
    # Without a ridge and with fewer samples than columns, all choices are tried.
    n_choices = {(): 120, (4,): 21}[include]
    assert (proof.nodes == n_choices) == (ridge == 0.0 and shape == (8, 10))


def test_without_a_ridge_and_with_many_choices_nothing_is_proven(monkeypatch):
    monkeypatch.setattr(prover, "few_choices", lambda *sizes: False)
    X, Y = random_data(2, 8, 10)
    proof = certified(X, Y, 3, 0.0)
    assert (proof.lower_bound, proof.nodes) == (0.0, 0)
    assert proof.support.tolist() == [0, 1, 2]


@pytest.mark.parametrize("better", [False, True])
def test_after_a_pause_the_search_goes_on_with_the_better_diagonal(monkeypatch, better):
    X, Y = random_data(3, 60, 14)
    best, support = best_choice(X, Y, 4, 0.1)
    monkeypatch.setattr(prover, "nodes_before_climbing", lambda problem: 3)
    if not better:
        monkeypatch.setattr(prover, "best_diagonal", lambda *arguments: None)
    else:
        uniform = prover.uniform_diagonal
        monkeypatch.setattr(
            prover, "best_diagonal", lambda problem, k, include, *rest: uniform(problem, k, include)
        )
    bounds = []
    proof = certified(
        X, Y, 4, 0.1, monitor=lambda p: bounds.append((p.lower_bound, p.nodes)) or False
    )
    assert tuple(proof.support) == support
    assert proof.optimal(1e-6)
    assert proof.lower_bound <= best
    # Bounds and nodes go on where the first search paused.
    assert np.all(np.diff(bounds, axis=0) >= 0)
    assert bounds[-1][1] == proof.nodes > 3


def test_a_gap_of_rounding_is_closed_by_trying_all_choices():
    X, Y = random_data(4, 30, 6)
    Y = X[:, :2] @ np.ones((2, 1)) + 1e-6 * Y[:, :1]
    proof = certified(X * 1e3, Y, 2, 0.0)
    assert proof.support.tolist() == [0, 1]
    assert proof.optimal(1e-6)
    assert [step.kind for step in proof.steps] == [Kind.ALL]


@pytest.mark.parametrize("keep", [True, False])
def test_ctrl_c_keeps_what_is_proven_if_asked_to(monkeypatch, keep):
    X, Y = random_data(5, 60, 14)
    monkeypatch.setattr(prover, "nodes_before_climbing", lambda problem: 3)

    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(prover, "best_diagonal", interrupted)
    if keep:
        proof = certified(X, Y, 4, 0.1, keep_on_interrupt=True)
        assert 0 < proof.lower_bound < proof.objective
    else:
        with pytest.raises(KeyboardInterrupt):
            certified(X, Y, 4, 0.1)


def test_a_deadline_that_has_passed_leaves_the_given_choice():
    X, Y = random_data(6, 30, 20)
    proof = certified(X, Y, 4, 1.0, deadline=Deadline(0.0))
    assert proof.support.tolist() == [0, 1, 2, 3]
    assert proof.nodes == 0


def test_without_a_ridge_equal_and_zero_columns_are_left_out():
    X, _ = random_data(7, 10, 6)
    X[:, 3] = X[:, 1]
    X[:, 4] = 0.0
    design, _ = make_design(X, center=False, scale=False)
    problem = SelectionProblem.of(design, 5, 0.0, np.array([3]), np.array([0]))
    assert (problem.pool.tolist(), problem.include.tolist(), problem.k) == ([2, 3, 5], [3], 3)
    ridged = SelectionProblem.of(design, 5, 1.0, np.array([3]), np.array([0]))
    assert (ridged.pool.tolist(), ridged.k) == ([1, 2, 3, 4, 5], 5)


@pytest.mark.parametrize("n", [8, 30])
def test_included_columns_that_add_nothing_take_up_their_places(n):
    X, Y = random_data(8, n, 7)
    X[:, 1] = 0.0
    X[:, 4] = 2.0 * X[:, 2]
    include = [1, 2, 4]
    design, _ = make_design(X, center=False, scale=False)
    problem = SelectionProblem.of(design, 5, 0.0, np.array(include), NONE)
    assert (problem.pool.tolist(), problem.include.tolist()) == ([0, 2, 3, 5, 6], [2])
    assert (problem.k, problem.implied.tolist()) == (3, [1, 4])
    proof = certified(X, Y, 5, 0.0, include=include)
    least, support = best_choice(X, Y, 3, 0.0, include=[2], exclude=[1, 4])
    assert proof.support.tolist() == sorted({*include, *support})
    assert proof.optimal(1e-6)
    assert proof.objective == pytest.approx(least, rel=1e-9)


def test_rounded_products_prove_less_and_nothing_by_trying_all_choices():
    X, Y = random_data(9, 30, 9)
    X[:, 1], X[:, 5] = X[:, 0], 0.0
    gram = np.asfortranarray(X.T @ X)
    design, small = compressed_design(gram, X.T @ Y, Y.T @ Y, 1e-9)
    problem = SelectionProblem.of(design, 3, 0.0, NONE, NONE)
    # Columns that are equal may not have been so.
    assert problem.pool.tolist() == [0, 1, 2, 3, 4, 6, 7, 8]
    best, support = best_choice(X, Y, 3, 1.0)
    options = {"include": NONE, "exclude": NONE, "gap_tol": 1e-9, "deadline": NO_DEADLINE}
    options |= {"keep_on_interrupt": False, "n_jobs": None}
    options |= {"monitor": lambda progress: False, "search": lambda: (np.array(support), best)}
    for ridge in (0.0, 1.0):
        proof = certify(design, small, 3, np.array(support), best, ridge=ridge, **options)
        assert not proof.optimal(1e-9)
        assert proof.optimal(1e-5) == (ridge > 0)
