"""The runs of Xu, Wang, Nie & Li (AAAI 2023) of the objective, of convergence and of time."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from reproduction.declare import Contender, Declaration, Row, RunTask, Size
from reproduction.problems import class_matrix, constant_losses, mean_sd_by_k, six_digits
from rowsparse._arrays import Array
from rowsparse.datasets import load
from rowsparse.evaluation.metrics import refitted_objective
from rowsparse.selectors import get_selector

DECLARED = Declaration("xu2023")
DATASETS = DECLARED.table("datasets")
# Fits take so little time there that they are repeated.
SMALL = ("srbct", "jaffe", "umist")
# Table 2 and Table 3 as printed, by data set and selector.
TABLE = {
    dataset: {name: mean_sd_by_k(cells) for name, cells in own.items()}
    for dataset, own in DECLARED.table("printed")["objective"].items()
}
# Means and standard deviations.
SECONDS: dict[str, dict[str, tuple[float, float]]] = DECLARED.table("printed")["seconds"]
TABLE_KS = (1, 5, 10)
# Figure 4: k = 1..10 in the paper.
FIGURE_KS = (1, 2, 3, 5, 7, 10)
TIME_K = 5


def _gradient(step: float) -> Contender:
    params = {"init": "random", "n_restarts": 0, "step": step}
    return Contender("projectedgradient", f"PGD step {step:g}", params, 0.25)


def _lagrangian(mu: float, rho: float) -> Contender:
    params = {"variant": "published", "mu": mu, "rho": rho, "init_scale": 0.03}
    return Contender("rpfs", f"RPFS μ = {mu:g} ρ = {rho:g}", params, 0.25)


# RPFS in Figures 4 and 5 and in Table 3.
RPFS = "rpfs mu 0.01 rho 1.1"
IPFS_RIDGE = "ipfs ridge 1e-05"
RUNS = {
    **DECLARED.contenders("runs"),
    **{f"projectedgradient step {10.0**p:g}": _gradient(10.0**p) for p in range(-8, 3)},
    **{
        f"rpfs mu {mu:g} rho {rho:g}": _lagrangian(mu, rho)
        for mu in (1e-6, 1e-4, 1e-2, 1.0)
        for rho in (1.02, 1.1)
    },
}
FIGURE_RUNS = {m: replace(RUNS[m], share=share) for m, share in DECLARED.table("figure4").items()}
CURVE_DATASETS = ("srbct", "jaffe")
CURVE_RUNS = DECLARED.contenders("figure5")
# Iterations at which the curves of Figure 5 are kept.
MARKS = (1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000)
TIMED = {m: run for m, run in CURVE_RUNS.items() if m != "topk"} | DECLARED.contenders("timed")
# The methods of the paper end, in Table 3, once the objective changes by less than this share.
STOPPED = ("cdlsr published", "ipfs", "projectedgradient", RPFS)
LEAST_CHANGE = 1e-4


def _objective_tasks(
    experiment: str,
    runs: Mapping[str, Contender],
    datasets: Iterable[str],
    ks: Iterable[int],
    size: Size,
) -> list[RunTask]:
    return [
        RunTask(
            experiment,
            dataset,
            name,
            options={
                "k": k,
                "starts": run.starts(size, 40),
                "selector": run.selector,
                "params": run.params,
            },
        )
        for dataset in filter(size.keeps, datasets)
        for name, run in size.chosen(runs, "runs").items()
        for k in ks
    ]


def table_tasks(size: Size) -> list[RunTask]:
    """Table 2: random starts with every setting."""
    return _objective_tasks("table2", RUNS, TABLE, TABLE_KS, size)


def figure4_tasks(size: Size) -> list[RunTask]:
    """Figure 4: the best of the starts over k; RPFS on the small sets only."""
    ks = size.options.get("figure_ks", FIGURE_KS)
    tasks = _objective_tasks("figure4", FIGURE_RUNS, DATASETS, ks, size)
    return [task for task in tasks if task.method != RPFS or task.dataset in SMALL]


def convergence_tasks(size: Size) -> list[RunTask]:
    """Figure 5."""
    ks = size.options.get("curve_ks", TABLE_KS)
    return _objective_tasks("figure5", CURVE_RUNS, CURVE_DATASETS, ks, size)


def time_tasks(size: Size) -> list[RunTask]:
    """Table 3: one task a data set, so that all methods are timed in the same process."""
    methods = list(size.chosen(TIMED, "runs"))
    options = {"methods": methods, "times": int(size.options.get("times", 3))}
    return [
        RunTask("table3", dataset, "all", options=options)
        for dataset in filter(size.keeps, SECONDS)
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


def _total(Z: Array, Y: Array) -> float:
    """The loss without features."""
    return squared_loss(Z, Y, np.zeros((Z.shape[1], Y.shape[1])))


def _problem(name: str) -> tuple[Array, Array, Array]:
    data = load(name, download=False)
    return standardised(data.X), data.y, class_matrix(data.y)


def _fitted(task: RunTask, Z: Array, y: Array, start: int, **other: Any) -> Any:
    params = {"random_state": start, "standardize": False, **task.options["params"], **other}
    return get_selector(task.options["selector"], task.options["k"], **params).fit(Z, y)


def _ends(
    task: RunTask, Z: Array, y: Array, Y: Array
) -> tuple[list[float], list[float], list[Any]]:
    """Loss of every start at its coefficients and refitted on its features, and the fits."""
    starts = range(task.options["starts"])
    if task.options["selector"] == "random":
        draws = [np.random.default_rng(start).permutation(Z.shape[1]) for start in starts]
        losses = [refitted_objective(Z, y, draw[: task.options["k"]]) for draw in draws]
        return losses, losses, []
    if task.options["selector"] == "ipfs":
        # Its first start is fixed, and those after it are random: all come from one fit.
        fit = _fitted(task, Z, y, 0, n_restarts=len(starts) - 1)
        losses = fit.objectives_.tolist()
        return losses, losses, [fit]
    fits = [_fitted(task, Z, y, start) for start in starts]
    left = [squared_loss(Z, Y, fit.coef_.T) for fit in fits]
    return left, [refitted_objective(Z, y, fit.get_support()) for fit in fits], fits


def objective_rows(task: RunTask) -> list[Row]:
    """Where random starts end: the loss at their coefficients, and refitted on their features."""
    Z, y, Y = _problem(task.dataset)
    left, refitted, fits = _ends(task, Z, y, Y)
    return [
        {
            "dataset": task.dataset,
            "method": task.method,
            "k": task.options["k"],
            "total": _total(Z, Y),
            "objectives": six_digits(left),
            "refitted": six_digits(refitted),
            "iterations": [int(fit.n_iter_) for fit in fits],
            "converged": sum(bool(fit.converged_) for fit in fits),
        }
    ]


def convergence_rows(task: RunTask) -> list[Row]:
    """Mean and deviation of the loss by iteration, as shares of the loss without features."""
    Z, y, Y = _problem(task.dataset)
    # RPFS minimises another loss, the sum of norms.
    total = constant_losses(Y)[0] if task.options["selector"] == "rpfs" else _total(Z, Y)
    runs = [_fitted(task, Z, y, start) for start in range(task.options["starts"])]
    histories = [np.asarray(run.history_) / total for run in runs]
    longest = max(history.size for history in histories)
    at = [*(mark for mark in MARKS if mark < longest), longest]
    shares = np.array([[h[min(mark, h.size) - 1] for mark in at] for h in histories])
    return [
        {
            "dataset": task.dataset,
            "method": task.method,
            "k": task.options["k"],
            "at": at,
            "share": six_digits(shares.mean(axis=0)),
            "spread": six_digits(shares.std(axis=0)),
            "iterations": [history.size for history in histories],
            "rises": sum(bool(np.any(np.diff(h) > 1e-9 * h[:-1])) for h in histories),
            "converged": sum(bool(run.converged_) for run in runs),
        }
    ]


def stopped_after(history: Array) -> int:
    """Iterations until the objective changes by less than the printed share; all if it never does.

    >>> stopped_after(np.array([4.0, 2.0, 1.9999, 1.0]))
    3
    """
    small = np.abs(np.diff(history)) < LEAST_CHANGE * np.abs(history[:-1])
    return int(np.flatnonzero(small)[0]) + 2 if small.any() else history.size


def time_rows(task: RunTask) -> list[Row]:
    """Median time of a whole fit; the methods take turns, after one fit that does not count.

    Those of the paper are run twice: to find where the printed rule stops them, and up to there.
    """
    Z, y, Y = _problem(task.dataset)
    fixed: dict[str, Any] = {"standardize": False}
    get_selector("cdlsr", TIME_K, random_state=0, **fixed, **RUNS["cdlsr"].params).fit(Z, y)
    spent: dict[str, list[tuple[float, float, float, int]]] = {}
    for again in range(task.options["times"]):
        for name in task.options["methods"]:
            params = {"random_state": again, **fixed, **TIMED[name].params}
            selector = get_selector(TIMED[name].selector, TIME_K, **params)
            if name in STOPPED:
                history = np.asarray(selector.fit(Z, y).history_)
                selector.set_params(max_iter=stopped_after(history))
            wall, process = time.perf_counter(), time.process_time()
            selector.fit(Z, y)
            seconds = time.perf_counter() - wall, time.process_time() - process
            loss = squared_loss(Z, Y, selector.coef_.T)
            spent.setdefault(name, []).append((*seconds, loss, int(selector.n_iter_)))
    return [
        {
            "dataset": task.dataset,
            "method": name,
            "k": TIME_K,
            "seconds": float(np.median([wall for wall, *_ in own])),
            "process_seconds": float(np.median([process for _, process, *_ in own])),
            "process_spread": float(np.std([process for _, process, *_ in own])),
            "objective": float(np.mean([loss for _, _, loss, _ in own])),
            "iterations": float(np.median([iterations for *_, iterations in own])),
            "times": len(own),
        }
        for name, own in spent.items()
    ]
