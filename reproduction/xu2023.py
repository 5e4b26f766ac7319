"""Xu, Wang, Nie & Li (AAAI 2023): accuracy, objective, convergence and time of CD-LSR."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from reproduction.accuracy import accuracy_rows
from reproduction.declare import Experiment, Paper, Row
from reproduction.figures import Line, Panels, curve_picture
from reproduction.summaries import matching
from reproduction.tables import DASH
from reproduction.xu2023_accuracy import (
    DEEP,
    accuracy_context,
    figure3_tasks,
    start_rows,
    start_tasks,
    starts_context,
)
from reproduction.xu2023_runs import (
    CURVE_DATASETS,
    CURVE_RUNS,
    DATASETS,
    DECLARED,
    FIGURE_KS,
    IPFS_RIDGE,
    RPFS,
    RUNS,
    SECONDS,
    TABLE,
    TABLE_KS,
    TIMED,
    convergence_rows,
    convergence_tasks,
    figure4_tasks,
    objective_rows,
    table_tasks,
    time_rows,
    time_tasks,
)

OWN = "cdlsr published"
# In the order of the page.
TIME_LABELS = {
    name: TIMED[name].label
    for name in (OWN, "cdlsr", "ipfs", "projectedgradient", RPFS, "topk no restarts", "topk")
}
CURVE_LABELS = {name: run.label for name, run in CURVE_RUNS.items()}
# Shares of the loss without features above which Figure 5 is cut.
_SHOWN = 1.2
# By selector, as in the printed table.
RIVALS = {"ipfs": "IPFS", "projectedgradient": "PGD", "rpfs": "RPFS"}
CELLS = [(dataset, k) for dataset in TABLE for k in TABLE_KS]
# Rows by data set, method and k.
Ends = dict[tuple[str, str, int], Row]


# --------------------------------------------------------------------- Table 2 and Figure 4
def ends_of(rows: Sequence[Row]) -> Ends:
    """The rows that have objectives."""
    return {(r["dataset"], r["method"], r["k"]): r for r in rows if "objectives" in r}


def best_setting(ends: Ends, dataset: str, family: str, k: int, best: Any = np.mean) -> Row | None:
    """The run of a selector with the least mean (or ``best``) of its objectives."""
    found = [
        ends[dataset, name, k]
        for name, run in RUNS.items()
        if run.selector == family and name != IPFS_RIDGE and (dataset, name, k) in ends
    ]
    return min(found, key=lambda row: float(best(row["objectives"])), default=None)


def fits(row: Row, printed: tuple[float, float]) -> bool:
    """Whether the mean of the starts is within one printed standard deviation."""
    # A printed spread of 0.0 may be up to 0.05.
    return abs(float(np.mean(row["objectives"])) - printed[0]) <= max(printed[1], 0.05)


def _count(family: str, runs: Sequence[Row | None]) -> str:
    """In how many of the cells that were run a selector fits."""
    there = [(cell, row) for cell, row in zip(CELLS, runs, strict=True) if row is not None]
    return f"{sum(fits(row, TABLE[d][family][k]) for (d, k), row in there)} of {len(there)}"


def _cells(ends: Ends) -> list[dict[str, Any]]:
    """The lines of Table 2, with the best setting of each rival."""
    return [
        {
            "title": DATASETS[dataset],
            "k": k,
            "printed": {name: own[k] for name, own in TABLE[dataset].items()},
            "runs": {name: ends.get((dataset, name, k)) for name in RUNS},
            "best": {name: best_setting(ends, dataset, name, k) for name in RIVALS},
        }
        for dataset, k in CELLS
    ]


def claims(ends: Ends) -> dict[str, Any]:
    """What agrees, and how the rivals compare with features drawn by lot and with TopK."""

    def column(method: str) -> list[Row | None]:
        return [ends.get((dataset, method, k)) for dataset, k in CELLS]

    published = column("cdlsr published")
    best = {name: [best_setting(ends, d, name, k) for d, k in CELLS] for name in RIVALS}
    drawn = {
        cell: row["objectives"]
        for cell, row in zip(CELLS, column("random"), strict=True)
        if row is not None
    }
    pairs = [
        (np.mean(t["objectives"]), c["objectives"])
        for t, c in zip(column("topk"), column("cdlsr"), strict=True)
        if t and c
    ]
    moved = [
        bool(np.mean(row["objectives"]) > 1.001 * np.mean(row["refitted"]))
        for row in published
        if row is not None
    ]
    return {
        "published": _count("cdlsr", published),
        "moved": f"{sum(moved)} of {len(moved)}",
        "rivals": {RIVALS[name]: _count(name, runs) for name, runs in best.items() if any(runs)},
        "drawn": len(drawn),
        "by_lot": {
            label: sum(
                TABLE[d][name][k][0] >= np.mean(v) - np.std(v) for (d, k), v in drawn.items()
            )
            for name, label in RIVALS.items()
        },
        "pairs": len(pairs),
        "below_mean": sum(bool(t < np.mean(c)) for t, c in pairs),
        "below_best": sum(bool(t < min(c) * (1 - 1e-6)) for t, c in pairs),
    }


def _settings(ends: Ends) -> list[list[str]]:
    """One line a setting of PGD, RPFS and IPFS."""
    lines = []
    for name, run in RUNS.items():
        found = [ends.get((dataset, name, k)) for dataset, k in CELLS]
        if run.selector in RIVALS and any(found):
            means = [f"{np.mean(row['objectives']):.4g}" if row else DASH for row in found]
            lines.append([run.label, *means, _count(run.selector, found)])
    return lines


def table_context(rows: Sequence[Row]) -> dict[str, Any]:
    """Table 2, and what other settings give."""
    ends = ends_of(rows)
    counts = {RUNS[m].selector: len(row["objectives"]) for (_, m, _), row in ends.items()}
    names = {"cdlsr": "CD-LSR", **RIVALS, "random": "random features", "topk": "TopK"}
    return {
        "starts": [f"{label} {counts[name]}" for name, label in names.items() if name in counts],
        "cells": _cells(ends),
        "claims": claims(ends),
        "settings": _settings(ends),
        "header": " | ".join(f"{DATASETS[d]}, k = {k}" for d, k in CELLS),
    }


def figure4_context(rows: Sequence[Row]) -> dict[str, Any]:
    """The best start of the best setting over k, and how it compares with TopK."""
    ends = ends_of(rows)
    panels: Panels = {}
    single = {name: RUNS[name].label for name in ("cdlsr published", "cdlsr")}
    for dataset, title in DATASETS.items():
        for name, label in {**single, **RIVALS, "topk": "TopK"}.items():
            points = {}
            for k in FIGURE_KS:
                row = ends.get((dataset, name, k))
                if name in RIVALS:
                    row = best_setting(ends, dataset, name, k, min)
                if row is not None:
                    points[k] = min(row["objectives"])
            if points:
                line = Line(list(points), list(points.values()))
                panels.setdefault(title, {})[label] = line
    return {
        "against": _against_topk(panels),
        "picture": curve_picture("xu2023-figure4", panels, x="features", y="squared loss")
        if panels
        else None,
    }


def _against_topk(panels: Panels) -> list[dict[str, Any]]:
    """By method: its mean excess over TopK in percent, and how often it is below."""
    excess: dict[str, list[float]] = {}
    for lines in panels.values():
        best = lines.get("TopK", Line((), ()))
        least = dict(zip(best.at, best.values, strict=True))
        for label, line in lines.items():
            pairs = zip(line.at, line.values, strict=True)
            own = excess.setdefault(label, [])
            own += [value / least[k] - 1.0 for k, value in pairs if least.get(k)]
    labels = [*(RUNS[name].label for name in ("cdlsr published", "cdlsr")), *RIVALS.values()]
    return [
        {
            "label": label,
            "mean": 100 * float(np.mean(excess[label])),
            "below": sum(ratio < -1e-6 for ratio in excess[label]),
            "points": len(excess[label]),
        }
        for label in labels
        if excess.get(label)
    ]


# --------------------------------------------------------------------- Figure 5 and Table 3
def convergence_panels(rows: Sequence[Row]) -> Panels:
    """Loss over the logarithm of the iteration; where it starts far above 1 it is cut."""
    panels: Panels = {}
    for dataset in CURVE_DATASETS:
        for k in TABLE_KS:
            own = {row["method"]: row for row in matching(rows, dataset=dataset, k=k)}
            for method, label in CURVE_LABELS.items():
                if "share" in own.get(method, {}) and (line := _curve(own[method])):
                    panels.setdefault(f"{DATASETS[dataset]}, k = {k}", {})[label] = line
    return panels


def _curve(row: Row) -> Line | None:
    if row["method"] == "topk":
        # Its starts are not iterations: where they end is a level to compare with.
        return Line([0.0, 3.0], [row["share"][-1]] * 2)
    points = [
        (float(np.log10(at)), share, sd)
        for at, share, sd in zip(row["at"], row["share"], row["spread"], strict=True)
        if share <= _SHOWN
    ]
    return Line(*(list(part) for part in zip(*points, strict=True))) if points else None


def _figure5(rows: Sequence[Row]) -> dict[str, Any]:
    panels = convergence_panels(rows)
    drawn = partial(
        curve_picture, x="log10 of the iteration", y="share of the loss without features"
    )
    return {
        "lines": [
            (DATASETS[row["dataset"]], row["k"], CURVE_LABELS[row["method"]], row)
            for row in rows
            if "share" in row and row["method"] != "topk"
        ],
        "picture": drawn("xu2023-figure5", panels) if panels else None,
    }


def table3_context(rows: Sequence[Row]) -> dict[str, Any] | None:
    """Seconds and ratios to CD-LSR as published, of the same data in the same process."""
    lines, factors, agree = [], [], 0
    for dataset, printed in SECONDS.items():
        own = {row["method"]: row for row in matching(rows, dataset=dataset)}
        unit = own.get(OWN, {}).get("process_seconds")
        for name, label in TIME_LABELS.items():
            if name not in own or not unit:
                continue
            row, told = own[name], printed.get("rpfs" if name == RPFS else name)
            ratio = row["process_seconds"] / unit
            cells = [DASH, DASH]
            if told is not None:
                was = told[0] / printed[OWN][0]
                cells = [f"{told[0]:g} ± {told[1]:g}", f"{was:.2f}"]
                if name != OWN:
                    factors.append(ratio / was)
                    agree += (ratio > 1.0) == (was > 1.0)
            own_time = f"{row['process_seconds']:.3f} ± {row['process_spread']:.3f}"
            cells += [f"{row['seconds']:.3f}", own_time, f"{ratio:.2f}"]
            lines.append([DATASETS[dataset], label, *cells, f"{row['objective']:.2f}"])
    if not factors:
        return None
    return {
        "lines": lines,
        "agree": agree,
        "cells": len(factors),
        "times": float(np.exp(np.mean(np.log(factors)))),
    }


def page(rows: Mapping[str, list[Row]]) -> dict[str, Any]:
    """Figure 3, the best of 40 runs, Table 2, Figures 4 and 5, Table 3."""
    failed = {
        f"{row['method']} on {row['dataset']} ({row['error']})"
        for own in rows.values()
        for row in own
        if row.get("error")
    }
    return {
        "deep": {name: contender.params for name, contender in DEEP.items()},
        "figure3": accuracy_context(rows.get("figure3", []), rows.get("starts", [])),
        "starts": starts_context(rows.get("starts", [])),
        "table2": table_context(rows.get("table2", [])),
        "figure4": figure4_context(rows.get("figure4", [])),
        "figure5": _figure5(rows.get("figure5", [])),
        "table3": table3_context(rows.get("table3", [])),
        "times": next((row["times"] for row in rows.get("table3", []) if "times" in row), 0),
        "failed": sorted(failed),
    }


PAPER = Paper(
    name="xu2023",
    experiments=(
        Experiment("figure3", figure3_tasks, accuracy_rows),
        Experiment("starts", start_tasks, start_rows),
        Experiment("table2", table_tasks, objective_rows),
        Experiment("figure4", figure4_tasks, objective_rows),
        Experiment("figure5", convergence_tasks, convergence_rows),
        Experiment("table3", time_tasks, time_rows),
    ),
    standard=DECLARED.size("standard"),
    quick=DECLARED.size("quick"),
    page=page,
)
