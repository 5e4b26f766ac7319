"""Xu, Wang, Nie & Li (AAAI 2023): accuracy, objective, convergence and time of CD-LSR."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from reproduction.accuracy import accuracy_rows
from reproduction.claims import Claim, counted, share, split
from reproduction.declare import Experiment, Paper, Row
from reproduction.figures import Line, Panels, curve_picture
from reproduction.summaries import matching, place
from reproduction.tables import DASH
from reproduction.xu2023_accuracy import (
    DEEP,
    accuracy_context,
    figure3_tasks,
    start_rows,
    start_tasks,
    starts_context,
    top_two,
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
    STOPPED,
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
ALL_RIVALS = "all rivals"
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


def table_counts(ends: Ends) -> dict[str, Any]:
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
    """One line a setting of PGD, RPFS and IPFS that fits at least one cell."""
    lines = []
    for name, run in RUNS.items():
        found = [ends.get((dataset, name, k)) for dataset, k in CELLS]
        count = _count(run.selector, found) if run.selector in RIVALS and any(found) else "0"
        if not count.startswith("0"):
            means = [f"{np.mean(row['objectives']):.4g}" if row else DASH for row in found]
            lines.append([run.label, *means, count])
    return lines


def table_context(rows: Sequence[Row]) -> dict[str, Any]:
    """Table 2, and what other settings give."""
    ends = ends_of(rows)
    counts = {RUNS[m].selector: len(row["objectives"]) for (_, m, _), row in ends.items()}
    names = {"cdlsr": "CD-LSR", **RIVALS, "random": "random features", "topk": "TopK"}
    return {
        "starts": [f"{label} {counts[name]}" for name, label in names.items() if name in counts],
        "cells": _cells(ends),
        "counts": table_counts(ends),
        "settings": _settings(ends),
        "header": " | ".join(f"{DATASETS[d]}, k = {k}" for d, k in CELLS),
    }


def figure4_panels(rows: Sequence[Row]) -> Panels:
    """The best start of the best setting over k."""
    ends = ends_of(rows)
    panels: Panels = {}
    single = {name: RUNS[name].label for name in (OWN, "cdlsr")}
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
    return panels


def figure4_context(rows: Sequence[Row]) -> dict[str, Any]:
    """The best start over k, and how it compares with TopK."""
    panels = figure4_panels(rows)
    return {
        "against": _against_topk(panels),
        "picture": curve_picture(
            "xu2023-figure4",
            panels,
            x="features",
            y="squared loss",
            subject=RUNS[OWN].label,
        )
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
        curve_picture,
        x="log10 of the iteration",
        y="share of the loss without features",
        subject=CURVE_LABELS[OWN],
    )
    lines = []
    for method, label in CURVE_LABELS.items():
        own = [row for row in matching(rows, method=method) if "share" in row]
        if own and method != "topk":
            counts = [n for row in own for n in row["iterations"]]
            done, rising = (sum(row[what] for row in own) for what in ("converged", "rises"))
            lines.append(
                [
                    label,
                    len(counts),
                    f"{np.median(counts):g}",
                    max(counts),
                    f"{done} of {len(counts)}",
                    f"{rising} of {len(counts)}",
                ]
            )
    return {"lines": lines, "picture": drawn("xu2023-figure5", panels) if panels else None}


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
            cells += [f"{row['iterations']:g}", own_time, f"{ratio:.2f}"]
            lines.append([DATASETS[dataset], label, *cells, f"{row['objective']:.2f}"])
    if not factors:
        return None
    return {
        "lines": lines,
        "agree": agree,
        "cells": len(factors),
        "times": float(np.exp(np.mean(np.log(factors)))),
    }


def claims(rows: Mapping[str, list[Row]]) -> list[Claim]:
    """What the paper says of CD-LSR, judged by the published one against the paper's rivals."""
    ends = ends_of(rows.get("table2", []))
    published = {(d, k): row for d, k in CELLS if (row := ends.get((d, OWN, k)))}
    means = {cell: float(np.mean(row["objectives"])) for cell, row in published.items()}
    spreads = {cell: float(np.std(row["objectives"])) for cell, row in published.items()}
    rivals = {
        cell: {name: run for name in RIVALS if (run := best_setting(ends, cell[0], name, cell[1]))}
        for cell in published
    }
    ends_there = [
        {name: float(np.mean(run["objectives"])) for name, run in own.items()}
        for own in rivals.values()
    ]
    pairs = list(zip(means.values(), ends_there, strict=True))
    lines = list(figure4_panels(rows.get("figure4", [])).values())
    curves = [r for r in rows.get("figure5", []) if r.get("method") == OWN and "iterations" in r]
    places = [
        place(own, OWN, sign=1) for own in seconds(rows.get("table3", [])).values() if OWN in own
    ]
    return [
        split(
            '"our method ranks top two in all datasets" (Figure 3)',
            "curves",
            top_two(rows.get("figure3", []), rows.get("starts", [])),
        ),
        counted(
            "mean loss of CD-LSR over 40 random starts (Table 2), within one printed deviation",
            "6 cells",
            "cells",
            [fits(row, TABLE[d]["cdlsr"][k]) for (d, k), row in published.items()],
        ),
        split(
            '"CD-LSR remains the best in all cases" (Table 2): below its rivals, each with the '
            "best setting",
            share([_is_best(cell) for cell in CELLS]) + " cells",
            {
                ALL_RIVALS: [mean < min(own.values()) for mean, own in pairs if own],
                **{
                    label: [mean < own[name] for mean, own in pairs if name in own]
                    for name, label in RIVALS.items()
                },
            },
            (ALL_RIVALS,),
        ),
        counted(
            '"relatively low standard deviations in most cases" (Table 2): one of the two lowest',
            share([_is_steady(cell) for cell in CELLS]) + " cells",
            "cells",
            [
                sum(float(np.std(run["objectives"])) < spreads[cell] for run in own.values()) < 2
                for cell, own in rivals.items()
                if own
            ],
        ),
        split(
            '"CD-LSR achieves the best result" (Figure 4): the best start no higher than those of '
            "its rivals",
            "curves",
            {
                ALL_RIVALS: no_higher(lines, CURVE_LABELS[OWN], RIVALS.values()),
                **{
                    label: no_higher(lines, CURVE_LABELS[OWN], [label]) for label in RIVALS.values()
                },
            },
            (ALL_RIVALS,),
        ),
        counted(
            '"converges quickly within ten iterations in most cases" (Figure 5)',
            "curves",
            "starts",
            [n <= 10 for row in curves for n in row["iterations"]],
        ),
        counted(
            '"the only one that maintains the top-2 speed in all datasets" (Table 3)',
            "3 of 3 data sets",
            "data sets",
            [at <= 2 for at in places],
        ),
    ]


def _is_best(cell: tuple[str, int]) -> bool:
    printed = TABLE[cell[0]]
    return all(printed["cdlsr"][cell[1]][0] < printed[name][cell[1]][0] for name in RIVALS)


def _is_steady(cell: tuple[str, int]) -> bool:
    printed = TABLE[cell[0]]
    own = printed["cdlsr"][cell[1]][1]
    return sum(printed[name][cell[1]][1] < own for name in RIVALS) < 2


def no_higher(panels: Sequence[Mapping[str, Line]], own: str, rivals: Iterable[str]) -> list[bool]:
    """At each k of a line and of any of its rivals: whether it is no higher than they are."""
    names, found = list(rivals), []
    for lines in panels:
        least: dict[float, float] = {}
        for name in names:
            line = lines.get(name, Line((), ()))
            for k, value in zip(line.at, line.values, strict=True):
                least[k] = min(value, least.get(k, np.inf))
        line = lines.get(own, Line((), ()))
        found += [
            value <= least[k] * (1 + 1e-6)
            for k, value in zip(line.at, line.values, strict=True)
            if k in least
        ]
    return found


def seconds(rows: Sequence[Row]) -> dict[str, dict[str, float]]:
    """Processor time by data set and method of the paper."""
    found: dict[str, dict[str, float]] = {}
    for row in rows:
        if row.get("method") in STOPPED:
            found.setdefault(row["dataset"], {})[row["method"]] = row["process_seconds"]
    return found


def page(rows: Mapping[str, list[Row]]) -> dict[str, Any]:
    """Figure 3, the best of 40 runs, Table 2, Figures 4 and 5, Table 3."""
    return {
        "claims": claims(rows),
        "deep": {name: contender.params for name, contender in DEEP.items()},
        "figure3": accuracy_context(rows.get("figure3", []), rows.get("starts", [])),
        "starts": starts_context(rows.get("starts", [])),
        "table2": table_context(rows.get("table2", [])),
        "figure4": figure4_context(rows.get("figure4", [])),
        "figure5": _figure5(rows.get("figure5", [])),
        "table3": table3_context(rows.get("table3", [])),
        "times": next((row["times"] for row in rows.get("table3", []) if "times" in row), 0),
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
