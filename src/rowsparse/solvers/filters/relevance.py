"""One score for each feature from its scores for several labels."""

from __future__ import annotations

from typing import Literal

import numpy as np

from rowsparse._arrays import Array

__all__ = ["AGGREGATES", "Aggregate", "aggregate_labels", "varying_labels"]

Aggregate = Literal["mean", "max", "mean_rank"]
AGGREGATES = ("mean", "max", "mean_rank")


def aggregate_labels(scores: Array, rule: Aggregate) -> Array:
    """One score for each feature from its scores for each label.

    Parameters
    ----------
    scores : array of shape (L, d)
        Larger is better; without NaN. Constant labels have been left out.
    rule : {"mean", "max", "mean_rank"}
        The mean or the largest score, or one over the mean of the ranks, where rank 1 is the best
        feature of a label and equal scores share the better rank.

    Returns
    -------
    array of shape (d,)

    Examples
    --------
    >>> scores = np.array([[3.0, 1.0, 0.0], [4.0, 9.0, 0.0]])
    >>> aggregate_labels(scores, "mean"), aggregate_labels(scores, "max")
    (array([3.5, 5. , 0. ]), array([4., 9., 0.]))
    >>> aggregate_labels(scores, "mean_rank").round(2)
    array([0.67, 0.67, 0.33])
    """
    if rule == "max":
        return np.asarray(scores.max(axis=0))
    if rule == "mean":
        return np.asarray(scores.mean(axis=0))
    better = np.empty(scores.shape)
    for row, score in zip(better, scores, strict=True):
        row[:] = score.size - np.searchsorted(np.sort(score), score, side="right")
    return np.asarray(1.0 / (1.0 + better.mean(axis=0)))


def varying_labels(Y: Array) -> Array:
    """The numbers of the labels that some samples have and others have not.

    >>> varying_labels(np.array([[1.0, 0.0, 1.0], [0.0, 0.0, 1.0]]))
    array([0])
    """
    return np.flatnonzero((Y > 0).any(axis=0) & (Y <= 0).any(axis=0))
