"""Ridge regression in both of its forms equals scikit-learn's."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler

from rowsparse import RidgeRanking
from rowsparse.design import make_design
from rowsparse.solvers.ridge import ridge_coefficients


@pytest.mark.parametrize(("n", "d"), [(40, 7), (12, 30), (15, 15)])
@pytest.mark.parametrize("ridge", [0.1, 10.0])
def test_equals_scikit_learn(n, d, ridge):
    rng = np.random.default_rng(n)
    X, Y = rng.standard_normal((n, d)) * 3 + 1, rng.standard_normal((n, 2))
    Z = StandardScaler().fit_transform(X)
    expected = Ridge(ridge).fit(Z, Y)
    design, _ = make_design(X, center=True, scale=True)
    W = ridge_coefficients(design, Y - Y.mean(axis=0), ridge)
    np.testing.assert_allclose(W.T, expected.coef_, rtol=1e-8, atol=1e-10)
    selector = RidgeRanking(3, ridge=ridge).fit(X, Y)
    np.testing.assert_allclose(selector.coef_ * X.std(axis=0), expected.coef_, atol=1e-9)
    raw = RidgeRanking(3, ridge=ridge, standardize=False).fit(X, Y)
    np.testing.assert_allclose(raw.coef_, Ridge(ridge).fit(X, Y).coef_, atol=1e-9)
    residual = Y - expected.predict(Z)
    value = np.sum(residual**2) + ridge * np.sum(expected.coef_**2)
    assert selector.objective_ == pytest.approx(value)
    norms = np.linalg.norm(expected.coef_, axis=0)
    assert selector.order_.tolist() == np.argsort(-norms, kind="stable").tolist()
