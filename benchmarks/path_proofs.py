"""Proofs for every k: topk_path(certify=True) against TopK(certify=True) for each k alone."""

from __future__ import annotations

from functools import partial
from time import process_time
from typing import Any

import numpy as np

from benchmarks.data import Data, for_each
from benchmarks.tables import VERDICT, Table, verdict
from benchmarks.timing import race, ratio, ratio_range
from rowsparse import TopK, topk_path

SETS: tuple[str, ...] = ("allaml", "leu", "srbct", "prostate_ge")
QUICK_SETS = ("leu", "srbct")
# Loss, ridge and largest k.
PROBLEMS = (("squared", 2.0, 10), ("squared", 0.5, 5), ("logistic", 0.125, 5))
LIMIT, QUICK_LIMIT = 60.0, 5.0

_FORMATS = {"data": "", "n x d x c": "", "loss": "", "alpha": "g", "k_max": "d", "proven": ""}
_FORMATS |= {"alone proven": "", "nodes": "d", "alone nodes": "d", "same": "", "s": ".2f"}
_FORMATS |= {"alone s": ".2f", "ratio": ".2f", "range": "", VERDICT: ""}


def run(quick: bool) -> list[Table]:
    limit = QUICK_LIMIT if quick else LIMIT
    table = Table(f"Proofs for every k, and for each k alone, at most {limit:g} s each.", _FORMATS)
    table.target = "the same objectives, as many proven, in no more processor seconds"
    table.notes.append(
        "Processor seconds, on one thread, of search and proof, the best of the rounds. The path "
        "has one time limit for all k, and TopK alone that time for each k; ratio: alone by path."
    )
    measure = partial(_measure, limit=limit, rounds=1 if quick else 2)
    return [for_each(QUICK_SETS if quick else SETS, table, measure)]


def _measure(data: Data, table: Table, *, limit: float, rounds: int) -> None:
    for loss, alpha, k_max in PROBLEMS:
        options: dict[str, Any] = {"loss": loss, "alpha": alpha, "certify": True, "random_state": 0}
        table.rows.append(_row(data, k_max, options, limit, rounds))


def _row(
    data: Data, k_max: int, options: dict[str, Any], limit: float, rounds: int
) -> dict[str, Any]:
    def path() -> Any:
        return topk_path(data.X, data.y, k_max, time_limit=limit, **options)

    def alone() -> list[TopK]:
        selectors = (TopK(k, time_limit=limit, **options) for k in range(1, k_max + 1))
        return [selector.fit(data.X, data.y) for selector in selectors]

    timed = race({"path": path, "alone": alone}, rounds=rounds, clock=process_time)
    found, fitted = timed["path"].value, timed["alone"].value
    proven = found.statuses.count("optimal")
    alone_proven = sum(one.status_ == "optimal" for one in fitted)
    same = bool(np.allclose(found.objectives, [one.objective_ for one in fitted], rtol=1e-6))
    times = ratio(timed["alone"], timed["path"])
    return {
        "data": data.name,
        "n x d x c": data.size,
        "loss": options["loss"],
        "alpha": options["alpha"],
        "k_max": k_max,
        "proven": f"{proven} of {k_max}",
        "alone proven": f"{alone_proven} of {k_max}",
        "nodes": int(found.n_nodes.sum()),
        "alone nodes": sum(one.n_nodes_ for one in fitted),
        "same": "yes" if same else "no",
        "s": timed["path"].best,
        "alone s": timed["alone"].best,
        "ratio": times,
        "range": ratio_range(timed["alone"], timed["path"]),
        VERDICT: verdict(same and proven >= alone_proven and times >= 1.0),
    }
