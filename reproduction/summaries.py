"""Numbers from rows: means over cells, places, and who stands where under either protocol."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from reproduction.declare import Row
from rowsparse.evaluation.curve import PROTOCOLS

# By data set and method.
Means = dict[str, dict[str, float]]
# Means that differ by less count as equal.
_TIE = 1e-9


def matching(rows: Iterable[Row], **where: Any) -> list[Row]:
    """The rows that have these values."""
    return [row for row in rows if all(row.get(name) == want for name, want in where.items())]


def values_by(
    rows: Iterable[Row], what: str, *fields: str, **where: Any
) -> dict[tuple[Any, ...], list[float]]:
    """Values of the rows that agree with ``where``, by what these rows have in the fields.

    Lists of values are joined.

    >>> values_by([{"k": 1, "accuracy": 0.5}, {"k": 1, "accuracy": 0.7}], "accuracy", "k")
    {(1,): [0.5, 0.7]}
    """
    found: dict[tuple[Any, ...], list[float]] = {}
    for row in matching(rows, **where):
        value = row.get(what)
        if value is not None:
            own = found.setdefault(tuple(row.get(field) for field in fields), [])
            own.extend(value if isinstance(value, list) else [value])
    return found


def mean_and_sd(rows: Iterable[Row], what: str, **where: Any) -> tuple[float, float, int]:
    """Mean, standard deviation and number of the values of the rows that agree with ``where``.

    >>> rows = [{"k": 1, "accuracy": 0.5}, {"k": 1, "accuracy": 0.7}, {"k": 2, "accuracy": 0.9}]
    >>> [round(value, 3) for value in mean_and_sd(rows, "accuracy", k=1)]
    [0.6, 0.1, 2]
    """
    values = values_by(rows, what, **where).get((), [])
    if not values:
        return float("nan"), float("nan"), 0
    return float(np.mean(values)), float(np.std(values)), len(values)


def place(values: Mapping[str, float], method: str, *, sign: int = -1) -> int:
    """1 for the best; those that share a value share the place. ``sign`` is 1 if less is better.

    >>> place({"a": 0.9, "b": 0.7, "c": 0.7}, "b")
    2
    """
    return 1 + sum(sign * value < sign * values[method] - _TIE for value in values.values())


def means_over_k(
    rows: Sequence[Row],
    what: str,
    datasets: Iterable[str],
    methods: Iterable[str],
    *,
    factor: float = 1.0,
    **where: Any,
) -> Means:
    """Means over k and splits of what was run.

    >>> rows = [{"dataset": "iris", "method": "rfs", "accuracy": 0.9}]
    >>> means_over_k(rows, "accuracy", ["iris", "wine"], ["rfs"])
    {'iris': {'rfs': 0.9}}
    """
    values = values_by(rows, what, "dataset", "method", **where)
    found: Means = {}
    for dataset in datasets:
        for method in methods:
            if (dataset, method) in values:
                mean = float(np.mean(values[dataset, method]))
                found.setdefault(dataset, {})[method] = factor * mean
    return found


def means_by_protocol(
    rows: Sequence[Row],
    datasets: Iterable[str],
    methods: Iterable[str],
    *,
    what: str = "accuracy",
    **where: Any,
) -> dict[str, Means]:
    """Means over k in percent, selection inside the folds and on all samples."""
    return {
        protocol: means_over_k(
            rows, what, datasets, methods, factor=100.0, protocol=protocol, **where
        )
        for protocol in PROTOCOLS
    }


def best_setting_rows(
    rows: Iterable[Row], settings: Collection[str], name: str, **where: Any
) -> list[Row]:
    """The rows of the setting with the highest mean accuracy on the test folds, under a new name.

    Chosen for each data set, protocol, number of features and classifier.

    >>> rows = [{"method": m, "k": 1, "accuracy": a} for m, a in (("rfs 1", 0.8), ("rfs 2", 0.9))]
    >>> best_setting_rows(rows, ["rfs 1", "rfs 2"], "best")
    [{'method': 'best', 'k': 1, 'accuracy': 0.9}]
    """
    cells: dict[tuple[object, ...], dict[str, list[Row]]] = {}
    for row in matching(rows, **where):
        if row.get("method") in settings and "accuracy" in row:
            cell = tuple(row.get(what) for what in ("dataset", "protocol", "k", "estimator"))
            cells.setdefault(cell, {}).setdefault(row["method"], []).append(row)
    return [
        {**row, "method": name}
        for found in cells.values()
        for row in max(found.values(), key=lambda own: np.mean([r["accuracy"] for r in own]))
    ]


def all_samples(found: Mapping[str, Means], methods: Mapping[str, str]) -> dict[str, Any]:
    """What selecting on all samples adds, and which methods are the same everywhere."""
    gains = [
        found["published"][d][m] - value
        for d, own in found["honest"].items()
        for m, value in own.items()
        if m in found["published"].get(d, {})
    ]
    return {
        "same": _twins(found, methods),
        "gain": float(np.mean(gains)) if gains else None,
        "most": max(gains, default=None),
    }


def _twins(found: Mapping[str, Means], methods: Mapping[str, str]) -> list[list[str]]:
    """Labels of methods that have the same means wherever they were run."""
    alike: dict[tuple[object, ...], list[str]] = {}
    for method, label in methods.items():
        own = tuple(
            (protocol, dataset, values[method])
            for protocol, means in found.items()
            for dataset, values in means.items()
            if method in values
        )
        if own:
            alike.setdefault(own, []).append(label)
    return [same for same in alike.values() if len(same) > 1]
