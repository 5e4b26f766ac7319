"""Xu, Wang, Nie & Li (AAAI 2023): runs of the objective and of time, and what is printed."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from reproduction.cai2013_runs import coded, constant_losses
from reproduction.declare import Row, Size, Task
from rowsparse._arrays import Array
from rowsparse.datasets import load
from rowsparse.evaluation import refitted_objective
from rowsparse.selectors import get_selector

DATASETS = {
    "srbct": "SRBCT",
    "jaffe": "JAFFE",
    "umist": "UMIST",
    "usps": "USPS",
    "coil20": "COIL20",
    "isolet": "Isolet",
}
# Where a fit takes so little that it is repeated.
SMALL = ("srbct", "jaffe", "umist")

# Table 2 as printed: mean and standard deviation of the objective over 40 random starts.
TABLE_KS = (1, 5, 10)
PRINTED: dict[str, dict[str, dict[int, tuple[float, float]]]] = {
    "srbct": {
        "ipfs": {1: (57.05, 0.9), 5: (51.66, 4.2), 10: (49.61, 5.9)},
        "projectedgradient": {1: (55.30, 5.4), 5: (38.60, 9.0), 10: (31.23, 8.4)},
        "rpfs": {1: (49.08, 3.5), 5: (29.81, 9.2), 10: (12.28, 2.5)},
        "cdlsr": {1: (45.71, 4.1), 5: (12.91, 2.1), 10: (6.994, 1.0)},
    },
    "jaffe": {
        "ipfs": {1: (188.4, 0.0), 5: (182.9, 1.1), 10: (189.4, 11.9)},
        "projectedgradient": {1: (178.7, 3.2), 5: (131.9, 7.0), 10: (94.98, 8.5)},
        "rpfs": {1: (180.0, 2.7), 5: (124.2, 4.9), 10: (74.07, 4.8)},
        "cdlsr": {1: (175.4, 1.9), 5: (118.0, 7.1), 10: (68.36, 8.5)},
    },
}
# Table 3 as printed: seconds with k = 5.
TIME_K = 5
PRINTED_SECONDS = {
    "srbct": {"ipfs": 1.761, "projectedgradient": 7.539, "rpfs": 58.73, "cdlsr published": 5.913},
    "jaffe": {"ipfs": 0.477, "projectedgradient": 0.757, "rpfs": 5.335, "cdlsr published": 0.342},
    "usps": {"ipfs": 36.80, "projectedgradient": 624.9, "rpfs": 3.114, "cdlsr published": 3.376},
}
STEPS = tuple(10.0**power for power in range(-8, 3))
FIGURE_STEPS = (1e-5, 1e-4, 1e-3, 1e-2)
MUS, RHOS = (1e-6, 1e-4, 1e-2, 1.0), (1.02, 1.1)


def _gradient(step: float | None) -> dict[str, Any]:
    return {"init": "random", "n_restarts": 0, "step": step}


def _lagrangian(mu: float, rho: float) -> dict[str, Any]:
    return {"variant": "published", "mu": mu, "rho": rho, "init_scale": 0.03}


ONE_START = {"n_restarts": 0}
PUBLISHED_START = {"variant": "published", "n_restarts": 0}
RPFS = "rpfs mu 0.01 rho 1.1"
# Runs by name: selector with its settings, and the share of the size's starts that is run.
RUNS: dict[str, dict[str, Any]] = {
    "cdlsr published": {"params": PUBLISHED_START},
    "cdlsr": {"params": ONE_START},
    "random": {},
    "topk": {"params": {"alpha": 0.0}, "share": 0.1},
    "ipfs": {"share": 0.05},
    "ipfs ridge 1e-05": {"params": {"ridge": 1e-5}, "share": 0.05},
    **{
        f"projectedgradient step {step:g}": {"params": _gradient(step), "share": 0.25}
        for step in STEPS
    },
    **{
        f"rpfs mu {mu:g} rho {rho:g}": {"params": _lagrangian(mu, rho), "share": 0.25}
        for mu in MUS
        for rho in RHOS
    },
}
# Figure 4: k = 1..10 in the paper.
FIGURE_KS = (1, 2, 3, 5, 7, 10)
FIGURE_RUNS: dict[str, dict[str, Any]] = {
    **{name: RUNS[name] for name in ("cdlsr published", "cdlsr", "topk")},
    "ipfs": {"share": 0.025},
    **{f"projectedgradient step {step:g}": {"params": _gradient(step), "share": 0.25}
       for step in FIGURE_STEPS},
    RPFS: {**RUNS[RPFS], "share": 0.1},
}  # fmt: skip
CONVERGENCE_DATASETS = ("srbct", "jaffe", "usps")
CONVERGENCE: dict[str, dict[str, Any]] = {
    "cdlsr published": {"params": PUBLISHED_START},
    "cdlsr": {"params": ONE_START},
    "projectedgradient": {"params": _gradient(None), "share": 0.1},
    RPFS: {**RUNS[RPFS], "share": 0.025},
    "ipfs": {"share": 0.025},
    "topk": {"params": {"alpha": 0.0}, "share": 0.025},
}
# Iterations at which the curves of Figure 5 are kept.
MARKS = (1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000)
TIMED: dict[str, dict[str, Any]] = {
    "cdlsr published": PUBLISHED_START,
    "cdlsr": ONE_START,
    "projectedgradient": _gradient(None),
    RPFS: _lagrangian(0.01, 1.1),
    "ipfs": {},
    "topk no restarts": {"alpha": 0.0, "n_restarts": 0},
    "topk": {"alpha": 0.0},
}


def base(name: str) -> str:
    """The selector behind the name of a run."""
    return name.partition(" ")[0]


def kept(size: Size, option: str, name: str) -> bool:
    """Whether an option of the size names it, or there is no such option."""
    names = size.options.get(option)
    return names is None or name in names


def _objective_tasks(
    experiment: str, runs: dict[str, dict[str, Any]], names: Any, ks: Any, size: Size
) -> list[Task]:
    starts = int(size.options.get("starts", 40))
    return [
        Task(
            experiment, dataset, name, 0,
            {
                "k": k,
                "starts": max(1, round(starts * run.get("share", 1.0))),
                "params": run.get("params", {}),
            },
        )
        for dataset in filter(size.keeps, names)
        for name, run in runs.items()
        if kept(size, "runs", name)
        for k in ks
    ]  # fmt: skip


def table_tasks(size: Size) -> list[Task]:
    """Table 2: random starts with every setting."""
    return _objective_tasks("table2", RUNS, PRINTED, TABLE_KS, size)


def figure4_tasks(size: Size) -> list[Task]:
    """Figure 4: the best of the starts over k; RPFS on the small sets only."""
    ks = size.options.get("figure_ks", FIGURE_KS)
    tasks = _objective_tasks("figure4", FIGURE_RUNS, DATASETS, ks, size)
    return [task for task in tasks if task.method != RPFS or task.dataset in SMALL]


def convergence_tasks(size: Size) -> list[Task]:
    """Figure 5."""
    return _objective_tasks("figure5", CONVERGENCE, CONVERGENCE_DATASETS, [TIME_K], size)


def time_tasks(size: Size) -> list[Task]:
    """Table 3: one task a data set, so that all methods are timed in the same process."""
    methods = [name for name in TIMED if kept(size, "runs", name)]
    options = {"methods": methods, "times": int(size.options.get("times", 3))}
    return [
        Task("table3", dataset, "all", 0, options)
        for dataset in filter(size.keeps, PRINTED_SECONDS)
    ]


def standardised(X: Array) -> Array:
    """Columns of mean 0 and standard deviation 1 with n - 1, as in the authors' code.

    >>> standardised(np.array([[1.0, 5.0], [3.0, 5.0]])).round(3).tolist()
    [[-0.707, 0.0], [0.707, 0.0]]
    """
    Z = X.astype(np.float64)
    Z -= Z.mean(axis=0)
    spread = Z.std(axis=0, ddof=1)
    return np.asarray(Z / np.where(spread > 0, spread, 1.0))


def squared_loss(Z: Array, Y: Array, W: Array) -> float:
    """||Y - ZW - 1b'||_F^2 with the best b."""
    R = Y - Z @ W
    R -= R.mean(axis=0)
    return float(np.vdot(R, R))


def _problem(name: str) -> tuple[Array, Array, Array]:
    data = load(name, download=False)
    return standardised(data.X), data.y, coded(data.y, "one-hot")


def _fitted(task: Task, Z: Array, y: Array, start: int, **other: Any) -> Any:
    params = {"random_state": start, "standardize": False, **task.options["params"], **other}
    return get_selector(base(task.method), task.options["k"], **params).fit(Z, y)


def _ends(task: Task, Z: Array, y: Array, Y: Array) -> tuple[list[float], list[float], list[Any]]:
    """Loss of every start at its coefficients and refitted on its features, and the fits."""
    starts = range(task.options["starts"])
    if task.method == "random":
        draws = [np.random.default_rng(start).permutation(Z.shape[1]) for start in starts]
        losses = [refitted_objective(Z, y, draw[: task.options["k"]]) for draw in draws]
        return losses, losses, []
    if base(task.method) == "ipfs":
        # Its first start is fixed, and those after it are random: all come from one fit.
        fit = _fitted(task, Z, y, 0, n_restarts=len(starts) - 1)
        losses = fit.objectives_.tolist()
        return losses, losses, [fit]
    fits = [_fitted(task, Z, y, start) for start in starts]
    left = [squared_loss(Z, Y, fit.coef_.T) for fit in fits]
    return left, [refitted_objective(Z, y, fit.get_support()) for fit in fits], fits


def objective_rows(task: Task) -> list[Row]:
    """Where random starts end: the loss at their coefficients, and refitted on their features."""
    Z, y, Y = _problem(task.dataset)
    left, refitted, fits = _ends(task, Z, y, Y)
    row: Row = {
        "dataset": task.dataset,
        "method": task.method,
        "k": task.options["k"],
        "total": squared_loss(Z, Y, np.zeros((Z.shape[1], Y.shape[1]))),
        "objectives": short(left),
        "refitted": short(refitted),
        "iterations": [int(fit.n_iter_) for fit in fits],
        "converged": sum(bool(fit.converged_) for fit in fits),
    }
    return [row]


def convergence_rows(task: Task) -> list[Row]:
    """Mean loss after so many iterations, as a share of that without features."""
    Z, y, Y = _problem(task.dataset)
    own = base(task.method) == "rpfs"
    total = constant_losses(Y)[0] if own else squared_loss(Z, Y, np.zeros((Z.shape[1], Y.shape[1])))
    runs = [_fitted(task, Z, y, start) for start in range(task.options["starts"])]
    histories = [np.asarray(run.history_) / total for run in runs]
    longest = max(history.size for history in histories)
    at = [*(mark for mark in MARKS if mark < longest), longest]
    curve = [np.mean([h[min(mark, h.size) - 1] for h in histories]) for mark in at]
    row: Row = {
        "dataset": task.dataset,
        "method": task.method,
        "k": task.options["k"],
        "at": at,
        "share": short(curve),
        "iterations": [history.size for history in histories],
        "rises": sum(bool(np.any(np.diff(h) > 1e-9 * h[:-1])) for h in histories),
        "converged": sum(bool(run.converged_) for run in runs),
    }
    return [row]


def time_rows(task: Task) -> list[Row]:
    """Median time of a whole fit; the methods take turns, after one fit that does not count."""
    Z, y, Y = _problem(task.dataset)
    get_selector("cdlsr", TIME_K, random_state=0, standardize=False, **ONE_START).fit(Z, y)
    clocks: dict[str, list[tuple[float, float, float]]] = {}
    for again in range(task.options["times"]):
        for name in task.options["methods"]:
            params = {"random_state": again, "standardize": False, **TIMED[name]}
            selector = get_selector(base(name), TIME_K, **params)
            wall, process = time.perf_counter(), time.process_time()
            selector.fit(Z, y)
            spent = time.perf_counter() - wall, time.process_time() - process
            loss = squared_loss(Z, Y, selector.coef_.T)
            clocks.setdefault(name, []).append((*spent, loss))
    return [
        {
            "dataset": task.dataset,
            "method": name,
            "k": TIME_K,
            "seconds": float(np.median([seconds for seconds, _, _ in spent])),
            "process_seconds": float(np.median([seconds for _, seconds, _ in spent])),
            "objective": float(np.mean([loss for _, _, loss in spent])),
            "times": len(spent),
        }
        for name, spent in clocks.items()
    ]


def short(values: Any) -> list[float]:
    """Six digits, as the text form of the rows keeps them."""
    return [float(f"{value:.6g}") for value in values]
