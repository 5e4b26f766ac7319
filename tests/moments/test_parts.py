"""Samples dealt out to parts."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import scipy.sparse as sp

from rowsparse import Moments
from rowsparse.moments.parts import MomentsInParts, counted_labels, merged

rng = np.random.default_rng(0)
X = rng.standard_normal((50, 3))


@pytest.mark.parametrize("step", [50, 7])
@pytest.mark.parametrize("sparse", [False, True])
def test_the_samples_of_each_class_are_dealt_in_turn(step: int, sparse: bool) -> None:
    y = np.sort(rng.integers(0, 3, 50))
    part = np.empty(50, dtype=int)
    for c in range(3):
        part[y == c] = np.arange(np.count_nonzero(y == c)) % 4
    dealt = MomentsInParts(4, "auto", products=True)
    for start in range(0, 50, step):
        rows = slice(start, start + step)
        dealt.update(sp.csr_array(X[rows]) if sparse else X[rows], y[rows])
    for p in range(4):
        expected = Moments().update(X[part == p], y[part == p]).statistics
        found = dealt.parts[p].with_classes_of(merged(dealt.parts)).statistics
        assert found.n_rows == expected.n_rows
        np.testing.assert_allclose(found.full_xx(), expected.full_xx(), atol=1e-12)
    whole = Moments().update(X, y).statistics
    np.testing.assert_allclose(merged(dealt.parts).statistics.full_xx(), whole.full_xx())


def test_numbers_are_dealt_in_the_order_of_the_samples() -> None:
    dealt = MomentsInParts(2, "auto", products=False)
    dealt.update(X[:5], X[:5, 0], np.array([1.0, 1.0, 0.0, 1.0, 1.0]))
    dealt.update(X[5:9], X[5:9, 0])
    dealt.update(X[:0], X[:0, 0])
    assert [part.n_samples for part in dealt.parts] == [4, 4]


def test_no_part_has_seen_a_block_that_is_refused() -> None:
    dealt = MomentsInParts(2, "auto", products=True)
    dealt.update(X, rng.integers(0, 2, 50))
    with pytest.raises(ValueError, match="of one kind"):
        dealt.update(X, np.array(["a"] * 50))
    assert merged(dealt.parts).n_samples == 50


def test_merging_leaves_the_parts_as_they_are() -> None:
    parts = [Moments().update(X[:20], X[:20, 0]), Moments().update(X[20:], X[20:, 0])]
    assert merged(parts).n_samples == 50
    assert [part.n_samples for part in parts] == [20, 30]
    with pytest.raises(ValueError, match="at least one"):
        merged([])
    with pytest.raises(TypeError, match="got ndarray"):
        merged([parts[0], X])  # type: ignore[list-item]


@pytest.mark.parametrize("classes", [False, True])
def test_blocks_apart_are_dealt_as_in_turn_if_they_know_what_was_before(classes: bool) -> None:
    y = np.sort(rng.integers(0, 3, 50)) if classes else X[:, 0]
    expected = MomentsInParts(4, "auto", products=True)
    expected.update(X, y)
    before = counted_labels(y[:23], "auto")
    assert before == ({0: (y[:23] == 0).sum(), 1: (y[:23] == 1).sum()} if classes else {None: 23})
    pair = [
        MomentsInParts(4, "auto", products=True),
        MomentsInParts(4, "auto", products=True, before=before),
    ]
    pair[0].update(X[:23], y[:23])
    pair[1].update(X[23:], y[23:])
    both = pair[0].merged(pair[1])
    for found, whole in zip(both.parts, expected.parts, strict=True):
        assert found.n_samples == whole.n_samples
        np.testing.assert_allclose(found.statistics.full_xx(), whole.statistics.full_xx())
    assert sum(part.n_samples for part in pair[0].parts) == 23
    assert sys.getsizeof(both) > 4 * both.parts[0].statistics.nbytes > 4 * 8 * 9
    assert counted_labels(y[:0], "auto") == {}
