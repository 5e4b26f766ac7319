"""The runs of An, Dong & Qin (2021): what is run on what."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.preprocessing import StandardScaler

from reproduction.accuracy import accuracy_rows
from reproduction.declare import Row, Size, Task
from rowsparse._arrays import Array, Index
from rowsparse.datasets import load
from rowsparse.design import Design, make_design
from rowsparse.evaluation import PROTOCOLS, redundancy, select_for_each
from rowsparse.rows import (
    huber_rows,
    prox_dc,
    prox_dc_published,
    row_norms,
    tail_norm,
    top_rows,
    unit_ball_rows,
)
from rowsparse.selectors import get_selector
from rowsparse.solvers.losses.l21 import L21Loss, SmoothedL21Loss
from rowsparse.solvers.proximal import Composite, Descent, nonmonotone_apg
from rowsparse.solvers.solution import silent

# Small ones first; GLI-85, the ninth, is not to be had.
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
# Where a fit takes minutes, so that there are fewer of them.
LARGE = ("isolet", "coil20", "usps")
# So many samples that one split has to do for the accuracies.
ONE_SPLIT = ("usps",)

# Printed settings. The constant feature that the paper suggests is left out: columns are centred.
GAMMA = 0.1
PRINTED: dict[str, Any] = {"variant": "published", "fit_intercept": False}
RHO_SHARES = {"nmapg published": 0.01, "nmapg rho 0.001": 0.001}
REDUNDANCY_SETTING = {"gamma": 1.0, "mu": 0.01, "rho": 0.01, "max_iter": 1000}
RFS_GAMMAS = (0.001, 0.01, 0.1, 0.2, 0.8, 1.0)
# In sets with many samples the iteration creeps for hundreds of steps after the ranks are settled.
IRLS: dict[str, Any] = {**PRINTED, "max_iter": 100}
ALM: dict[str, Any] = {"variant": "published", "mu": 0.1, "init_scale": 0.03, "random_state": 0}
SEARCH: dict[str, Any] = {"n_restarts": 3, "random_state": 0}
METHODS: dict[str, dict[str, Any]] = {
    "relieff": {},
    "fisherscore": {},
    "informationgain": {},
    "ttest": {},
    "rfs gamma 1": {"gamma": 1.0, **IRLS},
    "rpfs published": ALM,
    "nmapg published": {"gamma": GAMMA, **PRINTED},
    "nmapg": {},
    "topk": SEARCH,
}
OTHER_SETTINGS: dict[str, dict[str, Any]] = {
    **{f"rfs gamma {g:g}": {"gamma": g, **IRLS} for g in RFS_GAMMAS[:-1]},
    "rfs": {},
    "nmapg rho 0.001": METHODS["nmapg published"],
}
LABELS = {
    "relieff": "ReliefF",
    "fisherscore": "Fisher score",
    "informationgain": "information gain",
    "ttest": "t-test",
    "rfs gamma 1": "RFS, published, γ = 1",
    "rpfs published": "RPFS, published",
    "nmapg published": "NmAPG, published",
    "nmapg": "NmAPG, corrected",
    "topk": "TopK",
}
OTHER_LABELS = {
    **{f"rfs gamma {g:g}": f"RFS, published, γ = {g:g}" for g in RFS_GAMMAS[:-1]},
    "rfs": "RFS, corrected (γ for k rows)",
    "nmapg rho 0.001": "NmAPG, published, ρ = 0.001 ρmax",
}
OBJECTIVE_METHODS: dict[str, dict[str, Any]] = {
    "fisherscore": {},
    "rfs gamma 0.1": {"gamma": GAMMA, **IRLS},
    "rpfs published": {**ALM, "fit_intercept": False},
    "nmapg published": METHODS["nmapg published"],
    "nmapg rho 0.001": METHODS["nmapg published"],
    "nmapg": {"gamma": GAMMA, "fit_intercept": False},
    "topk": {**SEARCH, "fit_intercept": False},
    "topk l21": {**SEARCH, "loss": "l21", "gamma": GAMMA, "fit_intercept": False},
}
ESTIMATORS = ("1-NN", "linear SVM")
ACCURACY_KS = (1, 5, 10, 20, 30, 50)
REDUNDANCY_KS = (5, 10, 20, 50)
OBJECTIVE_KS = (10, 30)
TRAIN_SHARE = 0.7

# The convergence figure: announced for two of these, captioned with the other two.
CONVERGENCE = ("yale", "isolet", "coil20", "usps")
CONVERGENCE_K = 20
# One change after the other, from what is printed to what the proofs ask for.
STEPS = {
    "printed": "as printed",
    "operator": "exact operator",
    "constant": "+ spectral L",
    "margin": "+ τ = 1.05 L",
}
_POINTS = 40


def _settings(method: str, dataset: str, table: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """What a method is given; on large sets starts that cost little."""
    params = dict(table[method])
    if dataset in LARGE and method == "nmapg":
        params |= {"init": "forward", "tol": 1e-4}
    if dataset in LARGE and method == "topk l21":
        params["n_restarts"] = 0
    return params


def _base(method: str) -> str:
    return method.partition(" ")[0]


def _kept(size: Size, methods: Any) -> list[str]:
    kept = size.options.get("methods", tuple(methods))
    return [method for method in methods if method in kept]


def _curve_tasks(experiment: str, table: dict[str, dict[str, Any]], size: Size) -> list[Task]:
    tasks = []
    for dataset in filter(size.keeps, DATASETS):
        if experiment == "settings" and dataset in LARGE:
            continue
        folds = int(size.options.get("folds", 5))
        cut: dict[str, Any] = {"folds": folds}
        if dataset in ONE_SPLIT:
            cut = {"train_share": 1.0 - 1.0 / folds, "splits": 1}
        for method in _kept(size, table):
            for protocol in PROTOCOLS:
                options = {
                    "ks": list(size.options.get("ks", ACCURACY_KS)),
                    "estimators": list(ESTIMATORS),
                    "protocol": protocol,
                    "params": _settings(method, dataset, table),
                    **cut,
                }
                if method in RHO_SHARES:
                    options["rho_share"] = RHO_SHARES[method]
                tasks += [
                    Task(experiment, dataset, method, shuffle, options)
                    for shuffle in range(int(size.options.get("shuffles", 1)))
                ]
    return tasks


def accuracy_tasks(size: Size) -> list[Task]:
    """Accuracy of 1-NN and SVM over k."""
    return _curve_tasks("accuracy", METHODS, size)


def settings_tasks(size: Size) -> list[Task]:
    """The same for the other printed settings, on the small sets."""
    return _curve_tasks("settings", OTHER_SETTINGS, size)


def printed_rho(share: float, n: float, largest: float, gamma: float) -> float:
    """A share of the printed ρmax = n max|x_ij| - γ, but positive.

    >>> printed_rho(0.01, 100, 5.0, 0.1)
    4.999
    """
    return float(max(share * (n * largest - gamma), np.finfo(np.float64).tiny))


def curve_rows(task: Task) -> list[Row]:
    """One method on one data set over all k; ρ counts for the samples that are selected on."""
    options = dict(task.options)
    share = options.pop("rho_share", None)
    if share is not None:
        data = load(task.dataset, download=False)
        part = 1.0
        if options["protocol"] == "honest":
            part = options.get("train_share") or 1.0 - 1.0 / options["folds"]
        largest = float(np.abs(_standardised(data.X)).max())
        params = dict(options["params"])
        params["rho"] = printed_rho(share, part * len(data.X), largest, params["gamma"])
        options["params"] = params
    return accuracy_rows(replace(task, options=options))


def _standardised(X: Array) -> Array:
    Z: Array = StandardScaler().fit_transform(np.asarray(X, dtype=np.float64))
    return Z


def redundancy_tasks(size: Size) -> list[Task]:
    """One task a method and split of 70 to 30."""
    tasks = []
    for dataset in filter(size.keeps, DATASETS):
        runs = size.repeats or 1
        if dataset in LARGE:
            runs = min(runs, int(size.options.get("large_repeats", runs)))
        for method in _kept(size, METHODS):
            params = _settings(method, dataset, METHODS)
            if method == "nmapg published":
                params |= REDUNDANCY_SETTING
            if method == "nmapg":
                params["gamma"] = REDUNDANCY_SETTING["gamma"]
            options = {
                "ks": list(size.options.get("redundancy_ks", REDUNDANCY_KS)),
                "params": params,
            }
            tasks += [Task("redundancy", dataset, method, run, options) for run in range(runs)]
    return tasks


def redundancy_rows(task: Task) -> list[Row]:
    """Both redundancy rates of what is selected on 70 %, there and on the other 30 %."""
    data = load(task.dataset, download=False)
    split = StratifiedShuffleSplit(1, train_size=TRAIN_SHARE, random_state=task.split)
    train, test = next(split.split(np.zeros((len(data.y), 1)), data.y))
    X = np.asarray(data.X, dtype=np.float64)
    selector = get_selector(_base(task.method), 1, **task.options["params"])
    found = select_for_each(
        selector, _standardised(X[train]), data.y[train], task.options["ks"], seed=task.split
    )
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


def objective_tasks(size: Size) -> list[Task]:
    """The objective of the paper at equal k, on all samples."""
    methods = [
        method
        for method in OBJECTIVE_METHODS
        if "methods" not in size.options or _base(method) in map(_base, size.options["methods"])
    ]
    return [
        Task(
            "objective", dataset, method,
            options={"k": k, "params": _settings(method, dataset, OBJECTIVE_METHODS)},
        )
        for dataset in filter(size.keeps, DATASETS)
        for method in methods
        for k in size.options.get("objective_ks", OBJECTIVE_KS)
    ]  # fmt: skip


def objective_rows(task: Task) -> list[Row]:
    """What the selected features are worth, and how the printed method came to them."""
    data, k = load(task.dataset, download=False), task.options["k"]
    Z, params = _standardised(data.X), dict(task.options["params"])
    if task.method in RHO_SHARES:
        largest = float(np.abs(Z).max())
        params["rho"] = printed_rho(RHO_SHARES[task.method], len(Z), largest, GAMMA)
    selector = get_selector(_base(task.method), k, **params).fit(Z, data.y)
    support = selector.get_support(indices=True)
    row: Row = {
        "dataset": task.dataset,
        "method": task.method,
        "k": k,
        "objective": refitted_value(Z, _onehot(data.y), support, GAMMA),
    }
    if task.method.startswith("rfs"):
        # Without the constraint the problem is convex, so that this bounds every choice of k.
        row["bound"] = selector.objective_ * (1.0 - selector.gap_)
    if task.method in RHO_SHARES:
        first = get_selector("nmapg", k, **{**params, "mu": 1.0, "max_iter": 1}).fit(Z, data.y)
        row["kept"] = int(np.count_nonzero(first.get_support()[support]))
        row["rows"] = int(np.count_nonzero(row_norms(selector.coef_.T) > 1e-3))
    return [row]


def _onehot(y: Array) -> Array:
    return (y[:, None] == np.unique(y)).astype(np.float64)


def refitted_value(Z: Array, Y: Array, support: Index, gamma: float) -> float:
    """The least ||Z_S W - Y||_21 + γ ||W||_21 on a support, to a certified gap."""
    design, _ = make_design(Z, center=False, scale=False)
    loss = L21Loss.of(design, Y, None, fit_intercept=False)
    return loss.refit(support, penalty=gamma, tol=1e-5).objective


def convergence_tasks(size: Size) -> list[Task]:
    """One task a data set and step, and one for what the exact problem has to offer."""
    iterations = int(size.options.get("iterations", REDUNDANCY_SETTING["max_iter"]))
    return [
        Task("convergence", dataset, step, options={"k": CONVERGENCE_K, "iterations": iterations})
        for dataset in filter(size.keeps, CONVERGENCE)
        for step in (*STEPS, "corrected")
    ]


def smoothed_problem(smoothed: SmoothedL21Loss, k: int, rho: float, step: str) -> Composite:
    """F_mu without an intercept: both norms smoothed, and one of the STEPS in place."""
    design, mu = smoothed.loss.design, smoothed.mu
    gamma = float(REDUNDANCY_SETTING["gamma"])
    d = design.shape[1]
    steep = float(np.sum(design.column_norms() ** 2)) + d * gamma
    if step in ("constant", "margin"):
        steep = design.spectral_norm() ** 2 + gamma

    def prox(U: Array, length: float) -> Array:
        if step == "printed":
            return prox_dc_published(U, k, rho * length)
        return prox_dc(U, k, 0.0, rho * length)

    def value(W: Array, P: Array) -> float:
        return smoothed.value(P) + gamma * float(huber_rows(row_norms(W), mu).sum())

    return Composite(
        product=design.matmul,
        value=value,
        gradient=lambda W, P: design.rmatmul(smoothed.gradient(P)) + gamma * unit_ball_rows(W / mu),
        penalty=lambda W: rho * tail_norm(W, k),
        prox=prox,
        lipschitz=steep / mu,
    )


def descent(design: Design, Y: Array, k: int, step: str, iterations: int) -> Descent:
    """Algorithm 1 from W = 0 with one of the STEPS in place."""
    smoothed = L21Loss.of(design, Y, None, fit_intercept=False).smoothed(REDUNDANCY_SETTING["mu"])
    problem = smoothed_problem(smoothed, k, REDUNDANCY_SETTING["rho"], step)
    return nonmonotone_apg(
        problem,
        np.zeros((design.shape[1], Y.shape[1])),
        margin=1.05 if step == "margin" else 2.0,
        tol=1e-7,
        max_iter=iterations,
        monitor=silent,
    )


def convergence_rows(task: Task) -> list[Row]:
    """F_mu over the iterations and where they end, or what k features can reach."""
    data, k = load(task.dataset, download=False), task.options["k"]
    Z, Y = _standardised(data.X), _onehot(data.y)
    gamma, rho = float(REDUNDANCY_SETTING["gamma"]), float(REDUNDANCY_SETTING["rho"])
    row: Row = {"dataset": task.dataset, "method": task.method, "k": k}
    if task.method == "corrected":
        exact = {"gamma": gamma, "fit_intercept": False, "init": "forward", "tol": 1e-4}
        convex = get_selector("rfs", k, gamma=gamma, **IRLS).fit(Z, data.y)
        row["bound"] = convex.objective_ * (1.0 - convex.gap_)
        row["refitted"] = get_selector("nmapg", k, **exact).fit(Z, data.y).objective_
        return [row]
    design, _ = make_design(Z, center=False, scale=False)
    run = descent(design, Y, k, task.method, task.options["iterations"])
    norms = row_norms(run.W)
    first = row_norms(descent(design, Y, k, task.method, 1).W)
    strongest = top_rows(norms, k)
    fitted = float(row_norms(design.matmul(run.W) - Y).sum())
    at = np.unique(np.geomspace(1, run.n_iter, _POINTS).round().astype(int))
    return [
        row
        | {
            "at": at.tolist(),
            "values": [float(f"{run.history[i - 1]:.6g}") for i in at],
            "value": fitted + gamma * float(norms.sum()) + rho * tail_norm(run.W, k),
            "rows": int(np.count_nonzero(norms)),
            "strong_rows": int(np.count_nonzero(norms > 1e-3)),
            "kept": int(np.isin(strongest, top_rows(first, k)).sum()),
            "refitted": refitted_value(Z, Y, np.sort(strongest), gamma),
        }
    ]
