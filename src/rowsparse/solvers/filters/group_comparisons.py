"""Tests of one feature at a time, from the sizes, means and scatters of groups of samples.

    between_f = sum_g n_g (m_gf - m_f)^2        within_f = sum_g scatter_gf

F is their ratio times (n - G)/(G - 1), the Fisher score the ratio itself, and the pooled t of two
groups the square root of F. Groups may overlap: with one group for each label this is the
F-statistic of Kong et al. (2012), in which a sample counts once for each label it has.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rowsparse._arrays import Array, Index, Mask
from rowsparse.solvers.filters.class_statistics import GroupStatistics, group_statistics, members
from rowsparse.solvers.filters.relevance import varying_labels

__all__ = [
    "GroupPair",
    "Scatter",
    "against_the_rest",
    "between_and_within",
    "by_score_then_between",
    "comparison_with_the_rest",
    "label_comparisons",
    "pairs",
    "scatter_ratio",
    "t_values",
    "varying",
]

# The scatter of the larger side of a label is computed as a difference: below this share of
# the total it is rounding error.
_DIFFERENCE_NOISE = 1e-13


@dataclass(frozen=True)
class Scatter:
    """Sums of squares of every column, and the size up to which they are rounding errors."""

    between: Array
    within: Array
    noise: Array


@dataclass(frozen=True)
class GroupPair:
    """Two groups of samples, for all columns: difference of means, sizes and scatters."""

    difference: Array
    size: tuple[float, float]
    scatter: tuple[Array, Array]
    noise: Array

    @property
    def scatters(self) -> Scatter:
        """Between and within the two groups."""
        a, b = self.size
        within = self.scatter[0] + self.scatter[1]
        return Scatter(a * b / (a + b) * self.difference**2, within, (a + b) * self.noise)


def varying(groups: GroupStatistics) -> Mask:
    """Columns that are not constant over all groups together."""
    total = between_and_within(groups)
    return np.asarray(total.between + total.within > total.noise)


def between_and_within(groups: GroupStatistics) -> Scatter:
    """The two parts of the scatter of all groups together."""
    n = groups.weight.sum()
    centred = groups.mean - groups.weight @ groups.mean / n
    between = groups.weight @ centred**2
    return Scatter(between, groups.scatter.sum(axis=0), n * groups.noise)


def scatter_ratio(scatter: Scatter) -> Array:
    """between / within: 0 if neither is more than rounding error, +inf if only the first is."""
    exact = scatter.within <= scatter.noise
    ratio = scatter.between / np.where(exact, 1.0, scatter.within)
    return np.where(exact, np.where(scatter.between > scatter.noise, np.inf, 0.0), ratio)


def by_score_then_between(scores: Array, between: Array, unit: Array) -> Index:
    """All features, the best first; where scores are infinite, by the scatter between groups."""
    size = np.where(np.isinf(scores), np.copysign(np.sqrt(between) * unit, scores), 0.0)
    return np.lexsort((-size, -scores))


# ----------------------------------------------------------------------------- two groups
def pairs(groups: GroupStatistics) -> Iterator[GroupPair]:
    """Every group with every later one."""
    for a in range(groups.weight.size):
        for b in range(a + 1, groups.weight.size):
            yield GroupPair(
                groups.mean[a] - groups.mean[b],
                (float(groups.weight[a]), float(groups.weight[b])),
                (groups.scatter[a], groups.scatter[b]),
                groups.noise,
            )


def against_the_rest(groups: GroupStatistics) -> Iterator[GroupPair]:
    """Every group with all others together."""
    noise = groups.noise
    for a in range(groups.weight.size):
        rest = groups.take(np.arange(groups.weight.size) != a)
        n = float(rest.weight.sum())
        mean = rest.weight @ rest.mean / n
        scatter = rest.scatter.sum(axis=0) + rest.weight @ (rest.mean - mean) ** 2
        size = (float(groups.weight[a]), n)
        yield GroupPair(groups.mean[a] - mean, size, (groups.scatter[a], scatter), noise)


def label_comparisons(
    X: object, Y: Array, weights: Array | None
) -> tuple[list[GroupPair], Index, GroupStatistics]:
    """The samples with each label against those without it.

    Only the smaller side of a label is summed; the other side is all samples minus it.

    Returns
    -------
    comparisons : list of GroupPair
        One for each label that varies.
    labels : array of int
        Their numbers.
    everything : GroupStatistics
        All samples as one group.
    """
    n = Y.shape[0]
    w = np.ones(n) if weights is None else weights
    labels = varying_labels(Y)
    smaller = Y[:, labels] > 0
    smaller ^= (w @ smaller) * 2 > w.sum()
    groups = group_statistics(X, [np.arange(n), *members(smaller)], weights)
    everything = groups.take([0])
    comparisons = []
    for g in range(1, labels.size + 1):
        offset = groups.mean[g] - groups.mean[0]
        size = float(groups.weight[g])
        comparisons.append(comparison_with_the_rest(offset, size, groups.scatter[g], everything))
    return comparisons, labels, everything


def comparison_with_the_rest(
    offset: Array, size: float, scatter: Array, everything: GroupStatistics
) -> GroupPair:
    """A group with all other samples, whose statistics follow from those of all.

    Parameters
    ----------
    offset : array of shape (d,)
        The means of the group less those of all samples.
    size : float
        The weight of the group.
    scatter : array of shape (d,)
        The scatter of the group.
    everything : GroupStatistics
        All samples as one group.
    """
    n, total = float(everything.weight[0]), everything.scatter[0]
    difference = offset * (n / (n - size))
    rest = total - scatter - size * (n - size) / n * difference**2
    rest[rest <= _DIFFERENCE_NOISE * total] = 0.0
    return GroupPair(difference, (size, n - size), (scatter, rest), everything.noise)


def t_values(pair: GroupPair, *, equal_var: bool, ddof: int) -> Array | None:
    """The t-statistic of the difference of two means, with its sign; None without variances.

    Parameters
    ----------
    pair : GroupPair
    equal_var : bool
        Pooled variance, or each group its own (Welch).
    ddof : int
        Subtracted from the size of a group in the denominator of its variance.
    """
    (a, b), (scatter_a, scatter_b) = pair.size, pair.scatter
    if (a + b <= 2 * ddof) if equal_var else (min(a, b) <= ddof):
        return None
    if equal_var:
        variance = (scatter_a + scatter_b) / (a + b - 2 * ddof) * (1.0 / a + 1.0 / b)
    else:
        variance = scatter_a / (a - ddof) / a + scatter_b / (b - ddof) / b
    exact = scatter_a + scatter_b <= (a + b) * pair.noise
    t = pair.difference / np.sqrt(np.where(exact, 1.0, variance))
    differs = pair.difference**2 > pair.noise
    return np.where(exact, np.where(differs, np.copysign(np.inf, t), 0.0), t)
