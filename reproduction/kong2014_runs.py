"""The runs of Kong & Ding (AAAI 2014)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from reproduction.accuracy import accuracy_tasks
from reproduction.declare import Declaration, Row, RunTask, Size
from reproduction.problems import class_matrix
from rowsparse._arrays import Array, Index
from rowsparse.datasets import load
from rowsparse.selectors import get_selector

DECLARED = Declaration("kong2014")
DATASETS = DECLARED.table("datasets")
MULTILABEL = DECLARED.table("label_datasets")
# Table 2: residues of 20 features, for p < 1 from two starts.
N_FEATURES = 20
PS = (0.1, 0.25, 0.5, 0.75)
STARTS = {"ridge": "ridge", "continuation": "p = 1"}
TABLE_CONTENDERS = DECLARED.contenders("table")
CONVEX = DECLARED.contenders("convex")
# How the columns of the table are scaled, which is not printed; labels are 0 and 1.
READINGS = ("standardised", "unit sd")
LABEL_CODES = ("one-hot", "plus-minus")
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

# Figures 2 and 3.
ACCURACY_KS = (5, 10, 20, 30, 40)
LABEL_KS = (5, 10, 20, 40)
ESTIMATORS = ("1-NN", "3-NN", "linear SVM")
CONTENDERS = DECLARED.contenders()
LABEL_CONTENDERS = DECLARED.contenders("label_contenders")


def scaled(X: Array, how: str) -> Array:
    """The columns (or samples) brought to one scale.

    >>> scaled(np.array([[1.0, 2.0], [3.0, 2.0]]), "standardised").tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """
    if how not in SCALINGS:
        raise ValueError(f"There is no scaling {how!r}; there are {', '.join(SCALINGS)}.")
    if how.startswith("samples"):
        return scaled(X.T, "standardised" if how == "samples standardised" else "unit length").T
    mean, sd = X.mean(axis=0), X.std(axis=0)
    low, high = X.min(axis=0), X.max(axis=0)
    center = {"standardised": mean, "centred": mean, "zero to one": low}.get(how)
    unit = {
        "standardised": sd,
        "unit sd": sd,
        "unit length": np.linalg.norm(X, axis=0),
        "zero to one": high - low,
    }.get(how)
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


def _residues(name: str, params: Mapping[str, Any], Z: Array, Y: Array, fit_intercept: bool) -> Row:
    """Both residues of the 20 features that a selector picks."""
    fixed = {"standardize": False, "fit_intercept": fit_intercept, "task": "regression"}
    selector = get_selector(name, N_FEATURES, **fixed, **params).fit(Z, Y)
    support = selector.get_support(indices=True)
    fitted = Z @ selector.coef_.T + selector.intercept_
    return {
        "refitted": residue_of(Z, Y, support, fit_intercept),
        "penalised": float(np.linalg.norm(Y - fitted)),
        "rows": int(np.count_nonzero(selector.coef_.any(axis=0))),
    }


def table_tasks(size: Size) -> list[RunTask]:
    """Table 2 with both scalings: one task a cell. p = 1 is convex, and printed once."""
    starts = [{"p": p, "init": start} for p in PS for start in STARTS]
    cells: dict[str, list[dict[str, Any]]] = {"lpinf": [{"p": 1.0, "init": "ridge"}, *starts]}
    return [
        RunTask(
            "table2",
            dataset,
            method,
            options={
                "scaling": scaling,
                "selector": contender.selector,
                "params": {**contender.params, **cell},
            },
        )
        for dataset in filter(size.keeps, DATASETS)
        for scaling in READINGS
        for method, contender in size.chosen(TABLE_CONTENDERS).items()
        for cell in cells.get(contender.selector, [{}])
    ]


def table_rows(task: RunTask) -> list[Row]:
    """One cell of Table 2."""
    data, params = load(task.dataset, download=False), task.options["params"]
    Z = scaled(data.X.astype(np.float64), task.options["scaling"])
    Y = class_matrix(data.y)
    row = {
        "dataset": task.dataset,
        "method": task.method,
        "scaling": task.options["scaling"],
        "p": params.get("p"),
        "start": params.get("init"),
        "floor": float(np.linalg.norm(Y - Z @ np.linalg.lstsq(Z, Y, rcond=None)[0])),
    }
    return [row | _residues(task.options["selector"], params, Z, Y, False)]


def settings_tasks(size: Size) -> list[RunTask]:
    """The two convex rows of Table 2 for every scaling; for CAR on a logarithmic scale too."""
    kept = size.options.get("scalings", SCALINGS)
    return [
        RunTask("settings", dataset, method, options={"scaling": scaling, "logarithms": logs})
        for dataset in filter(size.keeps, DATASETS)
        for scaling in filter(kept.__contains__, SCALINGS)
        for method in CONVEX
        for logs in ([False, True] if dataset == "carcinom" else [False])
    ]


def settings_rows(task: RunTask) -> list[Row]:
    """One method and scaling with both codings of the labels, with and without an intercept."""
    data = load(task.dataset, download=False)
    X = data.X.astype(np.float64)
    Z = scaled(logarithms(X) if task.options["logarithms"] else X, task.options["scaling"])
    contender = CONVEX[task.method]
    return [
        {
            "dataset": task.dataset,
            "method": task.method,
            **task.options,
            "labels": code,
            "intercept": intercept,
            **_residues(
                contender.selector, contender.params, Z, class_matrix(data.y, code), intercept
            ),
        }
        for code in LABEL_CODES
        for intercept in (False, True)
    ]


def figure_tasks(size: Size) -> list[RunTask]:
    """Figure 2. Honest repetitions are for the fast methods."""
    ks = list(size.options.get("ks", ACCURACY_KS))

    def plan(dataset: str, method: str, protocol: str, repeat: int) -> dict[str, Any] | None:
        options = {"ks": ks, "estimators": list(ESTIMATORS), "folds": 5}
        if protocol == "published":
            # One selection serves all shuffles of the folds.
            return None if repeat else {**options, "shuffles": size.repeats}
        if method.startswith("lpinf published"):
            return None
        slow = CONTENDERS[method].selector == "lpinf"
        return None if slow and repeat and not size.options.get("repeat_all") else options

    return accuracy_tasks("figure2", size, DATASETS, CONTENDERS, plan)


def label_tasks(size: Size) -> list[RunTask]:
    """Figure 3 on other sets than the paper's, one repetition unless all are to be repeated."""
    ks = list(size.options.get("label_ks", LABEL_KS))
    options = {"ks": ks, "estimators": ["linear SVM"], "folds": 5}
    repeats = size.repeats if size.options.get("repeat_all") else 1
    return accuracy_tasks(
        "figure3", size, MULTILABEL, LABEL_CONTENDERS, lambda *_: options, repeats=repeats
    )
