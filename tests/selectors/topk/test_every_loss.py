"""What TopK owes with every loss: the best choice, proven, whatever the settings and the jobs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rowsparse.certificate import verify

from .losses import (
    LOSSES,
    check_a_path_has_the_best_choice_of_every_size,
    check_bounds_are_below_every_choice,
    check_groups_are_chosen_and_proven,
    check_the_proven_choice_is_the_best_of_all,
)

each_loss = pytest.mark.parametrize("case", LOSSES.values(), ids=LOSSES)
# Of the others the tests of the prover draw problems, and compare numbers of processes.
counts_and_times = pytest.mark.parametrize("case", [LOSSES["poisson"], LOSSES["cox"]])


@each_loss
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"include": [7], "exclude": [0]},
        {"fit_intercept": False},
        {"standardize": False},
        {"standardize": False, "fit_intercept": False},
        {"clip": 1.2},
        {"sparse": True},
    ],
    ids=lambda settings: " ".join(settings) or "plain",
)
def test_the_proven_choice_is_the_best_of_all_and_both_checkers_agree(case, settings):
    check_the_proven_choice_is_the_best_of_all(case, settings)


@each_loss
def test_groups_are_chosen_and_proven(case):
    check_groups_are_chosen_and_proven(case)


@each_loss
def test_a_path_has_the_best_choice_of_every_size(case):
    check_a_path_has_the_best_choice_of_every_size(case)


@counts_and_times
@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_bounds_are_below_every_choice(case, seed):
    check_bounds_are_below_every_choice(case, seed)


@counts_and_times
def test_the_answer_does_not_depend_on_the_number_of_jobs(case):
    X, y, w = case.data(5, n=60, d=60)
    options = {"certify": True, "n_restarts": 4, "alpha": 0.1}
    one, two = (case.topk(4, n_jobs=jobs, **options).fit(X, y, w) for jobs in (1, 2))
    assert (one.objective_, one.lower_bound_) == (two.objective_, two.lower_bound_)
    np.testing.assert_array_equal(one.coef_, two.coef_)


@each_loss
def test_proofs_know_their_data_and_their_loss(case):
    X, y, w = case.data(6)
    proof = case.topk(2, certify=True).fit(X, y, w).proof_
    assert proof.statement.loss == case.loss
    with pytest.raises(ValueError, match="another way"):
        verify(X, np.roll(y, 1, axis=0), proof, w)
    other = "logistic" if case.loss == "squared" else "squared"
    with pytest.raises(ValueError, match="the proof is about loss"):
        verify(X, y, proof, w, loss=other)
