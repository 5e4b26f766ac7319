"""TopK on a GPU: passes over X for each feature, against the processor, and certificates."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import partial
from types import ModuleType
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks import peers
from benchmarks.data import load
from benchmarks.passes import NO_TIME
from benchmarks.tables import VERDICT, Table, verdict
from benchmarks.timing import Timed, race
from benchmarks.topk import search_design
from rowsparse import TopK
from rowsparse.design import Design, make_design

# Samples, features, targets, and features that the targets depend on.
LARGE, QUICK = (10_000, 1_000_000, 10, 100), (2_000, 20_000, 10, 100)
SMALL = (2_000, 100_000, 10, 100)
# What the peers get: they take minutes for more.
FOR_PEERS = (2_000, 20_000, 10, 20)
PEERS = ("fastcan", "abess")
BLOCK_ROWS = 500
MOST_PASSES, MOST_EXCHANGE = 1.25, 2.0
CERTIFIED, CERTIFIED_K, ALPHA, TIME_LIMIT = ("allaml", "lung", "isolet"), 5, 2.0, 60.0

Call = Callable[[], Any]


def run(quick: bool) -> list[Table]:
    torch = _torch()
    tables = [] if torch is None else [_passes(torch, QUICK if quick else LARGE)]
    if torch is not None:
        tables += [_against_the_processor(torch, QUICK if quick else SMALL), _certificates(torch)]
    found = {name: module for name in PEERS if (module := peers.find(name)[0]) is not None}
    return [*tables, _against_peers(found, quick)] if found else tables


def _torch() -> Any:
    """PyTorch, if it is here and sees a GPU."""
    try:
        import torch
    except ImportError:
        return None
    return torch if torch.cuda.is_available() else None


def make_data(torch: Any, size: tuple[int, int, int, int]) -> tuple[Any, Any, np.ndarray]:
    """X (float32) and Y on the GPU, Y centred, and the features that Y depends on."""
    n, d, c, k = size
    generator = torch.Generator("cuda").manual_seed(0)
    X = torch.empty((n, d), device="cuda")
    for start in range(0, n, BLOCK_ROWS):
        rows = X[start : start + BLOCK_ROWS]
        torch.randn(rows.shape, generator=generator, device="cuda", out=rows)
    planted = np.sort(np.random.default_rng(0).choice(d, k, replace=False))
    W = torch.randn((k, c), generator=generator, device="cuda")
    Y = X[:, torch.asarray(planted, device="cuda")] @ W
    Y += torch.randn((n, c), generator=generator, device="cuda")
    return X, (Y - Y.mean(axis=0)).double(), planted


def _passes(torch: Any, size: tuple[int, int, int, int]) -> Table:
    n, d, c, k = size
    X, Y, planted = make_data(torch, size)
    host_Y = Y.cpu().numpy()
    design, _ = make_design(X, center=True, scale=True)

    def one_pass() -> Any:
        X.T @ X[:, 0]
        torch.cuda.synchronize()

    calls: dict[str, Call] = {
        "X.T @ x": one_pass,
        "greedy growth": partial(_fresh, design, host_Y, k, time_limit=NO_TIME),
        "growth, row by row": partial(_row_by_row, design, host_Y, k),
        "with exchange": partial(_fresh, design, host_Y, k),
        "TopK.fit": partial(
            TopK(k, alpha=0.0, loss="squared", n_restarts=0, random_state=0).fit, X, Y
        ),
    }
    timed = race(calls, rounds=3, budget=60.0)
    formats = {"what": "", "n x d x c": "", "k": "d", "s": ".4f", "passes a feature": ".3f"}
    formats |= {"found": "d", VERDICT: ""}
    table = Table(f"TopK on {torch.cuda.get_device_name()}, float32.", formats)
    table.target = (
        f"all planted features found; greedy at most {MOST_PASSES} passes a feature, with "
        f"exchange at most {MOST_EXCHANGE:g} times that"
    )
    table.notes.append(
        f"One pass is X.T @ x on the same data. Rows of X'X that are likely to be asked for next "
        f'are computed together, which is why there are fewer passes than features; "row by row" '
        f"is without that. TopK.fit begins with the tensors: it checks that "
        f"they are finite and takes the means and scales of the columns too. PyTorch "
        f"{torch.__version__}; {torch.cuda.max_memory_allocated() / 2**30:.1f} GiB at most on "
        f"the GPU, of which X takes {X.nbytes / 2**30:.1f}."
    )
    pass_s = timed["X.T @ x"].best
    for what, one in timed.items():
        row = {"what": what, "n x d x c": f"{n} x {d} x {c}", "s": one.best, "runs": one.seconds}
        if what != "X.T @ x":
            passes = one.best / (k * pass_s)
            found = np.isin(planted, _support(one.value)).sum()
            most = MOST_PASSES * (1.0 if "growth" in what else MOST_EXCHANGE)
            row |= {"k": k, "passes a feature": passes, "found": int(found)}
            row[VERDICT] = verdict(found == k and passes <= most)
        table.rows.append(row)
    return table


def _fresh(design: Design, Y: np.ndarray, k: int, **settings: Any) -> Any:
    return search_design(copy(design), Y, k, n_restarts=0, **settings)


def _row_by_row(design: Design, Y: np.ndarray, k: int) -> Any:
    """The growth with one product for each feature, as where no guess of the next ones is right."""
    with patch("rowsparse.solvers.search.gram._AHEAD_ENTRIES", np.inf):
        return _fresh(design, Y, k, time_limit=NO_TIME)


def _support(result: Any) -> np.ndarray:
    if isinstance(result, TopK):
        return np.asarray(result.get_support(indices=True))
    return np.asarray(result.support)


def _against_the_processor(torch: Any, size: tuple[int, int, int, int]) -> Table:
    n, d, c, k = size
    X, Y, _ = make_data(torch, size)
    on_host = X.cpu().numpy(), Y.cpu().numpy()
    fit = partial(TopK, k, alpha=0.0, n_restarts=0, random_state=0)
    calls = {"GPU": lambda: fit().fit(X, Y), "processor": lambda: fit().fit(*on_host)}
    timed = race(calls, rounds=3, budget=60.0)
    formats = {"n x d x c": "", "k": "d", "GPU s": ".3f", "processor s": ".2f", "ratio": ".1f"}
    table = Table(
        "TopK.fit of the same data on both, float32, no restarts.", formats | {"same": ""}
    )
    table.notes.append("The processor works on one thread of the machine with the GPU.")
    table.rows.append(_pair(f"{n} x {d} x {c}", k, timed))
    return table


def _pair(size: str, k: int, timed: dict[str, Timed]) -> dict[str, Any]:
    gpu, processor = timed["GPU"], timed["processor"]
    same = np.array_equal(_support(gpu.value), _support(processor.value))
    row = {"n x d x c": size, "k": k, "GPU s": gpu.best, "processor s": processor.best}
    row |= {"ratio": processor.best / gpu.best, "same": "yes" if same else "no"}
    return row | {"runs": {name: one.seconds for name, one in timed.items()}}


def _certificates(torch: Any) -> Table:
    formats = {"set": "", "n x d x c": "", "k": "d", "GPU s": ".2f", "processor s": ".2f"}
    formats |= {"ratio": ".2f", "same": "", "status": ""}
    table = Table(f"Certificates at alpha = {ALPHA:g}, float64.", formats)
    table.notes.append(
        "Only products with X are on the GPU. The branch and bound is a sequence of small "
        "problems on the processor, and on sets of this size X takes next to no time."
    )
    for name in CERTIFIED:
        data = load(name)
        X = torch.asarray(data.X, device="cuda")
        make = partial(
            TopK, CERTIFIED_K, alpha=ALPHA, certify=True, time_limit=TIME_LIMIT, random_state=0
        )
        calls = {
            "GPU": partial(_certified, make, X, data.y),
            "processor": partial(_certified, make, data.X, data.y),
        }
        timed = race(calls, rounds=2, budget=40.0)
        row = {"set": name} | _pair(data.size, CERTIFIED_K, timed)
        table.rows.append(row | {"status": timed["GPU"].value.status_})
    return table


def _certified(make: Callable[[], TopK], X: Any, y: Any) -> TopK:
    return make().fit(X, y)


def _against_peers(found: dict[str, ModuleType], quick: bool) -> Table:
    """The processor against other packages, at a size that they can do."""
    n, d, c, k = FOR_PEERS if not quick else (500, 2_000, 10, 20)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d), dtype=np.float32)
    planted = np.sort(rng.choice(d, k, replace=False))
    Y = X[:, planted] @ rng.standard_normal((k, c)) + rng.standard_normal((n, c))
    Y -= Y.mean(axis=0)
    calls: dict[str, Call] = {
        "TopK": lambda: TopK(k, alpha=0.0, loss="squared", n_restarts=0, random_state=0).fit(X, Y)
    }
    formats = {"what": "", "n x d x c": "", "k": "d", "s": ".2f", "found": "d"}
    table = Table("The processor, one thread, against other packages.", formats)
    table.notes.append("TopK takes X in float32, the others in float64 and by columns.")
    by_columns = np.asfortranarray(X, dtype=np.float64)
    calls |= {name: partial(module.select, by_columns, Y, k) for name, module in found.items()}
    timed = race(calls, rounds=2, budget=120.0)
    for what, one in timed.items():
        support = _support(one.value) if what == "TopK" else np.asarray(one.value)
        row = {"what": what, "n x d x c": f"{n} x {d} x {c}", "k": k, "s": one.best}
        table.rows.append(row | {"found": int(np.isin(planted, support).sum())})
    return table
