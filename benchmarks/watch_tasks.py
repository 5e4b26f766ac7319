"""The tasks whose times are watched, in one process: prints seconds of processor time as JSON.

Run by ``benchmarks.watch`` as a file, with the source tree of a revision on PYTHONPATH. It uses
what both revisions have: a task that a revision cannot run is None.
"""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import sklearn.feature_selection  # noqa: F401  (no part of the time of the import that is watched)
from sklearn.datasets import load_digits

Task = Callable[[], Any]
REPEATS = 3


def import_selectors() -> None:
    """Import the library and its most used selectors; counts only the first time in a process."""
    from rowsparse import CDLSR, RFS, RPFS, LpInf, NmAPG, TopK  # noqa: F401


def tasks() -> dict[str, Task]:
    """Name and call of each task; the data is made here, outside the time that is taken."""
    import rowsparse as rs

    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    wide = rng.standard_normal((100, 2000))
    wide_y = np.argmax(wide[:, :4] + rng.standard_normal((100, 4)), axis=1)
    tall = rng.standard_normal((20_000, 50))
    tall_y = tall[:, :5].sum(axis=1) + rng.standard_normal(20_000)
    return {
        "TopK, squared loss, 1797 x 64": lambda: rs.TopK(10, loss="squared", random_state=0).fit(
            X, y
        ),
        "TopK, squared loss, 100 x 2000": lambda: rs.TopK(10, loss="squared", random_state=0).fit(
            wide, wide_y
        ),
        "TopK, logistic loss, 600 x 64": lambda: rs.TopK(5, loss="logistic", random_state=0).fit(
            X[:600], y[:600] % 2
        ),
        "TopK, proof, 300 x 64": lambda: rs.TopK(
            5, loss="squared", certify=True, random_state=0
        ).fit(X[:300], y[:300]),
        "RFS, 100 x 2000": lambda: rs.RFS(10).fit(wide, wide_y),
        "MTFS, 1797 x 64": lambda: rs.MTFS(10).fit(X, y),
        "ReliefF, 1797 x 64": lambda: rs.ReliefF(10).fit(X, y),
        "moments, 20000 x 50": lambda: rs.TopK(5, random_state=0).fit_moments(
            rs.Moments().update(tall, tall_y)
        ),
    }


def seconds(call: Task) -> float:
    """Processor time of one call, with the garbage collector off."""
    gc.collect()
    gc.disable()
    try:
        start = time.process_time()
        call()
        return time.process_time() - start
    finally:
        gc.enable()


def measure(call: Task, repeats: int) -> float | None:
    """The shortest of some calls; None where this revision has no such thing."""
    try:
        return min(seconds(call) for _ in range(repeats))
    except (AttributeError, ImportError, TypeError, ValueError):
        return None


def main() -> None:
    result = {"import": measure(import_selectors, 1)}
    result |= {name: measure(call, REPEATS) for name, call in tasks().items()}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
