"""The softmax loss of the comparison of forms, against scikit-learn and the binary loss."""

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression

from benchmarks.softmax import SoftmaxLoss
from rowsparse.design import make_design
from rowsparse.solvers.losses.logistic import LogisticLoss

X, Y = load_wine(return_X_y=True)
X = (X - X.mean(axis=0)) / X.std(axis=0)


def softmax_loss(y):
    labels = (y[:, None] == np.unique(y)).astype(float)
    return SoftmaxLoss(make_design(X, center=False, scale=False)[0], labels, np.ones(len(y)), True)


def test_the_fit_is_that_of_scikit_learn():
    fit = softmax_loss(Y).fit(X[:, :4], ridge=2.0, tol=1e-13)
    model = LogisticRegression(C=0.5, tol=1e-12, solver="newton-cg").fit(X[:, :4], Y)
    np.testing.assert_allclose(fit.W.T, model.coef_, atol=1e-6)
    assert fit.converged


def test_two_classes_are_the_binary_loss_with_half_of_the_ridge():
    y = (Y > 0).astype(int)
    loss = softmax_loss(y)
    binary = LogisticLoss(loss.design, loss.Y[:, 1:], loss.omega, True)
    two = loss.fit(X[:, :3], ridge=2.0, tol=1e-13)
    one = binary.fit(X[:, :3], ridge=1.0, tol=1e-13)
    assert two.objective == pytest.approx(one.objective, rel=1e-10)
    np.testing.assert_allclose(two.W[:, 1] - two.W[:, 0], one.W[:, 0], atol=1e-6)
