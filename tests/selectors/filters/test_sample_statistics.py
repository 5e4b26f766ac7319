"""The statistics of tests of single features, from samples and from their Moments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rowsparse import FStatistic, Moments
from rowsparse.selectors.base.moments import read_moments
from rowsparse.selectors.filters.sample_statistics import (
    class_groups,
    compared_labels,
    explained_ratios,
    joint_labels,
)

rng = np.random.default_rng(0)
X = rng.standard_normal((40, 3)) + np.array([0.0, 10.0, 1e5])


def both(y: Any) -> tuple[Any, Any]:
    selector = FStatistic(1)
    sample = selector._read(X, y)
    moments = Moments(products=False).update(X[:9], y[:9]).update(X[9:], y[9:])
    return sample, read_moments(selector, moments)


def test_classes() -> None:
    found = [class_groups(sample) for sample in both(np.sort(rng.integers(0, 3, 40)))]
    for name in ("weight", "mean", "scatter", "unit"):
        np.testing.assert_allclose(*(getattr(one, name) for one in found), rtol=1e-11)


def test_labels() -> None:
    y = (rng.random((40, 3)) < [0.3, 0.8, -1.0]).astype(int)
    samples = both(y)
    found = [joint_labels(sample) for sample in samples]
    for name in ("weight", "mean", "scatter"):
        np.testing.assert_allclose(*(getattr(one[0], name) for one in found), rtol=1e-11)
        np.testing.assert_allclose(*(getattr(one[1], name) for one in found), rtol=1e-11)
    compared = [compared_labels(sample) for sample in samples]
    assert [labels.tolist() for _, labels, _ in compared] == [[0, 1], [0, 1]]
    for a, b in zip(compared[0][0], compared[1][0], strict=True):
        np.testing.assert_allclose(a.scatters.between, b.scatters.between, rtol=1e-9)
        np.testing.assert_allclose(a.scatters.within, b.scatters.within, rtol=1e-9)


def test_numbers() -> None:
    y = np.column_stack([X[:, 0] + rng.standard_normal(40), np.full(40, 2.5), 3.0 - 2.0 * X[:, 0]])
    (ratio, targets, _), (own, own_targets, _) = (explained_ratios(sample) for sample in both(y))
    assert targets.tolist() == own_targets.tolist() == [0, 2]
    np.testing.assert_allclose(own, ratio, rtol=1e-9)
    assert own[1, 0] == np.inf
    with pytest.raises(ValueError, match="y is constant"):
        explained_ratios(both(np.full(40, 2.5))[1])
