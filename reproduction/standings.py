"""Who stands where: means over k by data set and method, under either protocol."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from reproduction.declare import Row
from reproduction.pages import markdown_table, mean_and_sd
from rowsparse.evaluation import PROTOCOLS

__all__ = [
    "Means",
    "listed",
    "means_by_protocol",
    "means_over_k",
    "means_table",
    "of_dataset",
    "place",
    "protocol_table",
    "standings_text",
]

# By data set and method.
Means = dict[str, dict[str, float]]
# Means that differ by less are the same but for rounding.
_TIE = 1e-9


def of_dataset(rows: Sequence[Row], dataset: str) -> list[Row]:
    """The rows of one data set."""
    return [row for row in rows if row.get("dataset") == dataset]


def listed(values: Mapping[str, Any]) -> str:
    """Names and values in a sentence.

    >>> listed({"Yale": 1, "USPS": 2})
    'Yale: 1; USPS: 2'
    """
    return "; ".join(f"{name}: {value}" for name, value in values.items())


def place(values: Mapping[str, float], method: str, *, sign: int = -1) -> int:
    """1 for the best; those that share a value share the place. ``sign`` is 1 if less is better.

    >>> place({"a": 0.9, "b": 0.7, "c": 0.7}, "b")
    2
    """
    return 1 + sum(sign * value < sign * values[method] - _TIE for value in values.values())


def means_over_k(
    rows: Sequence[Row],
    what: str,
    datasets: Mapping[str, str],
    methods: Mapping[str, str],
    *,
    factor: float = 1.0,
    **where: Any,
) -> Means:
    """Means over k and splits of what was run.

    >>> rows = [{"dataset": "iris", "method": "rfs", "accuracy": 0.9}]
    >>> means_over_k(rows, "accuracy", {"iris": "Iris", "wine": "Wine"}, {"rfs": "RFS"})
    {'iris': {'rfs': 0.9}}
    """
    found: Means = {}
    for dataset in datasets:
        own = of_dataset(rows, dataset)
        for method in methods:
            mean, _, n = mean_and_sd(own, what, method=method, **where)
            if n:
                found.setdefault(dataset, {})[method] = factor * mean
    return found


def means_by_protocol(
    rows: Sequence[Row],
    datasets: Mapping[str, str],
    methods: Mapping[str, str],
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


def means_table(
    blocks: Mapping[str, Means],
    datasets: Mapping[str, str],
    methods: Mapping[str, str],
    *,
    what: str,
    form: str,
) -> str:
    """Methods by data sets that were run, with one line for each of the named blocks of means."""
    ran = [d for d in datasets if any(d in means for means in blocks.values())]
    lines = []
    for method, label in methods.items():
        for name, means in blocks.items():
            values = [means.get(d, {}).get(method) for d in ran]
            if any(value is not None for value in values):
                cells = ["–" if value is None else format(value, form) for value in values]
                lines.append([label, name, *cells])
    return markdown_table(["method", what, *(datasets[d] for d in ran)], lines)


def protocol_table(
    found: Mapping[str, Means], datasets: Mapping[str, str], methods: Mapping[str, str]
) -> str:
    """Both protocols, in percent."""
    return means_table(found, datasets, methods, what="protocol", form=".1f")


def standings_text(
    found: Mapping[str, Means],
    datasets: Mapping[str, str],
    methods: Mapping[str, str],
    watched: Mapping[str, str],
) -> str:
    """The first under each protocol, the places of some, and what selecting on all samples adds.

    ``watched`` has the names by which the sentence calls the methods whose places it gives.
    """
    parts = []
    for protocol, means in found.items():
        if not means:
            continue
        firsts = {
            datasets[d]: " and ".join(methods[m] for m in own if place(own, m) == 1)
            for d, own in means.items()
        }
        parts.append(f"Best mean over k, {protocol} protocol – {listed(firsts)}.")
        for method, name in watched.items():
            places = {
                datasets[d]: f"{place(own, method)} of {len(own)}"
                for d, own in means.items()
                if method in own
            }
            if places:
                parts[-1] += f" Places of {name} – {listed(places)}."
    parts += [f"{' and '.join(same)} are the same everywhere." for same in _twins(found, methods)]
    gains = _gains(found)
    if gains:
        parts.append(
            f"Selecting on all samples adds {np.mean(gains):.1f} points on average, and up to "
            f"{max(gains):.1f}."
        )
    return "\n".join(f"- {part}" for part in parts) or "Not run."


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
    return [labels for labels in alike.values() if len(labels) > 1]


def _gains(found: Mapping[str, Means]) -> list[float]:
    """Of every data set and method, the published mean less the honest one."""
    return [
        found["published"][d][m] - value
        for d, own in found["honest"].items()
        for m, value in own.items()
        if m in found["published"].get(d, {})
    ]
