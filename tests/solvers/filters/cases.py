"""Samples with neighbours, for the tests of the distances and of ReliefF."""

from __future__ import annotations

import numpy as np

from rowsparse.solvers.filters.manhattan import UnitSamples

Array = np.ndarray


def unit(X: Array, categorical: Array | None = None) -> UnitSamples:
    return UnitSamples(X, np.zeros(X.shape[1], bool) if categorical is None else categorical)


def scaled(X: Array) -> Array:
    spread = np.ptp(X, axis=0)
    return (X - X.min(axis=0)) / np.where(spread > 0, spread, 1.0)


def nearest(Z: Array, i: int, among: Array, count: int) -> Array:
    """The nearest of some samples; sums that differ by rounding alone are ties."""
    among = among[among != i]
    distance = np.rint(np.abs(Z[among] - Z[i]).sum(axis=1) * 2**30)
    return among[np.argsort(distance, kind="stable")][:count]


def mixture(seed: int, n: int = 60, d: int = 21) -> tuple[Array, Array]:
    """Numbers of every kind, with ties, and classes of 1, 4 and many samples."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X[:, :7] = rng.integers(0, 2, (n, 7))
    X[:, 7:12] = rng.integers(0, 8, (n, 5))
    y = np.repeat([0, 1, 2, 3], [1, 4, n // 2, n - n // 2 - 5])
    return X, rng.permutation(y)
