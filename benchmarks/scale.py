"""Large data: time against single products, and peak memory."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.certificate import Array
from benchmarks.growth import dense_data, growth, seconds
from benchmarks.tables import VERDICT, Table, verdict
from rowsparse import RowBlocks, TopK

# Sizes: n, d (and the share of entries, for sparse data) and k; then those of a quick run.
DENSE, QUICK_DENSE = (1_000_000, 300, 20), (100_000, 300, 20)
SPARSE = ((200_000, 20_000, 0.01, 20),)
LARGE_SPARSE, QUICK_SPARSE = (1_000_000, 30_000, 0.03, 50), (20_000, 5_000, 0.01, 20)
STREAMED, QUICK_STREAMED = (5_000_000, 500, 20), (100_000, 100, 20)
MOST_PRODUCTS, MOST_SPARSE_PRODUCTS, MOST_SCANS = 2.0, 60.0, 3.0
MOST_SPARSE_PEAK, MOST_LARGE_PEAK, MOST_STREAMED_GIB = 2.0, 1.3, 2.0
# Rows of dense and of sparse data that are made at a time.
_GROUP, _SPARSE_GROUP = 20_000, 1_000
_GIB = 2.0**30

Call = Callable[[], Any]


def peak_bytes() -> int:
    """The most memory that this process has had, as the system counts it (Linux)."""
    status = Path("/proc/self/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return 1024 * int(line.split()[1])


def in_new_process(function: Callable[..., Any], *arguments: Any) -> Any:
    """The result of a function in a process of its own, which begins with no memory."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


# ------------------------------------------------------------------------------- dense
def in_memory(size: tuple[int, int, int]) -> Table:
    formats = {"n": "d", "d": "d", "k": "d", "X'X s": ".2f", "fit s": ".2f", "ratio": ".2f"}
    table = Table("TopK on a tall dense X in memory.", formats | {VERDICT: ""})
    table.target = f"at most {MOST_PRODUCTS:g} times one X'X"
    n, d, k = size
    X, y = dense_data(*size)
    product = seconds(lambda: X.T @ X)
    fit = seconds(lambda: TopK(k, loss="squared", random_state=0).fit(X, y), rounds=2)
    ratio = fit / product
    row = {"n": n, "d": d, "k": k, "X'X s": product, "fit s": fit, "ratio": ratio}
    table.rows.append(row | {VERDICT: verdict(ratio <= MOST_PRODUCTS)})
    return table


# ------------------------------------------------------------------------------ sparse
def sparse_data(n: int, d: int, share: float, k: int) -> tuple[Any, Array]:
    """A CSR matrix with about so many entries a row, made in place; the first k columns count."""
    rng = np.random.default_rng(0)
    width = max(1, int(share * d))
    indices = np.empty((n, width), dtype=np.int32)
    data = np.empty((n, width))
    for start in range(0, n, _SPARSE_GROUP):
        rows = slice(start, min(start + _SPARSE_GROUP, n))
        # One entry in each of `width` equal ranges of columns: sorted, and none twice.
        low = np.arange(width) * d // width
        size = np.diff([*low, d])
        drawn = rng.random((rows.stop - rows.start, width)) * size
        indices[rows] = low + drawn.astype(np.int32)
        data[rows] = rng.random((rows.stop - rows.start, width))
    pointers = np.arange(0, n * width + 1, width, dtype=np.int32)
    X = sp.csr_array((data.ravel(), indices.ravel(), pointers), shape=(n, d))
    planted = np.zeros(d)
    planted[:k] = 3.0
    return X, X @ planted + 0.1 * rng.standard_normal(n)


def measure_sparse(n: int, d: int, share: float, k: int) -> dict[str, Any]:
    before = peak_bytes()
    X, y = sparse_data(n, d, share, k)
    size = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    v = np.random.default_rng(0).standard_normal(n)
    product = seconds(lambda: X.T @ v)
    fitted = TopK(k, loss="squared", random_state=0)
    fit = seconds(lambda: fitted.fit(X, y), rounds=2)
    row = {"n": n, "d": d, "share": share, "k": k, "GiB": size / _GIB, "X'v s": product}
    row |= {"fit s": fit, "products": fit / product, "peak": (peak_bytes() - before) / size}
    return row | {"found": int(fitted.support_[:k].sum())}


def sparse_table(sizes: tuple[tuple[int, int, float, int], ...]) -> Table:
    formats = {"n": "d", "d": "d", "share": "g", "k": "d", "GiB": ".2f", "X'v s": ".3f"}
    formats |= {"fit s": ".1f", "products": ".0f", "peak": ".2f", "found": "d", VERDICT: ""}
    table = Table("TopK on a sparse X: products X'v in time, and peak memory.", formats)
    table.target = (
        f"peak at most {MOST_SPARSE_PEAK:g} times the matrix and {MOST_SPARSE_PRODUCTS:g} products "
        f"in time; {MOST_LARGE_PEAK:g} times the largest matrix"
    )
    table.notes.append("Peak: memory of the process beyond Python, with the matrix itself.")
    for size in sizes:
        row = in_new_process(measure_sparse, *size)
        good = row["peak"] <= MOST_LARGE_PEAK
        if size != LARGE_SPARSE:
            good = row["peak"] <= MOST_SPARSE_PEAK and row["products"] <= MOST_SPARSE_PRODUCTS
        table.rows.append(row | {VERDICT: verdict(good and row["found"] == size[3])})
    return table


# ---------------------------------------------------------------------------- streamed
def write_table(path: Path, n: int, d: int, k: int) -> None:
    """A Parquet file of random numbers in single precision, written in row groups."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    names = [*(f"x{j}" for j in range(d)), "y"]
    schema = pa.schema([(name, pa.float32()) for name in names])
    with pq.ParquetWriter(path, schema, compression="none", use_dictionary=False) as writer:
        for start in range(0, n, _GROUP):
            X = rng.standard_normal((min(_GROUP, n - start), d), dtype=np.float32)
            y = X[:, :k].sum(axis=1) + rng.standard_normal(len(X), dtype=np.float32)
            writer.write_table(pa.table([*X.T, y], schema=schema))


def scan(path: Path) -> int:
    """The rows of a file, every column of which is decoded."""
    import pyarrow.parquet as pq

    return sum(batch.num_rows for batch in pq.ParquetFile(path).iter_batches())


def measure_streamed(path: Path, n: int, d: int, k: int) -> dict[str, Any]:
    block = np.random.default_rng(0).standard_normal((_GROUP, d))
    product = seconds(lambda: block.T @ block) * n / _GROUP
    read = seconds(lambda: scan(path), rounds=2)
    fitted = TopK(k, loss="squared", random_state=0)
    fit = seconds(lambda: fitted.fit(RowBlocks.from_table(path, "y")), rounds=1)
    row = {"n": n, "d": d, "k": k, "scan s": read, "X'X s": product, "fit s": fit}
    row |= {"ratio": fit / (read + product), "found": int(fitted.support_[:k].sum())}
    return row


def streamed_peak(path: Path, k: int) -> int:
    TopK(k, loss="squared", random_state=0).fit(RowBlocks.from_table(path, "y"))
    return peak_bytes()


def streamed(size: tuple[int, int, int]) -> Table:
    formats = {"n": "d", "d": "d", "k": "d", "GiB": ".2f", "scan s": ".1f", "X'X s": ".1f"}
    formats |= {"fit s": ".1f", "ratio": ".2f", "peak GiB": ".2f", "found": "d", VERDICT: ""}
    table = Table("TopK from a Parquet file, read once.", formats)
    table.target = (
        f"at most {MOST_SCANS:g} times a scan and one X'X, below {MOST_STREAMED_GIB:g} GiB"
    )
    table.notes.append(
        "The file is in single precision, X'X in double precision as the statistics are. Peak: all "
        "memory of a process that does nothing but this fit."
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        write_table(path, *size)
        row = measure_streamed(path, *size)
        row |= {"GiB": path.stat().st_size / _GIB}
        row["peak GiB"] = in_new_process(streamed_peak, path, size[2]) / _GIB
    good = row["ratio"] <= MOST_SCANS and row["peak GiB"] < MOST_STREAMED_GIB
    table.rows.append(row | {VERDICT: verdict(good and row["found"] == size[2])})
    return table


def run(quick: bool) -> list[Table]:
    if quick:
        small = (QUICK_SPARSE,)
        return [
            in_memory(QUICK_DENSE),
            sparse_table(small),
            streamed(QUICK_STREAMED),
            growth(quick=True),
        ]
    return [
        in_memory(DENSE),
        sparse_table((*SPARSE, LARGE_SPARSE)),
        streamed(STREAMED),
        growth(quick=False),
    ]
