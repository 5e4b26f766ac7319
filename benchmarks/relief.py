"""Seconds of ReliefF and mRMR."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

from benchmarks.data import Data, for_each
from benchmarks.tables import VERDICT, Table, verdict
from benchmarks.timing import Timed, race
from rowsparse import MRMR, ReliefF

Criterion = Literal["mid", "miq", "fcd", "fcq"]

LARGE_SETS = ("usps", "mnist_t10k")

K = 20
MOST_SECONDS = 2.0
ALL_SETS: tuple[str, ...] = ("allaml", "arcene", "basehock", "carcinom_12533", "coil20", "isolet")
ALL_SETS += ("pcmac", "pixraw10p", "relathe", "usps", "mnist_t10k")
QUICK_ALL_SETS = ("allaml", "isolet")
CRITERIA: tuple[Criterion, ...] = ("mid", "miq", "fcd", "fcq")


def run(quick: bool) -> list[Table]:
    return [all_criteria(quick), *([] if quick else [large_sets()])]


# ------------------------------------------------------------------------------ ReliefF
def large_sets() -> Table:
    formats = {"data": "", "n x d x c": "", "one thread s": ".1f", "two threads s": ".1f"}
    table = Table("ReliefF on many samples, all pairs of them.", formats)

    def measure(data: Data, table: Table) -> None:
        calls = {str(jobs): partial(ReliefF(1, n_jobs=jobs).fit, data.X, data.y) for jobs in (1, 2)}
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
def all_criteria(quick: bool) -> Table:
    formats = {"data": "", "n x d x c": ""} | {f"{name} s": ".3f" for name in CRITERIA}
    table = Table(f"mRMR, {K} features, every criterion.", formats | {VERDICT: ""})
    table.target = f"under {MOST_SECONDS:.0f} s"
    return for_each(QUICK_ALL_SETS if quick else ALL_SETS, table, _criteria_row)


def _criteria_row(data: Data, table: Table) -> None:
    timed: dict[str, Timed] = race(
        {c: partial(MRMR(K, criterion=c).fit, data.X, data.y) for c in CRITERIA}, rounds=2
    )
    seconds = {f"{name} s": timed[name].best for name in CRITERIA}
    row: dict[str, Any] = {"data": data.name, "n x d x c": data.size} | seconds
    table.rows.append(row | {VERDICT: verdict(max(seconds.values()) < MOST_SECONDS)})
