"""The runs of An, Dong & Qin (2021): redundancy, accuracies, and the objective itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.preprocessing import StandardScaler

from reproduction.accuracy import accuracy_rows, accuracy_tasks
from reproduction.declare import Contender, Row, RunTask, Size
from reproduction.problems import class_matrix
from rowsparse._arrays import Array, Index
from rowsparse.datasets import load
from rowsparse.design import make_design
from rowsparse.evaluation import redundancy, select_for_each
from rowsparse.rows import row_norms
from rowsparse.selectors import get_selector
from rowsparse.solvers.l21.refit import refit_l21

# Small ones first; GLI-85, the ninth, is not available.
DATASETS = {
    "yale": "Yale",
    "leukemia": "leukemia",
    "lymphoma": "Lymphoma",
    "lung": "LUNG",
    "warppie10p": "WarpPIE10P",
    "isolet": "Isolet",
    "coil20": "COIL20",
    "usps": "USPS",
}
# A fit takes minutes there: fewer are run.
LARGE = ("isolet", "coil20", "usps")
# With so many samples one split is enough for the accuracies.
ONE_SPLIT = ("usps",)

# Printed settings. The constant feature that the paper suggests is left out: columns are centred.
GAMMA = 0.1
PUBLISHED: dict[str, Any] = {"variant": "published", "fit_intercept": False}
REDUNDANCY_SETTING: dict[str, Any] = {"gamma": 1.0, "mu": 0.01, "rho": 0.01, "max_iter": 1000}
RFS_GAMMAS = (0.001, 0.01, 0.1, 0.2, 0.8, 1.0)
ALM: dict[str, Any] = {"variant": "published", "mu": 0.1, "init_scale": 0.03, "random_state": 0}
SEARCH: dict[str, Any] = {"n_restarts": 3, "random_state": 0}


def rfs_published(gamma: float) -> Contender:
    """RFS with a printed penalty.

    With many samples the objective still falls slowly for hundreds of iterations after the ranks
    are settled: a limit of 100 is set.
    """
    params = {"gamma": gamma, **PUBLISHED, "max_iter": 100}
    return Contender("rfs", f"RFS, published, γ = {gamma:g}", params)


NMAPG = Contender("nmapg", "NmAPG, published", {"gamma": GAMMA, **PUBLISHED})
LARGER_RHO, SMALLER_RHO = "nmapg published", "nmapg rho 0.001"
# Methods whose rho is a share of the largest useful one.
RHO_SHARES = {LARGER_RHO: 0.01, SMALLER_RHO: 0.001}
CONTENDERS = {
    "relieff": Contender("relieff", "ReliefF"),
    "fisherscore": Contender("fisherscore", "Fisher score"),
    "informationgain": Contender("informationgain", "information gain"),
    "ttest": Contender("ttest", "t-test"),
    "rfs gamma 1": rfs_published(1.0),
    "rpfs published": Contender("rpfs", "RPFS, published", ALM),
    LARGER_RHO: NMAPG,
    "nmapg": Contender("nmapg", "NmAPG, corrected"),
    "topk": Contender("topk", "TopK", SEARCH),
}
OTHER_SETTINGS = {
    **{f"rfs gamma {gamma:g}": rfs_published(gamma) for gamma in RFS_GAMMAS[:-1]},
    "rfs": Contender("rfs", "RFS, corrected (γ for k rows)"),
    SMALLER_RHO: replace(NMAPG, label="NmAPG, published, ρ = 0.001 ρmax"),
}
_FREE: dict[str, Any] = {"fit_intercept": False}
_L21: dict[str, Any] = {"loss": "l21", "gamma": GAMMA, **_FREE}
OBJECTIVE_CONTENDERS = {
    "fisherscore": Contender("fisherscore", "Fisher"),
    "rfs gamma 0.1": replace(rfs_published(GAMMA), label="RFS, γ = 0.1"),
    "rpfs published": Contender("rpfs", "RPFS, published", {**ALM, **_FREE}),
    LARGER_RHO: replace(NMAPG, label="NmAPG, published, 0.01"),
    SMALLER_RHO: replace(NMAPG, label="NmAPG, published, 0.001"),
    "nmapg": Contender("nmapg", "NmAPG, corrected", {"gamma": GAMMA, **_FREE}),
    "topk": Contender("topk", "TopK", {**SEARCH, **_FREE}),
    "topk l21": Contender("topk", "TopK, ℓ2,1", {**SEARCH, **_L21}),
}
ESTIMATORS = ("1-NN", "linear SVM")
ACCURACY_KS = (1, 5, 10, 20, 30, 50)
REDUNDANCY_KS = (5, 10, 20, 50)
OBJECTIVE_KS = (10, 30)
TRAIN_SHARE = 0.7


def _params(method: str, dataset: str, table: Mapping[str, Contender]) -> dict[str, Any]:
    """What a method is given; on large sets starts that cost little."""
    params = dict(table[method].params)
    if dataset in LARGE and method == "nmapg":
        params |= {"init": "forward", "tol": 1e-4}
    if dataset in LARGE and method == "topk l21":
        params["n_restarts"] = 0
    return params


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
        return {**options, "folds": folds}

    shuffles = int(size.options.get("shuffles", 1))
    return accuracy_tasks(experiment, size, DATASETS, table, plan, repeats=shuffles)


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
            params = _params(method, dataset, CONTENDERS)
            if method == LARGER_RHO:
                params |= REDUNDANCY_SETTING
            if method == "nmapg":
                params["gamma"] = REDUNDANCY_SETTING["gamma"]
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
    fit = refit_l21(design, Y, support, gamma=gamma, fit_intercept=False, tol=1e-5)
    return float(fit.objective)
