"""What TopK costs on wide data: passes over X for each feature, and memory besides X."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from copy import copy
from functools import partial
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.certificate import Array
from benchmarks.tables import VERDICT, Table, verdict
from benchmarks.timing import race
from benchmarks.topk import search_design
from rowsparse.design import Design, make_design

SHAPES, QUICK_SHAPES = ((2000, 100_000), (500, 400_000)), ((2000, 20_000),)
K, CLASSES = 50, 10
BLOCK = 1000
# Timed passes before each contestant, every round.
PASSES = 4
MOST_PASSES = 1.6
MOST_ARRAYS = 4
# So little time that nothing but the greedy growth is done.
NO_TIME = 1e-9
_MIB = 2.0**20

Call = Callable[[], Any]


def make_data(n: int, d: int) -> tuple[NDArray[np.float32], Array]:
    """X (float32, by row, columns centred) made in blocks, and centred classes.

    One feature of every block shifts the scores of the classes.
    """
    rng = np.random.default_rng(0)
    X = np.empty((n, d), dtype=np.float32)
    scores = rng.standard_normal((n, CLASSES))
    for start in range(0, d, BLOCK):
        block = rng.standard_normal((n, min(BLOCK, d - start)), dtype=np.float32)
        block -= block.mean(axis=0)
        X[:, start : start + BLOCK] = block
        scores += 0.5 * np.outer(block[:, 0], rng.standard_normal(CLASSES))
    Y = np.eye(CLASSES)[scores.argmax(axis=1)]
    return X, Y - Y.mean(axis=0)


def one_pass(X: NDArray[np.float32]) -> Any:
    """The correlations of all features with one of them."""
    return X.T @ np.ascontiguousarray(X[:, 0])


def peak(call: Call) -> int:
    """The most bytes that Python and NumPy held at once during the call, beyond those before."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def run(quick: bool) -> list[Table]:
    formats = {"what": "", "n x d x c": "", "k": "d", "s": ".3f", "X.T @ x s": ".4f"}
    formats |= {"passes a feature": ".2f", "memory MiB": ".1f", "allowed MiB": ".1f", VERDICT: ""}
    table = Table("TopK, alpha = 0, float32: cost in passes over X, memory besides X.", formats)
    table.target = f"at most {MOST_PASSES} passes, at most {MOST_ARRAYS} k d floats of 8 bytes"
    table.notes.append(
        "Processor seconds. Passes: seconds / (k times those of one X.T @ x). The search has no "
        "restarts; the greedy growth is the part of it before any exchange. Both have a fresh copy "
        "of a design, "
        "which knows the norms of the columns from when it was made; the last row begins with "
        "plain arrays, so it makes the design too. Memory: largest sum that Python and NumPy had "
        "allocated besides X and Y, in a run of its own."
    )
    for n, d in QUICK_SHAPES if quick else SHAPES:
        X, Y = make_data(n, d)
        design, _ = make_design(X, center=False, scale=False)
        calls: dict[str, Call] = {
            "greedy growth": partial(_fresh, design, Y, time_limit=NO_TIME),
            "search": partial(_fresh, design, Y),
            "from arrays": partial(_from_arrays, X, Y),
        }
        _measure(X, calls, table, rounds=3 if quick else 5)
    if not quick:  # the target is for the full size
        for row in table.rows:
            fits = row["memory MiB"] <= row["allowed MiB"]
            row[VERDICT] = verdict(row["passes a feature"] <= MOST_PASSES and fits)
    return [table]


def _fresh(design: Design, Y: Array, **settings: Any) -> Any:
    """A search with a copy of the design, which keeps what it computes: the next has none of it."""
    return search_design(copy(design), Y, K, n_restarts=0, **settings)


def _from_arrays(X: NDArray[np.float32], Y: Array) -> Any:
    return search_design(make_design(X, center=False, scale=False)[0], Y, K, n_restarts=0)


def _measure(X: NDArray[np.float32], calls: dict[str, Call], table: Table, *, rounds: int) -> None:
    n, d = X.shape
    contestants: dict[str, Call] = {}
    for what, call in calls.items():  # a few passes before each, so that their best is a quiet one
        contestants |= {f"pass {what} {i}": partial(one_pass, X) for i in range(PASSES)}
        contestants[what] = call
    timed = race(contestants, rounds=rounds, budget=120.0, clock=process_time)
    pass_s = min(one.best for name, one in timed.items() if name not in calls)
    allowed = MOST_ARRAYS * K * d * 8
    for what, call in calls.items():
        passes = timed[what].best / (K * pass_s)
        used = peak(call)
        row = {"what": what, "n x d x c": f"{n} x {d} x {CLASSES}", "k": K, "s": timed[what].best}
        row |= {"X.T @ x s": pass_s, "passes a feature": passes}
        row |= {"memory MiB": used / _MIB, "allowed MiB": allowed / _MIB}
        row |= {"runs": timed[what].seconds}
        table.rows.append(row)
