"""Descriptions of the selected features: ranks, coefficients, correlations, distributions."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from rowsparse._arrays import Array, Index, Mask
from rowsparse.design import Units, make_design
from rowsparse.evaluation.correlation import closest_left_out, correlations_with
from rowsparse.targets import encode_targets
from rowsparse.workflow.results import Alternative, Distribution, RankedFeature
from rowsparse.workflow.table import Table
from rowsparse.workflow.univariate import UnivariateTests

__all__ = ["class_means", "correlations", "distributions", "ranked", "units_of"]

_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
_N_ALTERNATIVES = 3
_MOST_DISTRIBUTIONS = 40
_THIRDS = ("low", "middle", "high")


def _dense_columns(X: Any, columns: Any) -> Array:
    """Some columns as a dense array."""
    part = X[:, columns]
    return np.asarray(part.toarray() if sp.issparse(part) else part, dtype=np.float64)


def units_of(X: Any) -> Units:
    """Means and inverse standard deviations of all columns."""
    return make_design(X, center=True, scale=True)[1]


def ranked(
    table: Table,
    selector: Any,
    order: Index,
    units: Units,
    frequency: Any = None,
    forced: Mask | None = None,
    tests: UnivariateTests | None = None,
) -> tuple[RankedFeature, ...]:
    """One record for each selected column.

    ``frequency`` is a fitted StabilitySelection, ``forced`` says which of all columns had to be
    selected, and ``tests`` are those of all columns.
    """
    if forced is None:
        forced = np.zeros(len(table.names), dtype=bool)
    effects, has_coef = _effects(table, selector, order, units)
    scores = np.asarray(selector.scores_, dtype=np.float64)
    features = []
    for rank, (j, effect) in enumerate(zip(order.tolist(), effects, strict=True), start=1):
        share, interval = None, None
        if frequency is not None and not forced[j]:
            share = float(frequency.frequencies_[j])
            low, high = frequency.frequency_intervals_[j].tolist()
            interval = (low, high)
        alone = {} if tests is None else tests.of(j)
        features.append(
            RankedFeature(
                rank=rank,
                name=table.names[j],
                index=j,
                score=float(scores[j]),
                frequency=share,
                frequency_interval=interval,
                speaks_for=_speaks_for(table, effect),
                coefficients=tuple(effect.tolist()) if has_coef else (),
                is_forced=bool(forced[j]),
                **alone,
            )
        )
    return tuple(features)


def _effects(table: Table, selector: Any, order: Index, units: Units) -> tuple[Array, bool]:
    """The effect of a standard deviation of each feature on each target.

    These are coefficients where the selector has them (the second result says so), otherwise
    differences of means or correlations.
    """
    coef = getattr(selector, "coef_", None)
    d = table.X.shape[1]
    inverse = units.inv_scale[order]
    sd = np.divide(1.0, inverse, out=np.zeros_like(inverse), where=inverse > 0)
    if coef is not None and np.ndim(coef) in (1, 2) and np.shape(coef)[-1] == d:
        effects = np.atleast_2d(coef)[:, order].T * sd[:, None]
        if effects.shape[1] == 1 and len(table.target.classes) == 2:
            # Two classes may have one row, for the second.
            effects = np.hstack([-effects, effects])
        return effects, True
    Y = encode_targets(table.y, table.task).Y
    Z = (_dense_columns(table.X, order) - units.mean[order]) * inverse
    if table.task == "regression":
        Y = Y - Y.mean(axis=0)
        return Z.T @ Y / np.maximum(np.linalg.norm(Y, axis=0), 1e-300) / np.sqrt(len(Y)), False
    return Z.T @ (Y / np.maximum(Y.sum(axis=0), 1.0)), False


def _speaks_for(table: Table, effect: Array) -> str:
    names = table.target.classes or table.target.names
    if len(names) != effect.size:
        return ""
    # Of two classes the effects are opposite: name the one with the positive effect.
    at = int(effect.argmax()) if len(table.target.classes) == 2 else int(np.abs(effect).argmax())
    if effect[at] == 0:
        return ""
    if table.task == "regression":
        return f"{'higher' if effect[at] > 0 else 'lower'} {names[at]}"
    return names[at] if effect[at] > 0 else f"against {names[at]}"


def correlations(
    table: Table, order: Index, units: Units, beside: Index | None = None
) -> tuple[Array, tuple[tuple[Alternative, ...], ...]]:
    """Correlations of the selected features, and the closest features that were left out.

    ``beside`` are columns that are in the model without being selected.
    """
    every = correlations_with(table.X, order, units)
    taken = order if beside is None else np.union1d(order, beside)
    closest = closest_left_out(every, taken, _N_ALTERNATIVES)
    found = tuple(
        tuple(Alternative(table.names[j], float(row[j])) for j in columns)
        for row, columns in zip(every, closest.tolist(), strict=True)
    )
    return every[:, order], found


def distributions(table: Table, order: Index) -> tuple[Distribution, ...]:
    """Quantiles of the strongest features in each class, label, or third of a number."""
    names: tuple[str, ...]
    shown = order[:_MOST_DISTRIBUTIONS]
    values = _dense_columns(table.X, shown)
    if table.task == "regression":
        first = table.y if table.y.ndim == 1 else table.y[:, 0]
        part = np.searchsorted(np.quantile(first, (1 / 3, 2 / 3)), first, side="left")
        names, masks = _THIRDS, [part == at for at in range(3)]
    elif table.task == "multilabel":
        names, masks = table.target.classes, [column == 1 for column in table.y.T]
    else:
        names, masks = table.target.classes, [table.y == value for value in np.unique(table.y)]
    there = [at for at, mask in enumerate(masks) if mask.any()]
    quantiles = np.array([np.quantile(values[masks[at]], _QUANTILES, axis=0) for at in there])
    groups = tuple(names[at] for at in there)
    return tuple(
        Distribution(
            table.names[j],
            groups,
            quantiles[:, :, i],
            tuple(float(values[masks[at], i].mean()) for at in there)
            if np.isin(values[:, i], (0.0, 1.0)).all()
            else (),
        )
        for i, j in enumerate(shown.tolist())
    )


def class_means(table: Table) -> Array:
    """The mean of every feature in each class (label, or over all samples for numbers)."""
    if table.task == "regression":
        return np.atleast_2d(np.asarray(table.X.mean(axis=0)))
    Y = encode_targets(table.y, table.task).Y
    shares = Y / np.maximum(Y.sum(axis=0), 1.0)
    return np.asarray((table.X.T @ shares).T)
