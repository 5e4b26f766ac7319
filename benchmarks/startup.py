"""What importing every selector costs on top of importing sklearn.feature_selection."""

from __future__ import annotations

import subprocess
import sys
from functools import partial

from benchmarks.tables import VERDICT, Table, verdict
from benchmarks.timing import race

MOST_MS = 50.0
BASE = "import sklearn.feature_selection"
OURS = "from rowsparse import CDLSR, RFS, RPFS, LpInf, NmAPG"
_INSIDE = f"{BASE}; from time import perf_counter as t; a = t(); {OURS}; print(t() - a)"


def start(code: str) -> None:
    """Run ``code`` in a fresh interpreter."""
    subprocess.run([sys.executable, "-c", code], check=True)


def inside() -> float:
    """Seconds of importing the selectors alone, by the clock of the fresh interpreter."""
    answer = subprocess.run([sys.executable, "-c", _INSIDE], check=True, capture_output=True)
    return float(answer.stdout)


def run(quick: bool) -> list[Table]:
    formats = {"sklearn ms": ".0f", "with rowsparse ms": ".0f", "extra ms": ".1f"}
    formats |= {"inside ms": ".1f", VERDICT: ""}
    table = Table("A fresh interpreter that imports every selector.", formats)
    table.target = f"less than {MOST_MS:.0f} ms more than importing sklearn.feature_selection"
    table.notes.append(
        "Extra: the difference of two best times, hence noisy on a busy machine. Inside: the "
        "import of the selectors alone, timed by the interpreter that does it."
    )
    start(f"{BASE}; {OURS}")  # so that the compiled files are there and cached
    contestants = {"base": partial(start, BASE), "both": partial(start, f"{BASE}; {OURS}")}
    rounds = 4 if quick else 15
    timed = race(contestants, rounds=rounds, budget=60.0)
    base, both = timed["base"], timed["both"]
    extra = 1e3 * (both.best - base.best)
    table.rows.append(
        {
            "sklearn ms": 1e3 * base.best,
            "with rowsparse ms": 1e3 * both.best,
            "extra ms": extra,
            "inside ms": 1e3 * min(inside() for _ in range(rounds)),
            VERDICT: verdict(extra < MOST_MS),
            "runs": len(both.seconds),
        }
    )
    return [table]
