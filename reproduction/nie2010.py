"""Nie, Huang, Cai & Ding (NIPS 2010): accuracy of the top 20 and 80 features, and its curves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from reproduction.accuracy import accuracy_rows, accuracy_tasks
from reproduction.declare import Declaration, Experiment, Paper, Row, RunTask, Size, labels
from reproduction.figures import method_panels, protocol_pictures
from reproduction.summaries import values_by
from reproduction.tables import DASH, markdown_table, shown
from rowsparse.datasets import dataset_info

DECLARED = Declaration("nie2010")
DATASETS = DECLARED.table("datasets")
CONTENDERS = DECLARED.contenders()
LABELS = labels(CONTENDERS)
PRINTED = DECLARED.table("printed")
TABLE_KS = (20, 80)
CURVE_KS = (1, 2, 5, 10, 15, 30, 40, 60)
PROTOCOLS = ("published", "honest")
# The method of the paper as it is printed, and what the paper compares it with.
OWN = "rfs gamma 1"
RIVALS = ("relieff", "fstatistic", "ttest", "informationgain", "mrmr")


def _tasks(experiment: str, size: Size, ks: tuple[int, ...], repeats: int) -> list[RunTask]:
    options = {"ks": list(ks), "estimators": ["linear SVM"], "folds": 5}
    return accuracy_tasks(
        experiment, size, DATASETS, CONTENDERS, lambda *_: options, repeats=repeats
    )


def table1_tasks(size: Size) -> list[RunTask]:
    """Top 20 and top 80."""
    return _tasks("table1", size, TABLE_KS, size.repeats)


def figure1_tasks(size: Size) -> list[RunTask]:
    """The other points of the curves, with one repetition."""
    return _tasks("figure1", size, CURVE_KS, 1)


def printed(selector: str, dataset: str, k: int) -> float | None:
    """The printed accuracy in percent, if there is one; also of "prostate_ms" and "average"."""
    values = PRINTED[f"top{k}"].get(selector)
    return None if values is None else values[PRINTED["columns"].index(dataset)]


# Accuracies of the repetitions by method, protocol, data set and k.
Cells = dict[tuple[Any, ...], list[float]]


def _table(cells: Cells, k: int) -> str:
    lines, told = [], set()
    for method, contender in CONTENDERS.items():
        selector = contender.selector
        numbers = [printed(selector, dataset, k) for dataset in PRINTED["columns"]]
        if selector not in told and None not in numbers:
            title = contender.label.partition(",")[0]
            lines.append([f"**{title}**", "printed", *(shown(n, ".2f") for n in numbers)])
        told.add(selector)
        for protocol in PROTOCOLS:
            found = [cells.get((method, protocol, dataset, k)) for dataset in DATASETS]
            if any(found):
                shares = [
                    f"{100 * np.mean(own):.1f} ± {100 * np.std(own):.1f}" if own else DASH
                    for own in found
                ]
                lines.append([contender.label, protocol, *shares, DASH, DASH])
    return markdown_table(["method", "", *DATASETS.values(), "Pro-MS", "average of six"], lines)


def leads(cells: Cells, k: int = 20) -> list[list[str]]:
    """How far RFS is ahead of the best and of the worst rival, by data set: printed, then ours."""
    lines = []
    for column, title in [*DATASETS.items(), ("prostate_ms", "Pro-MS"), ("average", "average")]:
        values = {rival: printed(rival, column, k) for rival in PRINTED[f"top{k}"]}
        texts = [_lead({name: v for name, v in values.items() if v is not None}, "rfs")]
        for protocol in PROTOCOLS:
            own = {
                CONTENDERS[method].selector if method != OWN else OWN: 100 * float(np.mean(found))
                for method in (*RIVALS, OWN)
                if (found := cells.get((method, protocol, column, k)))
            }
            texts.append(_lead(own, OWN))
        lines.append([title, *texts])
    return lines


def _lead(values: Mapping[str, float], own: str) -> str:
    """From the lead over the best of the others to that over the worst of them."""
    others = [value for name, value in values.items() if name != own]
    if own not in values or not others:
        return DASH
    return f"{values[own] - max(others):+.1f} to {values[own] - min(others):+.1f}"


def agreement(cells: Cells) -> list[tuple[str, str, str, float, bool]]:
    """Every cell with a printed number: method, protocol, data set, ours minus it, and agreement.

    No spread is printed. Two standard deviations of ours, or one sample, count as agreement.
    """
    found = []
    for (method, protocol, dataset, k), own in cells.items():
        value = printed(CONTENDERS[method].selector, dataset, k)
        if value is not None:
            more = 100 * float(np.mean(own)) - value
            slack = max(200 * float(np.std(own)), 100 / dataset_info(dataset).n_samples)
            found.append((method, protocol, dataset, more, abs(more) <= slack))
    return found


def _agreement_table(cells: Cells) -> str:
    every = agreement(cells)
    lines = []
    for method, label in LABELS.items():
        for protocol in PROTOCOLS:
            own = [cell for cell in every if cell[:2] == (method, protocol)]
            if own:
                by_set = [[more for *_, d, more, _ in own if d == name] for name in DATASETS]
                differences = [f"{np.mean(more):+.1f}" if more else DASH for more in by_set]
                count = f"{sum(agrees for *_, agrees in own)} of {len(own)}"
                lines.append([label, protocol, count, *differences])
    return markdown_table(["method", "protocol", "agree", *DATASETS.values()], lines)


def inflation(cells: Cells) -> dict[str, Any] | None:
    """What the published protocol adds to the accuracy: its mean, the most, and where."""
    added = [
        (
            100 * float(np.mean(own) - np.mean(cells[method, "honest", dataset, k])),
            f"{LABELS[method]} on {DATASETS[dataset]}, top {k}",
        )
        for (method, protocol, dataset, k), own in cells.items()
        if protocol == "published" and (method, "honest", dataset, k) in cells
    ]
    if not added:
        return None
    most, where = max(added)
    return {"mean": sum(points for points, _ in added) / len(added), "most": most, "where": where}


def page(rows: Mapping[str, list[Row]]) -> dict[str, Any]:
    """Table 1 and Figure 1."""
    table, curve = rows.get("table1", []), rows.get("figure1", [])
    cells = values_by(table, "accuracy", "method", "protocol", "dataset", "k")
    pictures = protocol_pictures(
        "nie2010", lambda p: method_panels(table + curve, DATASETS, LABELS, protocol=p)
    )
    return {
        "tables": {k: _table(cells, k) for k in TABLE_KS},
        "agreement": _agreement_table(cells) if agreement(cells) else None,
        "leads": leads(cells),
        "own": LABELS[OWN],
        "inflation": inflation(cells),
        "pictures": {p: pictures[p] for p in PROTOCOLS if p in pictures},
    }


PAPER = Paper(
    name="nie2010",
    experiments=(
        Experiment("table1", table1_tasks, accuracy_rows),
        Experiment("figure1", figure1_tasks, accuracy_rows),
    ),
    standard=DECLARED.size("standard"),
    quick=DECLARED.size("quick"),
    page=page,
)
