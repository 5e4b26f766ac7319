"""ProjectedGradient: coded targets, the safe step, and steps that are too long."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from rowsparse import ProjectedGradient
from tests.selectors.cases import residuals, three_classes

X, Y = three_classes()
Z = (X - X.mean(axis=0)) / X.std(axis=0)


@pytest.mark.parametrize("weights", [None, np.linspace(0.5, 2.0, 60)])
def test_classes_are_coded_by_their_sizes_from_pangs_start(weights):
    selector = ProjectedGradient(2).fit(X, Y, weights)
    w = np.ones(60) if weights is None else weights
    T = np.eye(3)[Y]
    coded = T / np.sqrt(w @ T)
    rows = np.sum((coded - X @ selector.coef_.T - selector.intercept_) ** 2, axis=1)
    assert selector.objective_ == pytest.approx(w @ rows)
    assert selector.refitted_objective_ <= selector.objective_ * (1 + 1e-12)


def test_random_starts_have_plain_targets_and_the_best_is_kept():
    selector = ProjectedGradient(2, init="random", n_restarts=3, random_state=0).fit(X, Y)
    assert selector.objectives_.shape == (4,)
    assert selector.objective_ == pytest.approx(selector.objectives_.min())
    assert selector.objective_ == pytest.approx(np.sum(residuals(selector, X, Y) ** 2))


def test_the_default_step_is_one_over_the_squared_norm():
    selector = ProjectedGradient(2).fit(X, Y)
    assert selector.step_ == pytest.approx(1 / np.linalg.norm(Z, 2) ** 2, rel=1e-3)
    assert np.all(np.diff(selector.history_) <= 1e-12)


def test_steps_that_are_too_long_are_given_up_with_a_warning():
    with pytest.warns(ConvergenceWarning, match="diverged with steps of 10, .* pass a shorter"):
        selector = ProjectedGradient(2, step=10.0).fit(X, Y)
    assert selector.diverged_
    assert np.isfinite(selector.coef_).all()
