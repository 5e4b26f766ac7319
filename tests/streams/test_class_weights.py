"""Class weights of samples in blocks are those of all samples at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rowsparse import FStatistic, RidgeRanking, RowBlocks, TopK
from rowsparse.streams.class_weights import with_class_weights
from rowsparse.targets import combine_weights, encode_targets

rng = np.random.default_rng(0)
X = rng.standard_normal((60, 5))
y = np.array(["b"] * 40 + ["a"] * 15 + ["c"] * 5)  # some classes appear late
W = rng.random(60)


@pytest.mark.parametrize("class_weight", ["balanced", {"c": 7.0}])
@pytest.mark.parametrize("given", [None, W])
def test_weights_are_those_of_all_samples(class_weight: Any, given: Any) -> None:
    blocks = RowBlocks.from_arrays(X, y, given, rows=25)
    weighted = with_class_weights(blocks, class_weight, "auto")
    found = np.concatenate([block.sample_weight for _, block in weighted.blocks()])
    expected = combine_weights(encode_targets(y, "auto"), given, class_weight)
    np.testing.assert_allclose(found, expected)
    assert blocks.n_passes == weighted.n_passes == 2


@pytest.mark.parametrize(
    "selector", [TopK(2, random_state=0, loss="squared"), FStatistic(2), RidgeRanking(2)]
)
@pytest.mark.parametrize("class_weight", ["balanced", {"a": 0.2, "c": 3.0}])
def test_a_streamed_fit_with_class_weights_equals_that_in_memory(
    selector: Any, class_weight: Any
) -> None:
    selector.set_params(class_weight=class_weight)
    expected = selector.fit(X, y, W).scores_
    np.testing.assert_allclose(
        selector.fit(RowBlocks.from_arrays(X, y, W, rows=25)).scores_, expected
    )
    assert selector.n_passes_ == 2


@pytest.mark.parametrize("split", [None, 2])
def test_dask_collections_have_them_too(split: int | None) -> None:
    da = pytest.importorskip("dask.array")
    selector = TopK(2, class_weight="balanced", random_state=0, loss="squared")
    expected = selector.fit(X, y, W).scores_
    lazy = da.from_array(X, chunks=(20, split or 5))
    weights = da.from_array(W, chunks=30)
    selector.fit(lazy, da.from_array(y, chunks=20), weights)
    np.testing.assert_allclose(selector.scores_, expected)


def test_no_class_weight_changes_nothing() -> None:
    blocks = RowBlocks.from_arrays(X, y)
    assert with_class_weights(blocks, None, "auto") is blocks
    assert blocks.n_passes == 0


def test_numbers_have_no_classes() -> None:
    blocks = RowBlocks.from_arrays(X, X[:, 0])
    with pytest.raises(ValueError, match="class_weight is for classification and y is regression"):
        TopK(2, class_weight="balanced").fit(blocks)


def test_a_class_that_appears_in_the_second_pass_names_its_block() -> None:
    passes = []

    def read() -> Any:
        passes.append(1)
        labels = y.copy()
        labels[-1] = "c" if len(passes) == 1 else "d"
        return [(X[:30], labels[:30]), (X[30:], labels[30:])]

    selector = TopK(2, class_weight="balanced")
    with pytest.raises(ValueError, match=r"^Block 1: y has the class 'd'.*must not change"):
        selector.fit(RowBlocks(read))
    assert not hasattr(selector, "support_")
