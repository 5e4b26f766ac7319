"""The exact checker against brute force, the fast checker and proofs that do not hold."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from sklearn.datasets import load_iris

from benchmarks.exact import ExactProblem
from rowsparse import TopK
from rowsparse.certificate import exact, verify
from rowsparse.certificate.data import Table
from rowsparse.certificate.exact import exact_bound, exact_objectives
from rowsparse.certificate.proof import Dual, Kind, Proof, Step

from . import proofs

X4 = np.array([[1.0, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])
Y4 = np.array([3.0, 1, -1, -3])


def statement(d, k=1, **changes):
    return proofs.statement(d, k, **{"alpha": 1.0} | changes)


def proof_of(about, *steps, diagonal=None):
    return Proof(about, np.arange(about.k), 0.0, 0.0, diagonal, None, steps)


def dual(features, V):
    V = np.asarray(V, dtype=float)
    return Dual(np.array(features, dtype=int), V[:, None] if V.ndim == 1 else V)


def bound(X, y, proof, sample_weight=None):
    return exact_bound(Table.from_arrays(X, y, sample_weight, proof), proof)


def exact_objective(table, support):
    low, high = exact_objectives(table, [support])[0]
    assert low <= high
    return high


def sample(task, n=14, d=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)).round(3) + 0.5
    scores = X[:, :3] @ rng.standard_normal((3, 3)) + rng.standard_normal((n, 3))
    y = {
        "classes": scores.argmax(axis=1),
        "labels": (scores > 0).astype(int),
        "numbers": scores[:, 0],
    }
    return X, (scores[:, 0] > 0).astype(int) if task == "two" else y[task]


# ------------------------------------------------------------------------- the page of the format
@pytest.mark.parametrize(
    ("k", "out", "fixed", "expected"),
    [
        (1, [0], [], 4.0),
        (1, [], [1], 4.0),
        (2, [2], [], 4.0),
        (2, [], [2], 0.0),
        (2, [], [0], 10.0),
    ],
)
def test_screening_counts_the_choices_that_it_removes(k, out, fixed, expected):
    # With V = 0 the scores are 16, 4 and 0, and the bound is 20 less their sum.
    zero = dual([], np.zeros((0, 1)))
    screen = Step(Kind.SCREEN, zero, out=np.array(out, dtype=int), fixed=np.array(fixed, dtype=int))
    assert bound(X4, Y4, proof_of(statement(3, k), screen, Step(Kind.ALL))) == expected


@pytest.mark.parametrize("clip", [None, 1.0])
def test_what_is_constant_is_decided_exactly(clip):
    """A deviation of 10 eps times the largest modulus is that of a constant; more is not."""
    y = np.array([1.0, -1.0])
    for offset, least in ((20, 2.0), (21, 1.0)):
        X = np.array([[-1.0], [-1.0 + offset * 2.0**-52]])  # the deviation is half of the offset
        proof = proof_of(statement(1, clip=clip), Step(Kind.ALL))
        assert bound(X, y, proof) == pytest.approx(least, rel=1e-15)


# ------------------------------------------------------------------------------- brute force
def brute_force(X, Y, about, weights):
    """The least squared objective of all choices, in fractions."""
    names = ("standardize", "fit_intercept", "include", "exclude")
    rules = {name: getattr(about, name) for name in names}
    return ExactProblem.of(X, Y, about.k, about.alpha, weights=weights, **rules).best()


def awkward(X):
    """Duplicates up to sign and powers of two, a sum of columns, a constant and extreme scales."""
    X = np.column_stack([X, -4 * X[:, 0], X[:, 1] + X[:, 2], np.full(len(X), 0.1), X[:, 3]])
    X[:, 3] *= 2.0**-1000
    X[:, 2] *= 2.0**900
    return X


OPTIONS = (
    {},
    {"alpha": 0.0},
    {"alpha": 0.001, "standardize": False},
    {"alpha": 0.5, "fit_intercept": False},
    {"alpha": 0.5, "fit_intercept": False, "standardize": False},
    {"alpha": 0.25, "include": [4], "exclude": [0]},
)


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("task", ["two", "classes", "labels", "numbers"])
def test_squared_bounds_are_those_of_brute_force(task, options):
    X, y = sample(task)
    weights = np.random.default_rng(1).choice([0.3, 1.0, 2.0], len(y))
    model = TopK(2, loss="squared", certify=True, random_state=0, **{"alpha": 0.5} | options)
    proof = model.fit(X, y, sample_weight=weights).proof_
    table = Table.from_arrays(X, y, weights, proof)
    least = brute_force(X, table.labels, proof.statement, weights)
    found = exact_bound(table, proof)
    assert found <= least
    assert found >= least * (1 - Fraction(1, 10**5))  # the gap that the fit leaves
    assert least <= exact_objective(table, proof.support) <= least * (1 + Fraction(1, 10**12))
    assert float(verify(X, y, proof, sample_weight=weights)) == pytest.approx(found, rel=2e-9)


@pytest.mark.parametrize("alpha", [0.0, 0.125])
@pytest.mark.parametrize("steps", [(Kind.ALL,), (Kind.SPLIT, Kind.LAST, Kind.ALL)])
def test_trying_all_choices_gives_the_least_objective(alpha, steps):
    X, y = sample("numbers")
    X = awkward(X)
    about = statement(9, 3, alpha=alpha)
    proof = proof_of(about, *(Step(kind, feature=4) for kind in steps))
    least = brute_force(X, y[:, None], about, np.ones(14))
    found = bound(X, y, proof)
    assert found <= least < np.nextafter(found, np.inf)


@pytest.mark.parametrize("seed", range(8))
def test_any_dual_point_bounds_from_below(seed):
    rng = np.random.default_rng(seed)
    X, y = sample("numbers", seed=seed)
    about = statement(5, 2, alpha=float(rng.choice([0.01, 0.5])), standardize=bool(seed % 2))
    point = dual([0, 1, 2], rng.standard_normal(3) * 0.3)
    screen = Step(Kind.SCREEN, point, out=np.array([3]), fixed=np.array([], dtype=int))
    proof = proof_of(about, screen, Step(Kind.SPLIT, feature=0), *[Step(Kind.BOUND, point)] * 2)
    diagonal = replace(proof, diagonal=np.full(5, 0.05)) if about.alpha > 0.1 else proof
    least = brute_force(X, y[:, None], about, np.ones(14))
    for each in (proof, diagonal):
        found = bound(X, y, each)
        assert 0 <= found <= least
        assert float(verify(X, y, each)) == pytest.approx(found, rel=1e-9, abs=1e-9)


# ------------------------------------------------------------- the logistic loss, clip, weights
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"fit_intercept": False},
        {"standardize": False, "class_weight": "balanced"},
        {"class_weight": {0: 1.0, 1: 2.5, 2: 0.3}},
        {"clip": 1.0},
        {"include": [3], "exclude": [1]},
    ],
)
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_bounds_agree_with_the_fast_checker(loss, options):
    X, y = sample("classes", n=40, d=8)
    model = TopK(3, alpha=0.125, loss=loss, certify=True, random_state=0, **options).fit(X, y)
    proof = model.proof_
    table = Table.from_arrays(X, y, None, proof)
    found = exact_bound(table, proof)
    objective = exact_objective(table, proof.support)
    assert float(verify(X, y, proof)) == pytest.approx(found, rel=1e-9)
    assert found <= objective
    assert objective == pytest.approx(proof.objective, rel=1e-10)
    assert found == pytest.approx(objective, rel=1e-5)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_iris_and_labels_that_all_rows_share(loss):
    X, y = load_iris(return_X_y=True)
    proof = TopK(2, loss=loss, certify=True, random_state=0).fit(X, y).proof_
    assert bound(X, y, proof) == pytest.approx(float(verify(X, y, proof)), rel=1e-9)
    X, y = sample("labels", n=30)
    y[:, 1] = 1
    proof = TopK(2, loss=loss, certify=True, random_state=0).fit(X, y).proof_
    assert bound(X, y, proof) == pytest.approx(float(verify(X, y, proof)), rel=1e-9)


@pytest.mark.parametrize("intercept", [True, False])
def test_any_dual_point_bounds_the_logistic_loss(intercept):
    X, y = sample("two", n=30)
    about = statement(
        5, 2, loss="logistic", task="classification", fit_intercept=intercept, alpha=0.1
    )
    table = Table.from_arrays(X, y, None, proof_of(about))
    every = bound(X, y, proof_of(about, Step(Kind.ALL)))
    objectives = [exact_objective(table, np.array(S)) for S in combinations(range(5), 2)]
    assert every == pytest.approx(min(objectives), rel=1e-12)
    assert every <= min(objectives)
    rng = np.random.default_rng(0)
    for scale in (0.1, 1.0, 1e4, 1e12, 1e200):
        step = Step(Kind.BOUND, dual(range(5), rng.standard_normal(5) * scale))
        assert 0 <= bound(X, y, proof_of(about, step)) <= every
    separated = np.where(y, 1.0, -1.0)[:, None] + 0.1 * X
    step = Step(Kind.BOUND, dual(range(5), np.full(5, 1e12)))
    assert bound(separated, y, proof_of(about, step)) < 1e-9


@pytest.mark.parametrize("separable", [True, False])
@pytest.mark.parametrize("alpha", [1e-6, 1e-18])
@pytest.mark.parametrize("scale", [1.0, 1e14])
def test_fits_of_near_copies_with_hardly_a_ridge_close_the_gap(separable, alpha, scale):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 4))
    y = (X[:, 0] + (0 if separable else 2) * rng.standard_normal(20) > 0).astype(int)
    X[:, 3] = X[:, 0] + 1e-7 * rng.standard_normal(20)
    X[:, 2] *= scale
    options = {"alpha": alpha, "loss": "logistic", "task": "classification"}
    for about in (statement(4, 4, **options), statement(4, 4, standardize=False, **options)):
        proof = proof_of(about, Step(Kind.ALL))
        objective = exact_objective(Table.from_arrays(X, y, None, proof), np.arange(4))
        assert bound(X, y, proof) == pytest.approx(objective, rel=1e-14)


def test_the_objective_of_labels_without_columns_is_their_entropy():
    y = np.array([0, 0, 0, 1])
    about = statement(1, loss="logistic", task="classification")
    proof = proof_of(about, Step(Kind.ALL))
    assert bound(np.ones((4, 1)), y, proof) == pytest.approx(
        4 * np.log(4) - 3 * np.log(3), rel=1e-14
    )


# ------------------------------------------------------------------------ without python-flint
@pytest.mark.parametrize("alpha", [0.0, 0.5])
def test_fractions_give_the_same_bound(alpha, monkeypatch):
    X, y = sample("classes", n=20, d=12)
    proof = TopK(3, alpha=alpha, loss="squared", certify=True, random_state=0).fit(X, y).proof_
    with_flint = bound(X, y, proof)
    monkeypatch.setattr(exact, "flint", None)
    assert bound(X, y, proof) == with_flint


@pytest.mark.parametrize("options", [{"loss": "logistic", "task": "classification"}, {"clip": 2.0}])
def test_balls_need_flint(options, monkeypatch):
    monkeypatch.setattr(exact, "flint", None)
    with pytest.raises(ImportError, match=r"rowsparse\[exact\]"):
        bound(X4, np.array([0, 1, 0, 1]), proof_of(statement(3, **options), Step(Kind.OPEN)))


# --------------------------------------------------------------------- proofs that do not hold
ONE = dual([0], [1.0])
NONE = np.zeros(0, dtype=int)
BAD = {
    "no steps": (),
    "too many steps": (Step(Kind.BOUND, ONE), Step(Kind.OPEN)),
    "choices remain": (Step(Kind.SPLIT, feature=0), Step(Kind.BOUND, ONE)),
    "split outside": (Step(Kind.SPLIT, feature=3), Step(Kind.OPEN), Step(Kind.OPEN)),
    "split on none": (Step(Kind.SPLIT), Step(Kind.OPEN), Step(Kind.OPEN)),
    "split twice": (Step(Kind.SPLIT, feature=0), Step(Kind.SPLIT, feature=0), Step(Kind.OPEN)),
    "outside": (Step(Kind.BOUND, dual([-1], [1.0])),),
    "twice": (Step(Kind.BOUND, dual([0, 0], [1.0, 1.0])),),
    "not finite": (Step(Kind.BOUND, dual([0], [np.nan])),),
    "shape": (Step(Kind.BOUND, dual([0], [[1.0, 2.0]])),),
    "rows": (Step(Kind.BOUND, dual([0], [1.0, 2.0])),),
    "both": (Step(Kind.SCREEN, ONE, out=np.array([1]), fixed=np.array([1])), Step(Kind.OPEN)),
    "out twice": (Step(Kind.SCREEN, ONE, out=np.array([1, 1]), fixed=NONE), Step(Kind.OPEN)),
    "out outside": (Step(Kind.SCREEN, ONE, out=np.array([7]), fixed=NONE), Step(Kind.OPEN)),
    "no lists": (Step(Kind.SCREEN, ONE), Step(Kind.OPEN)),
}


def refused(X, y, proof, exact):
    with pytest.raises(ValueError, match="the proof does not hold"):
        verify(X, y, proof, exact=exact)


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("name", BAD)
def test_steps_that_do_not_fit_are_refused(name, exact):
    refused(X4, Y4, proof_of(statement(3), *BAD[name]), exact)


@pytest.mark.parametrize("exact", [False, True])
def test_steps_of_another_loss_or_size_are_refused(exact):
    y = np.array([0, 1, 0, 1])
    logistic = statement(3, loss="logistic", task="classification")
    for X, targets, proof in (
        (X4, y, proof_of(logistic, Step(Kind.LAST))),
        (X4, y, proof_of(logistic, Step(Kind.OPEN), diagonal=np.full(3, 0.1))),
        (X4, Y4, proof_of(statement(3, 3), Step(Kind.LAST))),
        (np.tile(X4, 10), Y4, proof_of(statement(30, 15), Step(Kind.ALL))),
        (X4, Y4, proof_of(statement(3, exclude=[0]), Step(Kind.BOUND, ONE))),
    ):
        refused(X, targets, proof, exact)


@pytest.mark.parametrize(
    "shares", [[0.5, 0.5], [0.5, 0.5, 0.0], [0.5, 0.5, 1.5], [0.5, 0.5, np.nan], [1.0, 0.5, 0.5]]
)
def test_diagonals_that_are_not_admissible_are_refused(shares):
    X = np.column_stack([X4[:, :2], X4[:, 0] + X4[:, 1]])
    proof = proof_of(statement(3), Step(Kind.BOUND, ONE), diagonal=np.array(shares))
    for exact_too in (False, True):
        with pytest.raises(ValueError, match="diagonal"):
            verify(X, Y4, proof, exact=exact_too)
    wide = proof_of(statement(9), Step(Kind.OPEN), diagonal=np.full(9, 0.1))
    with pytest.raises(ValueError, match="too many columns"):
        bound(np.hstack([X, X, X]), Y4, wide)


def test_a_diagonal_up_to_the_limit_is_admissible():
    about = statement(3, alpha=0.5)  # A = 6 I
    for share, least in ((0.5, 20 - 64 / 3), (1 - 2**-40, 20 - 64 / 6)):
        proof = proof_of(
            about, Step(Kind.BOUND, dual([], np.zeros((0, 1)))), diagonal=np.full(3, share)
        )
        assert bound(X4, Y4, proof) == pytest.approx(max(least, 0.0), rel=1e-11)


@pytest.mark.parametrize("clip", [None, 2.0])
def test_a_diagonal_of_nearly_equal_columns(clip):
    X = np.column_stack([X4[:, 0], X4[:, 0] + 2.0**-12 * X4[:, 1]])
    step = Step(Kind.BOUND, dual([], np.zeros((0, 1))))
    about = statement(2, alpha=0.0, clip=clip)
    least = 1 - 1 / np.sqrt(1 + 2.0**-24)  # the least eigenvalue of the correlations
    bound(X, Y4, proof_of(about, step, diagonal=np.full(2, 0.99 * least)))
    with pytest.raises(ValueError, match="diagonal"):
        bound(X, Y4, proof_of(about, step, diagonal=np.full(2, 1.01 * least)))


@pytest.mark.parametrize("scale", [5e-324, 1e-300, 1e300])
def test_columns_and_targets_of_any_size(scale):
    proof = proof_of(statement(3), Step(Kind.ALL))
    table = Table.from_arrays(X4 * scale, Y4, None, proof)
    least = 20.0 if scale < 2.0**-1022 else 12.0  # so small a deviation is that of a constant
    assert exact_bound(table, proof) == exact_objective(table, np.array([0])) == least
    table = Table.from_arrays(X4, Y4 * scale, None, proof)
    exactly = 12 * Fraction(scale) ** 2
    if exactly > np.finfo(float).max:
        assert exact_bound(table, proof) == np.finfo(float).max
        assert exact_objective(table, np.array([0])) == np.inf
    else:
        assert exact_bound(table, proof) <= exactly <= exact_objective(table, np.array([0]))


def test_a_choice_of_constants_explains_nothing():
    proof = proof_of(statement(1, alpha=0.0), Step(Kind.ALL))
    table = Table.from_arrays(np.ones((4, 1)), Y4, None, proof)
    assert exact_bound(table, proof) == exact_objective(table, np.array([0])) == 20.0


def test_columns_left_out_without_a_ridge_are_not_in_the_pool():
    X = np.column_stack([X4[:, 0], -2 * X4[:, 0], np.ones(4), 3 * X4[:, 0], X4[:, 1]])
    about = statement(5, 2, alpha=0.0)
    assert bound(X, Y4, proof_of(about, Step(Kind.ALL))) == 0.0
    for j, holds in enumerate([True, False, False, True, True]):
        proof = proof_of(about, Step(Kind.SPLIT, feature=j), Step(Kind.ALL), Step(Kind.ALL))
        if holds:
            assert bound(X, Y4, proof) == 0.0
            continue
        with pytest.raises(ValueError, match="the proof does not hold"):
            bound(X, Y4, proof)
    # The constant takes a place of the choice: one column remains, and the first is the best.
    included = replace(about, include=[2])
    assert bound(X, Y4, proof_of(included, Step(Kind.LAST))) == 20 - 16
