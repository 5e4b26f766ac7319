"""The statistics that tests of single features need, from samples or from their Moments."""

from __future__ import annotations

import numpy as np

from rowsparse._arrays import Array, Index
from rowsparse.moments.statistics import Statistics
from rowsparse.selectors.base.moments import MomentsSample
from rowsparse.selectors.base.sample import Sample
from rowsparse.solvers.filters.class_statistics import GroupStatistics, group_statistics, members
from rowsparse.solvers.filters.correlation import explained_ratio, varying_targets
from rowsparse.solvers.filters.univariate import (
    GroupPair,
    comparison_with_the_rest,
    label_comparisons,
    varying,
)

__all__ = ["class_groups", "compared_labels", "explained_ratios", "joint_labels"]

# From Moments, 1 - r^2 up to this is rounding.
_LINEAR = 64.0 * float(np.finfo(np.float64).eps)


def class_groups(sample: Sample | MomentsSample) -> GroupStatistics:
    """The statistics of each class."""
    if isinstance(sample, MomentsSample):
        return _groups(sample.statistics)
    return group_statistics(sample.X, members(sample.required_targets.Y), sample.weights)


def joint_labels(sample: Sample | MomentsSample) -> tuple[GroupStatistics, GroupStatistics]:
    """The statistics of each label that some sample has, and of all samples as one group."""
    if isinstance(sample, MomentsSample):
        return _groups(sample.statistics), _everything(sample.statistics)
    groups = [rows for rows in members(sample.required_targets.Y) if rows.size]
    everyone = np.arange(sample.required_targets.Y.shape[0])
    found = group_statistics(sample.X, [everyone, *groups], sample.weights)
    return found.take(slice(1, None)), found.take([0])


def compared_labels(
    sample: Sample | MomentsSample,
) -> tuple[list[GroupPair], Index, GroupStatistics]:
    """Every label that varies as a problem of two classes; see :func:`label_comparisons`."""
    if isinstance(sample, MomentsSample):
        found = _label_comparisons(sample.statistics)
    else:
        found = label_comparisons(sample.X, sample.required_targets.Y, sample.weights)
    if not found[0]:
        raise ValueError("Every label of y is constant: there is nothing to tell apart.")
    return found


def explained_ratios(sample: Sample | MomentsSample) -> tuple[Array, Index, GroupStatistics]:
    """r^2 / (1 - r^2) with every target that varies, their numbers, and all samples as a group."""
    if isinstance(sample, MomentsSample):
        found = sample.statistics
        targets = np.flatnonzero(found.y_low < found.y_high)
    else:
        targets = varying_targets(sample.required_targets.Y, sample.weights)
    if targets.size == 0:
        raise ValueError("y is constant: there is nothing to predict.")
    if isinstance(sample, MomentsSample):
        return _ratios(found, targets), targets, _everything(found)
    Y = sample.required_targets.Y[:, targets]
    ratio, columns = explained_ratio(sample.X, Y, sample.weights)
    return ratio, targets, columns


def _groups(found: Statistics) -> GroupStatistics:
    some = found.group_weight > 0
    means = found.x_origin + found.group_shift
    return GroupStatistics(
        found.group_weight[some],
        means[some],
        found.group_scatter[some],
        np.ones(found.x_origin.size),
    )


def _everything(found: Statistics) -> GroupStatistics:
    return GroupStatistics(
        np.array([found.weight]),
        found.x_mean[None],
        found.x_square[None],
        np.ones(found.x_origin.size),
    )


def _label_comparisons(found: Statistics) -> tuple[list[GroupPair], Index, GroupStatistics]:
    labels = np.flatnonzero(found.y_low < found.y_high)
    everything = _everything(found)
    comparisons = [
        comparison_with_the_rest(
            found.xy[:, g] / found.group_weight[g],
            float(found.group_weight[g]),
            found.group_scatter[g],
            everything,
        )
        for g in labels.tolist()
    ]
    return comparisons, labels, everything


def _ratios(found: Statistics, targets: Index) -> Array:
    usable = varying(_everything(found))
    x = np.where(usable, found.x_square, 1.0)
    r = found.xy[:, targets].T / np.sqrt(np.outer(np.diag(found.yy)[targets], x))
    r = np.where(usable, np.clip(r, -1.0, 1.0), 0.0)
    missing = (1.0 - r) * (1.0 + r)
    linear = missing <= _LINEAR
    return np.where(linear, np.inf, r**2 / np.where(linear, 1.0, missing))
