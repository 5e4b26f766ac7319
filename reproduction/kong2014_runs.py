"""The runs of Kong & Ding (AAAI 2014): what is run on what, and what is printed."""

from __future__ import annotations

from typing import Any

import numpy as np

from reproduction.declare import Row, Size, Task
from rowsparse._arrays import Array, Index
from rowsparse.datasets import load
from rowsparse.evaluation import PROTOCOLS
from rowsparse.selectors import get_selector

DATASETS = {"allaml": "ALLAML", "glioma": "GLIOMA", "lung": "LUNG", "carcinom": "CAR"}
MULTILABEL = {"emotions": "emotions", "birds": "birds", "scene": "scene", "yeast": "yeast"}
N_FEATURES = 20

# Table 2 as printed: the residue with 20 features, for p < 1 from two starts, and of convex rows.
PS = (0.1, 0.25, 0.5, 0.75)
PRINTED: dict[str, dict[str, tuple[float, ...]]] = {
    "allaml": {
        "ridge": (6.4141, 6.3841, 6.4054, 6.3672),
        "continuation": (6.4217, 6.3647, 6.4314, 6.3892),
        "convex": (6.4487, 6.4257),
    },
    "glioma": {
        "ridge": (4.5145, 4.7182, 4.7877, 4.7968),
        "continuation": (4.5208, 4.7877, 4.7935, 4.7832),
        "convex": (4.9421, 4.8324),
    },
    "lung": {
        "ridge": (7.6762, 7.5534, 7.8216, 8.2851),
        "continuation": (7.6889, 7.5701, 7.7916, 8.3251),
        "convex": (8.3572, 8.3612),
    },
    "carcinom": {
        "ridge": (8.3747, 8.3921, 8.3723, 8.7335),
        "continuation": (8.3947, 8.3837, 8.3687, 8.8135),
        "convex": (8.9578, 8.9321),
    },
}
STARTS = {"ridge": "ridge", "continuation": "p = 1"}
# The columns of the two convex rows above.
CONVEX = {"lpinf": "p = 1", "mtfs": "ℓ2,1"}
# Two readings of the table, both without an intercept and with labels of 0 and 1: how the columns
# are scaled, and whose residue it is.
READINGS = {"standardised": "refitted", "unit sd": "penalised"}
# The printed operator gives no zero rows for p = 1 and no fixed point: a limit is needed.
PUBLISHED = {"variant": "published", "max_iter": 100}
CORRECTED = {"tol": 1e-4}

SCALINGS = (
    "as distributed",
    "standardised",
    "centred",
    "unit sd",
    "unit length",
    "zero to one",
    "samples standardised",
    "samples of unit length",
)
LABELS = ("one-hot", "plus-minus")


def scaled(X: Array, how: str) -> Array:
    """The columns (or samples) brought to one scale.

    >>> scaled(np.array([[1.0, 2.0], [3.0, 2.0]]), "standardised").tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """
    mean, sd = X.mean(axis=0), X.std(axis=0)
    low, high = X.min(axis=0), X.max(axis=0)
    center = {"standardised": mean, "centred": mean, "zero to one": low}.get(how)
    unit = {
        "standardised": sd,
        "unit sd": sd,
        "unit length": np.linalg.norm(X, axis=0),
        "zero to one": high - low,
    }.get(how)
    if how == "samples standardised":
        return scaled(X.T, "standardised").T
    if how == "samples of unit length":
        return scaled(X.T, "unit length").T
    if how not in SCALINGS:
        raise ValueError(f"There is no scaling {how!r}; there are {', '.join(SCALINGS)}.")
    Z = X if center is None else X - center
    return Z if unit is None else Z / np.where(unit > 0, unit, 1.0)


def logarithms(X: Array) -> Array:
    """log2 of intensities cut to 100 .. 16000, as is customary for these arrays."""
    return np.log2(np.clip(X, 100.0, 16000.0))


def residue_of(Z: Array, Y: Array, support: Index, fit_intercept: bool) -> float:
    """||Y - Z_S B - 1b'||_F by least squares on the selected columns."""
    part = Z[:, support]
    if fit_intercept:
        part, Y = part - part.mean(axis=0), Y - Y.mean(axis=0)
    return float(np.linalg.norm(Y - part @ np.linalg.lstsq(part, Y, rcond=None)[0]))


def _fitted(method: str, Z: Array, Y: Array, fit_intercept: bool, params: dict[str, Any]) -> Row:
    """Both residues of 20 features that a method selects."""
    selector = get_selector(
        method, N_FEATURES, standardize=False, fit_intercept=fit_intercept, task="regression",
        **params,
    ).fit(Z, Y)  # fmt: skip
    support = selector.get_support(indices=True)
    fitted = Z @ selector.coef_.T + selector.intercept_
    return {
        "refitted": residue_of(Z, Y, support, fit_intercept),
        "penalised": float(np.linalg.norm(Y - fitted)),
        "rows": int(np.count_nonzero(selector.coef_.any(axis=0))),
    }


def table_tasks(size: Size) -> list[Task]:
    """Table 2 in both readings: one task a cell."""
    methods: dict[str, dict[str, Any]] = {
        "topk": {"alpha": 0.0, "random_state": 0},
        "mtfs": {},
        "lpinf": CORRECTED,
        "lpinf published": PUBLISHED,
    }
    kept = size.options.get("methods", tuple(methods))
    tasks = []
    for dataset in filter(size.keeps, DATASETS):
        for scaling in READINGS:
            for method in filter(kept.__contains__, methods):
                cells: list[dict[str, Any]] = [{}]
                if method.startswith("lpinf"):
                    # p = 1 is convex, and printed once.
                    starts = [(1.0, "ridge")] + [(p, start) for p in PS for start in STARTS]
                    cells = [{"p": p, "init": start} for p, start in starts]
                tasks += [
                    Task(
                        "table2", dataset, method,
                        options={"scaling": scaling, "params": {**methods[method], **cell}},
                    )
                    for cell in cells
                ]  # fmt: skip
    return tasks


def table_rows(task: Task) -> list[Row]:
    """One cell of Table 2."""
    data, params = load(task.dataset, download=False), dict(task.options["params"])
    Z = scaled(data.X.astype(np.float64), task.options["scaling"])
    Y = (data.y[:, None] == np.unique(data.y)).astype(np.float64)
    row = {
        "dataset": task.dataset,
        "method": task.method,
        "scaling": task.options["scaling"],
        "p": params.get("p"),
        "start": params.get("init"),
        "floor": float(np.linalg.norm(Y - Z @ np.linalg.lstsq(Z, Y, rcond=None)[0])),
    }
    return [row | _fitted(task.method.partition(" ")[0], Z, Y, False, params)]


def settings_tasks(size: Size) -> list[Task]:
    """The two convex rows of Table 2 for every scaling; for CAR on a logarithmic scale too."""
    kept = size.options.get("scalings", SCALINGS)
    return [
        Task("settings", dataset, method, options={"scaling": scaling, "logarithms": logs})
        for dataset in filter(size.keeps, DATASETS)
        for scaling in filter(kept.__contains__, SCALINGS)
        for method in CONVEX
        for logs in ([False, True] if dataset == "carcinom" else [False])
    ]


def settings_rows(task: Task) -> list[Row]:
    """One method and scaling with both codings of the labels, with and without an intercept."""
    data = load(task.dataset, download=False)
    X = data.X.astype(np.float64)
    Z = scaled(logarithms(X) if task.options["logarithms"] else X, task.options["scaling"])
    onehot = (data.y[:, None] == np.unique(data.y)).astype(np.float64)
    # Columns of unit length with a large mean are so nearly parallel that more takes minutes.
    params = {"p": 1.0, **CORRECTED} if task.method == "lpinf" else {"tol": 1e-3}
    rows = []
    for labels in LABELS:
        Y = onehot if labels == "one-hot" else 2.0 * onehot - 1.0
        for fit_intercept in (False, True):
            where = {
                "dataset": task.dataset,
                "method": task.method,
                "scaling": task.options["scaling"],
                "logarithms": task.options["logarithms"],
                "labels": labels,
                "intercept": fit_intercept,
            }
            rows.append(where | _fitted(task.method, Z, Y, fit_intercept, params))
    return rows


# Figures 2 and 3. Printed: five folds, five runs, kNN and SVM with C = 1, F-statistic, ReliefF,
# mRMR and l2,1 as rivals, macro-F1 and binary relevance for labels.
ACCURACY_KS = (5, 10, 20, 30, 40)
LABEL_KS = (5, 10, 20, 40)
ESTIMATORS = ("1-NN", "3-NN", "linear SVM")
RELEVANCE = {"multilabel": "binary_relevance"}
METHODS: dict[str, dict[str, Any]] = {
    "fstatistic": {},
    "relieff": {},
    "mrmr": {},
    "mtfs": {},
    "lpinf p = 0.1": {"p": 0.1, "init": "continuation", **CORRECTED},
    "lpinf p = 0.5": {"p": 0.5, "init": "continuation", **CORRECTED},
    "lpinf published": {"p": 0.5, "init": "ridge", "fit_intercept": False, **PUBLISHED},
    "topk": {"n_restarts": 3, "random_state": 0},
}
LABEL_METHODS: dict[str, dict[str, Any]] = {
    "fstatistic": RELEVANCE,
    "fstatistic joint": {},
    "relieff": RELEVANCE,
    **{name: METHODS[name] for name in ("mrmr", "mtfs", "lpinf p = 0.1", "lpinf p = 0.5")},
    "topk": {"n_restarts": 3, "random_state": 0},
}
TITLES = {
    "fstatistic": "F-statistic",
    "fstatistic joint": "F-statistic, all labels at once",
    "relieff": "ReliefF",
    "mrmr": "mRMR",
    "mtfs": "ℓ2,1 (MTFS)",
    "lpinf p = 0.1": "ℓp,∞, p = 0.1",
    "lpinf p = 0.5": "ℓp,∞, p = 0.5",
    "lpinf published": "ℓp,∞, p = 0.5, published",
    "topk": "TopK",
}


def accuracy_tasks(size: Size) -> list[Task]:
    """Figure 2. Repetitions are for the fast methods; selections on all samples need none."""
    kept = size.options.get("methods", tuple(METHODS))
    tasks = []
    for dataset in filter(size.keeps, DATASETS):
        for method in (name for name in METHODS if _base(name) in kept or name in kept):
            for protocol in PROTOCOLS:
                if method == "lpinf published" and protocol == "honest":
                    continue
                slow = method.startswith("lpinf") or protocol == "published"
                options = {
                    "ks": list(size.options.get("ks", ACCURACY_KS)),
                    "estimators": list(ESTIMATORS),
                    "folds": 5,
                    "protocol": protocol,
                    "params": METHODS[method],
                }
                repeats = 1 if slow and not size.options.get("repeat_all") else size.repeats or 1
                tasks += [Task("figure2", dataset, method, r, options) for r in range(repeats)]
    return tasks


def label_tasks(size: Size) -> list[Task]:
    """Figure 3 on the stand-ins, one repetition unless all are to be repeated."""
    kept = size.options.get("methods", tuple(LABEL_METHODS))
    repeats = (size.repeats or 1) if size.options.get("repeat_all") else 1
    return [
        Task(
            "figure3", dataset, method, repeat,
            {
                "ks": list(size.options.get("label_ks", LABEL_KS)),
                "estimators": ["linear SVM"],
                "folds": 5,
                "protocol": protocol,
                "params": LABEL_METHODS[method],
            },
        )
        for dataset in filter(size.keeps, MULTILABEL)
        for method in LABEL_METHODS
        if _base(method) in kept or method in kept
        for protocol in PROTOCOLS
        for repeat in range(repeats)
    ]  # fmt: skip


def _base(method: str) -> str:
    """The name without its settings; "lpinf published" is not run where "lpinf" is asked for."""
    return method if method.endswith("published") else method.partition(" ")[0]
