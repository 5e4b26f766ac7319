"""Covariance thresholding against the dense matrix and its eigenvectors."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from rowsparse.solvers.subspace import covariance_thresholding as module
from rowsparse.solvers.subspace import subspace
from rowsparse.solvers.subspace.covariance_thresholding import covariance_thresholding, surviving
from tests.solvers.subspace.cases import design_of, three_groups, thresholded


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("entries", [1 << 21, 400])
def test_survivors_are_those_of_the_dense_matrix(soft, entries, monkeypatch):
    monkeypatch.setattr(module, "_BLOCK_ENTRIES", entries)
    X = three_groups(0) * np.linspace(0.5, 2, 30)
    for t in (0.0, 0.3, 1.0):
        expected = np.triu(thresholded(X, t, soft))
        for kind in (np.asarray, sp.csr_array):
            found = surviving(design_of(kind(X)), t, soft=soft).toarray()
            np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("dense_size", [1500, 0])
def test_the_leading_eigenvector(soft, dense_size, monkeypatch):
    monkeypatch.setattr(subspace, "_DENSE_SIZE", dense_size)
    X = three_groups(2)
    C = thresholded(X, 0.15, soft)
    values, vectors = np.linalg.eigh(C)
    found = covariance_thresholding(design_of(X), 0.15, soft=soft)
    leading = np.abs(vectors[:, -1])
    reached = leading > 1e-8
    np.testing.assert_allclose(found.scores[reached], leading[reached], rtol=1e-6)
    assert found.eigenvalue == pytest.approx(values[-1], rel=1e-8)
    assert found.n_pairs == np.count_nonzero(np.triu(C, 1))
    assert found.scores[~reached].max(initial=0.0) < found.scores[reached].min()
