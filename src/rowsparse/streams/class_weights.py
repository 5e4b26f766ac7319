"""Weights of classes for samples that come in blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rowsparse._arrays import Array
from rowsparse.streams.passes import gather
from rowsparse.streams.row_blocks import RowBlocks
from rowsparse.targets import check_sample_weight, target_array, weights_of_classes

__all__ = ["with_class_weights"]


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
