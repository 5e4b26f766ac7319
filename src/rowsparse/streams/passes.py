"""Passes over blocks that gather statistics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from itertools import accumulate
from typing import Any

from rowsparse.moments import Moments
from rowsparse.moments.parts import MomentsInParts, counted_labels, merged
from rowsparse.streams.block import Block
from rowsparse.streams.row_blocks import Progress, RowBlocks

__all__ = ["gather", "gather_parts", "merged_pair"]


def gather(
    blocks: RowBlocks, task: str, *, most_products: int, progress: Progress | None = None
) -> Moments:
    """The Moments of all samples, in one pass.

    Parameters
    ----------
    blocks : RowBlocks
        The samples.
    task : {"auto", "classification", "multilabel", "regression"}
        What y holds.
    most_products : int
        The largest number of columns for which X'X is gathered.
    progress : callable, optional
        Called after each block.
    """
    add = partial(_update, task=task, most_products=most_products, names=blocks.feature_names)
    return blocks.aggregate(add, merged_pair, progress)


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
