"""Dask: two worker processes on data made lazily, against one stream of the same blocks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from time import process_time
from typing import Any

import numpy as np

from benchmarks.certificate import Array
from benchmarks.growth import exponent, seconds
from benchmarks.scale import peak_bytes
from benchmarks.tables import VERDICT, Table, verdict
from rowsparse import RowBlocks, TopK

# Rows, columns and rows of a chunk; k columns are in y.
LARGE, QUICK_LARGE = (5_000_000, 500, 20_000), (60_000, 100, 5_000)
# Where the time is measured, to fit the model that is checked at the largest size.
GROWTH = ((120_000, 500), (240_000, 500), (480_000, 500), (240_000, 250), (240_000, 1000))
QUICK_GROWTH = ((10_000, 100), (20_000, 100), (40_000, 100), (20_000, 50), (20_000, 200))
K, WORKERS = 20, 2
MOST_OFF = 1.5
_GIB, _MB = 2.0**30, 1e6


def made_rows(number: int, rows: int, d: int) -> Array:
    return np.random.default_rng(number).standard_normal((rows, d))


def made_targets(X: Array) -> Array:
    noise = np.random.default_rng(abs(int(1e6 * X[0, 0]))).standard_normal(len(X))
    return X[:, :K].sum(axis=1) + noise


def made_chunk(block_info: Any = None) -> Array:
    """A chunk of rows of the dask array, from its place."""
    found = block_info[None]
    return made_rows(found["chunk-location"][0], *found["chunk-shape"])


def collections(n: int, d: int, rows: int) -> tuple[Any, Any]:
    import dask.array as da

    chunks = ((rows,) * (n // rows), (d,))
    X = da.map_blocks(made_chunk, chunks=chunks, dtype=float, meta=np.empty((0, 0)))
    return X, X.map_blocks(made_targets, drop_axis=1, dtype=float, meta=np.empty(0))


def streamed(n: int, d: int, rows: int) -> RowBlocks:
    def read() -> Iterator[tuple[Array, Array]]:
        for number in range(n // rows):
            X = made_rows(number, rows, d)
            yield X, made_targets(X)

    return RowBlocks(read)


@contextmanager
def two_workers() -> Iterator[Any]:
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=WORKERS, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        # The first task imports what is needed.
        TopK(1).fit(*collections(400, K + 1, 100))
        yield client


def spent(dask_worker: Any) -> tuple[float, float, float]:
    """Of a worker so far: processor seconds, bytes sent to workers, and bytes sent elsewhere."""
    workers, others = 0.0, 0.0
    for sent in dask_worker.transfer_outgoing_log:
        if str(sent["who"]).startswith(("tcp://", "inproc://")):
            workers += sent["compressed"]
        else:
            others += sent["compressed"]
    return process_time(), workers, others


def measure(client: Any, n: int, d: int, rows: int) -> tuple[TopK, dict[str, Any]]:
    def total() -> Array:
        return np.sum(list(client.run(spent).values()), axis=0)

    before = total()
    fitted = TopK(K, loss="squared", random_state=0).fit(*collections(n, d, rows))
    cost, between, gathered = total() - before
    row = {"n": n, "d": d, "GiB": 8.0 * n * d / _GIB, "workers s": cost}
    return fitted, row | {"between MB": between / _MB, "gathered MB": gathered / _MB}


def compared(client: Any, size: tuple[int, int, int]) -> Table:
    formats = {"n": "d", "d": "d", "GiB": ".1f", "chunks": "d", "workers s": ".1f"}
    formats |= {"stream s": ".1f", "between MB": ".1f", "gathered MB": ".1f", "X'X MB": ".1f"}
    formats |= {"peak GiB": ".2f", "same": "", VERDICT: ""}
    table = Table(f"TopK of a dask array, {WORKERS} workers, and of one stream.", formats)
    table.target = "the same features and objective; no more than the statistics gathered"
    table.notes.append(
        "Processor seconds of all workers, and of the process that reads the same blocks in turn; "
        "both make the data as they go. Between: sent from worker to worker. Gathered: sent to "
        "where fit was called. Peak: the most memory of a worker."
    )
    n, d, rows = size
    fitted, row = measure(client, n, d, rows)
    row["peak GiB"] = max(client.run(peak_bytes).values()) / _GIB
    other = TopK(K, loss="squared", random_state=0)
    row["stream s"] = seconds(partial(other.fit, streamed(n, d, rows)), rounds=1)
    off = abs(fitted.objective_ - other.objective_) / other.objective_
    same = bool(np.array_equal(fitted.support_, other.support_) and off < 1e-9)
    row |= {"chunks": n // rows, "X'X MB": 8.0 * d * d / _MB, "same": "yes" if same else "no"}
    row |= {"difference": off, VERDICT: verdict(same and row["gathered MB"] < 2 * row["X'X MB"])}
    table.rows.append(row)
    return table


def model(client: Any, sizes: tuple[tuple[int, int], ...], rows: int, large: Any) -> Table:
    """Seconds = n (a d^2 + b d), fitted at small sizes and checked at the large one."""
    formats = {"n": "d", "d": "d", "workers s": ".2f", "model s": ".2f", "ratio": ".2f"}
    table = Table("Growth with rows and columns.", formats | {VERDICT: ""})
    table.target = f"the size that was not fitted within a factor {MOST_OFF:g}"
    table.rows = [measure(client, n, d, rows)[1] for n, d in sizes]
    terms = np.array([[n * d * d, n * d] for n, d in sizes], dtype=np.float64)
    times = np.array([row["workers s"] for row in table.rows])
    # Relative errors count, and neither cost can be negative.
    from scipy.optimize import nnls

    a, b = nnls(terms / times[:, None], np.ones(len(times)))[0]
    table.rows.append({name: large[name] for name in ("n", "d", "workers s")})
    for row in table.rows:
        row["model s"] = row["n"] * (a * row["d"] ** 2 + b * row["d"])
        row["ratio"] = row["workers s"] / row["model s"]
    last = table.rows[-1]
    last[VERDICT] = verdict(1 / MOST_OFF <= last["ratio"] <= MOST_OFF)
    slope = exponent([n for n, d in sizes[:3]], times[:3].tolist())
    cluster = 1e9 * (a * 1e8 + b * 1e4) / 100
    table.notes.append(
        f"Processor seconds = n (a d² + b d), a = {a:.3g}, b = {b:.3g}; with rows alone they grow "
        f"as n to the power {slope:.2f}. For 10⁹ rows and 10⁴ columns on 100 workers of one such "
        f"core each the model says {cluster / 3600:.1f} hours."
    )
    return table


def run(quick: bool) -> list[Table]:
    size = QUICK_LARGE if quick else LARGE
    with two_workers() as client:
        table = compared(client, size)
        sizes = QUICK_GROWTH if quick else GROWTH
        return [table, model(client, sizes, size[2], table.rows[0])]
