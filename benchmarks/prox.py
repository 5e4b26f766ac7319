"""The exact l_{p,inf} prox of all rows at once against the printed algorithm, row by row."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.certificate import Array
from benchmarks.peers.printed import prox_row_by_row
from benchmarks.tables import VERDICT, Table, verdict
from benchmarks.timing import race, ratio
from rowsparse.rows import prox_lpinf

LEAST_SPEEDUP = 500.0
SIZES = ((7129, 2), (9182, 11), (20000, 39))
# Thresholds as shares of the mean l1 norm of a row: light, medium, heavy.
SHARES = (0.05, 0.5, 1.0)
_TIE = 1e-9


def run(quick: bool) -> list[Table]:
    formats = {"d x c": "", "p": "g", "t": ".3g", "exact ms": ".2f", "printed s": ".2f"}
    formats |= {"ratio": ".0f", "zero rows": "d", "printed NaN": "d", "printed worse": "d"}
    table = Table("Prox of the l_{p,inf} penalty, normal data.", formats | {VERDICT: ""})
    table.target = f"at least {LEAST_SPEEDUP:.0f} times faster than the printed algorithm"
    table.notes.append(
        "Zero rows: of the exact prox. Printed NaN and worse: rows for which the printed "
        "algorithm gives no number, or one with a larger objective."
    )
    for d, c in SIZES[:2] if quick else SIZES:
        A = np.random.default_rng(0).standard_normal((d, c))
        mass = float(np.abs(A).sum(axis=1).mean())
        for p in (0.5, 1.0):
            for share in SHARES[1:2] if quick else SHARES:
                table.rows.append(_row(A, p, share * mass))
    return [table]


def _row(A: Array, p: float, t: float) -> dict[str, Any]:
    contestants = {
        "exact": partial(prox_lpinf, A, t, p),
        "printed": partial(prox_row_by_row, A, t, p),
    }
    timed = race(contestants, rounds=5, budget=5.0)
    exact, printed = timed["exact"].value, timed["printed"].value
    ours, theirs = _values(exact, A, t, p), _values(printed, A, t, p)
    speedup = ratio(timed["printed"], timed["exact"])
    return {
        "d x c": f"{A.shape[0]} x {A.shape[1]}",
        "p": p,
        "t": t,
        "exact ms": 1e3 * timed["exact"].best,
        "printed s": timed["printed"].best,
        "ratio": speedup,
        "zero rows": int(np.count_nonzero(~exact.any(axis=1))),
        "printed NaN": int(np.isnan(theirs).sum()),
        "printed worse": int(np.sum(theirs > ours + _TIE * (1 + ours))),
        "printed better": int(np.sum(theirs < ours - _TIE * (1 + ours))),
        VERDICT: verdict(speedup >= LEAST_SPEEDUP),
        "runs": [len(timed["exact"].seconds), len(timed["printed"].seconds)],
    }


def _values(W: Array, A: Array, t: float, p: float) -> Array:
    """The objective of every row."""
    value: Array = 0.5 * np.sum((W - A) ** 2, axis=1) + t * np.abs(W).max(axis=1) ** p
    return value
