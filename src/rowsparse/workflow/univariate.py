"""Every feature on its own: a test against the target, false discovery rate and effect size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import fdtrc

from rowsparse._arrays import Array, Index, Mask, dense_columns, ranks
from rowsparse.targets import NUMERIC_TASKS, encode_targets
from rowsparse.workflow.messages import InputError, setting
from rowsparse.workflow.table import Table, column_blocks

FOLD_CHANGE = "log2 fold change"
DIFFERENCE = "standardised mean difference"
CORRELATION, RANK_CORRELATION = "correlation", "rank correlation"
# Rows that tell whether values are on a linear scale.
_MOST_ROWS = 200
# Columns of fewer different values are codes, such as those of a batch; a larger share of columns
# with negative values, and a table holds no amounts.
_FEW_VALUES, _NEGATIVE_SHARE = 10, 0.1
# Multiple of the rounding of a value that is no difference.
_ROUNDING = 10 * np.finfo(np.float64).eps


@dataclass(frozen=True)
class UnivariateTests:
    """A test of each feature of a table by itself, before any selection.

    ``p`` are p-values, 1 for a constant feature, and ``fdr`` the false discovery rates of Benjamini
    and Hochberg (1995) over all features; NaN for covariates. ``effects`` are positive if the
    feature is higher in the group, and NaN for a column without such an effect; ``groups`` are the
    class, label or target that each is largest for, by its place in ``group_names``. Each feature
    was tested against ``n_targets`` labels or numbers, adjusted for ``covariates``. ``unit`` is
    what is independent: "rows"; "means" of groups of rows, in which the target is the same; or
    "clusters", groups in which it is not. ``groups_column`` has these ``n_groups`` groups, if there
    are any.
    """

    test: str
    effect_name: str
    p: Array
    fdr: Array
    effects: Array
    groups: Index
    group_names: tuple[str, ...]
    n_targets: int = 1
    covariates: tuple[str, ...] = ()
    unit: str = "rows"
    groups_column: str = ""
    n_groups: int = 0

    @property
    def n_tested(self) -> int:
        """Number of features that were tested: all but the covariates."""
        return int(np.sum(~np.isnan(self.p)))

    def threshold(self, rate: float = 0.05) -> float:
        """The p-value up to which features have at most that false discovery rate; NaN if none."""
        return rate * self.count(rate) / self.n_tested if self.count(rate) else np.nan

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


def univariate(
    table: Table, adjusted: Sequence[int] = (), test: str = "t"
) -> UnivariateTests | None:
    """Test each feature; None if there are too few samples for that.

    The test is the F test of a linear model of the feature: of the classes (with two, the t test),
    or of a number (the test of the correlation), given the covariates. With several labels or
    numbers, each has its own test, and the smallest p-value counts, times their number.

    Rows that belong together are no independent samples. If the target is the same in all rows of a
    group, the means of the groups are tested. Otherwise the variance of the coefficients is that
    of the jackknife, which leaves one group out at a time (CR3 of Bell and McCaffrey 2002); for two
    classes in each group this is the paired t test.

    The effect is a log2 fold change if the values are amounts (see :func:`amount_columns`) or their
    logarithms, and otherwise a standardised mean difference: the difference of the means over the
    standard deviation within the classes. With several classes, each is compared with the rest,
    and the largest effect counts. Effects are adjusted too; that of amounts is then standardised.

    The test "welch" allows each class a variance of its own; "rank" tests the ranks in place of the
    values (Conover and Iman 1981), for a number those of both. ``adjusted`` are the covariates.
    """
    samples = _Samples.of(table, adjusted)
    if test == "welch" and table.task in NUMERIC_TASKS:
        raise InputError(
            f"{setting('test', test)} is for classes and labels, but the target holds numbers: "
            f"take {setting('test', 'rank')}, or leave it out."
        )
    if test == "welch" and samples.sizes.min() < 2:
        raise InputError(
            f"{setting('test', test)} needs two samples of each class: take "
            f"{setting('test', 'rank')}, or leave it out."
        )
    if samples.degrees < 1:
        return None
    parts = []
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for columns, values in column_blocks(samples.X, np.arange(len(table.names))):
            parts.append(_tested(samples, columns, values, test))
    p, effects, groups = (np.concatenate(part) for part in zip(*parts, strict=True))
    p = np.where(np.isnan(p), 1.0, p)
    p[list(adjusted)] = np.nan
    is_feature = ~np.isnan(p)
    fdr = np.full(p.size, np.nan)
    fdr[is_feature] = _false_discovery_rates(p[is_feature])
    return UnivariateTests(
        samples.test_name(test),
        samples.effect_name(test),
        p,
        fdr,
        effects,
        groups,
        table.target.classes or table.target.names,
        1 if table.task == "classification" else samples.Y.shape[1],
        tuple(dict.fromkeys(table.origin(j) for j in adjusted)),
        samples.unit,
        str(table.reading.groups_column) if samples.unit != "rows" else "",
        table.n_groups,
    )


# ------------------------------------------------------------------------------------ the samples
@dataclass(frozen=True)
class _Samples:
    """What is tested: rows, or means of groups of rows.

    ``Y`` has a column for each class, label or number; ``Z`` has the covariates; ``clusters`` are
    groups of dependent rows.
    """

    X: Any
    Y: Array
    Z: Array
    task: str
    unit: str
    clusters: Index | None = None
    logged: Mask = field(default_factory=lambda: np.zeros(0, dtype=bool))

    @classmethod
    def of(cls, table: Table, adjusted: Sequence[int]) -> _Samples:
        """Those of a table."""
        X, Y = table.X, encode_targets(table.y, table.task).Y
        Z = dense_columns(X, np.array(adjusted, dtype=np.intp))
        clusters, unit = table.sample_groups, "rows"
        if clusters is not None:
            first = np.unique(clusters, return_index=True)[1]
            unit = "clusters"
            if np.array_equal(Y, Y[first][clusters]):
                n = clusters.size
                sums = sp.csr_array((np.ones(n), (clusters, np.arange(n))))
                mean = sp.diags_array(1.0 / np.bincount(clusters)) @ sums
                X, Y, Z, clusters, unit = mean @ X, Y[first], mean @ Z, None, "means"
        return cls(X, Y, Z, table.task, unit, clusters, table.logged)

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.Y.shape[0])

    @property
    def sizes(self) -> Index:
        """Sizes of the classes, or of each label and its opposite."""
        ones = np.asarray(self.Y.sum(axis=0), dtype=np.intp)
        return ones if self.task == "classification" else np.concatenate([ones, self.n - ones])

    @cached_property
    def nuisance(self) -> Array:
        """An orthonormal basis of the covariates, centred."""
        return _basis(self.Z - self.Z.mean(axis=0))

    def residual(self, values: Array) -> Array:
        """What the mean and the covariates leave of some columns."""
        centred = values - values.mean(axis=0)
        return np.asarray(centred - self.nuisance @ (self.nuisance.T @ centred))

    @cached_property
    def hypotheses(self) -> list[Array]:
        """Columns that are tested together: all classes, or each label or number."""
        if self.task == "classification":
            return [self.Y[:, 1:]]
        varying = np.flatnonzero(np.ptp(self.Y, axis=0) > 0)
        return [self.Y[:, [j]] for j in varying.tolist()]

    @cached_property
    def contrasts(self) -> Index:
        """The columns of Y that have an effect: the second of two classes, or all that vary."""
        if self.task == "classification":
            return np.arange(self.Y.shape[1] == 2, self.Y.shape[1])
        return np.flatnonzero(np.ptp(self.Y, axis=0) > 0)

    @property
    def degrees(self) -> int:
        """Degrees of freedom that are left of the samples, or of the groups."""
        if not self.hypotheses:
            return 0
        q = self.hypotheses[0].shape[1]
        left = self.n - 1 - self.nuisance.shape[1] - q
        return left if self.clusters is None else min(left, int(self.clusters.max()) + 1 - q)

    @cached_property
    def amounts(self) -> Mask | None:
        """The columns of amounts, which have fold changes; None if there are none."""
        has_folds = self.task == "classification" and not self.Z.shape[1]
        return amount_columns(self.X) if has_folds and not self.logged.any() else None

    def effect_name(self, test: str) -> str:
        """What the effects are."""
        if self.task in NUMERIC_TASKS:
            return RANK_CORRELATION if test == "rank" else CORRELATION
        return FOLD_CHANGE if self.logged.any() or self.amounts is not None else DIFFERENCE

    def test_name(self, test: str) -> str:
        """What the test is called."""
        name = "correlation test"
        if self.task not in NUMERIC_TASKS:
            several = self.task == "classification" and self.Y.shape[1] > 2
            name = f"{'F' if several else 't'} test"
        name = {"t": name, "welch": f"Welch {name}", "rank": f"rank {name}"}[test]
        return f"partial {name}" if self.Z.shape[1] else name


def _basis(centred: Array) -> Array:
    """An orthonormal basis of some columns."""
    scale = np.linalg.norm(centred, axis=0)
    left, size, _ = np.linalg.svd(centred[:, scale > 0] / scale[scale > 0], full_matrices=False)
    return np.asarray(left[:, size > 1e-10 * size.max(initial=0.0)])


# -------------------------------------------------------------------------------------- the tests
def _false_discovery_rates(p: Array) -> Array:
    """The least rate of Benjamini and Hochberg (1995) at which each test is significant."""
    order = np.argsort(p)[::-1]
    rates = np.empty(p.size)
    rates[order] = np.minimum.accumulate(p[order] * p.size / np.arange(p.size, 0, -1))
    return rates


def _tested(
    samples: _Samples, columns: Index, values: Array, test: str
) -> tuple[Array, Array, Index]:
    """p-values of some columns, their effects, and what these are largest for."""
    tested = ranks(values) if test == "rank" else values
    residual, noise = samples.residual(tested), _noise(tested)
    every, correlations = [], []
    for targets in samples.hypotheses:
        if test == "rank" and samples.task in NUMERIC_TASKS:
            targets = ranks(targets)
        if samples.clusters is not None:
            p = _by_jackknife(samples, samples.clusters, targets, residual, noise)
        elif test == "welch" and samples.Z.shape[1]:
            p = _by_jackknife(samples, np.arange(samples.n), targets, residual, noise)
        elif test == "welch":
            p = _welch(samples, targets, tested, noise)
        else:
            p = _partial_f(samples, targets, residual, noise)
        every.append(p)
        if samples.task in NUMERIC_TASKS:
            correlations.append(_correlation(samples, targets, residual, noise))
    p, best = np.array(every), np.argmin(every, axis=0)
    at = (best, np.arange(columns.size))
    if samples.task in NUMERIC_TASKS:
        return _for_all(p[at], samples), np.array(correlations)[at], samples.contrasts[best]
    effects = _effects(samples, columns, values)
    if samples.task == "classification":
        best = np.argmax(np.abs(np.nan_to_num(effects)), axis=0)
        at = (best, np.arange(columns.size))
    return _for_all(p.min(axis=0), samples), effects[at], samples.contrasts[best]


def _for_all(p: Array, samples: _Samples) -> Array:
    """The smallest p-value of several targets, times their number."""
    return p if samples.task == "classification" else np.minimum(p * samples.Y.shape[1], 1.0)


def _noise(values: Array) -> Array:
    """Differences of each column up to which rounding explains them."""
    return np.asarray(_ROUNDING * np.abs(values).max(axis=0, initial=0.0))


def _parts(samples: _Samples, targets: Array, residual: Array, noise: Array) -> tuple[Array, Array]:
    """Squares that the targets explain and do not; 0 where they are rounding."""
    basis = _basis(samples.residual(targets))
    explained = basis.T @ residual
    left = residual - basis @ explained
    least = residual.shape[0] * noise**2
    between, within = (np.einsum("ij,ij->j", part, part) for part in (explained, left))
    return np.where(between > least, between, 0.0), np.where(within > least, within, 0.0)


def _partial_f(samples: _Samples, targets: Array, residual: Array, noise: Array) -> Array:
    """The F test of the targets, given the covariates."""
    between, within = _parts(samples, targets, residual, noise)
    q = targets.shape[1]
    left = samples.n - 1 - samples.nuisance.shape[1] - q
    return np.asarray(fdtrc(q, left, between / within * left / q))


def _correlation(samples: _Samples, targets: Array, residual: Array, noise: Array) -> Array:
    """The partial correlation with one target."""
    between, within = _parts(samples, targets, residual, noise)
    share = np.where(between > 0, between / (between + within), 0.0)
    return np.asarray(np.sign(samples.residual(targets)[:, 0] @ residual) * np.sqrt(share))


def _welch(samples: _Samples, targets: Array, values: Array, noise: Array) -> Array:
    """Welch's test of equal means (1951); with two classes, his t test."""
    classes = samples.Y if samples.task == "classification" else np.hstack([1 - targets, targets])
    g, sizes = classes.shape[1], classes.sum(axis=0)[:, None]
    mean = classes.T @ values / sizes
    variance = np.array([values[is_one].var(axis=0, ddof=1) for is_one in (classes > 0).T])
    weight = sizes / np.maximum(variance, noise**2)
    total = weight.sum(axis=0)
    between = np.sum(weight * (mean - (weight * mean).sum(axis=0) / total) ** 2, axis=0) / (g - 1)
    spread = np.sum((1 - weight / total) ** 2 / (sizes - 1), axis=0)
    ratio = between / (1 + 2 * (g - 2) / (g**2 - 1) * spread)
    return np.asarray(fdtrc(g - 1, (g**2 - 1) / (3 * spread), ratio))


def _by_jackknife(
    samples: _Samples, clusters: Index, targets: Array, residual: Array, noise: Array
) -> Array:
    """The Wald test with the variance of coefficients when a group is left out at a time."""
    fixed = np.column_stack([np.ones(samples.n), np.sqrt(samples.n) * samples.nuisance])
    goal = samples.residual(targets)
    goal = goal / np.maximum(goal.std(axis=0), 1e-300)
    design = np.hstack([goal, fixed])
    q, n_groups = goal.shape[1], int(clusters.max()) + 1
    square, product = design.T @ design, design.T @ residual
    found = (np.linalg.pinv(square, hermitian=True) @ product)[:q]
    variance = np.zeros((residual.shape[1], q, q))
    order = np.argsort(clusters, kind="stable")
    for rows in np.split(order, np.cumsum(np.bincount(clusters))[:-1]):
        part = design[rows]
        inverse = np.linalg.pinv(square - part.T @ part, hermitian=True)
        change = (inverse @ (product - part.T @ residual[rows]))[:q] - found
        variance += np.einsum("ij,kj->jik", change, change)
    variance *= (n_groups - 1) / n_groups
    variance += np.einsum("j,ik->jik", noise**2 + 1e-300, np.eye(q))
    wald = np.einsum("ij,ji->j", found, np.linalg.solve(variance, found.T[:, :, None])[:, :, 0])
    return np.asarray(fdtrc(q, n_groups - q, wald * (n_groups - q) / (q * (n_groups - 1))))


# ------------------------------------------------------------------------------------ the effects
def _effects(samples: _Samples, columns: Index, values: Array) -> Array:
    """Effects of some columns, a row for each contrast."""
    if samples.amounts is not None:
        folds = _fold_changes(samples.Y, values)[samples.contrasts]
        return np.where(samples.amounts[columns], folds, np.nan)
    residual, noise = samples.residual(values), _noise(values)
    rows = []
    for at, j in enumerate(samples.contrasts.tolist()):
        goal = samples.residual(samples.Y[:, [j]])[:, 0]
        difference = goal @ residual / (goal @ goal)
        if samples.logged.any():
            rows.append(np.where(samples.logged[columns], difference, np.nan))
            continue
        targets = samples.hypotheses[0 if samples.task == "classification" else at]
        _, within = _parts(samples, targets, residual, noise)
        left = samples.n - 1 - samples.nuisance.shape[1] - targets.shape[1]
        is_none = np.abs(difference) <= noise
        rows.append(np.where(is_none, 0.0, difference / np.sqrt(within / left)))
    return np.array(rows)


def _fold_changes(Y: Array, values: Array) -> Array:
    """log2 of the mean of each class over that of the rest; 0 where both are 0."""
    sizes = Y.sum(axis=0)[:, None]
    sums = Y.T @ values
    mean = sums / sizes
    rest = (sums.sum(axis=0) - sums) / (sizes.sum() - sizes)
    return np.where((mean == 0) & (rest == 0), 0.0, np.log2(mean) - np.log2(rest))


def amount_columns(X: Any) -> Mask | None:
    """The columns without negative values, if those of a table are amounts; None if not.

    Amounts were not transformed, so that they can be divided: few columns have negative values, and
    the 99 % quantile is above 100, or the range is above 50 and three quarters of the values are
    positive. Logarithms and standardised values are none. The last rule is that of GEO2R. Columns
    of few different values, such as those of a batch or a sex, say nothing about the others.
    """
    rows = np.unique(np.linspace(0, X.shape[0] - 1, _MOST_ROWS).astype(int))
    part = X[rows].toarray() if sp.issparse(X) else np.asarray(X[rows])
    lowest = X.min(axis=0)
    is_positive = np.asarray(lowest.toarray() if sp.issparse(lowest) else lowest).ravel() >= 0
    ordered = np.sort(part, axis=0)
    n_values = 1 + np.count_nonzero(np.diff(ordered, axis=0), axis=0)
    measured = n_values >= min(_FEW_VALUES, part.shape[0])
    if not measured.any() or np.mean(~is_positive[measured]) > _NEGATIVE_SHARE:
        return None
    kept = part[:, measured & is_positive]
    low, high = np.quantile(kept, (0.25, 0.99)).tolist()
    is_wide = float(kept.max() - kept.min()) > 50 and low > 0
    return is_positive if high > 100 or is_wide else None
