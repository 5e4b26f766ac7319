"""RFS and its path: objective, certificate and penalty in the units of the data."""

from __future__ import annotations

import numpy as np
import pytest

from rowsparse import RFS, rfs_path
from tests.selectors.cases import residuals, scaled_rows, three_classes

X, Y = three_classes()


@pytest.mark.parametrize("options", [{}, {"gamma": 3.0}, {"solver": "irls", "gamma": 3.0}])
def test_the_objective_is_that_of_the_coefficients(options):
    selector = RFS(2, **options).fit(X, Y)
    loss = np.linalg.norm(residuals(selector, X, Y), axis=1).sum()
    norms = np.linalg.norm(scaled_rows(selector, X), axis=1)
    assert selector.objective_ == pytest.approx(loss + selector.gamma_ * norms.sum())
    np.testing.assert_allclose(selector.scores_[norms > 0], norms[norms > 0])
    assert 0.0 <= selector.gap_ <= 1e-6


def test_a_penalty_is_found_that_leaves_k_rows():
    selector = RFS(3).fit(X, Y)
    rows = scaled_rows(selector, X).any(axis=1)
    np.testing.assert_array_equal(rows, selector.support_)
    again = RFS(3, gamma=selector.gamma_).fit(X, Y)
    assert again.objective_ == pytest.approx(selector.objective_, rel=1e-5)
    assert again.order_[:3].tolist() == np.argsort(-selector.scores_)[:3].tolist()


def test_published_is_the_corrected_optimum_or_above_and_defaults_to_gamma_one():
    published = RFS(2, variant="published", fit_intercept=False).fit(X, Y)
    corrected = RFS(2, gamma=1.0, fit_intercept=False).fit(X, Y)
    assert published.gamma_ == 1.0
    assert published.objective_ >= corrected.objective_ * (1 - 1e-6)
    assert published.objective_ == pytest.approx(corrected.objective_, rel=1e-2)


def test_the_path_is_rfs_at_every_penalty():
    path = rfs_path(X, Y, n_gammas=3, eps=0.1)
    assert path.n_features[0] == 0
    for i, gamma in enumerate(path.gammas[1:], start=1):
        one = RFS(2, gamma=gamma).fit(X, Y)
        assert path.objectives[i] == pytest.approx(one.objective_, rel=1e-5)
        np.testing.assert_allclose(path.coefs[i], one.coef_, atol=1e-3)
        assert path.gaps[i] <= 1e-6


def test_given_penalties_are_sorted_and_checked():
    assert rfs_path(X, Y, gammas=[1.0, 5.0]).gammas.tolist() == [5.0, 1.0]
    for bad in ([], [0.0], [1.0, np.nan], [[1.0, 2.0]]):
        with pytest.raises(ValueError, match="gammas must be positive, finite numbers"):
            rfs_path(X, Y, gammas=bad)
