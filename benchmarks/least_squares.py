"""l2,1-penalised least squares against scikit-learn and skglm."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.certificate import Array, least_squares_dual, least_squares_objective, n_rows
from benchmarks.data import Data, for_each
from benchmarks.tables import Table
from benchmarks.timing import race, ratio
from rowsparse.design import make_design
from rowsparse.solvers.sparse.mtfs import mtfs

TOL = 1e-6
SHARES = (0.3, 0.05)
SETS = ("allaml", "glioma", "lymphoma", "warppie10p", "isolet")
QUICK_SETS = ("glioma",)
PEERS = {"scikit_learn": "sklearn", "skglm": "skglm"}


def solve(X: Array, Y: Array, penalty: float) -> Array:
    """From plain arrays to W: making the design is timed too."""
    design, _ = make_design(X, center=False, scale=False)
    return mtfs(design, Y, penalty, k=1, penalty="l21", tol=TOL, max_iter=100).W


def run(quick: bool) -> list[Table]:
    formats = {"data": "", "n x d x c": "", "share": "g", "rows": "d", "ours s": ".4f"}
    formats |= {"objective": ".8g", "gap": ".1e"}
    found: dict[str, ModuleType] = {}
    table = Table("l2,1-penalised least squares, penalty = share of the largest useful one.", {})
    for name, label in PEERS.items():
        module, reason = peers.find(name)
        if module is None:
            table.notes.append(reason)
        else:
            found[label] = module
            formats |= {f"{label} s": ".4f", f"{label} ratio": ".1f"}
            formats |= {f"{label} excess": "+.1e", f"{label} gap": ".1e"}
    table.formats = formats
    table.notes.append(
        "Excess: (their objective - ours) / ours. Gaps are relative and recomputed from the "
        "residual. All have tol = 1e-6, which means a duality gap relative to the objective here, "
        "one relative to ||Y||^2 in scikit-learn, and a violation of the optimality conditions in "
        "skglm (timed after a warm-up fit)."
    )
    return [for_each(QUICK_SETS if quick else SETS, table, partial(_measure, found=found))]


def _measure(data: Data, table: Table, *, found: dict[str, ModuleType]) -> None:
    X, Y = data.X, data.Y - data.Y.mean(axis=0)  # X is centred: the same W, without the constant
    by_column = np.asfortranarray(X)  # as the peers like it: they need not copy
    largest = float(np.linalg.norm(X.T @ Y, axis=1).max())
    for module in found.values():
        module.warm_up(by_column, Y)
    for share in SHARES:
        penalty = share * largest
        calls: dict[str, Callable[[], Any]] = {"ours": partial(solve, X, Y, penalty)}
        for label, module in found.items():
            alpha = penalty / len(X)
            calls[label] = partial(module.fit_multitask_lasso, by_column, Y, alpha, TOL)
        table.rows.append(_row(data, Y, share, penalty, calls, table))


def _row(
    data: Data,
    Y: Array,
    share: float,
    penalty: float,
    calls: dict[str, Callable[[], Any]],
    table: Table,
) -> dict[str, Any]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        timed = race(calls, rounds=5)
    for text in sorted({str(w.message).split(".")[0].strip() for w in caught}):
        table.notes.append(f"Warned at {data.name}, share {share:g}: {text}.")
    W = timed["ours"].value
    objective, gap = _checked(data.X, Y, W, penalty)
    row: dict[str, Any] = {
        "data": data.name,
        "n x d x c": data.size,
        "share": share,
        "rows": n_rows(W),
    }
    row |= {"ours s": timed["ours"].best, "objective": objective, "gap": gap}
    for label in calls.keys() - {"ours"}:
        theirs, row[f"{label} gap"] = _checked(data.X, Y, timed[label].value, penalty)
        row[f"{label} s"] = timed[label].best
        row[f"{label} objective"] = theirs
        row[f"{label} excess"] = (theirs - objective) / objective
        row[f"{label} ratio"] = ratio(timed[label], timed["ours"])
        row[f"{label} rows"] = n_rows(timed[label].value)
    return row


def _checked(X: Array, Y: Array, W: Array, penalty: float) -> tuple[float, float]:
    """Objective and relative duality gap of W."""
    objective = least_squares_objective(X, Y, W, penalty)
    return objective, (objective - least_squares_dual(X, Y, W, penalty)) / objective
