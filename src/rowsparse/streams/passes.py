"""Passes over blocks that gather statistics or, for class weights, the counts of the classes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rowsparse._arrays import Array
from rowsparse.moments import Moments
from rowsparse.moments.parts import MomentsInParts, counted_labels, merged
from rowsparse.streams.block import Block
from rowsparse.streams.row_blocks import Progress, RowBlocks
from rowsparse.targets import check_sample_weight, target_array, weights_of_classes

__all__ = ["gather", "gather_parts", "merged_pair", "with_class_weights"]


def gather(blocks: RowBlocks, task: str, *, most_products: int) -> Moments:
    """The Moments of all samples, in one pass.

    Parameters
    ----------
    blocks : RowBlocks
        The samples.
    task : {"auto", "classification", "multilabel", "regression"}
        What y holds.
    most_products : int
        The largest number of columns for which X'X is gathered.
    """
    add = partial(_update, task=task, most_products=most_products, names=blocks.feature_names)
    return blocks.aggregate(add, merged_pair)


def gather_parts(
    blocks: RowBlocks, task: str, n_parts: int, progress: Progress | None = None
) -> list[Moments]:
    """The Moments of parts of the samples, with X'X, in one pass; see :class:`MomentsInParts`.

    Blocks of dask, which do not come in turn, are told how many samples of each class were before
    them: their y is computed once more for that.
    """
    counts = blocks.map_targets(partial(counted_labels, task=task)) or []
    before = list(accumulate(counts, initial=Counter[Any]()))
    names = blocks.feature_names
    add = partial(_deal, task=task, n_parts=n_parts, names=names, before=before)
    dealt = blocks.aggregate(add, MomentsInParts.merged, progress)
    return [part for part in dealt.parts if part.n_samples]


def merged_pair(first: Moments, second: Moments) -> Moments:
    """The Moments of both; neither is changed."""
    return merged([first, second])


def _update(
    moments: Moments | None, block: Block, _: int, *, task: str, most_products: int, names: Any
) -> Moments:
    if moments is None:
        moments = Moments(task, products=block.X.shape[1] <= most_products)
    return moments.update(*block, feature_names=names)


def _deal(
    dealt: MomentsInParts | None,
    block: Block,
    number: int,
    *,
    task: str,
    n_parts: int,
    names: Any,
    before: Sequence[Counter[Any]],
) -> MomentsInParts:
    if dealt is None:
        dealt = MomentsInParts(n_parts, task, products=True, before=before[number])
    dealt.update(*block, feature_names=names)
    return dealt


def with_class_weights(blocks: RowBlocks, class_weight: Any, task: str) -> RowBlocks:
    """The blocks with sample weights times class weights; one pass counts the classes.

    Parameters
    ----------
    blocks : RowBlocks
        The samples.
    class_weight : dict, "balanced" or None
        As in ``fit``; None returns the blocks as they are.
    task : {"auto", "classification", "multilabel", "regression"}
        What y holds.
    """
    if class_weight is None:
        return blocks
    found = gather(blocks, task, most_products=0)
    counts = found.statistics.group_weight
    weights = weights_of_classes(found.task, found.classes, counts, class_weight)
    assert found.classes is not None
    return blocks.reweighted(_ClassWeights(found.classes, weights))


@dataclass(frozen=True)
class _ClassWeights:
    """Sample weights times the weights of known classes, which are sorted."""

    classes: NDArray[Any]
    weights: Array

    def __call__(self, y: Any, sample_weight: Any) -> Array:
        labels = target_array(y, len(y)).ravel()
        at = np.minimum(np.searchsorted(self.classes, labels), self.classes.size - 1)
        unknown = np.flatnonzero(self.classes[at] != labels)
        if unknown.size:
            label = labels[unknown].tolist()[0]
            raise ValueError(
                f"y has the class {label!r}, which it did not have in the pass before: the data "
                "must not change while they are read."
            )
        given = check_sample_weight(sample_weight, labels.size) if labels.size else None
        return np.asarray(self.weights[at] * (1.0 if given is None else given))
