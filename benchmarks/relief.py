"""ReliefF and mRMR: seconds and answers against skrebate and mrmr-selection."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.data import Data, for_each
from benchmarks.tables import VERDICT, Table, verdict
from benchmarks.timing import Timed, race, ratio
from rowsparse import MRMR, ReliefF

NEIGHBORS = 10
LEAST_RELIEF_SPEEDUP = 20.0
RELIEF_SETS, QUICK_RELIEF_SETS = ("srbct", "allaml", "isolet"), ("srbct", "allaml")
# Without the peer, which would take an hour.
LARGE_SETS = ("usps", "mnist_t10k")

K = 20
LEAST_MRMR_SPEEDUP, MOST_SECONDS = 50.0, 2.0
MRMR_SETS, QUICK_MRMR_SETS = ("srbct", "allaml", "isolet"), ("srbct",)
ALL_SETS: tuple[str, ...] = ("allaml", "arcene", "basehock", "carcinom_12533", "coil20", "isolet")
ALL_SETS += ("pcmac", "pixraw10p", "relathe", "usps", "mnist_t10k")
QUICK_ALL_SETS = ("allaml", "isolet")
CRITERIA = ("mid", "miq", "fcd", "fcq")


def run(quick: bool) -> list[Table]:
    tables = [against_skrebate(quick), against_mrmr_selection(quick), all_criteria(quick)]
    return tables if quick else [*tables, large_sets()]


# ------------------------------------------------------------------------------ ReliefF
def against_skrebate(quick: bool) -> Table:
    formats = {"data": "", "n x d x c": "", "ours s": ".3f", "skrebate s": ".1f", "ratio": ".0f"}
    formats |= {"largest difference": ".1e", "correlation": ".4f"}
    table = Table(f"ReliefF, {NEIGHBORS} neighbours, one thread.", formats | {VERDICT: ""})
    table.target = f"at least {LEAST_RELIEF_SPEEDUP:.0f} times faster than skrebate"
    table.notes.append(
        "skrebate weighs all classes of misses alike and takes columns of at most ten values for "
        "categories: where there are such, its weights differ by design."
    )
    peer, why_not = peers.find("skrebate")
    if peer is None:
        table.notes.append(why_not)
        return table
    sets = QUICK_RELIEF_SETS if quick else RELIEF_SETS
    return for_each(sets, table, partial(_relief_row, peer))


def _relief_row(peer: Any, data: Data, table: Table) -> None:
    timed = race(
        {
            "ours": partial(_weights, data),
            "theirs": partial(peer.weights, data.X, data.y, NEIGHBORS),
        },
        rounds=3,
    )
    ours, theirs = timed["ours"].value, timed["theirs"].value
    speedup = ratio(timed["theirs"], timed["ours"])
    table.rows.append(
        {
            "data": data.name,
            "n x d x c": data.size,
            "ours s": timed["ours"].best,
            "skrebate s": timed["theirs"].best,
            "ratio": speedup,
            "largest difference": float(np.abs(ours - theirs).max()),
            "correlation": float(np.corrcoef(ours, theirs)[0, 1]),
            VERDICT: verdict(speedup >= LEAST_RELIEF_SPEEDUP),
            "runs": [len(timed["ours"].seconds), len(timed["theirs"].seconds)],
        }
    )


def _weights(data: Data, n_jobs: int | None = None) -> Any:
    return ReliefF(1, n_neighbors=NEIGHBORS, n_jobs=n_jobs).fit(data.X, data.y).scores_


def large_sets() -> Table:
    formats = {"data": "", "n x d x c": "", "one thread s": ".1f", "two threads s": ".1f"}
    table = Table("ReliefF on many samples, all pairs of them.", formats)

    def measure(data: Data, table: Table) -> None:
        calls = {str(jobs): partial(_weights, data, jobs) for jobs in (1, 2)}
        timed = race(calls, rounds=1)
        table.rows.append(
            {
                "data": data.name,
                "n x d x c": data.size,
                "one thread s": timed["1"].best,
                "two threads s": timed["2"].best,
            }
        )

    return for_each(LARGE_SETS, table, measure)


# --------------------------------------------------------------------------------- mRMR
def against_mrmr_selection(quick: bool) -> Table:
    formats = {"data": "", "n x d x c": "", "ours s": ".3f", "mrmr-selection s": ".1f"}
    formats |= {"ratio": ".0f", "same picks": ""}
    table = Table(f"mRMR, criterion fcq, {K} features.", formats | {VERDICT: ""})
    table.target = f"at least {LEAST_MRMR_SPEEDUP:.0f} times faster, the same picks"
    peer, why_not = peers.find("mrmr_selection")
    if peer is None:
        table.notes.append(why_not)
        return table
    return for_each(QUICK_MRMR_SETS if quick else MRMR_SETS, table, partial(_mrmr_row, peer))


def _mrmr_row(peer: Any, data: Data, table: Table) -> None:
    X, y = peer.frames(data.X, data.y)
    timed = race(
        {"ours": partial(_order, data, "fcq"), "theirs": partial(peer.select, X, y, K)}, rounds=3
    )
    speedup = ratio(timed["theirs"], timed["ours"])
    same = bool(np.array_equal(timed["ours"].value, timed["theirs"].value))
    table.rows.append(
        {
            "data": data.name,
            "n x d x c": data.size,
            "ours s": timed["ours"].best,
            "mrmr-selection s": timed["theirs"].best,
            "ratio": speedup,
            "same picks": "yes" if same else "no",
            VERDICT: verdict(same and speedup >= LEAST_MRMR_SPEEDUP),
            "runs": [len(timed["ours"].seconds), len(timed["theirs"].seconds)],
        }
    )


def _order(data: Data, criterion: Any) -> Any:
    return MRMR(K, criterion=criterion).fit(data.X, data.y).order_[:K]


def all_criteria(quick: bool) -> Table:
    formats = {"data": "", "n x d x c": ""} | {f"{name} s": ".3f" for name in CRITERIA}
    table = Table(f"mRMR, {K} features, every criterion.", formats | {VERDICT: ""})
    table.target = f"under {MOST_SECONDS:.0f} s"
    return for_each(QUICK_ALL_SETS if quick else ALL_SETS, table, _criteria_row)


def _criteria_row(data: Data, table: Table) -> None:
    timed: dict[str, Timed] = race({c: partial(_order, data, c) for c in CRITERIA}, rounds=2)
    seconds = {f"{name} s": timed[name].best for name in CRITERIA}
    row: dict[str, Any] = {"data": data.name, "n x d x c": data.size} | seconds
    table.rows.append(row | {VERDICT: verdict(max(seconds.values()) < MOST_SECONDS)})
