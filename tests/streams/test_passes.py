"""Passes over blocks."""

from __future__ import annotations

import numpy as np
import pytest

from rowsparse import Moments, RowBlocks
from rowsparse.moments.parts import merged
from rowsparse.streams.passes import gather, gather_parts

X = np.random.default_rng(0).standard_normal((50, 4))


def test_a_pass_tells_how_far_it_is() -> None:
    blocks, told = RowBlocks.from_arrays(X, X[:, 0], rows=20), list[int]()
    found = gather(blocks, "auto", most_products=4, progress=told.append)
    assert told == [1, 2, 3]
    expected = Moments().update(X, X[:, 0]).statistics
    np.testing.assert_allclose(found.statistics.full_xx(), expected.full_xx())
    parts = gather_parts(blocks, "auto", 3, told.append)
    np.testing.assert_allclose(merged(parts).statistics.full_xx(), expected.full_xx())
    assert told == [1, 2, 3, 1, 2, 3]


def test_products_are_gathered_of_few_columns_only() -> None:
    assert not gather(RowBlocks.from_arrays(X, X[:, 0]), "auto", most_products=3).has_products


def test_parts_without_samples_are_left_out() -> None:
    assert len(gather_parts(RowBlocks.from_arrays(X[:2], X[:2, 0]), "auto", 5)) == 2


def test_the_block_is_named_in_parts_too() -> None:
    blocks = RowBlocks(lambda: iter([(X, X[:, 0]), (X[:, :2], X[:, 0])]))
    with pytest.raises(ValueError, match="Block 1: X has 2 columns"):
        gather_parts(blocks, "auto", 2)
