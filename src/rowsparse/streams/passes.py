"""Passes over blocks that gather statistics."""

from __future__ import annotations

from collections.abc import Callable

from rowsparse.moments import Moments
from rowsparse.moments.parts import MomentsInParts
from rowsparse.streams.row_blocks import RowBlocks, in_block

__all__ = ["Progress", "gather", "gather_parts"]

# Called after each block with the number of blocks so far.
Progress = Callable[[int], None]


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
    moments: Moments | None = None
    for number, (X, y, weights) in blocks.blocks():
        try:
            if moments is None:
                moments = Moments(task, products=X.shape[1] <= most_products)
            moments.update(X, y, weights, feature_names=blocks.feature_names)
        except (TypeError, ValueError) as error:
            raise in_block(number, error) from None
        if progress is not None:
            progress(number + 1)
    assert moments is not None
    return moments


def gather_parts(
    blocks: RowBlocks, task: str, n_parts: int, progress: Progress | None = None
) -> list[Moments]:
    """The Moments of parts of the samples, with X'X, in one pass; see :class:`MomentsInParts`."""
    dealt = MomentsInParts(n_parts, task, products=True)
    for number, (X, y, weights) in blocks.blocks():
        try:
            dealt.update(X, y, weights, feature_names=blocks.feature_names)
        except (TypeError, ValueError) as error:
            raise in_block(number, error) from None
        if progress is not None:
            progress(number + 1)
    return [part for part in dealt.parts if part.n_samples]
