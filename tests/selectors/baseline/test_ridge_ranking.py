"""RidgeRanking is the ranking of scikit-learn's ridge regression."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from rowsparse import RidgeRanking
from tests.selectors.cases import three_classes

X, Y = three_classes()


@pytest.mark.parametrize("standardize", [False, True])
def test_it_is_ridge_regression(standardize):
    scale = X.std(axis=0) if standardize else np.ones(8)
    selector = RidgeRanking(3, ridge=2.0, standardize=standardize).fit(X, Y)
    model = Ridge(alpha=2.0).fit(X / scale, np.eye(3)[Y])
    np.testing.assert_allclose(selector.coef_ * scale, model.coef_, atol=1e-10)
    np.testing.assert_allclose(selector.intercept_, model.intercept_)
    norms = np.linalg.norm(model.coef_, axis=0)
    np.testing.assert_allclose(selector.scores_, norms)
    assert selector.order_.tolist() == np.argsort(-norms).tolist()
    assert set(selector.get_support(indices=True)) == set(selector.order_[:3])
