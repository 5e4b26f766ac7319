"""The convergence figure of An, Dong & Qin (2021), one change of the printed steps at a time."""

from __future__ import annotations

import numpy as np

from reproduction.an2021_runs import (
    REDUNDANCY_SETTING,
    refitted_value,
    rfs_published,
    standardised,
)
from reproduction.declare import Row, RunTask, Size
from reproduction.problems import class_matrix, six_digits
from rowsparse._arrays import Array
from rowsparse.design import Design, make_design
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
from rowsparse.solvers.proximal import Composite, Descent, SmoothedLoss, nonmonotone_apg
from rowsparse.solvers.solution import silent

# Announced for two of these, captioned with the other two.
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


def convergence_tasks(size: Size) -> list[RunTask]:
    """One task a data set and step, and one for what the exact problem can reach."""
    iterations = int(size.options.get("iterations", REDUNDANCY_SETTING["max_iter"]))
    options = {"k": CONVERGENCE_K, "iterations": iterations}
    return [
        RunTask("convergence", dataset, step, options=options)
        for dataset in filter(size.keeps, CONVERGENCE)
        for step in (*STEPS, "corrected")
    ]


def smoothed_problem(loss: SmoothedLoss, k: int, mu: float, rho: float, step: str) -> Composite:
    """F_mu without an intercept: both norms smoothed, and one of the STEPS in place."""
    design, gamma = loss.design, float(REDUNDANCY_SETTING["gamma"])
    lipschitz = float(np.sum(design.column_norms() ** 2)) + design.shape[1] * gamma
    if step in ("constant", "margin"):
        lipschitz = design.spectral_norm() ** 2 + gamma

    def prox(U: Array, length: float) -> Array:
        if step == "printed":
            return prox_dc_published(U, k, rho * length)
        return prox_dc(U, k, 0.0, rho * length)

    return Composite(
        product=design.matmul,
        value=lambda W, P: loss.value(P, mu) + gamma * float(huber_rows(row_norms(W), mu).sum()),
        gradient=lambda W, P: design.rmatmul(loss.slope(P, mu)) + gamma * unit_ball_rows(W / mu),
        penalty=lambda W: rho * tail_norm(W, k),
        prox=prox,
        lipschitz=lipschitz / mu,
    )


def descent(design: Design, Y: Array, k: int, step: str, iterations: int) -> Descent:
    """Algorithm 1 from W = 0 with one of the STEPS in place."""
    loss = SmoothedLoss(design, Y, np.ones(len(Y)), fit_intercept=False)
    problem = smoothed_problem(loss, k, REDUNDANCY_SETTING["mu"], REDUNDANCY_SETTING["rho"], step)
    return nonmonotone_apg(
        problem,
        np.zeros((design.shape[1], Y.shape[1])),
        margin=1.05 if step == "margin" else 2.0,
        tol=1e-7,
        max_iter=iterations,
        monitor=silent,
    )


def convergence_rows(task: RunTask) -> list[Row]:
    """F_mu over the iterations and where they end, or what k features can reach."""
    k, (Z, y) = task.options["k"], standardised(task.dataset)
    Y = class_matrix(y)
    gamma, rho = float(REDUNDANCY_SETTING["gamma"]), float(REDUNDANCY_SETTING["rho"])
    row: Row = {"dataset": task.dataset, "method": task.method, "k": k}
    if task.method == "corrected":
        exact = {"gamma": gamma, "fit_intercept": False, "init": "forward", "tol": 1e-4}
        convex = get_selector("rfs", k, **rfs_published(gamma).params).fit(Z, y)
        row["bound"] = convex.objective_ * (1.0 - convex.gap_)
        row["refitted"] = get_selector("nmapg", k, **exact).fit(Z, y).objective_
        return [row]
    design, _ = make_design(Z, center=False, scale=False)
    run = descent(design, Y, k, task.method, task.options["iterations"])
    first = descent(design, Y, k, task.method, 1)
    norms = row_norms(run.W)
    strongest = top_rows(norms, k)
    fitted = float(row_norms(design.matmul(run.W) - Y).sum())
    at = np.unique(np.geomspace(1, run.n_iter, _POINTS).round().astype(int))
    return [
        row
        | {
            "at": at.tolist(),
            "values": six_digits(run.history[i - 1] for i in at),
            "value": fitted + gamma * float(norms.sum()) + rho * tail_norm(run.W, k),
            "rows": int(np.count_nonzero(norms)),
            "strong_rows": int(np.count_nonzero(norms > 1e-3)),
            "kept": int(np.isin(strongest, top_rows(row_norms(first.W), k)).sum()),
            "refitted": refitted_value(Z, Y, np.sort(strongest), gamma),
        }
    ]
