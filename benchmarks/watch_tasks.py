"""The tasks whose times are watched, in one process: prints seconds of processor time as JSON.

Run by ``benchmarks.watch`` as a file, with the source tree of a revision on PYTHONPATH; arguments
are parts of the names of tasks. It uses what both revisions have: a task that a revision cannot run
is None.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
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
    groups = np.arange(2000) // 4
    sparse = sp.random(1000, 1000, density=0.02, format="csc", dtype=np.float32, random_state=0)
    sparse_y = sparse[:, :5].sum(axis=1) + 0.1 * rng.standard_normal(1000)
    # Columns that mix ten factors, and targets of twelve of them: proofs take many subproblems.
    mixed = rng.standard_normal((90, 40)) + rng.standard_normal((90, 10)) @ rng.standard_normal(
        (10, 40)
    )
    mixed_y = mixed[:, :12] @ rng.standard_normal((12, 3)) + 8 * rng.standard_normal((90, 3))
    mixed_y += mixed_y[:, :1] / 2
    mixed_class = mixed_y.argmax(axis=1)
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
        "TopK, proof, 90 x 40, climbing diagonal": lambda: rs.TopK(
            6, alpha=1e-4, certify=True, random_state=0
        ).fit(mixed, mixed_y[:, 0]),
        "TopK, logistic proof, two classes, 90 x 40": lambda: rs.TopK(
            4, alpha=0.01, certify=True, random_state=0
        ).fit(mixed, mixed_class > 0),
        "TopK, logistic proof, three classes, 90 x 40": lambda: rs.TopK(
            3, alpha=0.01, certify=True, random_state=0
        ).fit(mixed, mixed_class),
        "TopK, logistic loss, four classes, 100 x 2000": lambda: rs.TopK(
            5, loss="logistic", random_state=0
        ).fit(wide, wide_y),
        "TopK, groups, squared loss, 100 x 2000": lambda: rs.TopK(
            4, loss="squared", feature_groups=groups, random_state=0
        ).fit(wide, wide_y),
        "TopK, groups, logistic loss, 100 x 2000": lambda: rs.TopK(
            3, loss="logistic", feature_groups=groups, random_state=0
        ).fit(wide, wide_y > 1),
        "TopK, sparse float32, 1000 x 1000": lambda: rs.TopK(10, random_state=0).fit(
            sparse, sparse_y
        ),
        "TopKCV, 1797 x 64": lambda: rs.TopKCV(
            k_max=8, loss="squared", n_restarts=2, random_state=0
        ).fit(X, y),
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


def main(parts: list[str]) -> None:
    def asked(name: str) -> bool:
        return not parts or any(part in name for part in parts)

    result = {"import": measure(import_selectors, 1)} if asked("import") else {}
    result |= {name: measure(call, REPEATS) for name, call in tasks().items() if asked(name)}
    print(json.dumps(result))


if __name__ == "__main__":
    main(sys.argv[1:])
