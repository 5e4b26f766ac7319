"""Xu, Wang, Nie & Li (AAAI 2023): accuracy, objective, convergence and time of CD-LSR."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from reproduction.accuracy import accuracy_rows
from reproduction.declare import Experiment, Paper, Row, Size
from reproduction.figures import Line, Panels, Picture, curves
from reproduction.summaries import matching
from reproduction.tables import DASH, markdown_table
from reproduction.xu2023_accuracy import (
    DEEP,
    GRID,
    accuracy_context,
    figure3_tasks,
    start_rows,
    start_tasks,
    starts_context,
)
from reproduction.xu2023_objective import figure4_context, table_context
from reproduction.xu2023_runs import (
    CURVE_DATASETS,
    DATASETS,
    RPFS,
    SECONDS,
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
CURVE_LABELS = {**TIME_LABELS, "topk": "TopK"}
# Shares of the loss without features above which Figure 5 is cut.
_SHOWN = 1.2


def convergence_panels(rows: Sequence[Row]) -> Panels:
    """Loss over the logarithm of the iteration; where it starts far above 1 it is cut."""
    panels: Panels = {}
    for dataset in CURVE_DATASETS:
        own = {row["method"]: row for row in matching(rows, dataset=dataset) if "share" in row}
        for method, label in CURVE_LABELS.items():
            if method in own and (line := _curve(own[method])):
                panels.setdefault(DATASETS[dataset], {})[label] = line
    return panels


def _curve(row: Row) -> Line | None:
    if row["method"] == "topk":
        # Its starts are not iterations: where they end is a level to compare with.
        return [0.0, 3.0], [row["share"][-1]] * 2
    points = [(float(np.log10(a)), s) for a, s in zip(row["at"], row["share"], strict=True)]
    shown = [(a, s) for a, s in points if s <= _SHOWN]
    return ([a for a, _ in shown], [s for _, s in shown]) if shown else None


def _figure5(rows: Sequence[Row]) -> dict[str, Any]:
    lines = []
    for row in rows:
        if "share" in row and row["method"] != "topk":
            starts, iterations = len(row["iterations"]), row["iterations"]
            where = [DATASETS[row["dataset"]], TIME_LABELS[row["method"]], starts]
            counts = [f"{row['converged']} of {starts}", f"{row['rises']} of {starts}"]
            lines.append([*where, f"{np.median(iterations):g}", max(iterations), *counts])
    header = ["data", "method", "starts", "iterations, median", "most", "converged", "ever rises"]
    panels = convergence_panels(rows)
    draw = curves(panels, x="log10 of the iteration", y="share of the loss without features")
    return {
        "table": markdown_table(header, lines) if lines else None,
        "picture": Picture("xu2023-figure5", draw) if panels else None,
    }


def table3_context(rows: Sequence[Row]) -> dict[str, Any] | None:
    """Seconds and ratios to CD-LSR as published, of the same data in the same process."""
    header = ["data", "method", "printed, s", "ratio", "here, s", "of the processor", "ratio"]
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
                was = told / printed[OWN]
                cells = [f"{told:g}", f"{was:.2f}"]
                if name != OWN:
                    factors.append(ratio / was)
                    agree += (ratio > 1.0) == (was > 1.0)
            cells += [f"{row['seconds']:.3f}", f"{row['process_seconds']:.3f}", f"{ratio:.2f}"]
            lines.append([DATASETS[dataset], label, *cells, f"{row['objective']:.2f}"])
    if not factors:
        return None
    return {
        "table": markdown_table([*header, "squared loss"], lines),
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
        "figure3": accuracy_context(rows.get("figure3", [])),
        "starts": starts_context(rows.get("starts", [])),
        "table2": table_context(rows.get("table2", [])),
        "figure4": figure4_context(rows.get("figure4", [])),
        "figure5": _figure5(rows.get("figure5", [])),
        "table3": table3_context(rows.get("table3", [])),
        "failed": sorted(failed),
    }


_QUICK_RUNS = (OWN, "cdlsr", "random", "topk", "topk no restarts", "projectedgradient", RPFS)
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
    standard=Size(repeats=3, options={"grid": GRID, "starts": 40, "times": 3}),
    quick=Size(
        "quick",
        datasets=("srbct", "jaffe"),
        options={
            "methods": ("ttest", "fspca", "rfs 1", OWN, "topk", "allfeatures"),
            "runs": (*_QUICK_RUNS, "projectedgradient step 0.0001"),
            "grid": (1.0,),
            "ks": (5, 20),
            "figure_ks": (1, 5),
            "start_ks": (5,),
            "starts": 4,
            "times": 1,
        },
    ),
    page=page,
)
