"""Folds by their Moments, against folds by their samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score as r2_of_predictions

from rowsparse import Moments, TopKCV
from rowsparse.moments.parts import MomentsInParts
from rowsparse.selectors.meta.moments_validation import r2_score

rng = np.random.default_rng(0)
X = rng.standard_normal((120, 12)) + 5.0
NUMBERS = X[:, :3] @ rng.standard_normal((3, 2)) + rng.standard_normal((120, 2))
CLASSES = np.digitize(NUMBERS[:, 0], np.quantile(NUMBERS[:, 0], [0.3, 0.7]))


def folds_of(y: Any, n: int, classes: bool) -> list[tuple[Any, Any]]:
    part = np.arange(120) % n
    if classes:
        for c in np.unique(y):
            part[y == c] = np.arange(np.count_nonzero(y == c)) % n
    return [(np.flatnonzero(part != i), np.flatnonzero(part == i)) for i in range(n)]


def test_r2_is_that_of_the_predictions() -> None:
    support, w = np.array([0, 2, 7]), rng.random(120)
    model = LinearRegression().fit(X[:50, support], NUMBERS[:50])
    found = Moments().update(X, NUMBERS, w).statistics
    expected = r2_of_predictions(NUMBERS, model.predict(X[:, support]), sample_weight=w)
    assert r2_score(found, model.coef_, model.intercept_, support) == pytest.approx(expected)


def test_a_target_without_scatter_counts_as_in_sklearn() -> None:
    Y = np.column_stack([NUMBERS[:, 0], np.full(120, 2.0), np.full(120, 2.0)])
    coef, intercept = np.zeros((3, 1)), np.array([0.0, 2.0, 1.0])
    expected = r2_of_predictions(Y, np.tile(intercept, (120, 1)))
    found = r2_score(Moments().update(X, Y).statistics, coef, intercept, np.array([1]))
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("task", ["regression", "classification"])
@pytest.mark.parametrize("n_parts", [3, 6])
def test_scores_are_those_of_folds_of_samples(task: str, n_parts: int) -> None:
    classes = task == "classification"
    y = CLASSES if classes else NUMBERS
    dealt = MomentsInParts(n_parts, "auto", products=True)
    for start in range(0, 120, 33):
        dealt.update(X[start : start + 33], y[start : start + 33])
    found = TopKCV(k_max=6, cv=3, alphas=[0.1, 1.0], random_state=0).fit_moments(dealt.parts)
    parts = folds_of(y, n_parts, classes)
    tests = [np.sort(np.concatenate([parts[j][1] for j in range(i, n_parts, 3)])) for i in range(3)]
    splits = [(np.setdiff1d(np.arange(120), rows), rows) for rows in tests]
    # The indicators of classes as numbers have the scores that are asked for.
    Y = np.eye(3)[CLASSES] if classes else NUMBERS
    whole = TopKCV(k_max=6, cv=splits, alphas=[0.1, 1.0], task="regression", random_state=0).fit(
        X, Y
    )
    for name, values in whole.cv_results_.items():
        np.testing.assert_allclose(found.cv_results_[name], values, rtol=1e-9)
    assert (found.n_features_, found.alpha_) == (whole.n_features_, whole.alpha_)
    np.testing.assert_array_equal(found.support_, whole.support_)


def test_ebic_needs_no_parts() -> None:
    found = TopKCV(k_max=6, rule="ebic", random_state=0, loss="squared").fit_moments(
        Moments().update(X, CLASSES)
    )
    whole = TopKCV(k_max=6, rule="ebic", random_state=0, loss="squared").fit(X, CLASSES)
    np.testing.assert_allclose(found.cv_results_["ebic"], whole.cv_results_["ebic"], rtol=1e-9)
    np.testing.assert_array_equal(found.support_, whole.support_)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"estimator": LinearRegression()}, "need the samples themselves"),
        ({"scoring": "accuracy"}, "need the samples themselves"),
        ({"cv": [([0], [1])]}, "cv must be a number of folds"),
        ({"cv": 4}, "fewer than the cv=4 folds"),
        ({"loss": "logistic"}, "loss='squared' only"),
    ],
)
def test_what_needs_samples_is_refused(options: dict[str, Any], message: str) -> None:
    parts = [Moments().update(X[i::3], CLASSES[i::3]) for i in range(3)]
    with pytest.raises(ValueError, match=message):
        TopKCV(k_max=3, **options).fit_moments(parts)
