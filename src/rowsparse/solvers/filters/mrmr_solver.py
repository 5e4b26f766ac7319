"""mRMR: choose features of much relevance to the targets and little redundancy (Ding & Peng).

Each step of the greedy search needs the redundancies of one feature with all others: mutual
information, from states of one byte an entry, or correlations, from the data as they are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rowsparse._arrays import Array, Index
from rowsparse.design import Design, make_design
from rowsparse.solvers.filters.class_statistics import group_statistics, members
from rowsparse.solvers.filters.correlation import explained_ratio
from rowsparse.solvers.filters.discretize import BY_LABELS, Discretization, discretize
from rowsparse.solvers.filters.group_comparisons import (
    between_and_within,
    by_score_then_between,
    label_comparisons,
    scatter_ratio,
)
from rowsparse.solvers.filters.relevance import Aggregate, aggregate_labels

__all__ = [
    "CRITERIA",
    "Criterion",
    "GreedyResult",
    "MrmrResult",
    "correlations",
    "greedy_mrmr",
    "mrmr",
    "variance_ratios",
]

Criterion = Literal["mid", "miq", "fcd", "fcq"]
CRITERIA = ("mid", "miq", "fcd", "fcq")
Redundancy = Callable[[int], Array]

# Keep the quotients finite: added to the mean information, and the least correlation.
_MIQ_OFFSET = 0.01
_FCQ_FLOOR = 1e-3
# Redundancies that are cached for the next target: 32 MB.
_KEPT_ENTRIES = 1 << 22


@dataclass(frozen=True)
class GreedyResult:
    """The features in the order in which they were chosen, and their scores at that time."""

    order: Index
    scores: Array


def greedy_mrmr(
    relevance: Array,
    by_relevance: Index,
    redundancy: Redundancy,
    k: int,
    *,
    criterion: Criterion,
) -> GreedyResult:
    """Choose k features one by one.

    Parameters
    ----------
    relevance : array of shape (d,)
        +inf is allowed: such features come first, the least redundant one each time.
    by_relevance : array of int, shape (d,)
        All features, the most relevant first: the first one is chosen first.
    redundancy : function
        From a feature to its redundancies with all d.
    k : int
    criterion : {"mid", "miq", "fcd", "fcq"}
        Differences or quotients of relevance and mean redundancy.
    """
    first = int(by_relevance[0])
    chosen, scores = [first], [float(relevance[first])]
    still, total = np.ones(relevance.size, dtype=bool), np.zeros(relevance.size)
    while len(chosen) < min(k, relevance.size):
        still[chosen[-1]] = False
        step = redundancy(chosen[-1])
        total += np.maximum(step, _FCQ_FLOOR) if criterion == "fcq" else step
        score = _criterion_values(relevance, total / len(chosen), criterion)
        infinite = still & np.isinf(relevance)
        preference = np.where(infinite, -total, -np.inf) if infinite.any() else score
        best = int(np.argmax(np.where(still, preference, -np.inf)))
        chosen.append(best)
        scores.append(float(score[best]))
    return GreedyResult(np.array(chosen, dtype=np.intp), np.array(scores))


def _criterion_values(relevance: Array, mean: Array, criterion: Criterion) -> Array:
    if criterion in ("mid", "fcd"):
        return relevance - mean
    return relevance / (mean + _MIQ_OFFSET if criterion == "miq" else mean)


def variance_ratios(X: Any, Y: Array, task: str) -> tuple[Array, Index]:
    """F-statistics of every feature: for the classes, for each label, or for each number.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    Y : array of shape (n, c)
        One-hot classes, labels or numbers, without constant columns.
    task : {"classification", "multilabel", "regression"}

    Returns
    -------
    ratios : array of shape (L, d)
        L = 1 for classes; +inf for a feature that tells them without error, 0 for a constant one.
    order : array of int, shape (d,)
        The features by their mean; where that is infinite, by the scatter between the classes.
    """
    n = Y.shape[0]
    if task == "classification":
        groups = group_statistics(X, members(Y), None)
        scatter = between_and_within(groups)
        # Without degrees of freedom F has no scale, but still an order.
        F = scatter_ratio(scatter) * (max(n - Y.shape[1], 1) / (Y.shape[1] - 1))
        return F[None], by_score_then_between(F, scatter.between, groups.unit)
    if task == "multilabel":
        comparisons, _, groups = label_comparisons(X, Y, None)
        scatters = [comparison.scatters for comparison in comparisons]
        F = np.array([scatter_ratio(scatter) for scatter in scatters]) * max(n - 2, 1)
        between = np.mean([scatter.between for scatter in scatters], axis=0)
        return F, by_score_then_between(F.mean(axis=0), between, groups.unit)
    ratio, columns = explained_ratio(X, Y, None)
    F = ratio * max(n - 2, 1)
    return F, by_score_then_between(F.mean(axis=0), columns.scatter[0], columns.unit)


def correlations(design: Design) -> Redundancy:
    """The modulus of a column's correlation with all columns of a standardised design."""
    norms = design.column_norms()
    scale = 1.0 / np.where(norms > 0, norms, np.inf)

    def with_column(j: int) -> Array:
        column = design.columns(np.array([j])).astype(np.float64) * scale[j]
        return np.minimum(np.abs(design.rmatmul(column)[:, 0]) * scale, 1.0)

    return with_column


# ------------------------------------------------------------------- relevance and redundancy
class _Source(ABC):
    """Where the relevances and redundancies of all columns of X come from."""

    relevance: Array  # (L, d): one row for the classes, for each label or for each number
    order: Index  # the features by how ties of the relevance are broken

    @abstractmethod
    def redundancy(self, columns: Index) -> Redundancy:
        """Between some columns of X, which are numbered anew."""

    def by_relevance(self, relevance: Array) -> Index:
        return self.order[np.argsort(-relevance[self.order], kind="stable")]


class _Information(_Source):
    def __init__(
        self, X: Any, Y: Array, task: str, method: Discretization, bins: int, bin_width: float
    ) -> None:
        labels = Y.argmax(axis=1) if task == "classification" else Y[:, 0].astype(np.intp)
        codes = discretize(X, method, labels=labels, bins=bins, bin_width=bin_width)
        self._states = States(codes)
        if task == "classification":
            self.relevance = self._states.with_classes(labels)[None]
        else:
            self.relevance = self._states.with_labels(Y)
        self.order = np.arange(X.shape[1])

    def redundancy(self, columns: Index) -> Redundancy:
        everything = columns.size == self.order.size
        return (self._states if everything else self._states.take(columns)).with_column


class _Variance(_Source):
    def __init__(self, X: Any, Y: Array, task: str) -> None:
        self._X = X
        self.relevance, self.order = variance_ratios(X, Y, task)

    def redundancy(self, columns: Index) -> Redundancy:
        X = self._X if columns.size == self.order.size else self._X[:, columns]
        return correlations(make_design(X, center=True, scale=True)[0])


# ------------------------------------------------------------------------------ the method
@dataclass(frozen=True)
class MrmrResult:
    """The choice of mRMR.

    Attributes
    ----------
    order : array of int
        All features: the chosen ones, the first one first, then the others by relevance.
    places : array of shape (d,)
        k for the first, k - 1 for the second, ..., 0 if not chosen; or means of that.
    relevance : array of shape (d,)
    scores : array or None
        The criterion of each when it was chosen, if there was only one choice.
    """

    order: Index
    places: Array
    relevance: Array
    scores: Array | None


def mrmr(
    X: Any,
    Y: Array,
    task: str,
    k: int,
    *,
    criterion: Criterion,
    discretization: Discretization,
    bins: int,
    bin_width: float,
    pool: int | None,
    aggregate: Aggregate,
) -> MrmrResult:
    """Choose k columns of X, none of them constant.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    Y : array of shape (n, c)
        One-hot classes; labels, or for "fcd" and "fcq" numbers; without constant columns.
    task : {"classification", "multilabel", "regression"}
    k : int
    criterion : {"mid", "miq", "fcd", "fcq"}
    discretization, bins, bin_width
        As in :func:`~rowsparse.solvers.filters.discretize.discretize`, for "mid" and "miq".
        "mdl" and "weka" take one label at a time: classes, one label, or ``aggregate="mean_rank"``.
    pool : int or None
        How many of the most relevant features to choose from, at least k; None for all.
    aggregate : {"mean", "max", "mean_rank"}
        How several labels or numbers become one relevance; or by the mean place of a feature
        among those chosen for each of them.
    """

    def source(targets: Array) -> _Source:
        if criterion in ("mid", "miq"):
            return _Information(X, targets, task, discretization, bins, bin_width)
        return _Variance(X, targets, task)

    one_by_one = aggregate == "mean_rank" and task != "classification" and Y.shape[1] > 1
    if one_by_one and criterion in ("mid", "miq") and discretization in BY_LABELS:
        sources = [source(Y[:, [l]]) for l in range(Y.shape[1])]
        relevances = [found.relevance[0] for found in sources]
    else:
        common = source(Y)
        rule: Aggregate = "mean" if aggregate == "mean_rank" else aggregate
        relevances = (
            [*common.relevance] if one_by_one else [aggregate_labels(common.relevance, rule)]
        )
        sources = [common] * len(relevances)
    searches = _GreedySearches(k, criterion, pool)
    found = [searches.run(*pair) for pair in zip(sources, relevances, strict=True)]
    relevance = np.mean(relevances, axis=0)
    places = np.zeros(relevance.size)
    for greedy in found:
        places[greedy.order] += k - np.arange(greedy.order.size)
    by_relevance = sources[0].by_relevance(relevance)
    order = by_relevance[np.argsort(-places[by_relevance], kind="stable")]
    scores = None if one_by_one else found[0].scores
    return MrmrResult(order, places / len(found), relevance, scores)


class _GreedySearches:
    """Greedy searches among the most relevant features of one target after another."""

    def __init__(self, k: int, criterion: Criterion, pool: int | None) -> None:
        self._k, self._criterion = k, criterion
        self._pool = None if pool is None else max(k, pool)
        self._last: tuple[_Source, Index, Redundancy] | None = None

    def run(self, source: _Source, relevance: Array) -> GreedyResult:
        by_relevance = source.by_relevance(relevance)[: self._pool]
        columns = np.sort(by_relevance)
        redundancy = self._redundancy(source, columns)
        order = np.searchsorted(columns, by_relevance)
        found = greedy_mrmr(
            relevance[columns], order, redundancy, self._k, criterion=self._criterion
        )
        return GreedyResult(columns[found.order], found.scores)

    def _redundancy(self, source: _Source, columns: Index) -> Redundancy:
        """The redundancies of these columns; those of the last run, with its cache, if the same."""
        last = self._last
        if last is None or last[0] is not source or not np.array_equal(last[1], columns):
            kept = lru_cache(maxsize=max(1, _KEPT_ENTRIES // columns.size))
            self._last = last = (source, columns, kept(source.redundancy(columns)))
        return last[2]


# ------------------------------------------------------------------------------- mutual information
_BLOCK_ENTRIES = 1 << 18
# Joint states of a column and a target up to which counting by products is the faster way.
_PRODUCT_CELLS = 512
# Joint states for each sample from which sorting is faster than counting.
_SORTED_SHARE = 16
# Whole numbers beyond this are not exact in float32.
_EXACT_FLOAT32 = 1 << 24
# Bits of the sums of x log2 x.
_BITS = 60


class States:
    """Columns of few states 0, 1, ..., and their mutual information in bits.

    Parameters
    ----------
    codes : array of int, shape (n, d)
        Held as a transposed copy; all else is done in blocks.
    """

    def __init__(self, codes: NDArray[Any]) -> None:
        self._codes = np.ascontiguousarray(codes.T)
        d, self._n = self._codes.shape
        x = np.arange(self._n + 1, dtype=np.float64)
        f = x * np.log2(np.maximum(x, 1.0))
        self._unit = 2.0 ** (_BITS - int(np.ceil(np.log2(max(f[-1], 2.0)))))
        self._f = np.rint(f * self._unit).astype(np.int64)
        self._float = np.float32 if self._n < _EXACT_FLOAT32 else np.float64
        self._own = np.zeros(d, dtype=np.int64)
        alike = np.zeros(self._n, dtype=np.intp)
        for columns, block in self._blocks():
            self._own[columns] = self._joint(block, alike, 1)

    def take(self, columns: Index) -> States:
        """Some of the columns."""
        return States(self._codes[columns].T)

    def with_column(self, j: int) -> Array:
        """I(f; column j) for every column f."""
        return self.with_classes(self._codes[j])

    def with_classes(self, labels: NDArray[Any]) -> Array:
        """I(f; labels) for every column f; labels are numbers from 0."""
        n_classes = int(labels.max()) + 1
        joint = np.empty_like(self._own)
        for columns, block in self._blocks():
            joint[columns] = self._joint(block, labels, n_classes)
        return self._information(joint, self._f[np.bincount(labels)].sum())

    def with_labels(self, Y: Array) -> Array:
        """I(f; label) for every 0/1 column of Y (n, L) and every column f: (L, d)."""
        indicators = Y.astype(self._float)
        joint = np.zeros((Y.shape[1], self._own.size), dtype=np.int64)
        for columns, block in self._blocks():
            for state in range(int(block.max()) + 1):
                members = (block == state).astype(self._float)
                size = members.sum(axis=1).astype(np.intp)
                with_label = (members @ indicators).T.astype(np.intp)
                joint[:, columns] += self._f[with_label] + self._f[size - with_label]
        carried = Y.sum(axis=0).astype(np.intp)
        own = self._f[carried] + self._f[self._n - carried]
        return self._information(joint, own[:, None])

    def _information(self, joint: NDArray[np.int64], target: Any) -> Array:
        # The integer sum is exact: no information is exactly 0.
        total = joint - self._own - target + self._f[self._n]
        return np.maximum(total / (self._unit * self._n), 0.0)

    def _blocks(self) -> Iterator[tuple[slice, NDArray[Any]]]:
        step = max(1, _BLOCK_ENTRIES // self._n)
        for start in range(0, self._codes.shape[0], step):
            columns = slice(start, min(start + step, self._codes.shape[0]))
            yield columns, self._codes[columns]

    def _joint(self, block: NDArray[Any], labels: NDArray[Any], n_labels: int) -> Any:
        """sum of f over the joint counts of each column (a row of ``block``) with the labels."""
        n_states = int(block.max()) + 1
        if n_states * n_labels <= _PRODUCT_CELLS:
            return self._joint_by_products(block, n_states, labels, n_labels)
        return self._joint_by_counting(block, n_states, labels, n_labels)

    def _joint_by_products(
        self, block: NDArray[Any], n_states: int, labels: NDArray[Any], n_labels: int
    ) -> Any:
        indicators = (labels[:, None] == np.arange(n_labels)).astype(self._float)
        # The counts of state 0 are the totals less all other counts.
        left = np.broadcast_to(indicators.sum(axis=0), (block.shape[0], n_labels)).copy()
        total = np.zeros(block.shape[0], dtype=np.int64)
        for state in range(1, n_states):
            counts = (block == state).astype(self._float) @ indicators
            left -= counts
            total += self._f[counts.astype(np.intp)].sum(axis=1)
        return total + self._f[left.astype(np.intp)].sum(axis=1)

    def _joint_by_counting(
        self, block: NDArray[Any], n_states: int, labels: NDArray[Any], n_labels: int
    ) -> Any:
        cells = n_states * n_labels
        total = np.empty(block.shape[0], dtype=np.int64)
        step = max(1, _BLOCK_ENTRIES // max(self._n, min(cells, _SORTED_SHARE * self._n)))
        for start in range(0, block.shape[0], step):
            part = block[start : start + step].astype(np.int64)
            part *= n_labels
            part += labels
            part += np.arange(part.shape[0])[:, None] * cells
            cell, counts = _counted(part, cells)
            # The cumulative sum may wrap around; its differences are exact.
            sums = np.append(0, np.cumsum(self._f[counts]))
            ends = np.searchsorted(cell, np.arange(part.shape[0] + 1) * cells)
            total[start : start + step] = sums[ends[1:]] - sums[ends[:-1]]
        return total


def _counted(part: NDArray[np.int64], cells: int) -> tuple[Index, Index]:
    """The numbers that occur more than once in ``part``, which rise from row to row, and how often.

    A row holds numbers from a range of ``cells``.
    """
    if cells <= _SORTED_SHARE * part.shape[1]:
        counts = np.bincount(part.ravel(), minlength=part.shape[0] * cells)
        cell = np.flatnonzero(counts > 1)
        return cell, counts[cell]
    part.sort(axis=1)
    values = part.ravel()
    first = np.flatnonzero(np.append(True, values[1:] != values[:-1]))
    counts = np.diff(np.append(first, values.size))
    return values[first[counts > 1]], counts[counts > 1]
