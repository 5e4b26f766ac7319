"""Cai, Nie & Huang (IJCAI 2013): accuracy of up to ten features, and the objective over starts."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit

from reproduction.accuracy import accuracy_rows, accuracy_tasks
from reproduction.claims import Claim, counted, share, split, verdict
from reproduction.declare import Declaration, Experiment, Paper, Row, RunTask, Size, labels
from reproduction.figures import Line, Panels, Picture, curve_picture
from reproduction.problems import class_matrix, constant_losses, mean_sd_by_k, six_digits
from reproduction.sections import accuracy_section
from reproduction.summaries import matching, mean_and_sd, means_by_protocol, values_by
from reproduction.tables import DASH
from rowsparse._arrays import Array, Index
from rowsparse.datasets import load
from rowsparse.evaluation.curve import PROTOCOLS
from rowsparse.selectors import get_selector

DECLARED = Declaration("cai2013")
DATASETS = DECLARED.table("datasets")
CONTENDERS = DECLARED.contenders()
LABELS = labels(CONTENDERS)
TRAIN_SHARE = 0.2
# Figures 1 and 2.
KS = tuple(range(1, 11))
ESTIMATORS = {"1-NN": "Figure 1", "linear SVM": "Figure 2"}
# Table 2 and Figure 3.
TABLE_KS = (1, 5, 8, 10)
TABLE = {dataset: mean_sd_by_k(cells) for dataset, cells in DECLARED.table("printed").items()}
SETTINGS = DECLARED.contenders("settings")
RUNS = SETTINGS | DECLARED.contenders("others")
# The run with labels of plus and minus one, which double all losses.
DOUBLED = "rpfs plus-minus"
# How the training fifth is drawn, where not stratified and once for all starts.
FIFTHS = {"rpfs not stratified": "random", "rpfs redrawn": "redrawn"}
_BLOCK = 10
OWN = "rpfs published"
# What the algorithm prints, and what the first claim is judged by.
LARGER_MU = "μ = 0.1 (a fifth of the starts)"
# Iterations that Figure 3 shows; the paper's runs have 1000.
ITERATIONS = (1, 50, 100, 150, 200, 250, 300, 350, 400, 500, 600, 700, 800, 900, 1000)
# What the starts of a method end with, as columns of Table 2: the title, the field of the rows, and
# the method.
ENDS = (
    ("RPFS, published", "objectives", OWN),
    ("its supports refitted", "refitted", OWN),
    ("RPFS, corrected", "objectives", "rpfs"),
    ("TopK", "objectives", "topk"),
)


# ----------------------------------------------------------------------------------- runs
def figure_tasks(size: Size) -> list[RunTask]:
    """Figures 1 and 2: one task for a few splits, but one for all that share a selection."""
    splits = int(size.options.get("splits", 5))
    options = {"ks": list(KS), "estimators": list(ESTIMATORS), "train_share": TRAIN_SHARE}

    def plan(dataset: str, method: str, protocol: str, repeat: int) -> dict[str, Any] | None:
        if protocol == "published":
            return {**options, "splits": splits * size.repeats} if repeat == 0 else None
        return {**options, "splits": splits}

    return accuracy_tasks("figures", size, DATASETS, CONTENDERS, plan)


def table_tasks(size: Size) -> list[RunTask]:
    """Table 2 and Figure 3: one task for ten random starts."""
    return [
        RunTask(
            "table2",
            dataset,
            method,
            block,
            {
                "k": k,
                "first": first,
                "number": min(_BLOCK, run.starts(size, 50) - first),
                "selector": run.selector,
                "params": run.params,
                "labels": "plus-minus" if method == DOUBLED else "one-hot",
                "fifth": FIFTHS.get(method, "stratified"),
            },
        )
        for dataset in filter(size.keeps, DATASETS)
        for method, run in RUNS.items()
        for k in TABLE_KS
        for block, first in enumerate(range(0, run.starts(size, 50), _BLOCK))
    ]


def training_part(y: Array, fifth: str, start: int = 0) -> Index:
    """The fifth of the samples that all starts are trained on, unless it is "redrawn" for each."""
    kind = StratifiedShuffleSplit if fifth == "stratified" else ShuffleSplit
    seed = start if fifth == "redrawn" else 0
    split = kind(1, train_size=TRAIN_SHARE, random_state=seed)
    part: Index = next(split.split(np.zeros((y.size, 1)), y))[0]
    return np.sort(part)


def objective_rows(task: RunTask) -> list[Row]:
    """Where some random starts end: their objectives, refitted or not, and their supports."""
    data, options = load(task.dataset, download=False), task.options
    runs = []
    for start in range(options["first"], options["first"] + options["number"]):
        train = training_part(data.y, options["fifth"], start)
        X, Y = data.X[train].astype(np.float64), class_matrix(data.y[train], options["labels"])
        params = {"task": "regression", "random_state": start, **options["params"]}
        selector = get_selector(options["selector"], options["k"], **params).fit(X, Y)
        # What RPFS has before it swaps features: the refit on the support where the start ended.
        refitted = getattr(selector, "objectives_", [selector.objective_])[0]
        support = zlib.crc32(selector.get_support(indices=True).astype("<i8").tobytes())
        path = [selector.history_[min(i, selector.n_iter_) - 1] for i in ITERATIONS]
        runs.append((selector.objective_, refitted, *constant_losses(Y), support, path))
    objectives, refits, best, mean, supports, paths = zip(*runs, strict=True)
    drawn = {"paths": [six_digits(path) for path in paths]} if task.method == OWN else {}
    return [
        {
            "dataset": task.dataset,
            "method": task.method,
            "k": options["k"],
            "block": task.split,
            "constant": float(np.mean(best)),
            "constant_mean": float(np.mean(mean)),
            "objectives": six_digits(objectives),
            "refitted": six_digits(refits),
            "supports": list(supports),
            **drawn,
        }
    ]


# ------------------------------------------------------------------------------- the page
def _ends(rows: list[Row], dataset: str, k: int) -> dict[str, list[float]]:
    """The objectives of all starts, by the titles of ENDS."""
    own = matching(rows, dataset=dataset, k=k)
    return {title: values_by(own, what, method=m).get((), []) for title, what, m in ENDS}


def agreement(rows: list[Row], method: str) -> dict[tuple[str, int], bool]:
    """For each cell that was run, whether the mean is within the printed spread."""
    ends = values_by(rows, "objectives", "dataset", "k", method=method)
    return {
        (dataset, k): abs(float(np.mean(ends[dataset, k])) - mean) <= sd
        for dataset, cells in TABLE.items()
        for k, (mean, sd) in cells.items()
        if (dataset, k) in ends
    }


def _cells(rows: list[Row]) -> list[dict[str, Any]]:
    """The lines of Table 2."""
    cells = []
    for dataset, printed in TABLE.items():
        for k, (mean, sd) in printed.items():
            own = matching(rows, dataset=dataset, k=k, method=OWN)
            cells.append(
                {
                    "dataset": dataset,
                    "k": k,
                    "mean": mean,
                    "sd": sd,
                    "title": DATASETS[dataset],
                    "ends": _ends(rows, dataset, k),
                    "constant": float(np.mean([row["constant"] for row in own])) if own else None,
                    "supports": values_by(own, "supports").get((), []),
                }
            )
    return cells


def table_counts(rows: list[Row]) -> dict[str, Any]:
    """What Table 2 says: cells within the printed spread, below its mean, and of many supports."""
    hits = agreement(rows, OWN)
    fits = [agreement(rows, method) for method in SETTINGS if method != DOUBLED]
    ran = {(row["dataset"], row["k"]) for row in rows if "k" in row}
    cells = _cells(rows)
    below = {
        title: sum(bool(c["ends"][title]) and np.mean(c["ends"][title]) < c["mean"] for c in cells)
        for title, _, _ in ENDS[1:]
    }
    somewhere = {}
    for dataset, title in DATASETS.items():
        found = [
            any(fit.get((dataset, k)) for fit in fits) for k in TABLE_KS if (dataset, k) in ran
        ]
        if found:
            somewhere[title] = f"{sum(found)} of {len(found)}"
    return {
        "hits": sum(hits.values()),
        "total": len(hits),
        "below": below,
        "scattered": [
            len(set(c["supports"])) > len(c["supports"]) / 2
            for c in cells
            if len(c["supports"]) > 1
        ],
        "somewhere": somewhere,
    }


def claims(accuracy: list[Row], table: list[Row]) -> list[Claim]:
    """What the paper says of its method, judged by RPFS as published."""
    settings = {
        label: list(agreement(table, method).values())
        for label, method in (("μ = 0.01", OWN), (LARGER_MU, "rpfs mu 0.1"))
    }
    few: dict[str, list[bool]] = {}
    for estimator in ESTIMATORS:
        for protocol, found in beats_both(accuracy, estimator, OWN).items():
            few.setdefault(protocol, []).extend(found)
    orders = spreads(table)
    scattered = table_counts(table)["scattered"]
    alike = [bool(same) for estimator in ESTIMATORS for same in _same_as_start(accuracy, estimator)]
    ranges = _ranges(accuracy)
    return [
        split(
            "mean objective over 50 random starts (Table 2), within one printed standard deviation",
            "16 cells",
            settings,
        ),
        split(
            '"with less than 5 features ... our method can beat MTFL as well as RFS consistently"',
            "curves",
            few,
        ),
        Claim(
            '"our method will converge to a stable value", "its local solution is stable": no more '
            "different supports than half of the starts",
            "no number",
            f"{share([not many for many in scattered])} cells" if scattered else DASH,
            verdict([not many for many in scattered]),
        ),
        counted(
            '"the larger number of feature (k) we selected, the less standard deviation": for '
            "k = 1, 5, 8, 10 in turn",
            share([_falls(told) for _, told, _ in orders]) + " data sets" if orders else DASH,
            "data sets",
            [_falls(own) for *_, own in orders],
        ),
        counted(
            "SFS depends on MTFS, at which it starts",
            "no number",
            "means are those of MTFS itself",
            alike,
        ),
        Claim(
            '"when the number of selected feature increases, all the sparse learning based feature '
            'selection methods will tend to perform similarly"',
            "curves",
            "; ".join(
                f"{protocol}: {at_one:.1f} points apart with k = 1, {at_ten:.1f} with k = 10"
                for protocol, (at_one, at_ten) in ranges.items()
            )
            or DASH,
            verdict([at_ten < at_one / 2 for at_one, at_ten in ranges.values()]),
        ),
    ]


def _falls(values: list[float]) -> bool:
    return values == sorted(values, reverse=True)


def _ranges(rows: list[Row]) -> dict[str, tuple[float, float]]:
    """Mean distance in points between the best and the worst sparse method, k = 1 and k = 10."""
    found = {}
    for protocol in PROTOCOLS:
        ends = []
        for k in (KS[0], KS[-1]):
            means: dict[tuple[str, str], dict[str, float]] = {}
            for (dataset, estimator, method), values in values_by(
                rows, "accuracy", "dataset", "estimator", "method", protocol=protocol, k=k
            ).items():
                if method in ("mtfs", "rfs", "smoothedl20", OWN):
                    means.setdefault((dataset, estimator), {})[method] = float(np.mean(values))
            apart = [max(own.values()) - min(own.values()) for own in means.values()]
            ends.append(100 * float(np.mean(apart)) if apart else np.nan)
        if np.isfinite(ends).all():
            found[protocol] = (ends[0], ends[1])
    return found


def lung(rows: list[Row]) -> dict[str, Any] | None:
    """The printed 23.61 against labels of either coding and against no feature at all."""
    lines, fits, above = [], {}, {}
    for method, setting in SETTINGS.items():
        own = matching(rows, dataset="lung", method=method, k=1)
        values = values_by(own, "objectives").get((), [])
        if values:
            best, at_mean = (mean_and_sd(own, what)[0] for what in ("constant", "constant_mean"))
            fits[method] = agreement(own, method)["lung", 1]
            above[method] = float(np.mean(values)) > best
            lines.append((setting.label, values, best, at_mean, fits[method]))
    if not lines:
        return None
    plain = [method for method in fits if method != DOUBLED]
    fitting = [method for method in plain if fits[method]]
    return {
        "lines": lines,
        "both": bool(plain) and DOUBLED in fits,
        "doubled": fits.get(DOUBLED),
        "fitting": len(fitting),
        "plain": len(plain),
        "worse": all(above[method] for method in fitting),
    }


def _settings(rows: list[Row]) -> dict[str, Any]:
    """By the label of a setting: the ends of the starts with k = 5, and the cells that fit."""
    found = {}
    for method, setting in SETTINGS.items():
        ends = values_by(rows, "objectives", "dataset", method=method, k=5)
        hits = agreement(rows, method)
        found[setting.label] = ([ends.get((name,), []) for name in DATASETS], hits.values())
    return found


def _iteration_picture(rows: list[Row]) -> Picture | None:
    """Mean and standard deviation over the starts by iteration, and where the others end."""
    panels: Panels = {}
    for dataset, title in DATASETS.items():
        for k in TABLE_KS:
            own = matching(rows, dataset=dataset, k=k)
            paths = np.array([path for row in own for path in row.get("paths", [])])
            if paths.size:
                mean, sd = paths.mean(axis=0), paths.std(axis=0)
                lines = panels.setdefault(f"{title}, k = {k}", {})
                lines["RPFS, published"] = Line(ITERATIONS, mean.tolist(), sd.tolist())
                for end in ("RPFS, corrected", "TopK"):
                    if values := _ends(own, dataset, k)[end]:
                        level = float(np.mean(values))
                        lines[end] = Line((ITERATIONS[0], ITERATIONS[-1]), (level, level))
    if not panels:
        return None
    return curve_picture(
        "cai2013-figure3", panels, x="iteration", y="objective", columns=4, subject=LABELS[OWN]
    )


def followed_starts(rows: list[Row]) -> list[int]:
    """The least and the largest number of starts of a panel of Figure 3, if there are any."""
    counts = [
        sum(len(row.get("paths", [])) for row in matching(rows, dataset=dataset, k=k))
        for dataset in DATASETS
        for k in TABLE_KS
    ]
    kept = [count for count in counts if count]
    return [min(kept), max(kept)] if kept else []


def spreads(rows: list[Row]) -> list[tuple[str, list[float], list[float]]]:
    """By data set: the standard deviations over the starts for rising k, printed and ours."""
    found = []
    for dataset, title in DATASETS.items():
        ends = [_ends(rows, dataset, k)["RPFS, published"] for k in TABLE_KS]
        if all(ends):
            printed = [TABLE[dataset][k][1] for k in TABLE_KS]
            found.append((title, printed, [float(np.std(values)) for values in ends]))
    return found


def beats_both(rows: list[Row], estimator: str, method: str) -> dict[str, list[bool]]:
    """By protocol: whether a method is above both MTFS and RFS, by data set and k < 5."""
    found = {}
    for protocol in PROTOCOLS:
        means = {
            cell: float(np.mean(values))
            for cell, values in values_by(
                rows, "accuracy", "dataset", "k", "method", protocol=protocol, estimator=estimator
            ).items()
        }
        found[protocol] = [
            value > max(means[d, k, rival] for rival in ("mtfs", "rfs"))
            for (d, k, own), value in means.items()
            if own == method and k < 5 and {(d, k, "mtfs"), (d, k, "rfs")} <= set(means)
        ]
    return found


def few_features(rows: list[Row], estimator: str) -> list[list[str]]:
    """In how many pairs of data set and k < 5 a method is above both MTFS and RFS, by protocol."""
    counts = [beats_both(rows, estimator, method) for method in (OWN, "rpfs", "topk")]
    return [[protocol, *(share(own[protocol]) for own in counts)] for protocol in PROTOCOLS]


def _same_as_start(rows: list[Row], estimator: str) -> list[bool]:
    """Whether the means of SFS are those of MTFS, by protocol and data set."""
    found = means_by_protocol(rows, DATASETS, ("smoothedl20", "mtfs"), estimator=estimator)
    return [
        own["smoothedl20"] == own["mtfs"]
        for means in found.values()
        for own in means.values()
        if len(own) == 2
    ]


def _accuracy(rows: list[Row], estimator: str, title: str) -> dict[str, Any]:
    """One of Figures 1 and 2."""
    name = title.lower().replace(" ", "")
    section = accuracy_section(
        f"cai2013-{name}",
        rows,
        DATASETS,
        LABELS,
        estimator=estimator,
        subject=LABELS[OWN],
    )
    return {
        **section,
        "title": title,
        "few": few_features(rows, estimator),
    }


def page(rows: Mapping[str, list[Row]]) -> dict[str, Any]:
    """Figures 1 and 2, Table 2, Figure 3, and the settings that are not printed."""
    table = rows.get("table2", [])
    first = matching(table, dataset=table[0]["dataset"], k=1) if table else []
    return {
        "claims": claims(rows.get("figures", []), table),
        "figures": [_accuracy(rows.get("figures", []), *item) for item in ESTIMATORS.items()],
        "starts": {
            LABELS[method]: len(values_by(first, "objectives", method=method).get((), []))
            for method in (OWN, "rpfs", "topk")
            if table
        },
        "cells": _cells(table),
        "counts": table_counts(table),
        "iteration_picture": _iteration_picture(table),
        "followed": followed_starts(table),
        "lung": lung(table),
        "datasets": DATASETS,
        "printed": TABLE,
        "settings": _settings(table),
    }


PAPER = Paper(
    name="cai2013",
    experiments=(
        Experiment("figures", figure_tasks, accuracy_rows),
        Experiment("table2", table_tasks, objective_rows),
    ),
    standard=DECLARED.size("standard"),
    quick=DECLARED.size("quick"),
    page=page,
)
