"""Candidates: bounds that are never above the optimum, and the best last units."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rowsparse.solvers.proof import column_candidates, gram_candidates
from rowsparse.solvers.proof.candidates import Candidates
from rowsparse.solvers.proof.gram_candidates import ResidualProblem

from .problems import (
    NONE,
    best_choice,
    candidates,
    logistic_candidates,
    logistic_oracle,
    random_labels,
    random_problem,
    random_ridge,
    value_of,
)


def problem_of(loss: str, seed: int, k: int = 3) -> Candidates:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((24, 8)) + rng.standard_normal((24, 1))
    if loss == "logistic":
        Y, omega = random_labels(rng, 24, 2)
        return logistic_candidates(X, Y, 6.0, k, omega)
    return candidates(X, rng.standard_normal((24, 2)), 6.0, k)


LOSSES = ["squared", "logistic"]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(3))
def test_bounds_and_fits_are_in_order(loss, seed):
    problem = problem_of(loss, seed)
    active = np.array([1, 4, 6])
    chosen, allowed = np.array([4]), np.ones(8, dtype=bool)
    allowed[[4, 7]] = False
    W, own = problem.fit(active)
    bound = problem.bound(active, W, chosen, allowed)
    free = np.flatnonzero(allowed)
    for pair in combinations(free, 2):
        assert bound.value <= problem.fit(np.array([4, *pair]))[1]
    ordered = np.sort(bound.q[allowed])[::-1]
    assert bound.largest == (bound.q[4] + ordered[:2].sum(), ordered[1], ordered[2])
    # Over the one choice that it was fitted on, the bound is the objective but for rounding.
    nothing = np.zeros(8, dtype=bool)
    assert problem.bound(active, W, active, nothing).value == pytest.approx(own, rel=1e-9)
    assert problem.fit(NONE)[1] == pytest.approx(problem.total)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("count", [1, 2])
def test_completion_finds_the_best_last_features(loss, count):
    problem = problem_of(loss, 5, 2 + count)
    chosen, free = np.array([2, 3]), np.array([0, 1, 5, 6])
    found = problem.complete(chosen, free, np.inf)
    assert found is not None
    assert found.added is not None
    values = {
        tuple(map(int, added)): problem.fit(np.append(chosen, added))[1]
        for added in combinations(free, count)
    }
    best = min(values, key=lambda added: values[added])
    assert tuple(sorted(found.added.tolist())) == best
    assert found.value == pytest.approx(values[best])
    assert values[best] * (1 - 1e-9) <= found.bound <= values[best]


# --------------------------------------------------------------------------- candidates by products
@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_any_w_gives_a_bound_below_every_choice(seed):
    rng = np.random.default_rng(seed)
    X, Y = random_problem(rng)
    d = X.shape[1]
    k = int(rng.integers(1, d + 1))
    ridge = random_ridge(rng, X)
    problem = candidates(X, Y, ridge, k)
    active = rng.permutation(d)[: rng.integers(1, d + 1)]
    scale = np.linalg.norm(Y) / max(np.linalg.norm(X), 1e-300)
    W = rng.standard_normal((active.size, Y.shape[1])) * scale * 10.0 ** rng.uniform(-2, 1)
    bound = problem.bound(active, W, NONE, np.ones(d, dtype=bool))
    assert bound.value <= best_choice(X, Y, k, ridge)[0]


@pytest.fixture(params=["gram", "columns", "design"])
def stored(request, monkeypatch):
    """Candidates that keep their Gram matrix, their columns, or neither."""
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((6, 40)), rng.standard_normal((6, 2))
    if request.param != "gram":
        monkeypatch.setattr(gram_candidates, "_MAX_GRAM", 0)
    if request.param == "design":
        monkeypatch.setattr(gram_candidates, "_BLOCK_ENTRIES", 60)
    return X, Y, candidates(X, Y, 1.5, 3)


def test_products_are_those_of_the_columns_however_they_are_stored(stored):
    X, Y, problem = stored
    some, others = np.array([3, 30, 7]), np.array([0, 30])
    W = np.random.default_rng(1).standard_normal((3, 2))
    np.testing.assert_allclose(problem.B, X.T @ Y, atol=1e-12)
    np.testing.assert_allclose(problem.norms, np.linalg.norm(X, axis=0))
    np.testing.assert_allclose(problem.cross(some, others), X[:, some].T @ X[:, others], atol=1e-12)
    np.testing.assert_allclose(problem.block(some), X[:, some].T @ X[:, some], atol=1e-12)
    np.testing.assert_allclose(problem.products(some, W), X.T @ X[:, some] @ W, atol=1e-12)
    fewer = problem.restricted(np.array([30, 3, 7, 1]))
    assert fewer.features.tolist() == [30, 3, 7, 1]
    np.testing.assert_allclose(fewer.block(np.array([0, 1])), problem.block(np.array([30, 3])))


# ----------------------------------------------------------------------------------- the last units
@pytest.mark.parametrize("chosen", [NONE, np.array([3, 8, 1])])
@pytest.mark.parametrize("ridge", [1e-3, 5.0])
@pytest.mark.parametrize("duplicates", [False, True])
def test_gains_of_one_and_of_two_equal_refitted_differences(monkeypatch, chosen, ridge, duplicates):
    monkeypatch.setattr(gram_candidates, "_CHUNK", 4)
    monkeypatch.setattr(gram_candidates, "_LEAST_CHUNK", 1)
    rng = np.random.default_rng(0)
    X, Y = (
        rng.standard_normal((25, 14)) + rng.standard_normal((25, 1)),
        rng.standard_normal((25, 2)),
    )
    if duplicates:
        X[:, 5] = X[:, 0]
    free = np.setdiff1d(np.arange(14), chosen)
    rest = ResidualProblem(candidates(X, Y, ridge), chosen, free)
    before = value_of(X, Y, chosen, ridge)
    assert rest.total == pytest.approx(before)
    for j, gain in zip(free, rest.gains, strict=True):
        assert gain == pytest.approx(before - value_of(X, Y, [*chosen, j], ridge), rel=1e-7)
    pairs = {
        (a, b): before - value_of(X, Y, [*chosen, free[a], free[b]], ridge)
        for a, b in combinations(range(free.size), 2)
    }
    best = max(pairs.values())
    falling = sorted(pairs.values(), reverse=True)
    for most in (1, 3, 1000):
        for min_gain in (-1.0, 0.0, 0.5 * best, best * (1 - 1e-6)):
            found, gains = rest.best_pairs(min_gain, most)
            expected = [gain for gain in falling[:most] if gain >= min_gain * (1 - 1e-9)]
            assert gains == pytest.approx(expected, rel=1e-7)
            assert [pairs[i, j] for i, j in found] == pytest.approx(expected, rel=1e-7)
    assert not len(rest.best_pairs(best * (1 + 1e-6), 1)[0])


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("most", [0, 1, 4])
def test_pairs_that_a_bound_rules_out_are_no_better_than_the_threshold(monkeypatch, seed, most):
    monkeypatch.setattr(gram_candidates, "_CHUNK", 5)
    monkeypatch.setattr(gram_candidates, "_LEAST_CHUNK", 2)
    rng = np.random.default_rng(seed)
    X, c = rng.standard_normal((20, 30)) + 0.5 * rng.standard_normal((20, 1)), seed % 3 + 1
    problem = candidates(X, X[:, :5] @ rng.standard_normal((5, c)), 20.0, 4)
    chosen, allowed = np.array([7, 21]), np.ones(30, dtype=bool)
    allowed[[7, 21, 3]] = False
    free = np.flatnonzero(allowed)
    pairs = np.array(list(combinations(free, 2)))
    values = np.array([problem.fit(np.append(chosen, pair))[1] for pair in pairs])
    relaxation = problem.relaxation(np.concatenate([chosen, free]), 2)
    point, _ = relaxation.solve(relaxation.near(np.full(free.size, 2 / free.size)), tol=1e-2)
    active = np.concatenate([chosen, free])[point.active]
    bound = problem.bound(active, point.W, chosen, allowed)
    assert bound.value < values.min()
    rising = np.sort(values)
    between = [rising[at : at + 2].mean() for at in (0, 5, 40)]
    for threshold in (*between, values.min() * (1 - 1e-6)):
        below = rising[rising < threshold]
        found = problem.complete(chosen, free, threshold, bound, most)
        assert found.bound <= threshold
        if most:
            assert found.listed.values == pytest.approx(below[:most])
            others = np.append(below[most:], threshold)
            assert found.bound == pytest.approx(others.min(), rel=1e-9)
        elif below.size:
            best = sorted(pairs[values.argmin()].tolist())
            assert sorted(found.added.tolist()) == best
            assert (found.value, found.bound) == pytest.approx((below[0], below[0]), rel=1e-9)
        else:
            assert found.bound == threshold
    nothing = replace(bound, value=-np.inf, q=np.full(30, np.nan))
    found = problem.complete(chosen, free, rising[0] + 1.0, nothing)
    assert found.value == pytest.approx(rising[0])
    assert problem.is_nearly_complete(chosen, allowed, threshold, bound)
    assert not problem.is_nearly_complete(chosen[:1], allowed, threshold, bound)


def test_targets_that_depend_on_each_other_are_bounded_by_fewer():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 6)), rng.integers(0, 3, 30)
    Y = (y[:, None] == np.arange(3)) - np.bincount(y) / 30
    problem = candidates(X, Y, 3.0, 2)
    assert problem.B.shape == (6, 2)
    W, value = problem.fit(np.array([1, 4]))
    assert value == pytest.approx(value_of(X, Y, [1, 4], 3.0))
    dual = problem.dual(np.array([1, 4]), W)
    G = X[:, [1, 4]].T @ X[:, [1, 4]] + 3.0 * np.eye(2)
    np.testing.assert_allclose(dual.V, np.linalg.solve(G, X[:, [1, 4]].T @ Y), atol=1e-14)
    assert candidates(X, np.zeros((30, 2)), 3.0, 2).B.shape == (6, 2)


# -------------------------------------------------------------- the candidates of the logistic loss
@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_the_bound_of_any_coefficients_is_below_every_choice(seed):
    rng = np.random.default_rng(seed)
    n, d, k = int(rng.integers(3, 12)), 6, 3
    X = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-4, 4, d)
    X[:, 5] = X[:, 0]
    Y, omega = random_labels(rng, n, int(rng.integers(1, 3)))
    ridge, intercept = 10.0 ** rng.uniform(-8, 4), bool(rng.random() < 0.6)
    problem = logistic_candidates(X, Y, ridge, k, omega, intercept)
    active = np.sort(rng.permutation(d)[:3])
    W, _ = problem.fit(active)
    W = W * rng.uniform(0.5, 1.5, W.shape)
    allowed = np.ones(d, dtype=bool)
    allowed[1] = False
    bound = problem.bound(active, W, np.array([1]), allowed)
    oracle = logistic_oracle(X, Y, k, ridge, omega, intercept, include=[1])
    assert bound.value <= oracle.best()


def test_columns_in_blocks_are_the_same_problem(monkeypatch):
    rng = np.random.default_rng(0)
    X, (Y, omega) = rng.standard_normal((15, 7)), random_labels(rng, 15, 2)
    whole = logistic_candidates(X, Y, 2.0, 3, omega)
    monkeypatch.setattr(column_candidates, "_BLOCK_ENTRIES", 30)
    parts = logistic_candidates(X, Y, 2.0, 3, omega)
    assert parts.nbytes < whole.nbytes
    np.testing.assert_allclose(parts.norms, whole.norms)
    np.testing.assert_allclose(parts.gains_alone(), whole.gains_alone())
    active = np.array([1, 4])
    W, value = parts.fit(active)
    assert value == pytest.approx(whole.fit(active)[1])
    args = active, W, np.array([2]), np.arange(7) != 2
    assert parts.bound(*args).value == pytest.approx(whole.bound(*args).value)
    keep = np.array([1, 4])
    assert parts.restricted(keep).fit(np.arange(2))[1] == pytest.approx(value)


def test_coefficients_beyond_the_floats_bound_nothing():
    rng = np.random.default_rng(0)
    X, (Y, omega) = rng.standard_normal((10, 4)), random_labels(rng, 10, 1)
    problem = logistic_candidates(X, Y, 1.0, 2, omega)
    with np.errstate(all="ignore"):
        bound = problem.bound(
            np.array([0]), np.array([[1e308 * 10]]), np.array([], dtype=int), np.ones(4, bool)
        )
    assert bound.value == -np.inf
