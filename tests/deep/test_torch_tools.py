"""PyTorch's optimisers, rows of the data and random numbers, as the networks use them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from rowsparse.deep.torch_tools import Adam, Rows, standardized


@pytest.mark.parametrize("nesterov", [False, True])
def test_adam_takes_the_steps_of_pytorch(torch, nesterov):
    start = [np.random.default_rng(i).standard_normal(shape) for i, shape in enumerate([(3, 2), 2])]
    data = torch.tensor(np.random.default_rng(9).standard_normal((5, 3)))

    def loss(weights: Any, bias: Any) -> Any:
        return ((data @ weights + bias).tanh() - 0.3).square().mean()

    ours = [torch.tensor(array, requires_grad=True) for array in start]
    theirs = [torch.tensor(array, requires_grad=True) for array in start]
    adam = Adam(ours, 0.05, nesterov=nesterov)
    reference = (torch.optim.NAdam if nesterov else torch.optim.Adam)(theirs, lr=0.05)
    for _ in range(50):
        adam.minimize(loss(*ours))
        reference.zero_grad()
        loss(*theirs).backward()
        reference.step()
    for one, other in zip(ours, theirs, strict=True):
        # PyTorch holds the product of NAdam's momenta in single precision.
        np.testing.assert_allclose(one.detach(), other.detach(), rtol=1e-7)


def test_rows_are_centred_and_scaled_and_sparse_ones_are_the_same(backend):
    rng = np.random.default_rng(0)
    X = 1e6 + rng.standard_normal((30, 7))
    X[rng.random(X.shape) < 0.5] = 0.0
    mean, inv_scale = X.mean(axis=0), 1.0 / X.std(axis=0)
    dense = Rows(X, mean, inv_scale, backend)
    rows, columns = backend.index([4, 0, 4]), backend.index([6, 2])
    expected = ((X - mean) * inv_scale).astype(np.float32)
    np.testing.assert_array_equal(dense.batch(rows), expected[[4, 0, 4]])
    np.testing.assert_array_equal(dense.columns(columns), expected[:, [6, 2]])
    for kind in (sp.csr_array, sp.csc_matrix):
        sparse = Rows(kind(X), mean, inv_scale, backend)
        np.testing.assert_array_equal(sparse.batch(rows), expected[[4, 0, 4]])
        np.testing.assert_array_equal(sparse.columns(columns), expected[:, [6, 2]])


def test_rows_add_entries_that_are_stored_twice(backend):
    twice = sp.csr_array((np.array([1.0, 2.0, 5.0]), [0, 0, 1], [0, 2, 3]), shape=(2, 2))
    rows = Rows(twice, np.zeros(2), np.ones(2), backend)
    np.testing.assert_array_equal(rows.batch(backend.index([0, 1])), [[3, 0], [0, 5]])
    assert twice.nnz == 3


def test_gumbel_noise_has_its_law(backend):
    noise = backend.gumbel(200, 500).numpy()
    assert np.isfinite(noise).all()
    # Mean: Euler's constant; variance: pi^2 / 6; P(noise <= 0) = exp(-1).
    np.testing.assert_allclose(noise.mean(), 0.5772, atol=0.02)
    np.testing.assert_allclose(noise.var(), np.pi**2 / 6, atol=0.04)
    np.testing.assert_allclose((noise <= 0).mean(), np.exp(-1), atol=0.01)


def test_dropout_keeps_the_mean(backend):
    kept = backend.dropout(backend.zeros(100, 1000) + 1.0, 0.25).numpy()
    np.testing.assert_allclose(np.unique(kept), [0.0, 4 / 3], rtol=1e-6)
    np.testing.assert_allclose(kept.mean(), 1.0, atol=0.01)


def test_standardized_targets():
    Y = np.column_stack([np.arange(5.0), np.full(5, 3.0)])
    result = standardized(Y)
    np.testing.assert_allclose(result.mean(axis=0), 0.0, atol=1e-15)
    np.testing.assert_allclose(result.std(axis=0), [1.0, 0.0])
