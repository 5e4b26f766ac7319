"""FStatistic, FisherScore and TTest: one feature at a time, by the means of the classes."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from scipy.special import fdtrc

from rowsparse._arrays import Array, Index
from rowsparse._parameters import Allowed, Either, Flag, Number, OneOf
from rowsparse.moments.statistics import Statistics
from rowsparse.selectors.base.selector import FromMoments, ScoredFeatures, WeightedScoreSelector
from rowsparse.selectors.base.source import Source, Sums
from rowsparse.selectors.registry import register
from rowsparse.solvers.filters.class_statistics import GroupStatistics, group_statistics, members
from rowsparse.solvers.filters.correlation import explained_ratio, varying_targets
from rowsparse.solvers.filters.group_comparisons import (
    GroupPair,
    against_the_rest,
    between_and_within,
    by_score_then_between,
    comparison_with_the_rest,
    label_comparisons,
    pairs,
    scatter_ratio,
    t_values,
    varying,
)
from rowsparse.solvers.filters.relevance import Aggregate, aggregate_labels


def _scored(
    scores: Array, between: Array, groups: GroupStatistics, **attributes: Any
) -> ScoredFeatures:
    order = by_score_then_between(scores, between, groups.unit)
    return ScoredFeatures(scores, varying(groups), order=order, attributes=attributes)


def _label_ratios(source: Source) -> tuple[Array, Array, Index, GroupStatistics]:
    """For each label that varies, the scatter between its two classes over that within them.

    With the sum of the scatters between, the numbers of the labels, and all samples as a group.
    """
    comparisons, labels, everything = compared_labels(source)
    scatters = [comparison.scatters for comparison in comparisons]
    ratios = np.array([scatter_ratio(scatter) for scatter in scatters])
    between = np.sum([scatter.between for scatter in scatters], axis=0)
    return ratios, between, labels, everything


@register("fstatistic", kind="filter", reference="Fisher 1925; Kong et al. 2012")
class FStatistic(FromMoments, WeightedScoreSelector):
    """Analysis of variance of each feature: how far the means of the classes are apart.

    With n_j samples of class j, their mean m_j and the mean m of all, the score of a feature is

        F = (sum_j n_j (m_j - m)^2 / (C - 1)) / (sum_j sum_i (x_ij - m_j)^2 / (n - C))

    and for numbers to predict F = r^2 / (1 - r^2) (n - 2), with r the correlation. A feature that
    is constant within the classes has the score +inf; of several, the one with the larger
    numerator comes first.

    Parameters
    ----------
    {n_features_to_select}
    multilabel : {"joint", "binary_relevance"}, default="joint"
        What to do with labels. "joint" is one F with a group for each label, where a sample counts
        once for every label it has (Kong et al. 2012); samples without labels do not count.
        "binary_relevance" is one F for each label, with and without it.
    aggregate : {"mean", "max", "mean_rank"}, default="mean"
        How the scores of several labels ("binary_relevance") or several columns of numbers become
        one: their mean, the largest, or one over the mean rank. Constant labels are left out.
    {task}
    {class_weight}

    Attributes
    ----------
    {choice}
    {streamed}
    scores_ : array of shape (n_features,)
        F; 0 for constant columns.
    {order}
    pvalues_ : array of shape (n_features,) or (n_targets, n_features)
        Chance of such an F without any difference, from the F distribution; a row for each label
        or number where they are tested one by one (1 for those that are constant). For "joint" it
        is only nominal, as samples count several times.

    Notes
    -----
    The ranking is that of :class:`FisherScore`, and for two classes that of :class:`TTest` with
    a pooled variance.

    References
    ----------
    D. Kong, C. Ding, H. Huang, H. Zhao. Multi-label ReliefF and F-statistic feature selections
    for image annotation. CVPR 2012.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rowsparse import FStatistic
    >>> X, y = load_iris(return_X_y=True)
    >>> selector = FStatistic(2).fit(X, y)
    >>> selector.get_support(indices=True), selector.scores_.round()
    (array([2, 3]), array([ 119.,   49., 1180.,  960.]))
    """

    takes_device_arrays: ClassVar[bool] = True
    needs_products = False

    allowed: ClassVar[Allowed] = {"multilabel": OneOf(("joint", "binary_relevance"))}

    def __init__(
        self,
        n_features_to_select: int | float = 10,
        *,
        multilabel: Literal["joint", "binary_relevance"] = "joint",
        aggregate: Aggregate = "mean",
        task: str = "auto",
        class_weight: Any = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.multilabel = multilabel
        self.aggregate = aggregate
        self.task = task
        self.class_weight = class_weight

    def _score(self, source: Source) -> ScoredFeatures:
        task = source.required_targets.task
        if task == "classification":
            groups = class_groups(source)
            return self._of_groups(groups, groups)
        if task == "multilabel" and self.multilabel == "joint":
            return self._of_joint_labels(source)
        return self._of_single_targets(source, task)

    def _of_groups(self, groups: GroupStatistics, everything: GroupStatistics) -> ScoredFeatures:
        scatter = between_and_within(groups)
        n_groups = groups.weight.size
        freedom = self._freedom(float(groups.weight.sum()), n_groups)
        scores = scatter_ratio(scatter) * (freedom / (n_groups - 1))
        pvalues = fdtrc(n_groups - 1, freedom, scores)
        return _scored(scores, scatter.between, everything, pvalues_=pvalues)

    def _of_joint_labels(self, source: Source) -> ScoredFeatures:
        groups, everything = joint_labels(source)
        if groups.weight.size < 2:
            raise ValueError(
                "multilabel='joint' needs at least two labels that some sample has: use "
                "multilabel='binary_relevance'."
            )
        return self._of_groups(groups, everything)

    def _of_single_targets(self, source: Source, task: str) -> ScoredFeatures:
        if task == "regression":
            ratios, targets, everything = explained_ratios(source)
            between = everything.scatter[0]
        else:
            ratios, between, targets, everything = _label_ratios(source)
        freedom = self._freedom(float(everything.weight[0]), 2)
        scores = freedom * ratios
        pvalues = np.ones((source.required_targets.Y.shape[1], scores.shape[1]))
        pvalues[targets] = fdtrc(1, freedom, scores)
        if pvalues.shape[0] == 1:
            return _scored(scores[0], between, everything, pvalues_=pvalues[0])
        total = aggregate_labels(scores, self.aggregate)
        return _scored(total, between, everything, pvalues_=pvalues)

    def _freedom(self, n: float, n_groups: int) -> float:
        """The degrees of freedom within groups; refused where there are none."""
        if n <= n_groups:
            raise ValueError(
                f"FStatistic compares {n_groups} means and needs more samples than that; their "
                f"number, or the sum of their weights, is {n:g}."
            )
        return n - n_groups


@register("fisherscore", kind="filter", reference="Duda et al. 2001")
class FisherScore(FromMoments, WeightedScoreSelector):
    """Scatter of the class means over scatter within the classes, for each feature.

    With n_j samples of class j, their mean m_j and the mean m of all, the score of a feature is

        sum_j n_j (m_j - m)^2 / sum_j sum_i (x_ij - m_j)^2

    A feature that is constant within the classes has the score +inf; of several, the one with
    the larger numerator comes first. The ranking is that of :class:`FStatistic`, which has
    p-values and takes numbers too: the two are one baseline, not two.

    Parameters
    ----------
    {n_features_to_select}
    {aggregate}
    {task}
    {class_weight}

    Attributes
    ----------
    {choice}
    {streamed}
    scores_ : array of shape (n_features,)
        The ratio above; 0 for constant columns.
    {order}

    References
    ----------
    R. O. Duda, P. E. Hart, D. G. Stork. Pattern Classification. Wiley, 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rowsparse import FisherScore
    >>> X, y = load_iris(return_X_y=True)
    >>> FisherScore(2).fit(X, y).scores_.round(2)
    array([ 1.62,  0.67, 16.06, 13.06])
    """

    takes_device_arrays: ClassVar[bool] = True
    tasks: ClassVar[tuple[str, ...]] = ("classification", "multilabel")
    needs_products = False

    def __init__(
        self,
        n_features_to_select: int | float = 10,
        *,
        aggregate: Aggregate = "mean",
        task: str = "auto",
        class_weight: Any = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.aggregate = aggregate
        self.task = task
        self.class_weight = class_weight

    def _score(self, source: Source) -> ScoredFeatures:
        if source.required_targets.task == "classification":
            groups = class_groups(source)
            scatter = between_and_within(groups)
            return _scored(scatter_ratio(scatter), scatter.between, groups)
        ratios, between, _, everything = _label_ratios(source)
        return _scored(aggregate_labels(ratios, self.aggregate), between, everything)


@register("ttest", kind="filter", reference="Student 1908; Welch 1947")
class TTest(FromMoments, WeightedScoreSelector):
    """Student's t of each feature: the difference of two class means in standard errors.

    For two classes a and b with s_a^2 and s_b^2 the variances of the feature in them,

        t = |m_a - m_b| / sqrt(s^2 (1/n_a + 1/n_b))           one pooled variance s^2
        t = |m_a - m_b| / sqrt(s_a^2 / n_a + s_b^2 / n_b)      two variances (Welch)

    Two classes that a feature tells apart without any variance give +inf; of several such
    features, the one whose class means differ more comes first.

    Parameters
    ----------
    {n_features_to_select}
    multiclass : {"pairwise_sum", "ovr_max", "ovr_mean", "first_two"}, default="pairwise_sum"
        What to do with more than two classes: the sum over all pairs; the largest or the mean
        over classes, each against the rest. "first_two" is for comparison with code that did not
        notice them: the first two classes only, whatever their number, two population variances,
        and t with its sign, so that features on which the second class is higher come last.
    equal_var : bool or "auto", default="auto"
        Whether two classes share one variance. "auto" does it for pairs, and not for a class
        against the rest, which is a mixture.
    ddof : {0, 1}, default=1
        What is taken off the number of samples in a variance.
    {aggregate}
    {task}
    {class_weight}

    Attributes
    ----------
    {choice}
    {streamed}
    scores_ : array of shape (n_features,)
        t; 0 for constant columns.
    {order}

    Notes
    -----
    Comparisons for which there are too few samples for a variance are left out. Two classes with
    a pooled variance are ranked as by :class:`FStatistic`.

    References
    ----------
    Student. The probable error of a mean. Biometrika 6 (1908).
    B. L. Welch. The generalization of "Student's" problem when several different population
    variances are involved. Biometrika 34 (1947).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rowsparse import TTest
    >>> X, y = load_iris(return_X_y=True)
    >>> TTest(2).fit(X[:100], y[:100]).scores_.round(1)
    array([10.5,  9.5, 39.5, 34.1])
    """

    takes_device_arrays: ClassVar[bool] = True
    tasks: ClassVar[tuple[str, ...]] = ("classification", "multilabel")
    needs_products = False

    allowed: ClassVar[Allowed] = {
        "multiclass": OneOf(("pairwise_sum", "ovr_max", "ovr_mean", "first_two")),
        "equal_var": Either(Flag(), OneOf(("auto",))),
        "ddof": Number(low=0, high=1, integer=True),
    }

    def __init__(
        self,
        n_features_to_select: int | float = 10,
        *,
        multiclass: Literal["pairwise_sum", "ovr_max", "ovr_mean", "first_two"] = "pairwise_sum",
        equal_var: bool | Literal["auto"] = "auto",
        ddof: Literal[0, 1] = 1,
        aggregate: Aggregate = "mean",
        task: str = "auto",
        class_weight: Any = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.multiclass = multiclass
        self.equal_var = equal_var
        self.ddof = ddof
        self.aggregate = aggregate
        self.task = task
        self.class_weight = class_weight

    def _score(self, source: Source) -> ScoredFeatures:
        if source.required_targets.task == "multilabel":
            comparisons, _, everything = compared_labels(source)
            values = np.abs(self._tested(comparisons, pooled=True))
            between = np.sum([comparison.scatters.between for comparison in comparisons], axis=0)
            return _scored(aggregate_labels(values, self.aggregate), between, everything)
        groups = class_groups(source)
        return _scored(self._of_classes(groups), between_and_within(groups).between, groups)

    def _of_classes(self, groups: GroupStatistics) -> Array:
        if self.multiclass == "first_two":
            first = next(pairs(groups))
            # Population variances exist for any two classes.
            return np.asarray(t_values(first, equal_var=False, ddof=0))
        if self.multiclass == "pairwise_sum" or groups.weight.size == 2:
            return np.asarray(np.abs(self._tested(list(pairs(groups)), pooled=True)).sum(axis=0))
        values = np.abs(self._tested(list(against_the_rest(groups)), pooled=False))
        return np.asarray(
            values.max(axis=0) if self.multiclass == "ovr_max" else values.mean(axis=0)
        )

    def _tested(self, comparisons: list[GroupPair], *, pooled: bool) -> Array:
        """t of all comparisons that have enough samples."""
        equal_var = pooled if self.equal_var == "auto" else bool(self.equal_var)
        tested = [t_values(pair, equal_var=equal_var, ddof=self.ddof) for pair in comparisons]
        values = [t for t in tested if t is not None]
        if not values:
            raise ValueError(
                "TTest finds no two classes with enough samples for a variance: give it more "
                "samples, larger sample weights, or ddof=0."
            )
        return np.array(values)


# ------------------------------------------------------------------------- statistics of the source
# From Moments, 1 - r^2 up to this is rounding.
_LINEAR = 64.0 * float(np.finfo(np.float64).eps)


def class_groups(source: Source) -> GroupStatistics:
    """The statistics of each class."""
    if isinstance(source, Sums):
        return _groups(source.statistics)
    return group_statistics(source.X, members(source.required_targets.Y), source.weights)


def joint_labels(source: Source) -> tuple[GroupStatistics, GroupStatistics]:
    """The statistics of each label that some sample has, and of all samples as one group."""
    if isinstance(source, Sums):
        return _groups(source.statistics), _everything(source.statistics)
    groups = [rows for rows in members(source.required_targets.Y) if rows.size]
    everyone = np.arange(source.required_targets.Y.shape[0])
    found = group_statistics(source.X, [everyone, *groups], source.weights)
    return found.take(slice(1, None)), found.take([0])


def compared_labels(
    source: Source,
) -> tuple[list[GroupPair], Index, GroupStatistics]:
    """Every label that varies as a problem of two classes; see :func:`label_comparisons`."""
    if isinstance(source, Sums):
        found = _label_comparisons(source.statistics)
    else:
        found = label_comparisons(source.X, source.required_targets.Y, source.weights)
    if not found[0]:
        raise ValueError("Every label of y is constant: there is nothing to tell apart.")
    return found


def explained_ratios(source: Source) -> tuple[Array, Index, GroupStatistics]:
    """r^2 / (1 - r^2) with every target that varies, their numbers, and all samples as a group."""
    if isinstance(source, Sums):
        found = source.statistics
        targets = np.flatnonzero(found.y_low < found.y_high)
    else:
        targets = varying_targets(source.required_targets.Y, source.weights)
    if targets.size == 0:
        raise ValueError("y is constant: there is nothing to predict.")
    if isinstance(source, Sums):
        return _ratios(found, targets), targets, _everything(found)
    Y = source.required_targets.Y[:, targets]
    ratio, columns = explained_ratio(source.X, Y, source.weights)
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
