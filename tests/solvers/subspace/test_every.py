"""What all subspace methods owe and share: units, rounds, planted features, spectra."""

import numpy as np
import pytest
from scipy.sparse.linalg import aslinearoperator
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning

from rowsparse import FSPCA, ILFS, S2DFS, SLAP, CovarianceThresholding
from rowsparse.design import make_design
from rowsparse.solvers.subspace import subspace
from rowsparse.solvers.subspace.subspace import improved_rows, leading_eigenvector, leading_spectrum

from .cases import correlated_classes, mixed_columns, planted

RATIO = {"variant": "published", "random_state": 0, "max_iter": 300}


@pytest.mark.parametrize("factor", [1e-60, 1e60])
@pytest.mark.parametrize(
    ("selector", "power"),
    [
        (FSPCA(3, n_components=2), 2),
        (S2DFS(3), 0),
        (S2DFS(3, **RATIO), 0),
        (SLAP(3, gamma=2.0), 0),
        (CovarianceThresholding(3), None),
    ],
)
def test_units_only_scale_the_objective(selector, power, factor):
    X, Y = correlated_classes(8)
    y, selector = Y.argmax(axis=1), selector.set_params(standardize=False)
    plain, threshold = selector.fit(X, y).support_, getattr(selector, "threshold_", None)
    objective = getattr(selector, "objective_", None)
    scaled = selector.fit(X * factor, y)
    np.testing.assert_array_equal(scaled.support_, plain)
    if power is None:
        assert scaled.threshold_ == pytest.approx(threshold * factor**2, rel=1e-9)
    else:
        assert scaled.objective_ / factor**power == pytest.approx(objective, rel=1e-8)


@pytest.mark.parametrize(
    ("selector", "rounds", "tolerances"),
    [
        (FSPCA(10, n_components=2, standardize=False), 1, None),
        (S2DFS(4, n_components=2, random_state=0), 2, (0.5, 1e-10)),
        (SLAP(5, gamma=0.1), 2, (0.5, 1e-4)),
        (ILFS(5, tokens="plsa"), 3, (1e-4, 1e-7)),
    ],
)
def test_too_few_rounds_are_told_and_a_looser_tolerance_takes_fewer(selector, rounds, tolerances):
    X, y = (mixed_columns(8, n=30, d=60), None) if isinstance(selector, FSPCA) else planted(6, 60)
    message = f"{type(selector).__name__} did not converge in {rounds} iterations"
    with pytest.warns(ConvergenceWarning, match=message):
        selector.set_params(max_iter=rounds).fit(X, y)
    if tolerances:
        selector.set_params(max_iter=2000)
        loose, tight = (selector.set_params(tol=tol).fit(X, y).n_iter_ for tol in tolerances)
        assert loose < tight


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "selector",
    [FSPCA(6, n_components=2), CovarianceThresholding(6), CovarianceThresholding(6, soft=True)],
)
def test_a_spiked_covariance_is_found(selector, seed):
    rng = np.random.default_rng(seed)
    spiked = rng.choice(80, 6, replace=False)
    X = rng.standard_normal((100, 80))
    X[:, spiked] += 2.0 * rng.standard_normal((100, 1)) * rng.choice([-1, 1], 6)
    assert set(np.flatnonzero(selector.fit(X).support_)) == set(spiked)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("selector", "first", "soon"),
    [
        (S2DFS(5), 5, 5),
        (S2DFS(5, n_components=2, **RATIO), 5, 5),
        (SLAP(5, gamma=1.0, max_iter=100), 2, 4),
        (ILFS(5), 2, 4),
        (ILFS(5, tokens="plsa"), 2, 4),
    ],
)
def test_planted_features_are_among_the_first(selector, first, soon, seed):
    X, y = planted(seed)
    order = np.argsort(-selector.fit(X, y).scores_, kind="stable")
    assert np.sum(order[:5] < 5) >= first
    assert np.sum(order[:20] < 5) >= soon


# Choices that are known: FSPCA's by enumeration of all 715, ILFS's by expectation-maximisation.
@pytest.mark.parametrize(
    ("selector", "chosen"),
    [
        (FSPCA(4, n_components=2), [5, 6, 9, 11]),
        (FSPCA(4, n_components=2, ridge=10.0), [0, 6, 9, 12]),
        (ILFS(4), [5, 10, 11, 12]),
        (SLAP(4, n_components=2), [0, 6, 9, 12]),
        (CovarianceThresholding(4), [5, 6, 10, 11]),
    ],
)
def test_choices_of_the_wine_data(selector, chosen):
    assert selector.fit(*load_wine(return_X_y=True)).get_support(indices=True).tolist() == chosen


# ---------------------------------------------------------------------------------- what they share
@pytest.mark.parametrize("shape", [(30, 10), (8, 25)])
def test_the_step_is_its_formula(shape):
    rng = np.random.default_rng(0)
    X = rng.standard_normal(shape)
    X -= X.mean(axis=0)
    W = np.linalg.qr(rng.standard_normal((shape[1], 3)))[0]
    A = X.T @ X / len(X) + 0.2 * np.eye(shape[1])
    design = make_design(X, center=True, scale=False)[0]
    G, p, rows = improved_rows(design, W, 4, middle=lambda ZW: ZW / len(X), shift=0.2)
    expected = np.diag(A @ W @ np.linalg.pinv(W.T @ A @ W) @ W.T @ A)
    np.testing.assert_allclose(G, A @ W, atol=1e-12)
    np.testing.assert_allclose(p, expected, rtol=1e-10)
    np.testing.assert_array_equal(rows, np.argsort(-expected)[:4])
    assert np.all(p <= np.diag(A) * (1 + 1e-12))


@pytest.mark.parametrize("shape", [(40, 12), (12, 40)])
def test_leading_spectrum(shape, monkeypatch):
    X = np.random.default_rng(3).standard_normal(shape)
    X -= X.mean(axis=0)
    _, s, Vt = np.linalg.svd(X, full_matrices=False)
    design = make_design(X, center=True, scale=False)[0]
    for dense_size in (1500, 0):
        monkeypatch.setattr(subspace, "_DENSE_SIZE", dense_size)
        values, vectors = leading_spectrum(design, 3)
        np.testing.assert_allclose(values, s[:3] ** 2, rtol=1e-8)
        np.testing.assert_allclose(np.abs(np.sum(vectors * Vt[:3].T, axis=0)), 1.0, rtol=1e-8)
    assert leading_spectrum(design, 100)[0].size == 12 - (shape[0] < shape[1])


@pytest.mark.parametrize("dense_size", [1500, 0])
def test_the_leading_eigenvector_is_that_of_the_dense_matrix(dense_size, monkeypatch):
    monkeypatch.setattr(subspace, "_DENSE_SIZE", dense_size)
    A = np.random.default_rng(0).standard_normal((9, 9))
    A = A + A.T
    value, vector = leading_eigenvector(aslinearoperator(A), lambda: A)
    assert value == pytest.approx(np.linalg.eigvalsh(A)[-1], rel=1e-10)
    np.testing.assert_allclose(A @ vector, value * vector, atol=1e-8)
