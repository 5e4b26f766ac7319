"""Xu, Wang, Nie & Li (AAAI 2023): the accuracies of Figure 3, their runs and their page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from reproduction.accuracy import judges
from reproduction.declare import Figure, Row, Section, Size, Task
from reproduction.pages import Panels, curves, markdown_table, method_panels
from reproduction.standings import (
    Means,
    means_by_protocol,
    protocol_table,
    standings_text,
)
from reproduction.xu2023_runs import DATASETS, PUBLISHED_START, SMALL, kept, short
from rowsparse.datasets import dataset_info, load
from rowsparse.evaluation import PROTOCOLS, refitted_objective, selection_curve
from rowsparse.selectors import get_selector

# Figure 3. Printed: k up to 80, five folds, a linear classifier, the best of 40 runs.
KS = (1, 5, 10, 20, 40, 80)
ESTIMATORS = ("linear SVM", "least squares")
METHODS: dict[str, dict[str, Any]] = {
    "ttest": {},
    "ilfs": {},
    "covariancethresholding": {},
    "fspca": {},
    "s2dfs": {},
    "rfs": {},
    "cdlsr published": {"variant": "published"},
    "cdlsr": {},
    "topk": {},
    "topk alpha 0": {"alpha": 0.0},
}
# What is searched, by selector: the parameter, and what else is set. Printed: 1e-6 to 1e6 by
# factors of 100 for RFS and CRFS, 1e-3 to 1e3 for SLAP.
SEARCHED: dict[str, tuple[str, dict[str, Any]]] = {
    "rfs": ("gamma", {"variant": "published", "fit_intercept": False, "max_iter": 100}),
    "crfs": ("gamma", {}),
    "slap": ("gamma", {}),
}
GRID = (0.01, 1.0, 100.0)
# The members of a grid that are run honestly too, since nothing was searched for them.
DEFAULTS = ("crfs 0.01", "slap 1")
DEEP: dict[str, dict[str, Any]] = {
    "concreteautoencoder": {"max_iter": 300, "max_tries": 1, "learning_rate": 0.02},
    "firdl": {"max_iter": 4000, "phase_two": 2000},
}
DEEP_DATASETS = ("srbct", "jaffe")
DEEP_KS = (5, 20, 80)
START_KS = (5, 20, 40)

# By group of the pictures, which have no more than eight colours.
SPARSE = {
    "ttest": "t-test",
    "rfs best": "RFS, best of the grid",
    "rfs": "RFS, γ for k rows",
    "crfs best": "CRFS, best of the grid",
    "crfs 0.01": "CRFS, λ = 0.01",
    "cdlsr published": "CD-LSR, published",
    "cdlsr": "CD-LSR, corrected",
    "topk alpha 0": "TopK, no ridge",
    "topk": "TopK",
    "allfeatures": "all features",
}
OTHERS = {
    "firdl": "FIRDL",
    "concreteautoencoder": "CAE",
    "s2dfs": "S2DFS",
    "fspca": "FSPCA",
    "slap best": "SLAP, best of the grid",
    "slap 1": "SLAP, γ = 1",
    "ilfs": "ILFS",
    "covariancethresholding": "covariance thresholding",
    "cdlsr published": "CD-LSR, published",
    "topk": "TopK",
}
LABELS = {name: label for name, label in OTHERS.items() if name not in SPARSE} | SPARSE
# What takes no part in a placing: not a selection, or a second setting of a method.
UNPLACED = ("allfeatures", "topk alpha 0")
JUDGE = ESTIMATORS[0]
_WATCHED = {"cdlsr published": "CD-LSR as published", "topk": "TopK"}


def searched_methods(size: Size) -> dict[str, dict[str, Any]]:
    """The methods with a penalty that is searched, one name a value."""
    grid = size.options.get("grid", GRID)
    return {
        f"{name} {value:g}": {parameter: value, **other}
        for name, (parameter, other) in SEARCHED.items()
        for value in grid
    }


def accuracy_tasks(size: Size) -> list[Task]:
    """Figure 3. Penalties are searched, and deep rivals capped, as the page says."""
    grid = searched_methods(size)
    deep = DEEP if find_spec("torch") is not None else {}
    ks = tuple(size.options.get("ks", KS))
    tasks = []
    for dataset in filter(size.keeps, DATASETS):
        repeats = (size.repeats or 1) if dataset in SMALL else 1
        every = {**METHODS, **grid, **(deep if dataset in DEEP_DATASETS else {})}
        for method, params in {**every, "allfeatures": {}}.items():
            if not kept(size, "methods", method):
                continue
            chosen: tuple[int, ...] = tuple(k for k in ks if k in DEEP_KS or method not in DEEP)
            if method == "allfeatures":
                chosen = (dataset_info(dataset).n_features,)
            for protocol in PROTOCOLS:
                if protocol == "honest" and method in grid and method not in DEFAULTS:
                    continue
                options = {
                    "ks": list(chosen),
                    "estimators": list(ESTIMATORS),
                    "folds": 5,
                    "protocol": protocol,
                    "params": params,
                }
                tasks += [
                    Task("figure3", dataset, method, repeat, options)
                    for repeat in range(1 if method in DEEP else repeats)
                ]
    return tasks


def start_tasks(size: Size) -> list[Task]:
    """What "the best of 40 runs" can mean: single starts of CD-LSR, judged one by one."""
    starts = int(size.options.get("starts", 40))
    return [
        Task("starts", dataset, "cdlsr published", 0, {"k": k, "starts": starts})
        for dataset in filter(size.keeps, SMALL)
        for k in size.options.get("start_ks", START_KS)
    ]


def start_rows(task: Task) -> list[Row]:
    """Accuracy and objective of every single start, selected on all samples."""
    data, k = load(task.dataset, download=False), task.options["k"]
    selectors = {
        f"start {start}": get_selector("cdlsr", 1, random_state=start, **PUBLISHED_START)
        for start in range(task.options["starts"])
    }
    curve = selection_curve(
        selectors, data.X, data.y, [k], judges(list(ESTIMATORS), data.X.shape[0], data.task),
        cv=StratifiedKFold(5, shuffle=True, random_state=0), protocol="published",
    )  # fmt: skip
    supports = {record.selector: record.support for record in curve.records}
    objectives = [refitted_objective(data.X, data.y, np.array(s)) for s in supports.values()]
    return [
        {
            "dataset": task.dataset,
            "method": task.method,
            "k": k,
            "estimator": estimator,
            "objectives": short(objectives),
            "accuracies": short(
                [float(np.mean(curve.values("accuracy", name, estimator, k))) for name in selectors]
            ),
        }
        for estimator in ESTIMATORS
    ]


def with_best(rows: Sequence[Row]) -> list[Row]:
    """The rows, and for each searched method those of the value that is best on the test folds.

    Chosen for each number of features, as its mean over the repetitions is the highest.
    """
    found = list(rows)
    for family in SEARCHED:
        cells: dict[tuple[object, ...], dict[str, list[Row]]] = {}
        for row in rows:
            name = str(row.get("method", ""))
            if name.startswith(f"{family} ") and row.get("protocol") == "published":
                where = (row["dataset"], row["k"], row["estimator"])
                cells.setdefault(where, {}).setdefault(name, []).append(row)
        for settings in cells.values():
            best = max(settings.values(), key=lambda own: np.mean([r["accuracy"] for r in own]))
            found += [{**row, "method": f"{family} best"} for row in best]
    return found


def means(rows: Sequence[Row], methods: Mapping[str, str], estimator: str) -> dict[str, Means]:
    """Percent by protocol, data set and method: the mean over the k that all of them have."""
    shared = [r for r in rows if r.get("k") in DEEP_KS or r.get("method") == "allfeatures"]
    return means_by_protocol(shared, DATASETS, methods, estimator=estimator)


def _text(rows: Sequence[Row]) -> str:
    """Who is first, what selecting on all samples adds, and what the other classifier changes."""
    placed = {method: label for method, label in LABELS.items() if method not in UNPLACED}
    found = means(rows, placed, JUDGE)
    parts = [standings_text(found, DATASETS, placed, _WATCHED)]
    other = means(rows, placed, ESTIMATORS[1])["honest"]
    changes = [
        other[d][m] - value
        for d, own in found["honest"].items()
        for m, value in own.items()
        if m in other.get(d, {})
    ]
    if changes:
        parts.append(
            "- Least squares in place of the SVM changes the honest means by "
            f"{np.mean(changes):+.1f} points in the mean, from {min(changes):+.1f} to "
            f"{max(changes):+.1f}."
        )
    missing = [LABELS[m] for m in DEEP if not any(r.get("method") == m for r in rows)]
    if missing:
        parts.append(
            f"- Not run here, as they need PyTorch or were left out: {', '.join(missing)}."
        )
    return "\n".join(parts)


def _panels(rows: Sequence[Row], group: dict[str, str], protocol: str) -> Panels:
    selected = [row for row in rows if row.get("method") != "allfeatures"]
    panels = method_panels(selected, DATASETS, group, protocol=protocol, estimator=JUDGE)
    ks = sorted({row["k"] for row in selected if "k" in row})
    if "allfeatures" not in group:
        return panels
    levels = means(rows, group, JUDGE)[protocol]
    for dataset, title in DATASETS.items():
        level = levels.get(dataset, {}).get("allfeatures")
        if level is not None and title in panels:
            panels[title][group["allfeatures"]] = ([ks[0], ks[-1]], [level, level])
    return panels


def accuracy_section(rows: Sequence[Row]) -> Section:
    """Figure 3."""
    every = with_best(rows)
    figures = []
    for name, group in (("sparse", SPARSE), ("others", OTHERS)):
        for protocol in PROTOCOLS:
            # A line each, of the settings that this protocol has.
            panels = _panels(every, _lines(group, protocol), protocol)
            if panels:
                caption = (
                    f"Accuracy of a linear SVM over the number of features, {protocol} protocol: "
                    f"{'sparse models and the t-test' if name == 'sparse' else 'the other rivals'}."
                )
                draw = curves(panels, x="features", y="accuracy, %")
                figures.append(Figure(f"xu2023-figure3-{name}-{protocol}", caption, draw))
    table = protocol_table(means(every, LABELS, JUDGE), DATASETS, LABELS)
    text = f"{_TEXT.strip()}\n\n{table}\n\n{_text(every)}"
    return Section("Figure 3: accuracy", text, tuple(figures))


def _lines(group: dict[str, str], protocol: str) -> dict[str, str]:
    dropped = {"rfs", "crfs 0.01", "slap 1"} if protocol == "published" else set()
    return {method: label for method, label in group.items() if method not in dropped}


def starts_section(rows: Sequence[Row]) -> Section:
    """The mean of single starts, and the best of them by loss and by accuracy."""
    lines, gains = [], []
    done = [row for row in rows if "accuracies" in row]
    for row in sorted(done, key=lambda row: (list(DATASETS).index(row["dataset"]), row["k"])):
        accuracies = 100 * np.array(row["accuracies"])
        least = float(accuracies[int(np.argmin(row["objectives"]))])
        gains.append(float(accuracies.max()) - least)
        lines.append([
            DATASETS[row["dataset"]], str(row["k"]), row["estimator"], str(accuracies.size),
            f"{accuracies.mean():.1f} ± {accuracies.std():.1f}", f"{least:.1f}",
            f"{accuracies.max():.1f}",
        ])  # fmt: skip
    if not lines:
        return Section("The best of 40 runs", f"{_STARTS_TEXT.strip()}\n\nNot run.")
    header = ["data", "k", "classifier", "starts", "mean of the starts", "least loss",
              "highest accuracy"]  # fmt: skip
    added = f"The highest accuracy is {np.mean(gains):.1f} points above that of the least loss"
    return Section(
        "The best of 40 runs",
        f"{_STARTS_TEXT.strip()}\n\n{markdown_table(header, lines)}\n\n{added} in the mean.",
    )


_TEXT = """
Printed as curves only: nothing to compare digit by digit. Mean accuracy in percent of a linear SVM
over k = 5, 20 and 80, the k that all methods have. **published** selects on all samples before the
folds are made, and "best of the grid" is the penalty that is best on the test folds, for each k;
**honest** selects inside each training fold, with nothing searched. TopK has its default ridge, and
"no ridge" the problem of the paper.
"""
_STARTS_TEXT = """
Single starts of CD-LSR as published, selected on all samples, judged by the same five folds. Taking
the best of many runs by the accuracy on the test folds lets the test samples choose; taking that of
the least loss does not.
"""
