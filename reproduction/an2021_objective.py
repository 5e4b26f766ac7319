"""The numbers of the page of An, Dong & Qin (2021) on convergence and on the objective."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from reproduction.an2021_convergence import CONVERGENCE, CONVERGENCE_K, STEPS
from reproduction.an2021_runs import DATASETS, LARGER_RHO, OBJECTIVE_CONTENDERS, SMALLER_RHO
from reproduction.declare import Row, labels
from reproduction.figures import Panels, Picture, curves
from reproduction.summaries import matching, mean_and_sd, values_by
from reproduction.tables import DASH, markdown_table, shown

LABELS = labels(OBJECTIVE_CONTENDERS)
# Share of the least F_mu within which an iteration has arrived.
NEAR = 0.01
# Values that differ by a smaller share count as equal.
TIE = 1e-4


def arrival(row: Row, least: float) -> int | None:
    """The first of the stored iterations with F_mu within 1 % of the least.

    >>> arrival({"at": [1, 10, 100], "values": [9.0, 5.02, 5.0]}, 5.0)
    10
    """
    pairs = zip(row["at"], row["values"], strict=True)
    return next((at for at, value in pairs if value <= (1.0 + NEAR) * least), None)


def _least(runs: dict[str, Row]) -> float:
    return min(min(row["values"]) for row in runs.values())


def _convergence_table(rows: Sequence[Row]) -> str:
    header = ["data", "steps", "iterations to 1 %", "last Fμ", "last F", "non-zero rows"]
    header += ["above 0.001", "kept from step 1", "refitted"]
    lines = []
    for dataset in CONVERGENCE:
        own = matching(rows, dataset=dataset)
        runs = {row["method"]: row for row in own if "values" in row}
        for step, label in STEPS.items():
            if step in runs:
                row = runs[step]
                reached = arrival(row, _least(runs))
                ends = [f"{row['values'][-1]:.1f}", f"{row['value']:.1f}", row["rows"]]
                kept = [row["strong_rows"], f"{row['kept']} of {row['k']}"]
                lines.append(
                    [
                        DATASETS[dataset],
                        label,
                        "not reached" if reached is None else reached,
                        *ends,
                        *kept,
                        f"{row['refitted']:.1f}",
                    ]
                )
        for row in own:
            if "bound" in row:
                bound, k = f"at least {row['bound']:.1f}", row["k"]
                cells = ["NmAPG, corrected", DASH, DASH, bound, k, k, DASH]
                lines.append([DATASETS[dataset], *cells, f"{row['refitted']:.1f}"])
    return markdown_table(header, lines)


def _convergence_claims(rows: Sequence[Row]) -> dict[str, Any] | None:
    """What the printed steps leave undone, by data set."""
    by_set = {
        DATASETS[dataset]: {row["method"]: row for row in matching(rows, dataset=dataset)}
        for dataset in CONVERGENCE
    }
    ran = {d: own for d, own in by_set.items() if "values" in own.get("printed", {})}
    if not ran:
        return None
    least = {d: _least({m: r for m, r in own.items() if "values" in r}) for d, own in ran.items()}
    printed = {d: own["printed"] for d, own in ran.items()}
    return {
        "number": len(ran),
        "late": {
            d: f"{100 * (min(row['values']) / least[d] - 1):.0f} %"
            for d, row in printed.items()
            if arrival(row, least[d]) is None
        },
        "strong": {d: f"{row['strong_rows']} for k = {row['k']}" for d, row in printed.items()},
        "moved": max(
            (
                100 * abs(ran[d]["operator"]["value"] / row["value"] - 1.0)
                for d, row in printed.items()
                if "value" in ran[d].get("operator", {})
            ),
            default=None,
        ),
        "worse": {
            d: f"{100 * (row['refitted'] / ran[d]['corrected']['refitted'] - 1):.0f} %"
            for d, row in printed.items()
            if "refitted" in ran[d].get("corrected", {})
        },
    }


def convergence_context(rows: Sequence[Row]) -> dict[str, Any]:
    """F_mu over the iterations."""
    panels: Panels = {}
    for dataset in CONVERGENCE:
        runs = {row["method"]: row for row in matching(rows, dataset=dataset) if "values" in row}
        if runs:
            panels[DATASETS[dataset]] = {
                label: ([float(np.log10(i)) for i in runs[step]["at"]], runs[step]["values"])
                for step, label in STEPS.items()
                if step in runs
            }
    draw = curves(panels, x="log10 of iterations", y="smoothed objective Fμ", columns=4)
    return {
        "k": CONVERGENCE_K,
        "near": 100 * NEAR,
        "claims": _convergence_claims(rows),
        "table": _convergence_table(rows),
        "picture": Picture("an2021-convergence", draw) if panels else None,
    }


def objective_context(rows: Sequence[Row]) -> dict[str, Any]:
    """The objective of the paper at equal k, with all samples."""
    means = {
        cell: float(np.mean(values))
        for cell, values in values_by(rows, "objective", "dataset", "k", "method").items()
    }
    ks = sorted({k for _, k, _ in means})
    cells = {
        (d, k): {m: means[d, k, m] for m in LABELS if (d, k, m) in means}
        for d in DATASETS
        for k in ks
        if any((d, k, m) in means for m in LABELS)
    }
    lines = []
    for (dataset, k), values in cells.items():
        bound, _, n = mean_and_sd(rows, "bound", dataset=dataset, k=k)
        numbers = [bound if n else None, *(values.get(method) for method in LABELS)]
        lines.append([DATASETS[dataset], k, *(shown(number, ".2f") for number in numbers)])
    return {
        "table": markdown_table(["data", "k", "bound", *LABELS.values()], lines),
        "number": len(cells),
        **_objective_counts(list(cells.values())),
        "steps": [
            found
            for method in (LARGER_RHO, SMALLER_RHO)
            if (found := _first_step(matching(rows, method=method), LABELS[method]))
        ],
    }


def _objective_counts(cells: list[dict[str, float]]) -> dict[str, Any]:
    """How often a method is best, below the published one, and that one is worth Fisher's."""
    ran = [method for method in LABELS if any(method in values for values in cells)]
    return {
        "best": {
            LABELS[m]: sum(v.get(m, np.inf) <= min(v.values()) * (1.0 + TIE) for v in cells)
            for m in ran
        },
        "below": {
            LABELS[m]: sum(
                v.get(m, np.inf) < v.get(LARGER_RHO, -np.inf) * (1.0 - TIE) for v in cells
            )
            for m in ran
            if m != LARGER_RHO
        },
        "same": sum(
            {"fisherscore", LARGER_RHO} <= set(v)
            and abs(v["fisherscore"] - v[LARGER_RHO]) <= TIE * v["fisherscore"]
            for v in cells
        ),
    }


def _first_step(rows: Sequence[Row], label: str) -> dict[str, Any] | None:
    """How many of the features are those of the first step, and how often k rows are kept."""
    own = [row for row in rows if "kept" in row]
    if not own:
        return None
    return {
        "label": label,
        "share": 100 * sum(row["kept"] for row in own) / sum(row["k"] for row in own),
        "still": sum(row["kept"] == row["k"] for row in own),
        "feasible": sum(row["rows"] <= row["k"] for row in own),
        "number": len(own),
    }
