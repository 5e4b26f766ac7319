"""Every feature on its own: a test against the target, false discovery rate and effect size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import fdtrc

from rowsparse._arrays import Array, Index
from rowsparse.solvers.filters.class_statistics import GroupStatistics, group_statistics, members
from rowsparse.solvers.filters.correlation import explained_ratio, varying_targets
from rowsparse.solvers.filters.univariate import (
    GroupPair,
    against_the_rest,
    between_and_within,
    label_comparisons,
    scatter_ratio,
    t_values,
)
from rowsparse.targets import encode_targets
from rowsparse.workflow.table import Table

__all__ = [
    "CORRELATION",
    "DIFFERENCE",
    "FOLD_CHANGE",
    "UnivariateTests",
    "adjusted",
    "has_linear_scale",
    "univariate",
]

FOLD_CHANGE = "log2 fold change"
DIFFERENCE = "standardised mean difference"
CORRELATION = "correlation"
# Rows that tell whether values are on a linear scale.
_MOST_ROWS = 200


@dataclass(frozen=True)
class UnivariateTests:
    """A test of each feature of a table by itself, before any selection.

    Attributes
    ----------
    test : str
        "F test", "t test" or "correlation test".
    effect_name : str
        "log2 fold change", "standardised mean difference" or "correlation".
    p, fdr : arrays of shape (n_features,)
        p-values, 1 for a constant feature, and the false discovery rates of Benjamini and Hochberg
        (1995) over all features.
    effects : array of shape (n_features,)
        Positive if the feature is higher in the group.
    groups : array of int of shape (n_features,)
        The class, label or target that the effect is largest for.
    group_names : tuple of str
        Names of the classes, labels or targets.
    n_targets : int
        How many labels or numbers each feature was tested against.
    """

    test: str
    effect_name: str
    p: Array
    fdr: Array
    effects: Array
    groups: Index
    group_names: tuple[str, ...]
    n_targets: int = 1

    def threshold(self, rate: float = 0.05) -> float:
        """The p-value up to which features have at most that false discovery rate; NaN if none."""
        return rate * self.count(rate) / self.p.size if self.count(rate) else np.nan

    def of(self, feature: int) -> dict[str, Any]:
        """The fields of :class:`rowsparse.workflow.results.RankedFeature` on one feature."""
        return {
            "p_value": float(self.p[feature]),
            "fdr": float(self.fdr[feature]),
            "effect": float(self.effects[feature]),
            "effect_in": self.group_names[int(self.groups[feature])],
        }

    def count(self, rate: float = 0.05) -> int:
        """How many features have at most that false discovery rate."""
        return int(np.sum(self.fdr <= rate))


def univariate(table: Table) -> UnivariateTests | None:
    """Test each feature; None if there are too few samples for that.

    For classes this is the F test of equal means (with two classes, the t test), for numbers the
    test of the correlation. With several labels or numbers, each has its own test, and the smallest
    p-value counts, times their number. The effect is a log2 fold change if the values are on a
    linear scale, see :func:`has_linear_scale`, and otherwise a standardised mean difference: the
    difference of the means over the standard deviation within the classes. With several classes,
    each is compared with the rest, and the largest effect counts.

    Parameters
    ----------
    table : Table

    Returns
    -------
    UnivariateTests or None
    """
    Y = encode_targets(table.y, table.task).Y
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if table.task == "regression":
            found = _numbers(table.X, Y)
        elif table.task == "multilabel":
            found = _labels(table.X, Y)
        else:
            found = _classes(table.X, Y)
    if found is None:
        return None
    test, effect_name, p, effects, groups = found
    p = np.where(np.isnan(p), 1.0, p)
    names = table.target.classes or table.target.names
    n_targets = 1 if table.task == "classification" else Y.shape[1]
    return UnivariateTests(test, effect_name, p, adjusted(p), effects, groups, names, n_targets)


def adjusted(p: Array) -> Array:
    """False discovery rates of Benjamini and Hochberg: min over j >= i of p_(j) m / j.

    Examples
    --------
    >>> adjusted(np.array([0.01, 0.04, 0.03])).round(3).tolist()
    [0.03, 0.04, 0.04]
    """
    order = np.argsort(p, kind="stable")
    rates = p[order] * p.size / np.arange(1, p.size + 1)
    fdr = np.empty_like(p)
    fdr[order] = np.minimum(np.minimum.accumulate(rates[::-1])[::-1], 1.0)
    return fdr


Found = tuple[str, str, Array, Array, Index]


def _classes(X: Any, Y: Array) -> Found | None:
    n, g = Y.shape
    if n <= g:
        return None
    groups = group_statistics(X, members(Y), None)
    scatter = between_and_within(groups)
    p = fdtrc(g - 1, n - g, scatter_ratio(scatter) * (n - g) / (g - 1))
    if g == 2:
        # The second class against the first.
        pairs = list(against_the_rest(groups))[1:]
        test, first = "t test", 1
    else:
        pairs, (test, first) = list(against_the_rest(groups)), ("F test", 0)
    folds = _fold_changes(X, groups)
    if folds is not None:
        effects, name = folds[first:], FOLD_CHANGE
    else:
        sd = np.sqrt(np.where(scatter.within > scatter.noise, scatter.within, 0.0) / (n - g))
        effects, name = _standardised(np.array([pair.difference for pair in pairs]), sd), DIFFERENCE
    return test, name, p, *_largest(effects, first)


def _labels(X: Any, Y: Array) -> Found | None:
    n = Y.shape[0]
    pairs, labels, _ = label_comparisons(X, Y, None)
    t = [t_values(pair, equal_var=True, ddof=1) for pair in pairs]
    known = [one for one in t if one is not None]
    if not known:
        return None
    every = np.array([fdtrc(1, n - 2, one**2) for one in known])
    best = np.argmin(every, axis=0)
    p = np.minimum(every.min(axis=0) * Y.shape[1], 1.0)
    # Of a label that most samples have, the smaller side is that of those without it.
    signs = [1.0 if np.sum(Y[:, j] > 0) * 2 <= n else -1.0 for j in labels]
    effects = np.array([sign * _cohen(pair) for sign, pair in zip(signs, pairs, strict=True)])
    return "t test", DIFFERENCE, p, effects[best, np.arange(best.size)], labels[best]


def _numbers(X: Any, Y: Array) -> Found | None:
    n = Y.shape[0]
    targets = varying_targets(Y, None)
    if n <= 2 or not targets.size:
        return None
    ratio, _ = explained_ratio(X, Y[:, targets], None)
    every = fdtrc(1, n - 2, ratio * (n - 2))
    best = np.argmin(every, axis=0)
    p = np.minimum(every.min(axis=0) * Y.shape[1], 1.0)
    at = (best, np.arange(best.size))
    size = np.sqrt(1.0 / (1.0 + 1.0 / ratio[at]))
    centred = Y[:, targets] - Y[:, targets].mean(axis=0)
    # Centred, so that the columns of X need not be.
    sign = np.sign(np.asarray((X.T @ (centred / np.abs(centred).max(axis=0))).T))
    return "correlation test", CORRELATION, p, sign[at] * size, targets[best]


def _cohen(pair: GroupPair) -> Array:
    """Difference of two means over the standard deviation within the groups."""
    scatter = pair.scatters
    within = np.where(scatter.within > scatter.noise, scatter.within, 0.0)
    return _standardised(pair.difference, np.sqrt(within / (sum(pair.size) - 2)))


def _standardised(difference: Array, sd: Array) -> Array:
    """0 where there is no difference, and infinite where nothing varies within the groups."""
    return np.where(difference == 0, 0.0, difference / sd)


def _largest(effects: Array, first: int) -> tuple[Array, Index]:
    """Of effects in a row for each group, the largest of each feature, and its group."""
    best = np.argmax(np.abs(np.nan_to_num(effects)), axis=0)
    return effects[best, np.arange(best.size)], best + first


def _fold_changes(X: Any, groups: GroupStatistics) -> Array | None:
    """log2 of the mean of each class over that of the rest; None where that makes no sense."""
    if not (groups.mean > 0).all() or not has_linear_scale(X):
        return None
    total = groups.weight @ groups.mean
    rest = (total - groups.weight[:, None] * groups.mean) / (
        groups.weight.sum() - groups.weight[:, None]
    )
    return np.asarray(np.log2(groups.mean / rest)) if (rest > 0).all() else None


def has_linear_scale(X: Any) -> bool:
    """Whether values look like amounts that were not transformed, so that they can be divided.

    None is negative, no column holds 0 and 1 only, and the 99 % quantile is above 100, or the
    range is above 50 and three quarters of the values are positive. Logarithms and standardised
    values are none. The first rule rejects most, the last is that of GEO2R.
    """
    rows = np.unique(np.linspace(0, X.shape[0] - 1, _MOST_ROWS).astype(int))
    part = X[rows].toarray() if sp.issparse(X) else np.asarray(X[rows])
    smallest = float(X.min())
    if smallest < 0 or np.all((part == 0) | (part == 1), axis=0).any():
        return False
    low, high = np.quantile(part, (0.25, 0.99)).tolist()
    return bool(high > 100 or (float(X.max()) - smallest > 50 and low > 0))
