"""RFS: against scikit-feature, and seconds to a certified gap against those of forming X X'."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.certificate import Array, n_rows, rfs_dual, rfs_objective
from benchmarks.data import Data, for_each
from benchmarks.tables import VERDICT, Table, verdict
from benchmarks.timing import race, ratio, ratio_range
from rowsparse.design import make_design
from rowsparse.solvers.solution import Solution
from rowsparse.solvers.sparse.rfs import rfs

TOL = 1e-6
LEAST_SPEEDUP = 300.0
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
    tables = [gap_table(quick)]
    if not quick:
        tables.append(information_table())
    return [peer_table(quick), *tables]


def peer_table(quick: bool) -> Table:
    """(a) The same problem as scikit-feature, on the labels that it trains on."""
    formats = {"data": "", "gamma": "g", "ours s": ".4f", "scikit-feature s": ".2f", "ratio": ".0f"}
    formats |= {"ours": ".6f", "gap": ".1e", "scikit-feature": ".6f", VERDICT: ""}
    target = f"at least {LEAST_SPEEDUP:.0f} times faster at an equal or lower objective"
    table = Table("RFS against scikit-feature, labels +1 and -1, no intercept.", formats)
    table.target = target
    peer, reason = peers.find("scikit_feature")
    if peer is None:
        table.notes.append(reason)
        return table
    table.notes.append("scikit-feature stops when its objective changes by less than 1e-3.")
    gammas = (10.0,) if quick else (10.0, 1.0)
    return for_each(["srbct"], table, partial(_against_peer, peer=peer, gammas=gammas))


def _against_peer(data: Data, table: Table, *, peer: Any, gammas: tuple[float, ...]) -> None:
    Y = peer.targets(data.y)
    for gamma in gammas:
        contestants = {
            "ours": partial(solve, data.X, Y, gamma),
            "theirs": partial(peer.fit_rfs, data.X, data.y, gamma),
        }
        timed = race(contestants, rounds=5)
        ours, theirs = timed["ours"], timed["theirs"]
        checked = certify(data.X, Y, ours.value, gamma, intercept=False)
        objective = rfs_objective(data.X, Y, theirs.value, 0.0, gamma)
        speedup = ratio(theirs, ours)
        passed = speedup >= LEAST_SPEEDUP and checked["objective"] <= objective
        table.rows.append(
            {
                "data": data.name,
                "gamma": gamma,
                "ours s": ours.best,
                "scikit-feature s": theirs.best,
                "ratio": speedup,
                "ours": checked["objective"],
                "gap": checked["gap"],
                "scikit-feature": objective,
                VERDICT: verdict(passed),
                "runs": [len(ours.seconds), len(theirs.seconds)],
            }
        )


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
    """(b) Seconds to the certified gap, in units of one product X X'."""
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
