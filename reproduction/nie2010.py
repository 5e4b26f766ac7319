"""Nie, Huang, Cai & Ding (NIPS 2010): accuracy of the top 20 and 80 features, and its curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from reproduction.accuracy import accuracy_rows, accuracy_tasks
from reproduction.claims import Claim, counted, share, split
from reproduction.declare import Declaration, Experiment, Paper, Row, RunTask, Size, labels
from reproduction.figures import method_panels, protocol_pictures
from reproduction.summaries import values_by
from reproduction.tables import DASH, markdown_table, shown
from rowsparse import RFS
from rowsparse.datasets import dataset_info, load

DECLARED = Declaration("nie2010")
DATASETS = DECLARED.table("datasets")
CONTENDERS = DECLARED.contenders()
LABELS = labels(CONTENDERS)
PRINTED = DECLARED.table("printed")
TABLE_KS = (20, 80)
CURVE_KS = (1, 2, 5, 10, 15, 30, 40, 60)
PROTOCOLS = ("published", "honest")
# Theorem 1: a limit on the iterations, and shares above the optimum at which it is near.
LIMIT = 500
NEAR = (0.01, 1e-3, 1e-4)
# Points that "5 %" is taken as, and iterations that "a few" is.
LEAST_LEAD, FEW = 5, 20
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


def theorem_tasks(size: Size) -> list[RunTask]:
    """Theorem 1, and "only a few iterations": the printed iteration with two penalties."""
    return [
        RunTask("theorem1", dataset, f"rfs gamma {gamma:g}", options={"gamma": gamma})
        for dataset in filter(size.keeps, DATASETS)
        for gamma in (1.0, 10.0)
    ]


def theorem_rows(task: RunTask) -> list[Row]:
    """How often the objective rises, and iterations until it is near the certified optimum."""
    data = load(task.dataset, download=False)
    X, y, k = np.asarray(data.X), data.y, TABLE_KS[0]
    settings: dict[str, Any] = {"gamma": task.options["gamma"], "fit_intercept": False}
    iterated = RFS(k, variant="published", tol=1e-12, max_iter=LIMIT, **settings).fit(X, y)
    exact = RFS(k, tol=1e-8, **settings).fit(X, y)
    history = np.asarray(iterated.history_)
    near = [np.flatnonzero(history <= (1.0 + share) * exact.objective_) for share in NEAR]
    return [
        {
            "dataset": task.dataset,
            "method": task.method,
            "iterations": history.size,
            "rises": int(np.count_nonzero(np.diff(history) > 1e-9 * history[:-1])),
            "near": [int(found[0]) + 1 if found.size else None for found in near],
            "excess": history[-1] / exact.objective_ - 1.0,
        }
    ]


def printed(selector: str, dataset: str, k: int) -> float | None:
    """The printed accuracy in percent, if there is one; also of "prostate_ms" and "average"."""
    values = PRINTED[f"top{k}"].get(selector)
    return None if values is None else values[PRINTED["columns"].index(dataset)]


# Accuracies of the repetitions by method, protocol, data set and k.
Cells = dict[tuple[Any, ...], list[float]]


def _table(cells: Cells, k: int) -> str:
    """A line a method: the printed number, selected on all samples, and inside the folds."""
    lines = []
    for method, contender in CONTENDERS.items():
        shown_cells = []
        for dataset in DATASETS:
            value = printed(contender.selector, dataset, k)
            found = [cells.get((method, protocol, dataset, k)) for protocol in PROTOCOLS]
            ours = [f"{100 * np.mean(own):.1f}" if own else DASH for own in found]
            shown_cells.append("/".join([shown(value, ".1f"), *ours]))
        if any((method, p, d, k) in cells for p in PROTOCOLS for d in DATASETS):
            lines.append([contender.label, *shown_cells])
    return markdown_table(["method", *DATASETS.values()], lines)


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

    No spread is printed. Two standard deviations of ours, estimated with one degree of freedom
    less than repetitions, or one sample, count as agreement.
    """
    found = []
    for (method, protocol, dataset, k), own in cells.items():
        value = printed(CONTENDERS[method].selector, dataset, k)
        if value is not None:
            more = 100 * float(np.mean(own)) - value
            sd = float(np.std(own, ddof=1)) if len(own) > 1 else 0.0
            slack = max(200 * sd, 100 / dataset_info(dataset).n_samples)
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


def claims(cells: Cells, theorem: Sequence[Row]) -> list[Claim]:
    """What the paper says of its method, judged by RFS as published with γ = 1."""
    own = {(protocol, d, k): v for (m, protocol, d, k), v in cells.items() if m == OWN}
    best: dict[tuple[Any, ...], float] = {}
    for (method, *cell), values in cells.items():
        if method in RIVALS:
            where = tuple(cell)
            best[where] = max(best.get(where, 0.0), float(np.mean(values)))
    ahead = {
        cell: 100.0 * (float(np.mean(v)) - best[cell]) for cell, v in own.items() if cell in best
    }
    told = {
        (column, k): PRINTED[f"top{k}"]["rfs"][at]
        - max(PRINTED[f"top{k}"][rival][at] for rival in RIVALS)
        for at, column in enumerate(PRINTED["columns"])
        for k in TABLE_KS
        if column != "average"
    }
    first = {p: [lead > 0 for (q, *_), lead in ahead.items() if q == p] for p in PROTOCOLS}
    wide = {
        p: [lead >= LEAST_LEAD for (q, _, k), lead in ahead.items() if (q, k) == (p, 20)]
        for p in PROTOCOLS
    }
    near = {
        p: [agrees for m, q, *_, agrees in agreement(cells) if (m, q) == (OWN, p)]
        for p in PROTOCOLS
    }
    ran = [row for row in theorem if "near" in row]
    within, close = ([row["near"][i] for row in ran] for i in (0, -1))
    few = ", ".join(
        f"{min(found)} to {max(found)} iterations to {100 * of:g} %"
        for found, of in ((within, NEAR[0]), (close, NEAR[-1]))
        if found and None not in found
    )
    return [
        split("accuracy of RFS in Table 1", "91.48 and 92.02 on average", near),
        split(
            '"outperform other methods significantly": above each of the five rivals',
            f"{share([lead > 0 for lead in told.values()])} cells",
            first,
        ),
        split(
            '"around 5 %-12 % better than other methods all six data sets", top 20: at least '
            f"{LEAST_LEAD} points above the best rival",
            f"{share([told[c, 20] >= LEAST_LEAD for c, k in told if k == 20])} data sets",
            wide,
        ),
        counted(
            "Theorem 1: the objective falls in each iteration, to the global optimum",
            "proof",
            f"runs of {LIMIT} iterations fall throughout and end within {100 * NEAR[-1]:g} % of "
            "the certified optimum",
            [row["rises"] == 0 and row["excess"] <= NEAR[-1] for row in ran],
        ),
        split(
            '"only a few iterations are needed to converge"',
            "no number",
            {
                f"to {100 * of:g} %": [n is not None and n <= FEW for n in found]
                for of, found in ((NEAR[0], within), (NEAR[-1], close))
            },
        )._replace(here=few or DASH),
    ]


def page(rows: Mapping[str, list[Row]]) -> dict[str, Any]:
    """Table 1 and Figure 1."""
    table, curve = rows.get("table1", []), rows.get("figure1", [])
    cells = values_by(table, "accuracy", "method", "protocol", "dataset", "k")
    pictures = protocol_pictures(
        "nie2010",
        lambda p: method_panels(table + curve, DATASETS, LABELS, protocol=p),
        subject=LABELS[OWN],
    )
    return {
        "claims": claims(cells, rows.get("theorem1", [])),
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
        Experiment("theorem1", theorem_tasks, theorem_rows),
    ),
    standard=DECLARED.size("standard"),
    quick=DECLARED.size("quick"),
    page=page,
)
