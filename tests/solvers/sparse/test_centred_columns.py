"""Columns of the smoothed l2,1 loss against dense formulae."""

from __future__ import annotations

import numpy as np
import pytest

from rowsparse.solvers.losses.l21 import L21Loss
from rowsparse.solvers.sparse import centred_columns
from rowsparse.solvers.sparse.centred_columns import CentredColumns

from ..cases import design_of


@pytest.fixture
def sample():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((12, 7)) + 2.0, rng.standard_normal((12, 3))
    return X, Y, rng.uniform(0.5, 2.0, 12)


@pytest.mark.parametrize("block_entries", [1 << 20, 24])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_bounds_and_scores_are_those_of_the_centred_matrix(
    sample, fit_intercept, block_entries, monkeypatch
):
    monkeypatch.setattr(centred_columns, "_BLOCK_ENTRIES", block_entries)
    X, Y, omega = sample
    columns = CentredColumns(L21Loss(design_of(X, center=False), Y, omega, fit_intercept))
    Z = X - (omega @ X / omega.sum() if fit_intercept else 0.0)
    assert columns.exact_rho == pytest.approx((omega @ np.abs(Z)).max())
    assert columns.largest == pytest.approx(np.abs(Z).max())
    np.testing.assert_allclose(columns.scores(Y), np.linalg.norm(Z.T @ Y, axis=1))


@pytest.mark.parametrize("size", [0, 2, 7])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_a_block_has_the_spectral_norm_that_it_says(sample, fit_intercept, size):
    X, Y, omega = sample
    columns = CentredColumns(L21Loss(design_of(X, center=False), Y, omega, fit_intercept))
    A, steep = columns.block(np.arange(size))
    assert A.shape == (12, size + fit_intercept)
    if A.size:
        root = np.sqrt(omega)[:, None] * A
        assert steep == pytest.approx(np.linalg.norm(root, 2) ** 2)
    if fit_intercept:
        assert np.ptp(A[:, -1]) == 0.0
        np.testing.assert_allclose((omega * A[:, -1]) @ A[:, :-1], 0.0, atol=1e-9)
