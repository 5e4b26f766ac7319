"""RPFS: its losses are those of its coefficients, and more starts do no harm."""

from __future__ import annotations

import numpy as np
import pytest

from rowsparse import RPFS
from tests.selectors.cases import residuals, three_classes

X, Y = three_classes()


@pytest.mark.parametrize("variant", ["corrected", "published"])
def test_the_objective_is_the_sum_of_residual_norms(variant):
    selector = RPFS(2, variant=variant, rho=1.2, random_state=0).fit(X, Y)
    loss = np.linalg.norm(residuals(selector, X, Y), axis=1).sum()
    assert selector.objective_ == pytest.approx(loss)
    assert not selector.coef_[:, ~selector.support_].any()


def test_the_refit_is_not_above_any_of_its_candidates():
    selector = RPFS(2, init="random", n_restarts=2, rho=1.2, random_state=0).fit(X, Y)
    assert selector.objectives_.shape == (3,)
    best = min(selector.objectives_.min(), selector.forward_objective_, selector.alm_objective_)
    assert selector.objective_ <= best * (1 + 1e-6)
    assert 0.0 <= selector.refit_gap_ <= 1e-6


def test_published_has_no_refit():
    selector = RPFS(2, variant="published", rho=1.2, random_state=0).fit(X, Y)
    assert not hasattr(selector, "refit_gap_")
    assert selector.converged_ == selector.alm_converged_
