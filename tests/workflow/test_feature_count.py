"""The score over the number of features, and the number that it suggests."""

from __future__ import annotations

from typing import Any

import numpy as np

from rowsparse.workflow.cross_validation import counts_by_other_folds, score_curve
from rowsparse.workflow.plan import make_plan
from rowsparse.workflow.select import find_path
from rowsparse.workflow.settings import MethodSettings, PathSettings
from rowsparse.workflow.table import Table

from .planted import selected


def test_the_suggested_k_is_the_smallest_within_one_standard_error_of_the_best() -> None:
    spread = np.array([-0.04, 0.04, -0.04, 0.04])[:, None]  # a standard error of 0.02 or so
    scores = np.array([0.80, 0.89, 0.90, 0.90]) + spread
    curve = score_curve("accuracy", (1, 3, 5, 8), scores)
    assert (curve.chosen_k, curve.best_k) == (3, 5)
    np.testing.assert_allclose(curve.mean, [0.80, 0.89, 0.90, 0.90])
    np.testing.assert_allclose(curve.sd, 0.04)
    assert score_curve("accuracy", (1, 3, 5, 8), scores, taken=8).chosen_k == 8


def test_k_by_cross_validation(classes: Table) -> None:
    result = selected(classes, "auto", stability=0, k_max=6)
    assert result.k_was_chosen
    assert result.curve is not None
    assert result.curve.ks == (1, 2, 3, 4, 5, 6)
    assert result.k == result.curve.chosen_k <= result.curve.best_k
    assert len(result.features) == result.k
    assert result.curve.mean[result.curve.best_k - 1] == max(result.curve.mean)


def test_what_a_fold_is_scored_with_is_chosen_by_the_others() -> None:
    scores = np.array([[0.9, 0.2], [0.3, 0.5], [0.3, 0.5], [0.6, 0.1], [0.6, 0.1], [0.4, 0.8]])
    curve = score_curve("accuracy", (1, 7), scores)
    # In the first repetition the others of the first fold prefer 7 features.
    assert counts_by_other_folds(curve, scores, 3) == [7, 1, 1, 1, 1, 1]
    # In the second one the others of the last fold prefer 1, and those of the others tie.
    assert counts_by_other_folds(curve, scores[:, ::-1], 3)[0] == 1


def test_k_by_cross_validation_of_another_method(classes: Table) -> None:
    result = selected(classes, "auto", method="relieff", stability=0, k_max=7)
    assert result.curve is not None
    assert result.curve.ks == (1, 2, 3, 4, 5, 6, 7)
    assert result.k == result.curve.chosen_k


def test_many_samples_are_scored_at_some_numbers_only(classes: Table, monkeypatch: Any) -> None:
    plan = make_plan(classes, MethodSettings(include="f1,f2"))
    assert plan.counts_up_to(30) == list(range(2, 13))
    monkeypatch.setattr("rowsparse.workflow.plan.MANY_SAMPLES", 10)
    assert plan.counts_up_to(11) == [2, 3, 4, 5, 6, 8, 10, 11]
    path = find_path(classes, PathSettings(k_max=9, cv=2))
    assert path.ks == (1, 2, 3, 4, 5, 6, 7, 8, 9)
    assert path.curve.ks == (1, 2, 3, 4, 5, 6, 8, 9)


def test_the_score_is_told_around_the_k_asked_for(classes: Table) -> None:
    result = selected(classes, 4, stability=0, cv=2)
    curve = result.curve
    assert curve is not None
    assert not result.k_was_chosen
    assert curve.ks == (1, 2, 4, 6)
    assert curve.chosen_k == 4
    assert curve.mean[2] == result.score
    assert curve.sd[2] == result.score_sd
    other = selected(classes, 6, stability=0, cv=2).curve
    assert other.ks == (2, 3, 6, 9)
    assert (other.mean[0], other.mean[2]) == (curve.mean[1], curve.mean[3])
    assert selected(classes, 4, stability=0, cv=0).curve is None
    forced = selected(
        classes, 4, include="f0, f1", exclude="f2, f3, f4, f5, f6", stability=0, cv=2
    ).curve
    assert forced.ks == (2, 4, 6)
    assert selected(classes, 4, method="rfs", stability=0, cv=2).curve.ks == (2, 4, 6)
