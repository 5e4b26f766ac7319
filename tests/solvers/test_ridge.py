"""Ridge regression in both of its forms equals scikit-learn's."""

from __future__ import annotations

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
    residual = Y - expected.predict(Z)
    value = np.sum(residual**2) + ridge * np.sum(expected.coef_**2)
    assert selector.objective_ == pytest.approx(value)
    norms = np.linalg.norm(expected.coef_, axis=0)
    assert selector.order_.tolist() == np.argsort(-norms, kind="stable").tolist()


def test_golden_numbers_of_iris():
    """Checked against scikit-learn's Ridge above."""
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    selector = RidgeRanking(2).fit(X, y)
    Z = StandardScaler().fit_transform(X)
    expected = np.linalg.norm(Ridge(1.0).fit(Z, np.eye(3)[y]).coef_, axis=0)
    np.testing.assert_allclose(selector.scores_, expected, rtol=1e-8)
    assert np.flatnonzero(selector.support_).tolist() == [2, 3]


@pytest.mark.parametrize("ridge", [0.0, -1.0, np.inf, "a", None])
def test_bad_penalty(ridge):
    with pytest.raises((ValueError, TypeError), match=r"^ridge must be a number above 0"):
        RidgeRanking(1, ridge=ridge).fit(np.eye(4), [0, 1, 0, 1])
