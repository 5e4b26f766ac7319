"""Figures 4 and 5 of An, Dong & Qin (2021): rows that are left, and F over the iterations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from reproduction.an2021_runs import (
    CONTENDERS,
    DATASETS,
    GAMMA,
    LARGER_RHO,
    OTHER_SETTINGS,
    RHO_SHARES,
    SMALLER_RHO,
    printed_rho,
    refitted_value,
    standardised,
)
from reproduction.declare import Row, RunTask, Size
from reproduction.figures import Line, Panels, curve_picture
from reproduction.problems import class_matrix, six_digits
from reproduction.summaries import matching
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
from rowsparse.solvers.losses.l21 import L21Loss, SmoothedL21Loss
from rowsparse.solvers.proximal import Composite, nonmonotone_apg
from rowsparse.solvers.solution import silent
from rowsparse.solvers.sparse.rpfs_solver import AlmOptions, RidgeStep, Scaled, alm

# Figure 5: announced for two of these data sets, captioned with the other two. rho and K are
# printed for it, as is gamma = GAMMA; mu of Algorithm 1 is that of the redundancy rate.
CONVERGENCE = ("yale", "isolet", "coil20", "usps")
CONVERGENCE_K, CONVERGENCE_RHO = 10, 0.01
FIXED_MU, ITERATIONS = 0.01, 1000
# Algorithm 2: mu falls from 1 by a factor of ten until it is below 2 eps / (n + gamma d).
FIRST_MU, FACTOR, EPS, STAGE_ITERATIONS = 1.0, 0.1, 0.1, 200
# Both algorithms as printed, and then Algorithm 1 with one change after the other.
STEPS = {
    "printed": "Algorithm 1, as printed",
    "algorithm 2": "Algorithm 2, as printed",
    "operator": "Algorithm 1, exact operator",
    "constant": "+ spectral L",
    "margin": "+ τ = 1.05 L",
}
# Share of the least F within which an iteration has arrived.
NEAR = 0.01
_POINTS = 40
# Figure 4: rows of W longer than these.
SPARSITY_DATASET = "lung"
SPARSITY_KS = (1, 5, 10, 20, 30, 40, 50)
# The last panel of the paper's figure shows those up to the tolerance that is drawn over K.
TOLERANCES = (0.0, 1e-6, 1e-5, *(1e-4 * i for i in range(1, 10)), *(1e-3 * i for i in range(1, 21)))
DRAWN_TOLERANCE = 1e-3
# Of which the other panels show all tolerances.
MAGNIFIED_K = 20
RPFS = "rpfs published"
SPARSITY = {
    LARGER_RHO: "NmAPG, published, ρ = 0.01 ρmax",
    SMALLER_RHO: "NmAPG, published, ρ = 0.001 ρmax",
    RPFS: "RPFS, published: W",
    "nmapg": "NmAPG, corrected",
}


# ---------------------------------------------------------------------------- Figure 5: runs
def convergence_tasks(size: Size) -> list[RunTask]:
    """One task a data set and step, and one for what the exact problem can reach."""
    options = {"k": CONVERGENCE_K, "iterations": int(size.options.get("iterations", ITERATIONS))}
    return [
        RunTask("convergence", dataset, step, options=options)
        for dataset in filter(size.keeps, CONVERGENCE)
        for step in (*STEPS, "corrected")
    ]


def smoothed_problem(
    smoothed: SmoothedL21Loss, k: int, step: str, seen: dict[float, float]
) -> Composite:
    """F_mu without an intercept: both norms smoothed, and one of the STEPS in place.

    ``seen`` is filled with F by the F_mu of every point that is tried.
    """
    design, mu = smoothed.loss.design, smoothed.mu
    lipschitz = float(np.sum(design.column_norms() ** 2)) + design.shape[1] * GAMMA
    if step in ("constant", "margin"):
        lipschitz = design.spectral_norm() ** 2 + GAMMA

    def prox(U: Array, length: float) -> Array:
        if step in ("printed", "algorithm 2"):
            return prox_dc_published(U, k, CONVERGENCE_RHO * length)
        return prox_dc(U, k, 0.0, CONVERGENCE_RHO * length)

    def value(W: Array, P: Array) -> float:
        norms, penalty = row_norms(W), CONVERGENCE_RHO * tail_norm(W, k)
        found = smoothed.value(P) + GAMMA * float(huber_rows(norms, mu).sum())
        seen[found + penalty] = smoothed.loss.value(P) + GAMMA * float(norms.sum()) + penalty
        return found

    return Composite(
        product=design.matmul,
        value=value,
        gradient=lambda W, P: design.rmatmul(smoothed.gradient(P)) + GAMMA * unit_ball_rows(W / mu),
        penalty=lambda W: CONVERGENCE_RHO * tail_norm(W, k),
        prox=prox,
        lipschitz=lipschitz / mu,
    )


def descent(
    design: Design, Y: Array, k: int, step: str, iterations: int
) -> tuple[Array, list[float]]:
    """The last W of one of the STEPS from W = 0, and F after every iteration."""
    loss = L21Loss.from_targets(design, Y, None, fit_intercept=False)
    stages = [(FIXED_MU, iterations)]
    if step == "algorithm 2":
        n, d = design.shape
        mus = [FIRST_MU]
        while FACTOR * mus[-1] >= 2.0 * EPS / (n + GAMMA * d):
            mus.append(FACTOR * mus[-1])
        stages = [(mu, min(STAGE_ITERATIONS, iterations)) for mu in mus]
    W, history = np.zeros((design.shape[1], Y.shape[1])), []
    for mu, limit in stages:
        seen: dict[float, float] = {}
        run = nonmonotone_apg(
            smoothed_problem(loss.smoothed(mu), k, step, seen),
            W,
            margin=1.05 if step == "margin" else 2.0,
            tol=1e-7,
            max_iter=limit,
            monitor=silent,
        )
        assert run.last is not None
        W = run.last
        history += [seen[value] for value in run.history]
    return W, history


def convergence_rows(task: RunTask) -> list[Row]:
    """F over the iterations and where they end, or what k features can reach."""
    k, (Z, y) = task.options["k"], standardised(task.dataset)
    Y = class_matrix(y)
    row: Row = {"dataset": task.dataset, "method": task.method, "k": k}
    if task.method == "corrected":
        exact = {"gamma": GAMMA, "fit_intercept": False}
        convex = get_selector("rfs", k, **exact, tol=1e-3).fit(Z, y)
        row["bound"] = convex.objective_ * (1.0 - convex.gap_)
        corrected = get_selector("nmapg", k, **exact, init="forward", tol=1e-4).fit(Z, y)
        row["refitted"] = corrected.objective_
        return [row]
    design, _ = make_design(Z, center=False, scale=False)
    W, history = descent(design, Y, k, task.method, task.options["iterations"])
    first, _ = descent(design, Y, k, task.method, 1)
    norms = row_norms(W)
    strongest = top_rows(norms, k)
    at = np.unique(np.geomspace(1, len(history), _POINTS).round().astype(int))
    return [
        row
        | {
            "at": at.tolist(),
            "values": six_digits(history[i - 1] for i in at),
            "rows": int(np.count_nonzero(norms)),
            "strong_rows": int(np.count_nonzero(norms > DRAWN_TOLERANCE)),
            "kept": int(np.isin(strongest, top_rows(row_norms(first), k)).sum()),
            "refitted": refitted_value(Z, Y, np.sort(strongest), GAMMA),
        }
    ]


# ---------------------------------------------------------------------------- Figure 5: page
def arrival(row: Row, least: float) -> int | None:
    """The first of the stored iterations with F within 1 % of the least.

    >>> arrival({"at": [1, 10, 100], "values": [9.0, 5.02, 5.0]}, 5.0)
    10
    """
    pairs = zip(row["at"], row["values"], strict=True)
    return next((at for at, value in pairs if value <= (1.0 + NEAR) * least), None)


def _runs(rows: Sequence[Row], dataset: str) -> dict[str, Row]:
    return {row["method"]: row for row in matching(rows, dataset=dataset) if "values" in row}


def _least(runs: Iterable[Row]) -> float:
    return min(min(row["values"]) for row in runs)


def _lines(rows: Sequence[Row]) -> list[tuple[str, str, Row, int | None]]:
    """Data set, label, row and the iteration that arrives, of every step and of the exact one."""
    lines: list[tuple[str, str, Row, int | None]] = []
    for dataset in CONVERGENCE:
        runs = _runs(rows, dataset)
        for step, label in STEPS.items():
            if step in runs:
                reached = arrival(runs[step], _least(runs.values()))
                lines.append((DATASETS[dataset], label, runs[step], reached))
        for row in matching(rows, dataset=dataset, method="corrected"):
            if "bound" in row:
                lines.append((DATASETS[dataset], "NmAPG, corrected", row, None))
    return lines


def _claims(rows: Sequence[Row]) -> dict[str, Any] | None:
    """What the printed algorithms leave undone, by data set."""
    ran = {d: own for d in CONVERGENCE if {"printed", "algorithm 2"} <= set(own := _runs(rows, d))}
    if not ran:
        return None
    exact = {
        row["dataset"]: row["refitted"]
        for row in matching(rows, method="corrected")
        if "refitted" in row
    }
    least = {d: _least(own.values()) for d, own in ran.items()}
    return {
        "twice": [
            2 * (_overtaken_at(own["algorithm 2"], own["printed"]) or np.inf)
            <= own["printed"]["at"][-1]
            for own in ran.values()
        ],
        "faster": {
            DATASETS[d]: _overtakes(own["algorithm 2"], own["printed"]) for d, own in ran.items()
        },
        "left": {
            STEPS[step]: {
                DATASETS[d]: f"{100 * (own[step]['values'][-1] / least[d] - 1):.0f} %"
                for d, own in ran.items()
            }
            for step in ("printed", "algorithm 2")
        },
        "strong": {DATASETS[d]: own["printed"]["strong_rows"] for d, own in ran.items()},
        "worse": {
            DATASETS[d]: f"{100 * (own['algorithm 2']['refitted'] / exact[d] - 1):.0f} %"
            for d, own in ran.items()
            if d in exact
        },
    }


def _overtakes(row: Row, other: Row) -> str:
    """After how many iterations F is as low as that of another run at its end.

    >>> _overtakes({"at": [1, 9], "values": [8.0, 4.0]}, {"at": [1, 50], "values": [9.0, 5.0]})
    '9 instead of 50'
    """
    return f"{_overtaken_at(row, other) or 'never'} instead of {other['at'][-1]}"


def _overtaken_at(row: Row, other: Row) -> int | None:
    pairs = zip(row["at"], row["values"], strict=True)
    return next((at for at, value in pairs if value <= other["values"][-1]), None)


def convergence_context(rows: Sequence[Row]) -> dict[str, Any]:
    """F over the iterations."""
    panels: Panels = {}
    for dataset in CONVERGENCE:
        runs = _runs(rows, dataset)
        for step, label in STEPS.items():
            if step in runs:
                at = [float(np.log10(i)) for i in runs[step]["at"]]
                line = Line(at, runs[step]["values"])
                panels.setdefault(DATASETS[dataset], {})[label] = line
    drawn = partial(curve_picture, x="log10 of iterations", y="objective F", columns=4)
    return {
        "k": CONVERGENCE_K,
        "near": 100 * NEAR,
        "claims": _claims(rows),
        "lines": _lines(rows),
        "picture": drawn("an2021-convergence", panels) if panels else None,
    }


# --------------------------------------------------------------------------------- Figure 4
def sparsity_tasks(size: Size) -> list[RunTask]:
    """One task a method and K on LUNG."""
    return [
        RunTask("sparsity", SPARSITY_DATASET, method, options={"k": k})
        for method in SPARSITY
        for k in size.options.get("sparsity_ks", SPARSITY_KS)
    ]


def sparsity_rows(task: RunTask) -> list[Row]:
    """How many rows of W are longer than each of the tolerances."""
    k, (Z, y) = task.options["k"], standardised(task.dataset)
    if task.method == RPFS:
        norms = row_norms(_lagrangian_iterate(Z, class_matrix(y), k))
    else:
        every = CONTENDERS | OTHER_SETTINGS
        params: Mapping[str, Any] = every[task.method].params
        if task.method in RHO_SHARES:
            params = {**params, "rho": printed_rho(RHO_SHARES[task.method], len(Z), Z, GAMMA)}
        norms = row_norms(get_selector("nmapg", k, **params).fit(Z, y).coef_.T)
    counts = [int(np.count_nonzero(norms > tolerance)) for tolerance in TOLERANCES]
    return [{"dataset": task.dataset, "method": task.method, "k": k, "rows": counts}]


def _lagrangian_iterate(Z: Array, Y: Array, k: int) -> Array:
    """W of Cai et al. at the end, which equals V with its k rows only in the limit."""
    design, _ = make_design(Z, center=False, scale=False)
    problem = Scaled.from_loss(
        L21Loss.from_targets(design, Y, None, fit_intercept=True), joint=False
    )
    start = 0.03 * np.random.default_rng(0).standard_normal((Z.shape[1], Y.shape[1]))
    options = AlmOptions(mu=0.1, rho=1.02, max_iter=1000, norm="l1", tol=1e-7, may_stop=False)
    return alm(problem, RidgeStep(problem.Z), start, k, options, silent).W


def sparsity_context(rows: Sequence[Row]) -> dict[str, Any]:
    """Rows of W over K, and by tolerance, as the three panels of the paper's figure."""
    at = TOLERANCES.index(DRAWN_TOLERANCE)
    over_k, wide, zoomed = f"rows above {DRAWN_TOLERANCE:g}, by K", "K = {k}", "K = {k}, magnified"
    panels: Panels = {}
    found = {
        label: sorted(own, key=lambda row: row["k"])
        for method, label in SPARSITY.items()
        if (own := [row for row in matching(rows, method=method) if "rows" in row])
    }
    for label, own in found.items():
        line = Line([row["k"] for row in own], [row["rows"][at] for row in own])
        panels.setdefault(over_k, {})[label] = line
        for row in matching(own, k=MAGNIFIED_K):
            # A tolerance of 0 counts every row of the printed operators.
            for title, first, last in ((wide, at, None), (zoomed, 1, at + 1)):
                part = slice(first, last)
                points = [1000 * tolerance for tolerance in TOLERANCES[part]]
                panels.setdefault(title.format(k=MAGNIFIED_K), {})[label] = Line(
                    points, row["rows"][part]
                )
    left = [row["rows"][at] for row in found.get(SPARSITY[RPFS], [])]
    x = "K, or tolerance in thousandths"
    return {
        "near": {
            label: [abs(row["rows"][at] - row["k"]) <= 0.1 * row["k"] for row in own]
            for label, own in found.items()
        },
        "falls": [after < before for before, after in pairwise(left)],
        "ks": [row["k"] for row in next(iter(found.values()), [])],
        "lines": [[label, *(row["rows"][at] for row in own)] for label, own in found.items()],
        "picture": curve_picture("an2021-sparsity", panels, x=x, y="rows of W") if panels else None,
    }
