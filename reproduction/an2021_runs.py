"""The runs of An, Dong & Qin (2021): redundancy, accuracies, and the objective itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.preprocessing import StandardScaler

from reproduction.accuracy import accuracy_rows, accuracy_tasks
from reproduction.declare import Contender, Declaration, Row, RunTask, Size
from reproduction.problems import class_matrix
from rowsparse._arrays import Array, Index
from rowsparse.datasets import load
from rowsparse.design import make_design
from rowsparse.evaluation.metrics import redundancy
from rowsparse.evaluation.supports import select_for_each
from rowsparse.rows import row_norms
from rowsparse.selectors import get_selector
from rowsparse.solvers.losses.l21 import L21Loss

DECLARED = Declaration("an2021")
DATASETS = DECLARED.table("datasets")
# A fit takes minutes there: fewer are run.
LARGE = ("isolet", "coil20", "usps")
# With so many samples one split is enough for the accuracies.
ONE_SPLIT = ("usps",)

GAMMA = 0.1
LARGER_RHO, SMALLER_RHO = "nmapg published", "nmapg rho 0.001"
# Methods whose rho is a share of the largest useful one.
RHO_SHARES = {LARGER_RHO: 0.01, SMALLER_RHO: 0.001}
CONTENDERS = DECLARED.contenders()
OTHER_SETTINGS = DECLARED.contenders("settings")
OBJECTIVE_CONTENDERS = DECLARED.contenders("objective")
REDUNDANCY: dict[str, dict[str, Any]] = DECLARED.table("redundancy")
ESTIMATORS = ("1-NN", "linear SVM")
ACCURACY_KS = (1, 5, 10, 20, 30, 50)
REDUNDANCY_KS = (5, 10, 20, 50)
OBJECTIVE_KS = (10, 30)
TRAIN_SHARE = 0.7


def _params(method: str, dataset: str, table: Mapping[str, Contender]) -> dict[str, Any]:
    """What a method is given; on large sets starts that cost little."""
    cheaper = DECLARED.table("large").get(method, {}) if dataset in LARGE else {}
    return {**table[method].params, **cheaper}


# -------------------------------------------------------------------------- accuracies
def _curve_tasks(experiment: str, table: dict[str, Contender], size: Size) -> list[RunTask]:
    folds = int(size.options.get("folds", 5))
    ks = list(size.options.get("ks", ACCURACY_KS))

    def plan(dataset: str, method: str, protocol: str, repeat: int) -> dict[str, Any] | None:
        if experiment == "settings" and dataset in LARGE:
            return None
        params = _params(method, dataset, table)
        options: dict[str, Any] = {"ks": ks, "estimators": list(ESTIMATORS), "params": params}
        if method in RHO_SHARES:
            options["rho_share"] = RHO_SHARES[method]
        if dataset in ONE_SPLIT:
            return {**options, "train_share": 1.0 - 1.0 / folds, "splits": 1}
        if protocol == "honest":
            return {**options, "folds": folds}
        # One selection serves all shuffles of the folds.
        shuffles = large_repeats if dataset in LARGE else size.repeats
        return {**options, "folds": folds, "shuffles": shuffles}

    large_repeats = int(size.options.get("large_repeats", size.repeats))
    return accuracy_tasks(experiment, size, DATASETS, table, plan, repeats=1)


def curve_tasks(size: Size) -> list[RunTask]:
    """Accuracy of 1-NN and SVM over k."""
    return _curve_tasks("accuracy", CONTENDERS, size)


def settings_tasks(size: Size) -> list[RunTask]:
    """The same for the other printed settings, on the small sets."""
    return _curve_tasks("settings", OTHER_SETTINGS, size)


def printed_rho(share: float, n: float, Z: Array, gamma: float) -> float:
    """A share of the printed ρmax = n max|z_ij| - γ, but positive.

    >>> printed_rho(0.01, 100, np.array([[-5.0, 1.0]]), 0.1)
    4.999
    """
    largest = float(np.abs(Z).max())
    return float(max(share * (n * largest - gamma), np.finfo(np.float64).tiny))


def curve_rows(task: RunTask) -> list[Row]:
    """One method on one data set over all k; ρ counts for the samples that are selected on."""
    options = dict(task.options)
    share = options.pop("rho_share", None)
    if share is not None:
        Z, _ = standardised(task.dataset)
        part = 1.0
        if options["protocol"] == "honest":
            part = options.get("train_share") or 1.0 - 1.0 / options["folds"]
        params = options["params"]
        rho = printed_rho(share, part * len(Z), Z, params["gamma"])
        options["params"] = {**params, "rho": rho}
    return accuracy_rows(replace(task, options=options))


def standardised(dataset: str) -> tuple[Array, Array]:
    """The data with columns of mean 0 and standard deviation 1, and the classes."""
    data = load(dataset, download=False)
    return StandardScaler().fit_transform(data.X.astype(np.float64)), data.y


# -------------------------------------------------------------------------- redundancy
def redundancy_tasks(size: Size) -> list[RunTask]:
    """One task a method and split of 70 to 30."""
    ks = list(size.options.get("redundancy_ks", REDUNDANCY_KS))
    large_repeats = int(size.options.get("large_repeats", size.repeats))
    tasks = []
    for dataset in filter(size.keeps, DATASETS):
        for method, contender in size.chosen(CONTENDERS).items():
            params = _params(method, dataset, CONTENDERS) | REDUNDANCY.get(method, {})
            options = {"ks": ks, "selector": contender.selector, "params": params}
            repeats = min(size.repeats, large_repeats) if dataset in LARGE else size.repeats
            tasks += [RunTask("redundancy", dataset, method, r, options) for r in range(repeats)]
    return tasks


def redundancy_rows(task: RunTask) -> list[Row]:
    """Both redundancy rates of what is selected on 70 %, there and on the other 30 %."""
    data, options = load(task.dataset, download=False), task.options
    split = StratifiedShuffleSplit(1, train_size=TRAIN_SHARE, random_state=task.split)
    train, test = next(split.split(np.zeros((len(data.y), 1)), data.y))
    X = np.asarray(data.X, dtype=np.float64)
    selector = get_selector(options["selector"], 1, **options["params"])
    Z = StandardScaler().fit_transform(X[train])
    found = select_for_each(selector, Z, data.y[train], options["ks"], seed=task.split)
    return [
        {
            "dataset": task.dataset,
            "method": task.method,
            "split": task.split,
            "k": k,
            **{
                f"{kind}{where}": redundancy(X[rows], selection.support, kind=kind)
                for kind in ("published", "absolute")
                for where, rows in (("", train), ("_held_out", test))
            },
        }
        for k, selection in found.items()
    ]


# ------------------------------------------------------------------ the objective at equal k
def objective_tasks(size: Size) -> list[RunTask]:
    """The objective of the paper at equal k, on all samples."""
    return [
        RunTask(
            "objective",
            dataset,
            method,
            options={
                "k": k,
                "selector": contender.selector,
                "params": _params(method, dataset, OBJECTIVE_CONTENDERS),
            },
        )
        for dataset in filter(size.keeps, DATASETS)
        for method, contender in size.chosen(OBJECTIVE_CONTENDERS, "objective_methods").items()
        for k in size.options.get("objective_ks", OBJECTIVE_KS)
    ]


def objective_rows(task: RunTask) -> list[Row]:
    """What the selected features are worth, and how the printed method came to them."""
    name, k, params = (task.options[what] for what in ("selector", "k", "params"))
    Z, y = standardised(task.dataset)
    if task.method in RHO_SHARES:
        params = {**params, "rho": printed_rho(RHO_SHARES[task.method], len(Z), Z, GAMMA)}
    selector = get_selector(name, k, **params).fit(Z, y)
    support = selector.get_support(indices=True)
    row: Row = {
        "dataset": task.dataset,
        "method": task.method,
        "k": k,
        "objective": refitted_value(Z, class_matrix(y), support, GAMMA),
    }
    if name == "rfs":
        # Without the constraint the problem is convex, so that this bounds every choice of k.
        row["bound"] = selector.objective_ * (1.0 - selector.gap_)
    if task.method in RHO_SHARES:
        first = get_selector(name, k, **{**params, "mu": 1.0, "max_iter": 1}).fit(Z, y)
        row["kept"] = int(np.count_nonzero(first.get_support()[support]))
        row["rows"] = int(np.count_nonzero(row_norms(selector.coef_.T) > 1e-3))
    return [row]


def refitted_value(Z: Array, Y: Array, support: Index, gamma: float) -> float:
    """The least ||Z_S W - Y||_21 + γ ||W||_21 on a support, to a certified gap."""
    design, _ = make_design(Z, center=False, scale=False)
    loss = L21Loss.from_targets(design, Y, None, fit_intercept=False)
    return loss.refit(support, penalty=gamma, tol=1e-5).objective
