"""Tiny problems at every edge, held against an enumeration in exact arithmetic.

`python -m benchmarks attack` does the same for as long as one likes.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.attack import (
    draw,
    draw_any,
    draw_counts,
    draw_extreme,
    draw_logistic,
    draw_times,
    judge,
    judge_damaged,
    judge_list,
    judge_moments,
    judge_path,
    judge_tampered,
)
from benchmarks.exact import ExactProblem
from benchmarks.exact_curved import LogisticProblem
from rowsparse import TopK
from rowsparse.certificate import verify


def broken_claims(seeds, drawn=draw, judge=judge):
    broken = {seed: judge(drawn(seed)).broken for seed in seeds}
    return {seed: what for seed, what in broken.items() if what}


def test_what_is_said_of_fixed_cases_is_true():
    assert broken_claims(range(40)) == {}


@pytest.mark.parametrize(
    ("drawn", "seeds"),
    [
        # The last ones: gains and steps beyond the range of floats.
        (draw_logistic, [*range(22, 34), 410000, 1795125452]),
        (draw_counts, range(8)),
        # Orders that are perfect with hardly a ridge, and a column that is constant.
        (draw_times, [*range(8), 14, 155]),
        # The last one: shares beyond the range of floats.
        (partial(draw_extreme, drawn=draw_times), [10, 14, 940046]),
    ],
)
def test_what_is_said_of_fixed_cases_of_curved_losses_is_true(drawn, seeds):
    assert broken_claims(seeds, drawn) == {}


def test_what_is_said_of_fixed_cases_from_moments_is_true():
    # The last ones: of columns, or of numbers, a subtraction leaves little but rounding errors.
    assert broken_claims([*range(60), 428, 549, 678, 1148], judge=judge_moments) == {}


@pytest.mark.parametrize("judged", [judge_path, judge_tampered, judge_damaged])
def test_paths_and_changed_proofs_of_any_loss_prove_what_is_true(judged):
    # The last one, tampered: a bound whose exponent is beyond all integers.
    assert broken_claims([*range(8), 1795126850], draw_any, judged) == {}


def test_lists_of_groups_some_of_which_are_excluded():
    assert broken_claims([2310065, 2310193], judge=judge_list) == {}


@pytest.mark.long
@pytest.mark.parametrize("part", range(4))
def test_what_is_said_of_more_fixed_cases_is_true(part):
    assert broken_claims(range(40 + part, 1200, 4)) == {}
    assert broken_claims(range(34 + part, 400, 4), draw_logistic) == {}
    assert broken_claims(range(part, 200, 4), draw_times) == {}
    assert broken_claims(range(60 + part, 1200, 4), judge=judge_moments) == {}


@settings(max_examples=25, deadline=None)
@given(st.integers(2**20, 2**32 - 1))
def test_what_is_said_of_any_case_is_true(seed):
    assert judge(draw(seed)).broken == []


@settings(max_examples=10, deadline=None)
@given(
    st.sampled_from(
        [draw_logistic, draw_counts, draw_times, partial(draw_extreme, drawn=draw_times)]
    ),
    st.integers(2**20, 2**32 - 1),
)
def test_what_is_said_of_any_case_of_curved_losses_is_true(drawn, seed):
    assert judge(drawn(seed)).broken == []


def test_the_oracle_equals_plain_enumeration():
    rng = np.random.default_rng(0)
    X, Y, w = rng.standard_normal((15, 6)), rng.standard_normal((15, 2)), rng.uniform(1, 2, 15)
    problem = ExactProblem.of(X, Y, 3, 0.3, weights=w)
    share = w / w.sum()
    Z, T = X - share @ X, Y - share @ Y
    Z = Z / np.sqrt(share @ Z**2) * np.sqrt(w)[:, None]
    T = T * np.sqrt(w)[:, None]
    values = []
    for S in problem.choices():
        A = Z[:, S].T @ Z[:, S] + 0.3 * w.sum() * np.eye(3)
        B = Z[:, S].T @ T
        values.append(np.vdot(T, T) - np.vdot(B, np.linalg.solve(A, B)))
        assert float(problem.objective(S)) == pytest.approx(values[-1], rel=1e-12)
    assert float(problem.best()) == pytest.approx(min(values), rel=1e-12)


def test_a_false_claim_would_be_found(monkeypatch):
    from rowsparse.solvers.proof.gram_candidates import GramCandidates

    honest = GramCandidates.bound

    def boasting(self, *arguments):
        bound = honest(self, *arguments)
        return replace(bound, value=1.02 * bound.value)

    monkeypatch.setattr(GramCandidates, "bound", boasting)
    broken = broken_claims(range(30))
    assert any("bound above the optimum" in claims for claims in broken.values())


# ------------------------------------------------------------- what an earlier version got wrong
def statement(selector):
    return selector.status_, selector.objective_, selector.lower_bound_


def test_a_proof_does_not_make_the_answer_worse():
    rng = np.random.default_rng(23)
    X = rng.standard_normal((20, 8))
    X[:, 1], X[:, 3] = X[:, 0], X[:, 2]
    X *= 1e7
    y = X[:, 0] / 1e7 + rng.standard_normal(20)
    options = {"alpha": 0.01, "standardize": False, "random_state": 0}
    plain = TopK(3, **options).fit(X, y)
    status, objective, bound = statement(TopK(3, certify=True, **options).fit(X, y))
    assert objective == plain.objective_
    assert status == "optimal"
    assert objective * (1 - 1e-6) <= bound <= objective


def test_nearly_dependent_columns_without_a_ridge_are_not_called_optimal():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((8, 9))
    z = rng.standard_normal(8)
    X[:, 1] = X[:, 0] + 1e-6 * z
    status, objective, bound = statement(TopK(2, alpha=0, certify=True, random_state=0).fit(X, z))
    assert bound <= TopK(2, alpha=0, include=[0, 1]).fit(X, z).objective_ < 1e-12
    assert status == "gap"
    assert objective < 1e-12


def test_sparse_columns_far_from_zero_have_the_dense_optimum():
    rng = np.random.default_rng(7)
    n, d = 60, 10
    f = rng.standard_normal((n, 3))
    X = f[:, rng.integers(0, 3, d)] + 0.05 * rng.standard_normal((n, d))
    X += 3e5 * rng.uniform(0.9, 0.99, d)
    y = f.sum(axis=1) + 0.3 * rng.standard_normal(n)
    options = {"alpha": 0.001, "certify": True, "random_state": 0}
    dense = TopK(3, **options).fit(X, y)
    sparse = TopK(3, **options).fit(sp.csc_array(X), y)
    assert sparse.objective_ == pytest.approx(dense.objective_, rel=1e-9)
    optimum = ExactProblem.of(X, y[:, None], 3, 0.001).best()
    assert Fraction(sparse.lower_bound_) <= optimum
    assert sparse.status_ == dense.status_ == "optimal"


@pytest.mark.parametrize("kind", [np.float32, np.float64, sp.csc_array])
def test_large_offsets_keep_their_digits(kind):
    rng = np.random.default_rng(1)
    X = kind(rng.standard_normal((20, 6)) + 1e5)
    y = rng.standard_normal(20) + 1e9
    selector = TopK(2, alpha=0.1, certify=True, random_state=0).fit(X, y)
    stored = X.toarray() if sp.issparse(X) else X.astype(float)
    optimum = float(ExactProblem.of(stored, y[:, None], 2, 0.1).best())
    assert selector.objective_ == pytest.approx(optimum, rel=1e-12)
    assert selector.status_ == "optimal"


@pytest.mark.parametrize("left_out", [0, 1, 2])
@pytest.mark.parametrize("n", [12, 60])
def test_few_choices_end_at_once(n, left_out):
    rng = np.random.default_rng(2)
    X, y = rng.standard_normal((n, 40)), rng.integers(0, 3, n)
    selector = TopK(40 - left_out, certify=True, random_state=0).fit(X, y)
    assert selector.status_ == "optimal"
    assert selector.n_nodes_ <= 3
    assert float(verify(X, y, selector)) >= selector.objective_ * (1 - 1e-6)


def test_equal_targets_leave_nothing_but_zero():
    rng = np.random.default_rng(5)
    X, y = rng.standard_normal((18, 7)), np.full(18, 1326159.0781994963)
    weights = rng.uniform(0.1, 3.0, 18)
    options = {"task": "regression", "certify": True, "random_state": 0}
    selector = TopK(3, alpha=1e-6, **options).fit(X, y, sample_weight=weights)
    assert statement(selector) == ("optimal", 0.0, 0.0)
    assert float(verify(X, y, selector, sample_weight=weights)) == 0.0


def test_nothing_but_constant_columns_to_choose_from():
    X = np.array([[1.0, 0.3], [1.0, -0.2], [1.0, 0.5], [1.0, 0.1]])
    y = np.array([0, 1, 1, 0])
    with pytest.warns(UserWarning, match="constant"):
        selector = TopK(1, alpha=0, loss="squared", exclude=[1], certify=True, random_state=0).fit(
            X, y
        )
    assert selector.status_ == "optimal"
    assert float(verify(X, y, selector)) == pytest.approx(2.0)


@pytest.mark.parametrize("seed", range(5))
def test_columns_that_add_nothing_do_not_make_a_bound_larger(seed):
    # Two of them complete every choice: no pair gains anything, and the bound is not that of pairs.
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.standard_normal((5, 3)), np.zeros((5, 4))])
    y = rng.standard_normal(5)
    with pytest.warns(UserWarning, match="constant"):
        selector = TopK(5, alpha=1.1, standardize=False, certify=True, gap_tol=0.0).fit(X, y)
    optimum = ExactProblem.of(X, y[:, None], 5, 1.1, standardize=False).best()
    assert Fraction(selector.lower_bound_) <= optimum


@pytest.mark.parametrize("seed", [17, 18, 23])
def test_a_last_feature_of_many_is_not_one_that_was_chosen_before(seed):
    # Screening fixes the first feature and leaves more last ones than are all tried.
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((38, 40))
    y = (3.0 * X[:, 0] + 0.5 * rng.standard_normal(38) > 0).astype(int)
    options = {"loss": "logistic", "alpha": 0.02, "random_state": 0}
    selector = TopK(2, certify=True, n_restarts=0, **options).fit(X, y)
    optimum = float(LogisticProblem.of(X, y[:, None], 2, 0.02).best())
    assert selector.get_support().sum() == 2
    assert selector.objective_ == pytest.approx(optimum, rel=1e-9)
    assert selector.status_ == "optimal"
    assert float(verify(X, y, selector)) == pytest.approx(optimum, rel=2e-6)


def test_a_relaxation_without_curvature_is_moved_no_further_than_its_digits_reach():
    # Columns of zeros but for rounding: a Newton step has a length of 1e300.
    assert broken_claims([20006326]) == {}


def test_pivots_that_rounding_makes_zero_end_in_no_warning():
    assert broken_claims([800813], draw_logistic) == {}


def test_screening_by_a_score_that_dwarfs_the_objective_is_no_better_than_rounding():
    # The score of the feature that is fixed is a million times the objective.
    assert broken_claims([7013795]) == {}


@pytest.mark.parametrize("column", ["constant", "copy"])
def test_included_columns_that_add_nothing_stay(column):
    rng = np.random.default_rng(6)
    X, y = rng.standard_normal((30, 7)), rng.standard_normal(30)
    X[:, 1] = 5.0 if column == "constant" else X[:, 3]
    options = {"alpha": 0, "include": [1, 3], "task": "regression"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        selector = TopK(4, certify=True, random_state=0, **options).fit(X, y)
    assert set(selector.get_support(indices=True)) >= {1, 3}
    optimum = float(ExactProblem.of(X, y[:, None], 4, 0.0, include=[1, 3]).best())
    assert selector.objective_ == pytest.approx(optimum, rel=1e-9)
    assert selector.status_ == "optimal"
    assert float(verify(X, y, selector)) == pytest.approx(optimum, rel=2e-6)
