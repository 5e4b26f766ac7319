"""The runs of Cai, Nie & Huang (IJCAI 2013)."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit

from reproduction.accuracy import accuracy_tasks
from reproduction.declare import Contender, Row, RunTask, Size
from reproduction.problems import StartedContender, class_matrix, constant_losses, six_digits
from rowsparse._arrays import Array, Index
from rowsparse.datasets import load
from rowsparse.selectors import get_selector

DATASETS = {"leu": "LEU", "lung": "LUNG", "allaml": "ALLAML", "carcinom": "CAR"}
TRAIN_SHARE = 0.2
# Figures 1 and 2.
KS = tuple(range(1, 11))
ESTIMATORS = {"1-NN": "Figure 1", "linear SVM": "Figure 2"}
# The start's scale is not printed; 0.03 comes near the printed objectives.
PUBLISHED: dict[str, Any] = {"variant": "published", "mu": 0.01, "init_scale": 0.03}
CONTENDERS = {
    "fisherscore": Contender("fisherscore", "Fisher score"),
    "informationgain": Contender("informationgain", "information gain"),
    "mtfs": Contender("mtfs", "MTFS"),
    "rfs": Contender("rfs", "RFS"),
    "smoothedl20": Contender("smoothedl20", "SFS"),
    "rpfs published": Contender("rpfs", "RPFS, published", PUBLISHED),
    "rpfs": Contender("rpfs", "RPFS, corrected"),
    "topk": Contender("topk", "TopK"),
}
# Table 2 and Figure 3.
TABLE_KS = (1, 5, 8, 10)
# The run with labels of plus and minus one, which double all losses.
DOUBLED = "rpfs plus-minus"


def _setting(label: str, share: float = 0.2, **changed: Any) -> StartedContender:
    return StartedContender("rpfs", label, {**PUBLISHED, **changed}, share)


SETTINGS = {
    "rpfs published": _setting(
        "RPFS, published: labels 0/1, μ = 0.01, start N(0, 0.03²), stratified", share=1.0
    ),
    "rpfs scale 1": _setting("start N(0, 1)", init_scale=1.0),
    "rpfs mu 0.1": _setting("μ = 0.1", mu=0.1),
    DOUBLED: _setting("labels ±1"),
    "rpfs not stratified": _setting("another fifth of the samples, not stratified"),
    "rpfs redrawn": _setting("a new fifth for every start, not stratified"),
}
RUNS = {
    **SETTINGS,
    "rpfs": StartedContender("rpfs", "RPFS, corrected", {"init": "random"}, 0.2),
    "topk": StartedContender("topk", "TopK", {"loss": "l21"}, 0.1),
}
# How the training fifth is drawn, where not stratified and once for all starts.
FIFTHS = {"rpfs not stratified": "random", "rpfs redrawn": "redrawn"}
_BLOCK = 10


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
    starts = int(size.options.get("starts", 50))
    return [
        RunTask(
            "table2",
            dataset,
            method,
            block,
            {
                "k": k,
                "first": first,
                "number": min(_BLOCK, run.number(starts) - first),
                "selector": run.selector,
                "params": run.params,
                "labels": "plus-minus" if method == DOUBLED else "one-hot",
                "fifth": FIFTHS.get(method, "stratified"),
            },
        )
        for dataset in filter(size.keeps, DATASETS)
        for method, run in RUNS.items()
        for k in TABLE_KS
        for block, first in enumerate(range(0, run.number(starts), _BLOCK))
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
        runs.append((selector.objective_, refitted, *constant_losses(Y), support))
    objectives, refits, best, mean, supports = zip(*runs, strict=True)
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
        }
    ]
