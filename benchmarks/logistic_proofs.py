"""TopK with the logistic loss and a proof: proven or the gap that is left, on sets of genes."""

from __future__ import annotations

from functools import partial
from time import perf_counter
from typing import Any

from benchmarks.data import Data, for_each
from benchmarks.tables import VERDICT, Table, verdict
from rowsparse import TopK
from rowsparse.certificate import verify

# Sets that must be proven, then others.
PROVEN: tuple[str, ...] = ("allaml", "leu", "prostate_ge", "srbct")
OTHERS: tuple[str, ...] = ("leukemia", "glioma", "lymphoma", "lung", "lung_discrete", "carcinom")
OTHERS += ("arcene",)
QUICK_SETS = ("leu", "srbct")
ALPHA, K = 0.125, 5
LIMIT, QUICK_LIMIT = 60.0, 5.0

_FORMATS = {"data": "", "n x d x c": "", "objective": ".6f", "lower bound": ".6f"}
_FORMATS |= {"gap %": ".4f", "root gap %": ".3f", "nodes": "d", "s": ".2f", "proven": ""}
_FORMATS |= {"steps": "d", "checked s": ".2f", "checked gap %": ".5f", "exactly s": ".2f"}
_FORMATS |= {"bounds differ": ".1e", VERDICT: ""}
# Sets whose proofs are checked in exact arithmetic, too.
EXACT = ("allaml", "leu", "srbct", "glioma")


def run(quick: bool) -> list[Table]:
    limit = QUICK_LIMIT if quick else LIMIT
    title = f"TopK(loss='logistic') with a proof, alpha = {ALPHA:g}, k = {K}, at most {limit:g} s."
    table = Table(title, _FORMATS)
    table.target = f"{', '.join(PROVEN)} proven"
    table.notes.append(
        "ridge = alpha n, on half of ||W||^2. s: search and proof together. "
        "Root gap: of the bound before branching. Checked: seconds of verify on the steps kept, "
        "and what its bound leaves of the objective; of the sets that are proven."
    )
    return [for_each(QUICK_SETS if quick else PROVEN + OTHERS, table, partial(_row, limit=limit))]


def _row(data: Data, table: Table, *, limit: float) -> None:
    settings: dict[str, Any] = {
        "alpha": ALPHA,
        "loss": "logistic",
        "certify": True,
    }
    start = perf_counter()
    fitted = TopK(K, **settings, time_limit=limit, random_state=0).fit(data.X, data.y)
    seconds = perf_counter() - start
    proven = fitted.status_ == "optimal"
    row = {
        "data": data.name,
        "n x d x c": data.size,
        "objective": fitted.objective_,
        "lower bound": fitted.lower_bound_,
        "gap %": 100.0 * fitted.gap_,
        "root gap %": 100.0 * (1.0 - fitted.root_bound_ / fitted.objective_),
        "nodes": fitted.n_nodes_,
        "s": seconds,
        "proven": "yes" if proven else "no",
        "steps": len(fitted.proof_),
        VERDICT: verdict(proven) if data.name in PROVEN else "",
    }
    if proven:
        start = perf_counter()
        bound = float(verify(data.X, data.y, fitted.proof_))
        row["checked s"] = perf_counter() - start
        row["checked gap %"] = 100.0 * max(fitted.objective_ - bound, 0.0) / fitted.objective_
    if proven and data.name in EXACT:
        start = perf_counter()
        exact = float(verify(data.X, data.y, fitted.proof_, exact=True))
        row |= {"exactly s": perf_counter() - start, "bounds differ": (exact - bound) / exact}
    table.rows.append(row)
