"""The diagonal that takes the place of the ridge: below the Gram matrix, and worth it."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import PolynomialFeatures

from rowsparse import TopK
from rowsparse._deadline import NO_DEADLINE
from rowsparse.solvers.proof.diagonal import best_diagonal, uniform_diagonal

from .problems import candidates


def collinear(seed=0, n=80, d=14, noise=1e-3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X[:, 1] = X[:, 0] + noise * rng.standard_normal(n)
    Y = X[:, 2:5].sum(axis=1, keepdims=True) + rng.standard_normal((n, 1))
    return X, Y


def found(problem):
    """What there is, whatever it is worth: with an objective of 0 there is no gap to close."""
    uniform = uniform_diagonal(problem)
    better = best_diagonal(problem, uniform, 0.0, NO_DEADLINE)
    return [D for D in (uniform, better) if D is not None]


@pytest.mark.parametrize("ridge", [0.0, 1e-3, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_it_is_below_the_gram_matrix(seed, ridge):
    X, Y = collinear(seed)
    diagonals = found(candidates(X, Y, ridge, 4))
    assert diagonals
    for D in diagonals:
        assert D.min() > 0
        least = np.linalg.eigvalsh(X.T @ X + ridge * np.eye(14) - np.diag(D))[0]
        assert least > -1e-12 * np.linalg.norm(X) ** 2


@pytest.mark.parametrize("ridge", [0.0, 0.5])
def test_the_problem_is_the_same(ridge):
    X, Y = collinear(1, noise=0.1)
    problem = candidates(X, Y, ridge, 4)
    for D in found(problem):
        other = problem.with_diagonal(D)
        for S in (np.array([0, 3, 7]), np.array([2, 3, 4, 9])):
            W, value = problem.fit(S) if ridge else (None, None)
            V, same = other.fit(S)
            B = X[:, S].T @ Y
            direct = np.linalg.solve(X[:, S].T @ X[:, S] + ridge * np.eye(S.size), B)
            assert same == pytest.approx(problem.total - np.vdot(B, direct), rel=1e-10)
            np.testing.assert_allclose(V * other.scale[S, None], direct, rtol=1e-8)
            if ridge:
                assert value == pytest.approx(same, rel=1e-10)
                np.testing.assert_allclose(W, direct, rtol=1e-8)


@pytest.mark.parametrize("d", [2, 3, 40, 300])
def test_the_multiple_of_the_identity_is_nearly_the_largest(d):
    rng = np.random.default_rng(d)
    X = rng.standard_normal((2 * d, d)) * rng.uniform(0.1, 10.0, d)
    least = np.linalg.eigvalsh(X.T @ X)[0]
    D = uniform_diagonal(candidates(X, X[:, :1], 0.0, 1))
    np.testing.assert_allclose(D, least, rtol=3e-4)
    assert D.max() < least


def test_thousands_of_columns_with_hardly_a_ridge_are_proven():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3200, 1600))
    y = X[:, :4].sum(axis=1) + rng.standard_normal(3200)
    selector = TopK(4, alpha=1e-6, certify=True, task="regression", random_state=0).fit(X, y)
    assert selector.status_ == "optimal"


def test_a_few_collinear_columns_no_longer_ruin_the_proof():
    X, y = load_diabetes(return_X_y=True)
    X = PolynomialFeatures(2, include_bias=False).fit_transform(X)
    options = {"alpha": 1e-3, "certify": True, "random_state": 0}
    selector = TopK(5, task="regression", **options).fit(X, y)
    assert selector.status_ == "optimal"
    assert selector.proof_.diagonal is not None
    # With a multiple of the identity it took 1853.
    assert selector.n_nodes_ < 700
