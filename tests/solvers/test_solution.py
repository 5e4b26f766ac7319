"""Scores and ranks of a solution."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rowsparse.solvers.solution import ranking_from_scores, relative_gap, scores_with_closeness

seeds = st.integers(0, 2**32 - 1)


@settings(max_examples=50, deadline=None)
@given(seeds, st.booleans())
def test_rows_in_use_rank_above_all_others_which_rank_by_closeness(seed, given_support):
    rng = np.random.default_rng(seed)
    W = rng.standard_normal((9, 2)) * rng.integers(0, 2, (9, 1))
    closeness = rng.uniform(0, 100, 9)
    support = np.flatnonzero(W.any(axis=1))
    if given_support:  # a row of zeros may be in it
        support = np.union1d(support, [rng.integers(0, 9)])
    scores = scores_with_closeness(W, closeness, support if given_support else None)
    outside = np.setdiff1d(np.arange(9), support)
    assert scores[support].min(initial=np.inf) > scores[outside].max(initial=0.0)
    order = outside[np.argsort(closeness[outside])]
    assert np.all(np.diff(scores[order]) >= 0)
    norms = np.linalg.norm(W, axis=1)
    np.testing.assert_allclose(scores[norms > 0], norms[norms > 0])


@settings(max_examples=50, deadline=None)
@given(seeds)
def test_a_ranking_has_the_support_first_and_the_rest_by_score(seed):
    rng = np.random.default_rng(seed)
    scores, support = rng.standard_normal(8), rng.choice(8, 3, replace=False)
    ranking = ranking_from_scores(scores, support)
    assert np.flatnonzero(ranking == 1).tolist() == sorted(support.tolist())
    outside = np.setdiff1d(np.arange(8), support)
    assert sorted(ranking[outside]) == [2, 3, 4, 5, 6]
    assert np.all(np.diff(scores[outside[np.argsort(ranking[outside])]]) <= 0)


def test_relative_gap_of_a_perfect_fit_is_zero():
    assert relative_gap(4.0, 1.0) == 0.25
    assert relative_gap(4.0, -1e-12) == 0.0
    assert relative_gap(0.0, 0.0) == 0.0
