"""The runs of Cai, Nie & Huang (IJCAI 2013): what is run on what, and what is printed."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit

from reproduction.declare import Row, Size, Task
from rowsparse._arrays import Array, Index
from rowsparse.datasets import load
from rowsparse.evaluation import PROTOCOLS
from rowsparse.rows import row_norms
from rowsparse.selectors import get_selector
from rowsparse.solvers.losses.l21 import geometric_median

DATASETS = {"leu": "LEU", "lung": "LUNG", "allaml": "ALLAML", "carcinom": "CAR"}
TRAIN_SHARE = 0.2

# Figures 1 and 2. Printed: RFS and MTFS with the penalty that leaves exactly k rows, SFS from the
# solution of MTFS, k = 1..10, 1-NN and a linear SVM with C = 1.
KS = tuple(range(1, 11))
ESTIMATORS = {"1-NN": "Figure 1", "linear SVM": "Figure 2"}
# The start's scale is not printed; that of 0.03 comes near the printed objectives.
PRINTED_STEPS = {"variant": "published", "mu": 0.01, "init_scale": 0.03}
METHODS: dict[str, dict[str, Any]] = {
    "fisherscore": {},
    "informationgain": {},
    "mtfs": {},
    "rfs": {},
    "smoothedl20": {},
    "rpfs published": PRINTED_STEPS,
    "rpfs": {},
    "topk": {},
}
LABELS = {
    "fisherscore": "Fisher score",
    "informationgain": "information gain",
    "mtfs": "MTFS",
    "rfs": "RFS",
    "smoothedl20": "SFS",
    "rpfs published": "RPFS, published",
    "rpfs": "RPFS, corrected",
    "topk": "TopK",
}

# Table 2 as printed: mean and standard deviation of the objective over 50 random starts.
TABLE_KS = (1, 5, 8, 10)
PRINTED: dict[str, dict[int, tuple[float, float]]] = {
    "leu": {1: (1.72, 1.80), 5: (0.68, 0.49), 8: (0.58, 0.43), 10: (0.66, 0.37)},
    "lung": {1: (23.61, 2.87), 5: (11.81, 0.38), 8: (11.31, 0.84), 10: (10.12, 0.74)},
    "allaml": {1: (6.06, 2.26), 5: (2.45, 1.24), 8: (1.28, 0.85), 10: (0.92, 0.56)},
    "carcinom": {1: (29.69, 1.73), 5: (23.01, 1.70), 8: (19.81, 1.68), 10: (18.40, 1.48)},
}
# Settings of the table: selector with its parameters, labels, how the fifth is drawn, and the
# share of the size's starts that is run.
RUNS: dict[str, dict[str, Any]] = {
    "rpfs published": {"params": PRINTED_STEPS},
    "rpfs scale 1": {"params": {**PRINTED_STEPS, "init_scale": 1.0}, "share": 0.2},
    "rpfs mu 0.1": {"params": {**PRINTED_STEPS, "mu": 0.1}, "share": 0.2},
    "rpfs plus-minus": {"params": PRINTED_STEPS, "labels": "plus-minus", "share": 0.2},
    "rpfs not stratified": {"params": PRINTED_STEPS, "fifth": "random", "share": 0.2},
    "rpfs redrawn": {"params": PRINTED_STEPS, "fifth": "redrawn", "share": 0.2},
    "rpfs": {"params": {"init": "random"}, "share": 0.2},
    "topk": {"params": {"loss": "l21"}, "share": 0.1},
}
RUN_LABELS = {
    "rpfs published": "RPFS, published: labels 0/1, μ = 0.01, start N(0, 0.03²), stratified",
    "rpfs scale 1": "start N(0, 1)",
    "rpfs mu 0.1": "μ = 0.1",
    "rpfs plus-minus": "labels ±1",
    "rpfs not stratified": "another fifth of the samples, not stratified",
    "rpfs redrawn": "a new fifth for every start, not stratified",
}
_BLOCK = 10


def accuracy_tasks(size: Size) -> list[Task]:
    """Figures 1 and 2: one task for a few splits, but one for all that share a selection."""
    kept = size.options.get("methods", tuple(METHODS))
    repeats, splits = size.repeats or 1, int(size.options.get("splits", 5))
    tasks = []
    for dataset in filter(size.keeps, DATASETS):
        for method in filter(kept.__contains__, METHODS):
            for protocol in PROTOCOLS:
                shared = protocol == "published"
                options = {
                    "ks": list(KS),
                    "estimators": list(ESTIMATORS),
                    "train_share": TRAIN_SHARE,
                    "splits": splits * repeats if shared else splits,
                    "protocol": protocol,
                    "params": METHODS[method],
                }
                tasks += [
                    Task("figures", dataset, method, repeat, options)
                    for repeat in range(1 if shared else repeats)
                ]
    return tasks


def table_tasks(size: Size) -> list[Task]:
    """Table 2 and Figure 3: one task for ten random starts."""
    starts = int(size.options.get("starts", 50))
    tasks = []
    for dataset in filter(size.keeps, DATASETS):
        for method, run in RUNS.items():
            number = max(1, round(starts * run.get("share", 1.0)))
            for k in TABLE_KS:
                for block, first in enumerate(range(0, number, _BLOCK)):
                    options = {
                        "k": k,
                        "first": first,
                        "number": min(_BLOCK, number - first),
                        "params": run["params"],
                        "labels": run.get("labels", "one-hot"),
                        "fifth": run.get("fifth", "stratified"),
                    }
                    tasks.append(Task("table2", dataset, method, block, options))
    return tasks


def training_part(y: Array, fifth: str, start: int = 0) -> Index:
    """The fifth of the samples that all starts are trained on, unless it is "redrawn" for each."""
    kind = StratifiedShuffleSplit if fifth == "stratified" else ShuffleSplit
    seed = start if fifth == "redrawn" else 0
    split = kind(1, train_size=TRAIN_SHARE, random_state=seed)
    part: Index = next(split.split(np.zeros((y.size, 1)), y))[0]
    return np.sort(part)


def coded(y: Array, labels: str) -> Array:
    """Classes as 0 and 1, or as -1 and 1.

    >>> coded(np.array([3, 5]), "plus-minus").tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    Y = (y[:, None] == np.unique(y)).astype(np.float64)
    return 2.0 * Y - 1.0 if labels == "plus-minus" else Y


def constant_losses(Y: Array) -> tuple[float, float]:
    """sum_i ||y_i - b|| at the best b, and at the mean of the y_i."""
    best = geometric_median(Y, np.ones(Y.shape[0]))
    return float(row_norms(Y - best).sum()), float(row_norms(Y - Y.mean(axis=0)).sum())


def objective_rows(task: Task) -> list[Row]:
    """Where some random starts end: their objectives, refitted or not, and their supports."""
    data, options = load(task.dataset, download=False), task.options
    runs = []
    for start in range(options["first"], options["first"] + options["number"]):
        train = training_part(data.y, options["fifth"], start)
        X, Y = data.X[train].astype(np.float64), coded(data.y[train], options["labels"])
        selector = get_selector(
            task.method.partition(" ")[0],
            options["k"],
            task="regression",
            random_state=start,
            **options["params"],
        ).fit(X, Y)
        # What RPFS has before it swaps features: the refit on the support where the start ended.
        refitted = getattr(selector, "objectives_", [selector.objective_])[0]
        support = zlib.crc32(selector.get_support(indices=True).astype("<i8").tobytes())
        runs.append((selector.objective_, refitted, *constant_losses(Y), support))
    objectives, refits, best, mean, supports = zip(*runs, strict=True)
    row: Row = {
        "dataset": task.dataset,
        "method": task.method,
        "k": options["k"],
        "block": task.split,
        "constant": float(np.mean(best)),
        "constant_mean": float(np.mean(mean)),
        "objectives": [float(f"{value:.6g}") for value in objectives],
        "refitted": [float(f"{value:.6g}") for value in refits],
        "supports": list(supports),
    }
    return [row]
