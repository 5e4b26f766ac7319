"""NmAPG: its objective, between its lower bound and a simple choice."""

from __future__ import annotations

import numpy as np
import pytest

from rowsparse import RFS, NmAPG
from tests.selectors.cases import residuals, scaled_rows, three_classes

X, Y = three_classes()


def test_the_objective_is_that_of_the_coefficients_above_the_bound():
    selector = NmAPG(2, gamma=0.5).fit(X, Y)
    norms = np.linalg.norm(scaled_rows(selector, X), axis=1)
    assert np.flatnonzero(norms).tolist() == np.flatnonzero(selector.support_).tolist()
    loss = np.linalg.norm(residuals(selector, X, Y), axis=1).sum()
    assert selector.objective_ == pytest.approx(loss + 0.5 * norms.sum())
    assert selector.lower_bound_ <= selector.objective_
    assert selector.refit_gap_ <= 1e-6


def test_the_bound_is_just_below_the_optimum_of_rfs():
    bound = NmAPG(2, gamma=0.5).fit(X, Y).lower_bound_
    optimum = RFS(2, gamma=0.5).fit(X, Y).objective_
    assert bound <= optimum
    assert bound == pytest.approx(optimum, rel=1e-2)


@pytest.mark.filterwarnings("ignore:n_features_to_select=20")
def test_all_features_are_rfs():
    everything, rfs = NmAPG(20, gamma=0.5).fit(X, Y), RFS(8, gamma=0.5).fit(X, Y)
    assert everything.objective_ == pytest.approx(rfs.objective_, rel=1e-5)
    assert everything.rho_ == everything.mu_ == 0.0
