"""Scaled data and the bounds of both losses, against formulae and enumeration."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.exact import ExactProblem
from benchmarks.exact_curved import LogisticProblem
from rowsparse.certificate.data import representatives
from rowsparse.certificate.logistic_bounds import LogisticBounds
from rowsparse.certificate.squared_bounds import SquaredBounds
from rowsparse.certificate.step_choices import Choices

from .proofs import scaled, table_of

ALL = Choices(np.array([1]), np.arange(6) != 1, 2)


def sample(seed=0, n=12, d=4):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) + 3.0, rng.standard_normal((n, 2))


@pytest.mark.parametrize("factor", [1.0 - 1e-9, 1.0 + 1e-9])
def test_a_column_at_the_limit_of_constant_ones_proves_nothing(factor):
    X, Y = sample()
    X[:, 1] = 1.0
    X[::2, 1] -= 20 * np.finfo(float).eps * factor
    assert scaled(X, Y).error == np.inf
    X[::2, 1] -= 80 * np.finfo(float).eps
    assert scaled(X, Y).error < 1.0


def test_copies_are_told_from_columns_with_the_same_beginning():
    X = np.array([[5e-324, 5e-324, 0.0], [1.0, 2.0, 1.0], [2.0, 3.0, 3.0]])
    X = np.column_stack([X, -4.0 * X[:, 2], X[:, 2]])
    found = representatives(X, np.zeros(5, dtype=bool), np.array([4, 0, 1, 2, 3]))
    assert found.tolist() == [0, 1, 4, 4, 4]


@np.errstate(invalid="ignore", divide="ignore")
@pytest.mark.parametrize("n", [5, 30])
@pytest.mark.parametrize("alpha", [1e-6, 0.3])
@pytest.mark.parametrize("seed", range(3))
def test_every_kind_of_squared_bound_is_below_every_choice(seed, n, alpha):
    X, Y = sample(seed, n, 6)
    X[:, 3] *= 1e9
    table = table_of(X, Y, k=3, alpha=alpha, standardize=False, fit_intercept=False)
    bounds = SquaredBounds(table, scaled_of(table), np.arange(6), None)
    exact = ExactProblem.of(X, Y, 3, alpha, standardize=False, fit_intercept=False, include=[1])
    best, unit = exact.best(), unit_of(bounds)
    V = 0.3 * np.random.default_rng(seed).standard_normal((3, 2))
    for value, _ in bounds.bounds(np.array([0, 1, 4]), V, ALL):
        assert Fraction(value) * unit <= best
    every = bounds.every(ALL)
    quick, last = bounds.last(ALL, 0.0), bounds.last(ALL, bounds.total)
    assert Fraction(quick) <= Fraction(last) <= best / unit
    assert float(last * unit) == pytest.approx(float(best), rel=1e-10, abs=1e-12 * bounds.total)
    assert Fraction(every) * unit <= best
    assert float(every * unit) == pytest.approx(float(best), rel=1e-6, abs=1e-9 * bounds.total)
    value = bounds.fitted(np.array([[1, 2, 3]]))[1][0]
    assert Fraction(value) * unit >= exact.objective([1, 2, 3])
    assert float(value * unit) == pytest.approx(float(exact.objective([1, 2, 3])), rel=1e-6)


@np.errstate(invalid="ignore", divide="ignore")
def test_without_a_ridge_the_last_columns_are_tried_one_by_one():
    X, Y = sample(0, 30, 6)
    table = table_of(X, Y, k=3, alpha=0.0, fit_intercept=False)
    bounds = SquaredBounds(table, scaled_of(table), np.arange(6), None)
    best = ExactProblem.of(X, Y, 3, 0.0, fit_intercept=False, include=[1]).best()
    found = Fraction(bounds.last(ALL, bounds.total)) * unit_of(bounds)
    assert best * (1 - Fraction(1, 10**10)) <= found <= best


def unit_of(bounds):
    _, unit, exponent = bounds.factor
    return Fraction(unit) * Fraction(2) ** exponent


def scaled_of(table):
    from rowsparse.certificate.data import Scaled

    return Scaled.from_table(table)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_every_kind_of_logistic_bound_is_below_every_choice(seed):
    rng = np.random.default_rng(seed)
    n, c = int(rng.integers(4, 15)), int(rng.integers(1, 3))
    X, weights = rng.standard_normal((n, 6)), rng.uniform(0.3, 2.0, n)
    T = (rng.random((n, c)) < 0.5).astype(float)
    T[0], T[1] = 0, 1
    alpha, intercept = 10.0 ** rng.uniform(-4, 3), bool(rng.random() < 0.6)
    options = {"alpha": alpha, "standardize": False, "fit_intercept": intercept}
    table = table_of(X, T, weights, k=3, loss="logistic", task="multilabel", **options)
    bounds = LogisticBounds(table, scaled_of(table), np.arange(6), None)
    oracle = LogisticProblem.of(
        X,
        T,
        3,
        alpha,
        weights=weights,
        include=[1],
        **{name: options[name] for name in ("standardize", "fit_intercept")},
    )
    best, total = oracle.best(), float(unit_of(bounds))
    V = 10.0 ** rng.uniform(-2, 2) * rng.standard_normal((2, c))
    ((value, _),) = bounds.bounds(np.array([0, 1]), V, ALL)
    assert value * total <= best
    tried = bounds.every(ALL) * total
    assert tried <= best
    assert tried == pytest.approx(float(best), rel=1e-6, abs=1e-7 * float(oracle.total))
    value = bounds.fitted(np.array([[1, 2, 3]]))[1][0] * total
    assert value == pytest.approx(float(oracle.objective([1, 2, 3])), rel=1e-8)


def test_a_diagonal_is_admissible_only_below_the_products():
    X, Y = sample(0, 30, 6)
    table = table_of(X, Y, k=3)
    data = scaled_of(table)
    A = data.Z.T @ data.Z + 0.5 * np.eye(6)
    share = np.linalg.eigvalsh(A)[0] / 1.5 * 0.99
    bounds = SquaredBounds(table, data, np.arange(6), np.full(6, share))
    values = [bounds.fitted(np.array([[1, *S]]))[1][0] for S in combinations([0, 2, 3, 4, 5], 2)]
    V = 0.1 * np.random.default_rng(0).standard_normal((6, 2))
    ((value, _),) = bounds.bounds(np.arange(6), V, ALL)
    assert value <= min(values)
    for wrong in (
        np.full(6, 1.02 * share),
        np.full(5, share),
        np.full(6, -share),
        np.full(6, np.nan),
    ):
        with pytest.raises(ValueError, match="its diagonal"):
            SquaredBounds(table, data, np.arange(6), wrong)
    wide = table_of(X[:2], Y[:2], k=3)
    with pytest.raises(ValueError, match="more than twice as many columns"):
        SquaredBounds(wide, scaled_of(wide), np.arange(6), np.full(6, share))
