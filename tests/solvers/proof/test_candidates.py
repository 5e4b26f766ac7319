"""Bounds never exceed the optimum; branch and bound finds and proves it."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rowsparse.design import make_design
from rowsparse.solvers.proof import tree
from rowsparse.solvers.proof.branch import BranchAndBound
from rowsparse.solvers.proof.candidates import Candidates
from rowsparse.solvers.proof.diagonal import uniform_diagonal
from rowsparse.solvers.proof.relaxation import Relaxation, project_capped_simplex
from rowsparse.solvers.subset.exchange import forward

NONE = np.zeros(0, dtype=np.intp)


def value_of(X, Y, S, ridge):
    A = X[:, S].T @ X[:, S] + ridge * np.eye(len(S))
    B = X[:, S].T @ Y
    return np.vdot(Y, Y) - np.vdot(B, np.linalg.solve(A, B))


def enumerate_best(X, Y, k, ridge, include=(), exclude=()):
    supports = [
        S
        for S in combinations(range(X.shape[1]), k)
        if set(include) <= set(S) and not set(exclude) & set(S)
    ]
    values = [value_of(X, Y, list(S), ridge) for S in supports]
    best = int(np.argmin(values))
    return values[best], supports[best]


def random_problem(rng, n=None, d=None, c=None):
    n = n or int(rng.integers(3, 12))
    d = d or int(rng.integers(2, 9))
    c = c or int(rng.integers(1, 4))
    X = rng.standard_normal((n, d))
    if rng.random() < 0.5:
        X += rng.uniform(0, 3) * rng.standard_normal((n, 1))
    if rng.random() < 0.2:
        X[:, -1] = X[:, 0]
    if rng.random() < 0.1:
        X[:, 0] = 0.0
    return X * 10.0 ** rng.uniform(-2, 2), rng.standard_normal((n, c)) * 10.0 ** rng.uniform(-2, 2)


def prove(X, Y, k, ridge, *, include=NONE, exclude=NONE, start=None, **options):
    design, _ = make_design(X, center=False, scale=False)
    keep = np.setdiff1d(np.arange(X.shape[1]), exclude)
    problem = Candidates.of(design, Y, ridge, keep)
    diagonal = uniform_diagonal(problem, k, np.asarray(include, dtype=np.intp))
    if diagonal is not None:
        problem = problem.with_diagonal(diagonal)
    if start is None:
        rest = np.setdiff1d(keep, include)
        start = np.concatenate([include, rest[: k - len(include)]]).astype(np.intp)
    objective = value_of(X, Y, list(start), ridge)
    return BranchAndBound(
        problem, k, start, objective, include=np.asarray(include, dtype=np.intp), **options
    ).run()


def is_closed(search, gap_tol=1e-6):
    return search.objective - search.lower_bound <= gap_tol * search.objective


@settings(max_examples=1500, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_any_w_gives_a_bound_below_every_choice(seed):
    rng = np.random.default_rng(seed)
    X, Y = random_problem(rng)
    d = X.shape[1]
    k = int(rng.integers(1, d + 1))
    ridge = 10.0 ** rng.uniform(-3, 2) * max(np.linalg.norm(X) ** 2 / d, 1e-6)
    design, _ = make_design(X, center=False, scale=False)
    problem = Candidates.of(design, Y, ridge)
    active = rng.permutation(d)[: rng.integers(1, d + 1)]
    scale = np.linalg.norm(Y) / max(np.linalg.norm(X), 1e-300)
    W = rng.standard_normal((active.size, Y.shape[1])) * scale * 10.0 ** rng.uniform(-2, 1)
    bound = problem.bound(active, W, NONE, np.ones(d, dtype=bool), k)
    assert bound.value <= enumerate_best(X, Y, k, ridge)[0]


@settings(max_examples=1500, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_proof_equals_exhaustive_search_and_its_bound_is_never_above(seed):
    rng = np.random.default_rng(seed)
    X, Y = random_problem(rng)
    d = X.shape[1]
    k = int(rng.integers(1, d + 1))
    ridge = 10.0 ** rng.uniform(-3, 2) * max(np.linalg.norm(X) ** 2 / d, 1e-6)
    best, _ = enumerate_best(X, Y, k, ridge)
    # The last two by all their pairs: at once, after a relaxation, or never.
    few, pairs = [(tree._FEW, tree._PAIRS), (0, tree._PAIRS), (0, 0)][seed % 3]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tree, "_FEW", few)
        patch.setattr(tree, "_PAIRS", pairs)
        proof = prove(X, Y, k, ridge)
    total = np.vdot(Y, Y)
    assert proof.lower_bound <= best
    assert is_closed(proof) or best <= 1e-6 * total
    assert proof.objective == pytest.approx(best, rel=2e-6, abs=1e-9 * total)
    assert 0 <= proof.root_bound <= best


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_include_and_exclude_are_honoured_and_the_rest_is_optimal(seed):
    rng = np.random.default_rng(seed)
    X, Y = random_problem(rng, d=7)
    k = int(rng.integers(2, 5))
    order = rng.permutation(7)
    include, exclude = np.sort(order[: k - 1][: rng.integers(0, k)]), np.sort(order[-2:])
    ridge = 0.1 * np.linalg.norm(X) ** 2 / 7
    best, _ = enumerate_best(X, Y, k, ridge, include.tolist(), exclude.tolist())
    proof = prove(X, Y, k, ridge, include=include, exclude=exclude)
    assert set(include) <= set(proof.support)
    assert not set(exclude) & set(proof.support)
    assert proof.lower_bound <= best
    assert proof.objective == pytest.approx(best, rel=2e-6)


def test_stopped_early_the_bound_is_still_valid():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((40, 14)), rng.standard_normal((40, 2))
    ridge = 2.0
    best, _ = enumerate_best(X, Y, 4, ridge)
    full = prove(X, Y, 4, ridge)
    bounds = []
    for limit in range(1, full.nodes + 1, max(full.nodes // 8, 1)):
        proof = prove(X, Y, 4, ridge, monitor=lambda p, limit=limit: p.nodes >= limit)
        assert proof.lower_bound <= best <= proof.objective + 1e-12
        bounds.append(proof.lower_bound)
    assert is_closed(full)
    assert full.nodes > 8
    assert bounds[0] < full.lower_bound


def test_gap_tolerance_is_what_is_proven():
    rng = np.random.default_rng(1)
    X, Y = rng.standard_normal((40, 30)), rng.standard_normal((40, 2))
    loose, tight = prove(X, Y, 5, 2.0, gap_tol=0.02), prove(X, Y, 5, 2.0)
    assert is_closed(loose, 0.02)
    assert loose.nodes < tight.nodes
    assert loose.lower_bound >= 0.98 * loose.objective
    assert tight.lower_bound >= (1 - 1e-6) * tight.objective


def test_time_limit_stops():
    rng = np.random.default_rng(1)
    X, Y = rng.standard_normal((60, 400)), rng.standard_normal((60, 3))
    proof = prove(X, Y, 10, 1.0, time_limit=0.2)
    assert not is_closed(proof)
    assert 0 < proof.lower_bound < proof.objective


def test_float32_bound_is_below_the_optimum_of_the_same_numbers():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((50, 9)).astype(np.float32)
    Y = rng.standard_normal((50, 2))
    best, _ = enumerate_best(X.astype(np.float64), Y, 3, 5.0)
    design, _ = make_design(X, center=False, scale=False)
    problem = Candidates.of(design, Y, 5.0)
    start = np.arange(3)
    proof = BranchAndBound(
        problem, 3, start, value_of(X.astype(np.float64), Y, [0, 1, 2], 5.0), include=NONE
    ).run()
    assert proof.lower_bound <= best


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_capped_simplex_projection_satisfies_its_optimality_condition(seed):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(1, 12))
    k = int(rng.integers(0, m + 1))
    v = rng.standard_normal(m) * 10.0 ** rng.uniform(-2, 2)
    s = project_capped_simplex(v, k)
    assert s.sum() == pytest.approx(k, abs=1e-9)
    assert np.all((s >= 0) & (s <= 1))
    # v - s is constant inside, at most that at 0 and at least that at 1.
    shift = v - s
    inside = (s > 1e-9) & (s < 1 - 1e-9)
    low = shift[s <= 1e-9].max(initial=-np.inf)
    high = shift[s >= 1 - 1e-9].min(initial=np.inf)
    assert low <= high + 1e-9
    if inside.any():
        assert np.ptp(shift[inside]) <= 1e-9 * max(1.0, np.abs(v).max())
        assert low - 1e-9 <= shift[inside].mean() <= high + 1e-9


def test_resistance_is_the_slope_of_the_best_way_without_a_feature():
    rng = np.random.default_rng(5)
    X, Y = rng.standard_normal((20, 7)), rng.standard_normal((20, 2))
    relaxation = Relaxation(X.T @ X, X.T @ Y, np.vdot(Y, Y), 4, 4.0, n_fixed=1)
    s = np.array([1.0, 0.6, 0.7, 0.5, 0.4, 0.8, 0.0])
    force = relaxation.resistance(relaxation.at(s))
    free = np.arange(1, 6)
    hessian = np.empty((5, 5))  # by differences of the gradient, -q
    for column, j in enumerate(free):
        step = np.zeros(7)
        step[j] = 1e-5
        change = relaxation.at(s + step).q - relaxation.at(s - step).q
        hessian[:, column] = -change[free] / 2e-5
    for at, j in enumerate(free):
        # Minimise d'Hd / 2 with d_j = -s_j and sum d = 0; the multiplier of d_j is the slope.
        rules = np.vstack([np.eye(5)[at], np.ones(5)])
        system = np.block([[hessian, rules.T], [rules, np.zeros((2, 2))]])
        solved = np.linalg.solve(system, np.concatenate([np.zeros(5), [-s[j], 0.0]]))
        assert force[j] == pytest.approx(solved[5], rel=1e-3)
    assert force[0] == force[6] == 0.0
    alone = relaxation.resistance(relaxation.at(np.array([1.0, 1, 0.5, 0, 0, 0, 0])))
    assert not alone.any()


def test_relaxation_gradient_and_hessian_agree_with_differences():
    rng = np.random.default_rng(3)
    X, Y = rng.standard_normal((20, 6)), rng.standard_normal((20, 2))
    relaxation = Relaxation(X.T @ X, X.T @ Y, np.vdot(Y, Y), 3, 4.0)
    s = np.full(6, 0.5)
    point = relaxation.at(s)
    for j in range(6):
        step = np.zeros(6)
        step[j] = 1e-6
        slope = (relaxation.at(s + step).phi - relaxation.at(s - step).phi) / 2e-6
        assert slope == pytest.approx(-point.q[j], rel=1e-5)
    # The Newton direction solves H d = q - level: check H d by differences of q.
    direction = relaxation._direction(point)
    change = (relaxation.at(s + 1e-6 * direction).q - relaxation.at(s - 1e-6 * direction).q) / 2e-6
    np.testing.assert_allclose(np.ptp(change + point.q), 0, atol=1e-4 * np.abs(point.q).max())


@pytest.mark.parametrize(
    ("name", "alpha", "optimum"),
    [
        ("srbct", 2.0, 39.1921),
        ("leu", 2.0, 13.7989),
        ("prostate_ge", 2.0, 26.9465),
        ("lymphoma", 2.0, 53.7138),
        ("carcinom", 2.0, 127.2977),
        ("lung", 2.0, 71.8208),
        ("leu", 0.5, 7.1155),
        ("prostate_ge", 0.5, 16.5523),
    ],
)
def test_known_optima_of_five_features_are_proven(benchmark_data, name, alpha, optimum):
    X, y = benchmark_data(name)
    X = X[:, X.std(axis=0) > 0]
    X = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    Y = np.eye(y.max() + 1)[y]
    Y = Y - Y.mean(axis=0)
    ridge = alpha * len(X)
    design, _ = make_design(X, center=False, scale=False)
    start = forward(design, Y, 5, ridge=ridge)
    proof = prove(X, Y, 5, ridge, start=start, time_limit=60)
    assert is_closed(proof)
    assert proof.objective == pytest.approx(optimum, abs=6e-5)


def test_without_a_ridge_more_samples_than_features_can_be_proven():
    rng = np.random.default_rng(5)
    X, Y = rng.standard_normal((60, 9)), rng.standard_normal((60, 2))
    best, support = enumerate_best(X, Y, 3, 0.0)
    proof = prove(X, Y, 3, 0.0)
    assert is_closed(proof)
    assert tuple(proof.support) == support
    assert proof.lower_bound <= best
    assert proof.objective == pytest.approx(best, rel=2e-6)


@pytest.mark.parametrize("n_fixed", [0, 2])
@pytest.mark.parametrize("ridge", [1e-4, 1e-1, 10.0])
def test_from_within_the_relaxation_has_the_same_minimum(ridge, n_fixed):
    rng = np.random.default_rng(7)
    X, Y = rng.standard_normal((40, 12)), rng.standard_normal((40, 2))
    X[:, 1] = X[:, 0] + 1e-2 * X[:, 1]
    relaxation = Relaxation(X.T @ X, X.T @ Y, np.vdot(Y, Y), 5, ridge, n_fixed=n_fixed)
    start = relaxation.nearest(np.full(12, 0.4))
    total = np.vdot(Y, Y)
    inside, bound = relaxation.solve_inside(start, tol=1e-6 * total)
    outside, other = relaxation.solve(start, tol=1e-6 * total)
    assert inside.phi - bound <= 1e-6 * total
    assert bound == pytest.approx(other, abs=3e-6 * total)
    assert inside.s.sum() == pytest.approx(5)
    assert np.all((inside.s >= 0) & (inside.s <= 1))
    assert np.all(inside.s[:n_fixed] == 1)
    assert outside.phi >= bound - 1e-9 * total
