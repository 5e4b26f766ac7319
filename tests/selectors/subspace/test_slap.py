"""SLAP: its projection meets the constraint, and a fixed weight never raises the objective."""

from __future__ import annotations

import numpy as np
import pytest

from rowsparse import SLAP
from tests.selectors.cases import three_classes

X, Y = three_classes()


@pytest.mark.filterwarnings("ignore:SLAP did not converge")
@pytest.mark.parametrize("standardize", [False, True])
def test_components_whiten_the_data_and_their_rows_are_the_scores(standardize):
    selector = SLAP(2, standardize=standardize, max_iter=5).fit(X, Y)
    Z = (X - X.mean(axis=0)) / (X.std(axis=0) if standardize else 1.0)
    projected = Z @ selector.components_.T
    assert projected.shape == (60, 3)
    np.testing.assert_allclose(projected.T @ projected, np.eye(3), atol=1e-8)
    np.testing.assert_allclose(selector.scores_, np.linalg.norm(selector.components_, axis=0))


def test_units_do_not_matter():
    plain, other = (SLAP(2, standardize=False).fit(data, Y) for data in (X, X * 1000))
    np.testing.assert_array_equal(plain.order_, other.order_)
    np.testing.assert_allclose(other.components_ * 1000, plain.components_, rtol=1e-5, atol=1e-8)


@pytest.mark.filterwarnings("ignore:SLAP did not converge")
def test_a_fixed_weight_never_raises_the_objective():
    selector = SLAP(2, similarity_weight=0.5, max_iter=20, tol=1e-6).fit(X, Y)
    assert np.all(np.diff(selector.history_) <= 1e-6 * selector.history_[0])
    assert selector.objective_ == pytest.approx(selector.history_[-1])
