"""RFS: seconds to a certified gap against those of forming X X'."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.certificate import Array, n_rows, rfs_dual, rfs_objective
from benchmarks.data import Data, for_each
from benchmarks.tables import VERDICT, Table, verdict
from benchmarks.timing import race, ratio, ratio_range
from rowsparse.design import make_design
from rowsparse.solvers.solution import Solution
from rowsparse.solvers.sparse.rfs_solver import rfs

TOL = 1e-6
MOST_GRAMS = 20.0
SETS = ("allaml", "glioma", "prostate_ge", "srbct", "lymphoma", "warppie10p")
QUICK_SETS = ("glioma", "srbct")


def solve(X: Array, Y: Array, gamma: float, intercept: bool = False) -> Solution:
    """From plain arrays to the solution: making the design is timed too."""
    design, _ = make_design(X, center=False, scale=False)
    return rfs(
        design,
        Y,
        gamma=gamma,
        k=1,
        fit_intercept=intercept,
        solver="auto",
        tol=TOL,
        max_iter=None,
    )


def certify(
    X: Array, Y: Array, solution: Solution, gamma: float, intercept: bool
) -> dict[str, Any]:
    """Objective and relative gap from the definition, for the primal and dual points returned."""
    objective = rfs_objective(X, Y, solution.W, solution.b, gamma)
    dual = rfs_dual(X, Y, solution.attributes["dual_coef_"], gamma, centred=intercept)
    rows = n_rows(solution.W)
    return {"objective": objective, "gap": (objective - dual) / objective, "rows": rows}


def run(quick: bool) -> list[Table]:
    return [gap_table(quick), *([] if quick else [information_table()])]


_GAP_FORMATS = {
    "data": "",
    "n x d x c": "",
    "gamma": "g",
    "intercept": "",
    "s": ".4f",
    "X X' s": ".5f",
    "ratio": ".1f",
    "ratio of a round": "",
    "solver alone": ".1f",
    "objective": ".8g",
    "gap": ".1e",
    "rows": "d",
}


def gap_table(quick: bool) -> Table:
    """Seconds to the certified gap, in units of one product X X'."""
    table = Table(f"RFS to a certified relative gap of {TOL:g}.", _GAP_FORMATS | {VERDICT: ""})
    table.target = f"the gap within {MOST_GRAMS:.0f} times the seconds of forming X X'"
    table.notes.append(
        "Ratio: from plain arrays, so with the design, which takes the moments of every column; "
        "solver alone: the ratio once the design is there. Objective and gap are recomputed."
    )
    measure = partial(_to_gap, cases=((10.0, False),), judged=True)
    return for_each(QUICK_SETS if quick else SETS, table, measure)


def information_table() -> Table:
    """The same with a weaker penalty and with an intercept: no target."""
    table = Table("The same at a weaker penalty and with an intercept, for information.", {})
    table.formats = _GAP_FORMATS
    cases = ((1.0, False), (10.0, True), (1.0, True))
    return for_each(SETS, table, partial(_to_gap, cases=cases, judged=False))


def _to_gap(
    data: Data, table: Table, *, cases: tuple[tuple[float, bool], ...], judged: bool
) -> None:
    X, Y = data.X, data.Y
    design, _ = make_design(X, center=False, scale=False)
    for gamma, intercept in cases:
        contestants = {
            "solve": partial(solve, X, Y, gamma, intercept),
            "solver": partial(
                rfs,
                design,
                Y,
                gamma=gamma,
                k=X.shape[1],
                fit_intercept=intercept,
                solver="auto",
                tol=TOL,
                max_iter=None,
            ),
            "gram": partial(np.matmul, X, X.T),
        }
        timed = race(contestants, rounds=9, budget=10.0)
        grams = ratio(timed["solve"], timed["gram"])
        checked = certify(X, Y, timed["solve"].value, gamma, intercept)
        row = {
            "data": data.name,
            "n x d x c": data.size,
            "gamma": gamma,
            "intercept": "yes" if intercept else "no",
            "s": timed["solve"].best,
            "X X' s": timed["gram"].best,
            "ratio": grams,
            "solver alone": ratio(timed["solver"], timed["gram"]),
            "solver s": timed["solver"].best,
            "ratio of a round": ratio_range(timed["solve"], timed["gram"]),
            "runs": len(timed["solve"].seconds),
            **checked,
        }
        if judged:
            row[VERDICT] = verdict(grams <= MOST_GRAMS and checked["gap"] <= TOL)
        table.rows.append(row)
