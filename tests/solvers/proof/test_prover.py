"""Proofs by branch and bound, with a better diagonal, of groups, or by trying all choices."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.exact import ExactProblem
from rowsparse._deadline import NO_DEADLINE, Deadline
from rowsparse.certificate.proof import Kind
from rowsparse.design import make_design
from rowsparse.design.build import compressed_design
from rowsparse.solvers.choices import Choices
from rowsparse.solvers.losses.squared import SquaredLoss
from rowsparse.solvers.problem import Listing, Options, Problem
from rowsparse.solvers.proof import column_candidates, gram_candidates, tree
from rowsparse.solvers.proof.exhaustive import enumerate_choices
from rowsparse.solvers.proof.gram_candidates import ResidualProblem
from rowsparse.solvers.proof.prover import prove, without_copies

from .problems import (
    NONE,
    after,
    asked,
    best_choice,
    candidates,
    logistic_candidates,
    logistic_loss,
    logistic_oracle,
    random_labels,
    random_problem,
    random_ridge,
    squared_loss,
    value_of,
)


def certified(X, Y, k, ridge, *, include=NONE, exclude=NONE, deadline=NO_DEADLINE, **options):
    keep = np.setdiff1d(np.arange(X.shape[1]), [*exclude, *include])
    start = np.concatenate([include, keep])[:k].astype(np.intp)
    value = value_of(X, Y, start, max(ridge, 1e-12))
    loss = SquaredLoss(make_design(X, center=False, scale=False)[0], Y)
    search = options.pop("search", lambda: (start, value))
    problem, known = asked(loss, k, ridge, start, value, include=include, exclude=exclude)
    return prove(problem, known, Options(deadline=deadline, **options), search)


def random_data(seed, n, d, c=2):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)), rng.standard_normal((n, c))


def random_groups(rng, d):
    """A partition of the columns; at times with columns in none, which are never chosen."""
    labels = rng.integers(-1 if rng.random() < 0.2 else 0, int(rng.integers(1, d + 1)), d)
    labels[rng.integers(d)] = 0
    return [np.flatnonzero(labels == label) for label in np.unique(labels[labels >= 0])]


def drawn(seed, loss_name):
    """A loss, its ridge, k, rules of columns or groups, and the enumeration of all choices."""
    rng = np.random.default_rng(seed)
    X, Y = random_problem(rng, d=int(rng.integers(2, 8)))
    groups = random_groups(rng, X.shape[1])
    if rng.random() < 0.5:
        groups = [np.array([j]) for j in range(X.shape[1])]
    k = int(rng.integers(1, len(groups) + 1))
    order = rng.permutation(len(groups))
    fixed, barred = order[: rng.integers(0, k)], order[k:][: rng.integers(0, len(groups) - k + 1)]
    rules = {
        "include": [int(groups[g][0]) for g in fixed],
        "exclude": [int(groups[g][-1]) for g in barred],
        "groups": groups,
    }
    if loss_name == "squared":
        ridge = random_ridge(rng, X)
        plain = {"standardize": False, "fit_intercept": False}
        exact = ExactProblem.of(X, Y, k, ridge / len(X), **plain, **rules)
        return squared_loss(X, Y), ridge, k, rules, exact
    Y, omega = random_labels(rng, len(X), int(rng.integers(1, 4)))
    if rng.random() < 0.3 and np.ptp(X[:, -1]) > 0:  # separable
        Y[:, 0] = X[:, -1] > X[:, -1].min()
    X, ridge = X / np.abs(X).max(), 10.0 ** rng.uniform(-3, 2)
    intercept = bool(rng.random() < 0.6)
    exact = logistic_oracle(X, Y, k, ridge, omega, intercept, **rules)
    return logistic_loss(X, Y, omega, intercept), ridge, k, rules, exact


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["squared", "logistic"]))
def test_the_bound_is_below_the_enumerated_optimum_and_the_choice_attains_it(seed, name):
    loss, ridge, k, rules, exact = drawn(seed, name)
    start = next(iter(exact.choices()))
    # The last units by all their choices: at once, after a relaxation, or hardly ever.
    pairs, ways = [((400, 1200), (30, 300)), ((0, 1200), (0, 300)), ((0, 0), (0, 1))][seed % 3]
    problem, known = asked(loss, k, ridge, np.array(start), float(exact.objective(start)), **rules)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gram_candidates, "_FEW_PAIRED", pairs[0])
        patch.setattr(gram_candidates, "_MAX_PAIRED", pairs[1])
        patch.setattr(column_candidates, "_FEW_WAYS", ways[0])
        patch.setattr(column_candidates, "_MAX_WAYS", ways[1])
        proof = prove(problem, known, Options(), lambda: (known.support, known.objective))
    best = exact.best()
    assert 0 <= proof.root_bound <= proof.lower_bound <= best
    scale = float(exact.total)
    assert proof.objective == pytest.approx(float(best), rel=3e-6, abs=1e-9 * scale)
    assert proof.is_optimal(3e-6) or best <= 1e-6 * scale
    assert tuple(proof.support.tolist()) in set(exact.choices())


@pytest.mark.parametrize("shape", [(30, 9), (8, 10)])
@pytest.mark.parametrize("ridge", [0.0, 1.0])
@pytest.mark.parametrize(("include", "exclude"), [((), ()), ((4,), (0, 7))])
def test_the_proven_choice_is_the_best_of_all(shape, ridge, include, exclude):
    X, Y = random_data(1, *shape)
    proof = certified(X, Y, 3, ridge, include=include, exclude=exclude)
    best, support = best_choice(X, Y, 3, ridge, include, exclude)
    assert tuple(proof.support) == support
    assert proof.objective == pytest.approx(best)
    assert proof.is_optimal(1e-6)
    assert proof.root_bound <= proof.lower_bound <= best * (1 + 1e-12)
    # Without a ridge and with fewer samples than columns, all choices are tried.
    n_choices = {(): 120, (4,): 21}[include]
    assert (proof.nodes == n_choices) == (ridge == 0.0 and shape == (8, 10))


@pytest.mark.parametrize("better", [False, True])
def test_after_a_pause_the_search_goes_on_with_the_better_diagonal(monkeypatch, better):
    X, Y = random_data(3, 60, 14)
    best, support = best_choice(X, Y, 4, 0.1)
    monkeypatch.setattr(gram_candidates, "nodes_before_climbing", lambda problem: 3)
    if not better:
        monkeypatch.setattr(gram_candidates, "best_diagonal", lambda *arguments: None)
    else:
        uniform = gram_candidates.uniform_diagonal
        monkeypatch.setattr(
            gram_candidates, "best_diagonal", lambda problem, *rest: uniform(problem)
        )
    bounds = []

    def monitor(objective, *, lower_bound, nodes):
        bounds.append((lower_bound, nodes))

    proof = certified(X, Y, 4, 0.1, monitor=monitor)
    assert tuple(proof.support) == support
    assert proof.is_optimal(1e-6)
    assert proof.lower_bound <= best
    # Bounds and nodes go on where the first search paused.
    assert np.all(np.diff(bounds, axis=0) >= 0)
    assert bounds[-1][1] == proof.nodes > 3


def test_a_gap_of_rounding_is_closed_by_trying_all_choices():
    X, Y = random_data(4, 30, 6)
    Y = X[:, :2] @ np.ones((2, 1)) + 1e-6 * Y[:, :1]
    proof = certified(X * 1e3, Y, 2, 0.0)
    assert proof.support.tolist() == [0, 1]
    assert proof.is_optimal(1e-6)
    assert [step.kind for step in proof.steps] == [Kind.ALL]


@pytest.mark.parametrize("keep", [True, False])
def test_ctrl_c_keeps_what_is_proven_if_asked_to(monkeypatch, keep):
    X, Y = random_data(5, 60, 14)
    monkeypatch.setattr(gram_candidates, "nodes_before_climbing", lambda problem: 3)

    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(gram_candidates, "best_diagonal", interrupted)
    if keep:
        proof = certified(X, Y, 4, 0.1, keep_on_interrupt=True)
        assert 0 < proof.lower_bound < proof.objective
    else:
        with pytest.raises(KeyboardInterrupt):
            certified(X, Y, 4, 0.1)


@pytest.mark.parametrize("n", [8, 30])
def test_included_columns_that_add_nothing_take_up_their_places(n):
    X, Y = random_data(8, n, 7)
    X[:, 1] = 0.0
    X[:, 4] = 2.0 * X[:, 2]
    include = [1, 2, 4]
    design, _ = make_design(X, center=False, scale=False)
    reduced, implied = without_copies(Choices.from_columns(7, 5, include=include), design)
    assert (reduced.barred.tolist(), reduced.fixed.tolist()) == ([1, 4], [2])
    assert (reduced.k, implied.tolist()) == (3, [1, 4])
    proof = certified(X, Y, 5, 0.0, include=include)
    least, support = best_choice(X, Y, 3, 0.0, include=[2], exclude=[1, 4])
    assert proof.support.tolist() == sorted({*include, *support})
    assert proof.is_optimal(1e-6)
    assert proof.objective == pytest.approx(least, rel=1e-9)


def test_rounded_products_prove_less_and_nothing_by_trying_all_choices():
    X, Y = random_data(9, 30, 9)
    X[:, 1], X[:, 5] = X[:, 0], 0.0
    gram = np.asfortranarray(X.T @ X)
    design, small = compressed_design(gram, X.T @ Y, Y.T @ Y, 1e-9)
    # Columns that are equal may not have been so.
    reduced, _ = without_copies(Choices.from_columns(9, 3), design)
    assert reduced.barred.tolist() == [5]
    best, support = best_choice(X, Y, 3, 1.0)
    for ridge in (0.0, 1.0):
        asking, known = asked(SquaredLoss(design, small), 3, ridge, np.array(support), best)
        proof = prove(asking, known, Options(gap_tol=1e-9), lambda: (np.array(support), best))
        assert not proof.is_optimal(1e-9)
        assert proof.is_optimal(1e-5) == (ridge > 0)


# -------------------------------------------------------------------------- losses with a curvature
def proven(X, Y, k, ridge, omega=None, intercept=True, *, include=(), exclude=(), **options):
    loss = logistic_loss(X, Y, omega, intercept)
    others = np.setdiff1d(np.arange(X.shape[1]), [*include, *exclude])
    start = np.array([*include, *others][:k], dtype=np.intp)
    objective = loss.fit(X[:, start], ridge=max(ridge, 1e-9), tol=1e-12).objective
    search = options.pop("search", lambda: (start, objective))
    problem, known = asked(loss, k, ridge, start, objective, include=include, exclude=exclude)
    return prove(problem, known, Options(**options), search)


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
    stopped = proven(X, Y, 4, 2.0, monitor=after(3))
    complete = proven(X, Y, 4, 2.0)
    assert complete.is_optimal(1e-6)
    assert 0 < stopped.lower_bound <= complete.objective
    assert stopped.nodes < complete.nodes
    assert len(complete.steps) > len(stopped.steps)


def test_processes_do_not_change_the_proof(monkeypatch):
    monkeypatch.setattr(tree, "_SECONDS_BEFORE_WORKERS", 0.0)
    rng = np.random.default_rng(5)
    X = rng.standard_normal((40, 80))
    Y = (X[:, :3].sum(axis=1, keepdims=True) + rng.standard_normal((40, 1)) > 0).astype(float)
    one, two = (proven(X, Y, 4, 4.0, n_jobs=n) for n in (1, 2))
    assert (one.lower_bound, one.nodes) == (two.lower_bound, two.nodes)
    assert one.support.tolist() == two.support.tolist()


# ------------------------------------------------------------ proofs of the best groups of features
def alone(d, k, include=()):
    """Choices of columns as groups of one each."""
    groups = tuple(np.array([j]) for j in range(d))
    nothing = np.zeros(0, dtype=np.intp)
    return Choices(d, k, groups, np.array(include, dtype=np.intp), nothing)


@pytest.mark.parametrize("name", ["squared", "logistic"])
@pytest.mark.parametrize(("n", "d"), [(40, 14), (25, 30)])
def test_proofs_of_groups_of_one_equal_those_of_columns(monkeypatch, name, n, d):
    # Of groups no pairs are tried.
    monkeypatch.setattr(gram_candidates, "_FEW_PAIRED", -1)
    monkeypatch.setattr(gram_candidates, "_MAX_PAIRED", -1)
    rng = np.random.default_rng(n)
    X = rng.standard_normal((n, d)) + rng.standard_normal((n, 1))
    Y = X[:, :3].sum(axis=1, keepdims=True) + 3.0 * rng.standard_normal((n, 1))
    loss = squared_loss(X, Y) if name == "squared" else logistic_loss(X, (Y > 0) * 1.0)
    start, factor = np.arange(4), 2.0 if name == "squared" else 1.0
    value = factor * loss.refit(start, penalty=1.5, tol=1e-9).objective
    problem, known = asked(loss, 4, 1.5, start, value)
    columns, groups = (
        prove(Problem(loss, 1.5, choices), known, Options(), lambda: (start, value))
        for choices in (problem.choices, alone(d, 4))
    )
    assert columns.nodes > 1
    for what in ("objective", "lower_bound", "root_bound", "nodes"):
        assert getattr(columns, what) == getattr(groups, what)
    assert columns.support.tolist() == groups.support.tolist()
    assert len(columns.steps) == len(groups.steps)
    for one, other in zip(columns.steps, groups.steps, strict=True):
        assert (one.kind, one.feature) == (other.kind, other.feature)
        if one.dual is not None:
            assert np.array_equal(one.dual.V, other.dual.V)
    if columns.diagonal is not None:
        assert np.array_equal(columns.diagonal, groups.diagonal)


@pytest.mark.parametrize("stored", ["gram", "columns", "design"])
def test_the_gain_of_a_group_equals_that_of_a_refit(monkeypatch, stored):
    if stored != "gram":
        monkeypatch.setattr(gram_candidates, "_MAX_GRAM", 0)
    if stored == "design":
        monkeypatch.setattr(gram_candidates, "_BLOCK_ENTRIES", 60)
    monkeypatch.setattr(gram_candidates, "_GROUP_ENTRIES", 90)
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((25, 12)), rng.standard_normal((25, 2))
    X[:, 5] = X[:, 4]
    chosen, free = np.array([3, 8]), np.array([0, 1, 4, 5, 6, 2, 7, 9, 10, 11])
    sizes = np.array([2, 3, 1, 2, 2])
    gains = ResidualProblem(candidates(X, Y, 0.7), chosen, free).group_gains(sizes)
    before = value_of(X, Y, chosen, 0.7)
    for group, gain in zip(np.split(free, np.cumsum(sizes)[:-1]), gains, strict=True):
        after = value_of(X, Y, [*chosen, *group], 0.7)
        assert gain == pytest.approx(before - after, rel=1e-9)


def test_products_of_groups_in_blocks_are_in_the_order_of_the_groups(monkeypatch):
    # The design's own matrix of products has the columns in theirs.
    monkeypatch.setattr(gram_candidates, "_BLOCK_ENTRIES", 16)
    X, Y = np.random.default_rng(0).standard_normal((30, 5)), np.ones((30, 1))
    groups = [np.array([3, 4]), np.array([0, 2]), np.array([1])]
    order = [3, 4, 0, 2, 1]
    problem = candidates(X, Y, 1.0, 2, groups=groups)
    np.testing.assert_allclose(problem.gram, (X.T @ X)[np.ix_(order, order)])


@pytest.mark.parametrize("name", ["squared", "logistic"])
def test_completion_finds_the_best_last_group(name):
    rng = np.random.default_rng(4)
    X, groups = (
        rng.standard_normal((24, 9)),
        [np.array(g) for g in ([0, 8], [1], [2, 3, 4], [5, 6])],
    )
    Y, _ = random_labels(rng, 24, 2)
    make = candidates if name == "squared" else logistic_candidates
    problem = make(X, Y, 2.0, 3, groups=groups)
    assert problem.features.tolist() == [0, 8, 1, 2, 3, 4, 5, 6]
    chosen, free = np.array([0, 2]), np.array([1, 3])
    found = problem.complete(chosen, free, np.inf)
    values = [problem.fit(np.append(chosen, g))[1] for g in free]
    assert found.added.tolist() == [free[int(np.argmin(values))]]
    assert found.value == pytest.approx(min(values))
    assert min(values) * (1 - 1e-8) <= found.bound <= min(values)
    some = problem.restricted(np.array([1, 3]))
    assert (some.features.tolist(), some.names.tolist()) == ([1, 5, 6], [1, 3])
    assert some.fit(np.arange(2))[1] == pytest.approx(problem.fit(free)[1])


# ------------------------------------------------------------------------------- every choice tried
def values_of(X, Y, ridge, k):
    values = {}
    for S in combinations(range(X.shape[1]), k):
        A = np.vstack([X[:, S], np.sqrt(ridge) * np.eye(k)])
        T = np.vstack([Y, np.zeros((k, Y.shape[1]))])
        R = T - A @ np.linalg.lstsq(A, T, rcond=None)[0]
        values[S] = float(np.vdot(R, R))
    return values


def tried(X, Y, ridge, chosen, free, k, deadline=NO_DEADLINE, listing=None):
    args = X, Y, ridge, np.array(chosen, dtype=np.intp), np.array(free), k
    return enumerate_choices(*args, rounding=0.0, deadline=deadline, listing=listing)


@pytest.mark.parametrize("ridge", [0.0, 1e-9, 2.0])
@pytest.mark.parametrize(("chosen", "count"), [((), 35), ((2, 5), 5)])
def test_the_best_of_all_is_found_and_bounded_closely(ridge, chosen, count):
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((15, 7)), rng.standard_normal((15, 2))
    values = {S: v for S, v in values_of(X, Y, ridge, 3).items() if set(chosen) <= set(S)}
    best = min(values, key=values.get)
    found = tried(X, Y, ridge, chosen, np.setdiff1d(np.arange(7), chosen), 3 - len(chosen))
    assert tuple(sorted({*chosen, *found.added})) == best
    assert found.tried == count
    assert values[best] * (1 - 1e-10) <= found.bound <= values[best]


@pytest.mark.parametrize("columns", [2, 20])
def test_columns_that_may_depend_on_each_other_prove_nothing(columns):
    rng = np.random.default_rng(2)
    X, Y = rng.standard_normal((8, columns)), rng.standard_normal((8, 1))
    X[:, 1] = X[:, 0] * (1 + 1e-15)
    assert tried(X, Y, 0.0, (), range(columns), 2).bound == 0.0
    # Nor is anything claimed where no time is left.
    for listing in (None, Listing(0.1, 10)):
        late = tried(X, Y, 1.0, (), range(columns), 2, Deadline(0.0), listing)
        assert (late.added, late.bound, late.tried) == (None, 0.0, 0)
