"""Seams at which proofs were false once: each with the smallest problem that showed it."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks.exact import ExactProblem
from benchmarks.exact_curved import LogisticProblem
from rowsparse import Moments, NearOptimal, TopK
from rowsparse.certificate import Proof, verify
from rowsparse.certificate.proof import Dual, Kind, Step

from .proofs import statement

NUMBERS = {"loss": "squared", "task": "regression", "certify": True, "random_state": 0}


@pytest.mark.parametrize("seed", range(5))
def test_columns_with_a_subnormal_first_entry_are_no_copies(seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.1, 1.0, (12, 5))
    X[0] = 5e-324
    y = 3 * X[:, 4] + 0.01 * rng.standard_normal(12)
    selector = TopK(1, alpha=0, **NUMBERS).fit(X, y)
    optimum = ExactProblem.of(X, y[:, None], 1, 0.0).best()
    assert selector.get_support(indices=True).tolist() == [4]
    assert Fraction(selector.lower_bound_) <= optimum
    assert Fraction(float(verify(X, y, selector))) <= optimum


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("seed", range(6))
def test_limits_of_columns_are_not_rounded_to_the_precision_of_x(seed, loss):
    rng = np.random.default_rng(seed)
    X = (rng.standard_normal((30, 6)) + 1e5).astype(np.float32)
    centred = X.astype(float) - 1e5
    y = np.clip(centred[:, 0] - centred[:, 1], -1, 1) + 0.2 * rng.standard_normal(30)
    task = "regression" if loss == "squared" else "classification"
    y = y if loss == "squared" else (y > 0).astype(int)
    options = NUMBERS | {"loss": loss, "task": task, "alpha": 0.01, "clip": 1.0}
    stored, shifted = (TopK(2, **options).fit(A, y) for A in (X, centred))
    assert stored.status_ == "optimal"
    assert stored.lower_bound_ <= shifted.objective_
    assert shifted.lower_bound_ <= stored.objective_
    assert stored.lower_bound_ * (1 - 1e-6) <= float(verify(X, y, stored)) <= shifted.objective_


@pytest.mark.parametrize("exact", [False, True])
def test_the_last_column_beside_badly_scaled_ones(exact):
    X = np.eye(6)[:, :4].copy()
    X[0, 1], X[1, 1] = 2.5, 1e17
    y = np.array([1, 1, 0.1, 0.2, 0.5, 0.1])
    options = {"alpha": 1e-12, "standardize": False, "fit_intercept": False, "include": [0, 1]}
    proof = Proof(
        statement(4, 3, **options), np.array([0, 1, 2]), 0.0, 0.0, None, None, [Step(Kind.LAST)]
    )
    alpha = options.pop("alpha")
    optimum = ExactProblem.of(X, y[:, None], 3, alpha, **options).best()
    assert Fraction(float(verify(X, y, proof, exact=exact))) <= optimum


@pytest.mark.parametrize("seed", range(12, 20))
def test_from_moments_the_objective_is_not_below_the_optimum(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((10, 5)), rng.standard_normal(10)
    X[0] *= 1e8
    options = NUMBERS | {"alpha": 1e-3, "standardize": False}
    moments = Moments(task="regression").update(X, y)
    streamed = TopK(2, **options).fit_moments(moments)
    optimum = ExactProblem.of(X, y[:, None], 2, 1e-3, standardize=False).best()
    assert Fraction(streamed.lower_bound_) <= optimum <= Fraction(streamed.objective_)


def test_moments_of_nothing_but_rounding_errors_of_y_are_refused():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((10, 3)), rng.standard_normal(10)
    passing = Moments("regression").update(X, 1e12 * y)
    left = Moments("regression").update(X, 1e-6 * y).merge(passing).subtract(passing)
    with pytest.raises(ValueError, match="nothing but rounding errors of y"):
        TopK(2, **NUMBERS).fit_moments(left)


@pytest.mark.parametrize("seed", [1, 19, 28, 39, 75, 302])
def test_logistic_fits_on_columns_of_any_scale_end_at_the_minimum(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((25, 5))
    y = (X[:, 0] + X[:, 1] + 0.5 * rng.standard_normal(25) > 0).astype(int)
    X *= 10.0 ** rng.uniform(-2, 14, 5)
    options = {"alpha": 1e-3, "standardize": False}
    selector = TopK(2, loss="logistic", certify=True, random_state=0, **options).fit(X, y)
    exact = LogisticProblem.of(X, y[:, None], 2, 1e-3, standardize=False)
    own = float(exact.objective(selector.get_support(indices=True).tolist()))
    best = float(exact.best())
    assert selector.objective_ == pytest.approx(own, rel=1e-8)
    assert selector.lower_bound_ <= best * (1 + 1e-15)
    # In units of the columns there is hardly a ridge: it is the curvature that proves all of it.
    checked = float(verify(X, y, selector))
    assert best * (1 - 1e-9) <= checked <= best * (1 + 1e-15)
    exactly = float(verify(X, y, selector, exact=True))
    assert exactly == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("loss", ["poisson", "cox"])
@pytest.mark.parametrize("seed", range(3))
def test_other_losses_on_columns_of_any_scale_are_proven_by_their_curvature(seed, loss):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((25, 4))
    y, task = rng.poisson(np.exp(X[:, 0])).astype(float), "counts"
    if loss == "cox":
        y, task = np.column_stack([y > 0, np.exp(X[:, 0]) + rng.random(25)]), "survival"
    about = statement(4, 2, loss=loss, task=task, alpha=1e-3, standardize=False)
    proof = Proof(about, np.array([0, 1]), 0.0, 0.0, None, None, [Step(Kind.ALL)])
    X *= 10.0 ** rng.uniform(12, 15, 4)
    fast, exact = (verify(X, y, proof, exact=exact) for exact in (False, True))
    assert exact.bound * (1 - 1e-9) <= fast.bound <= exact.bound


@pytest.mark.parametrize("classes", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_weights_that_are_subnormal_keep_their_digits(seed, classes):
    rng = np.random.default_rng(seed)
    X, weights = rng.standard_normal((12, 4)), np.full(12, 10.0 ** rng.uniform(-318, -316))
    y = 1e150 * (X[:, 0] + 0.3 * rng.standard_normal(12))
    changes = {"task": "regression"}
    if classes:
        changes = {"task": "classification", "class_weight": weights[:2].tolist()}
        y, weights = y > 0, rng.uniform(1e299, 1e300, 12)
    about = statement(4, 1, **changes)
    proof = Proof(about, np.array([0]), 0.0, 0.0, None, None, [Step(Kind.ALL)])
    fast, exact = (verify(X, y, proof, weights, exact=exact) for exact in (False, True))
    assert exact.bound * (1 - 1e-9) <= fast.bound <= exact.bound
    assert exact.objective <= fast.objective <= exact.objective * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_a_subnormal_ridge_on_tiny_columns_keeps_its_digits(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((12, 4)) * 1e-160
    y = X[:, 0] * 1e160 + 0.3 * rng.standard_normal(12)
    about = statement(4, 1, alpha=float(10.0 ** rng.uniform(-321, -320)), standardize=False)
    proof = Proof(about, np.array([0]), 0.0, 0.0, None, None, [Step(Kind.ALL)])
    fast, exact = (verify(X, y, proof, exact=exact) for exact in (False, True))
    assert exact.bound * (1 - 1e-9) <= fast.bound <= exact.bound
    assert exact.objective <= fast.objective <= exact.objective * (1 + 1e-9)


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize(("loss", "intercept"), [("logistic", 1), ("logistic", 0), ("poisson", 0)])
def test_scores_whose_squares_vanish_are_not_nothing(loss, intercept, exact):
    # Beside a ridge of 1e-300, slopes of 1e-200 have scores of 1e-100.
    x = np.repeat([1.0, -1.0], 4)
    X, y = np.column_stack([x, x[::-1] * np.arange(8)]), x > 0
    task, V = "classification", 460.0
    if loss == "poisson":
        task, V, X, y = "counts", -460.0, np.abs(X), np.zeros(8)
    options = {"alpha": 1e-300, "standardize": False, "fit_intercept": bool(intercept)}
    about = statement(2, 1, loss=loss, task=task, **options)
    steps = [Step(Kind.BOUND, Dual(np.array([0]), np.array([[V]])))]
    checked = verify(X, y, Proof(about, np.array([0]), 0.0, 0.0, None, None, steps), exact=exact)
    at_660 = 8 * math.exp(-660) + 4e-300 * 660**2
    assert float(checked) <= at_660


def test_sparse_columns_whose_zeros_have_hardly_any_weight():
    rng = np.random.default_rng(0)
    X = 1e5 + rng.standard_normal((8, 4))
    X[0, 2] = 0.0
    y, weights = rng.standard_normal(8), np.ones(8)
    weights[0] = 1e-9
    settings = {"alpha": 2.0, "include": [2], **NUMBERS}
    dense, sparse = (TopK(2, **settings).fit(A, y, weights) for A in (X, sp.csr_array(X)))
    optimum = ExactProblem.of(X, y[:, None], 2, 2.0, weights=weights, include=[2]).best()
    assert Fraction(sparse.lower_bound_) <= optimum
    assert sparse.objective_ == pytest.approx(dense.objective_, rel=1e-12)
    np.testing.assert_allclose(sparse.coef_, dense.coef_, rtol=1e-11)


def test_a_diagonal_is_lowered_where_a_checker_has_more_rounding_to_count():
    # Columns within narrow limits beside weights of any size: the limits are off by more than A.
    rng = np.random.default_rng(181)
    X = rng.standard_normal((20, 6))
    X[rng.random(X.shape) < 0.6] = 0
    weights = 10.0 ** rng.uniform(-13, 0, 20)
    y = X[:, 0] + 0.3 * rng.standard_normal(20)
    settings = {"alpha": 1e-6, "clip": 0.01, "n_restarts": 0, **NUMBERS}
    selector = TopK(2, **settings).fit(sp.csr_array(X), y, weights)
    assert selector.proof_.diagonal is not None
    checked = verify(X, y, selector, sample_weight=weights).bound
    assert selector.lower_bound_ * (1 - 1e-6) <= checked <= selector.objective_


@pytest.mark.filterwarnings("ignore:4 features fit 3 samples perfectly")
@pytest.mark.parametrize("exact", [False, True])
def test_a_list_from_sums_may_have_a_choice_with_two_copies(exact):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((4, 5)), rng.standard_normal(4)
    X[:, 3] = X[:, 2]
    near = NearOptimal(TopK(4, alpha=0, loss="squared", task="regression"), tolerance=0.01)
    with pytest.warns(UserWarning, match="proves nothing"):
        near.fit_moments(Moments("regression").update(X, y))
    assert near.choices_[0].tolist() == [0, 1, 2, 3]
    checked = verify(X, y, near.proof_, exact=exact)
    assert checked.bound == 0
    ((low, high),) = checked.listed
    assert low <= ExactProblem.of(X, y[:, None], 4, 0.0).objective([0, 1, 2, 3]) <= high
