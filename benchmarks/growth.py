"""How the time of TopK grows with n, d and k.

``python -m benchmarks.growth RESULTS.json PICTURE.png`` draws the times that a run of the benchmark
``scale`` stored; it needs matplotlib.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from benchmarks.certificate import Array
from benchmarks.tables import Table
from rowsparse import TopK

# n, d and k where the times are measured, as one of them grows by these factors.
CENTRES = {"tall": (100_000, 200, 10), "wide": (1_000, 20_000, 10)}
QUICK_CENTRES = {"tall": (20_000, 100, 10), "wide": (200, 4_000, 10)}
FACTORS = (1, 2, 4, 8)
NAMES = {"n": "samples n", "d": "features d", "k": "features to select k"}

Call = Callable[[], Any]


def seconds(call: Call, rounds: int = 3) -> float:
    """The least processor time of a call: other programs on the machine do not count."""
    spent = []
    for _ in range(rounds):
        start = process_time()
        call()
        spent.append(process_time() - start)
    return min(spent)


def dense_data(n: int, d: int, k: int) -> tuple[Array, Array]:
    """The first k columns are in y."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    return X, X[:, :k] @ (1.0 + rng.random(k)) + rng.standard_normal(n)


def exponent(sizes: list[int], times: list[float]) -> float:
    """The slope of time against size on log axes, by least squares.

    >>> round(exponent([1, 2, 4], [3.0, 12.0, 48.0]), 6)
    2.0
    """
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


def growth(*, quick: bool) -> Table:
    formats = {"data": "", "n": "", "d": "", "k": ""}
    formats |= {f"{factor} x": ".3f" for factor in FACTORS} | {"exponent": ".2f"}
    table = Table("How the time of TopK grows, dense X in memory.", formats)
    table.notes.append(
        "Processor seconds at the first size and at so many times it, and the slope on log axes."
    )
    for data, centre in (QUICK_CENTRES if quick else CENTRES).items():
        for at, name in enumerate("ndk"):
            table.rows.append({"data": data} | _grown(centre, at, name))
    return table


def _grown(centre: tuple[int, int, int], at: int, name: str) -> dict[str, Any]:
    """Times as one of n, d and k grows."""
    sizes, times = [], []
    for factor in FACTORS:
        size = list(centre)
        size[at] *= factor
        X, y = dense_data(*size)
        times.append(
            seconds(partial(TopK(size[2], loss="squared", random_state=0).fit, X, y), rounds=2)
        )
        sizes.append(size[at])
    row: dict[str, Any] = {which: str(size) for which, size in zip("ndk", centre, strict=True)}
    row[name] = f"{sizes[0]} to {sizes[-1]}"
    row |= {f"{factor} x": time for factor, time in zip(FACTORS, times, strict=True)}
    return row | {"grows": name, "sizes": sizes, "exponent": exponent(sizes, times)}


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """One panel for each of n, d and k, log axes, with lines of the fitted exponents."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    figure = Figure(figsize=(9.0, 3.2), layout="constrained")
    for axes, (name, label) in zip(figure.subplots(1, 3, sharey=True), NAMES.items(), strict=True):
        for color, row in zip(("C0", "C1"), (r for r in rows if r["grows"] == name), strict=True):
            sizes = np.array(row["sizes"], dtype=np.float64)
            times = np.array([row[f"{factor} x"] for factor in FACTORS])
            middle = np.exp(np.log(times).mean() + row["exponent"] * _centred(np.log(sizes)))
            axes.loglog(sizes, times, "o", color=color)
            axes.loglog(sizes, middle, color=color, label=f"{row['data']}: {row['exponent']:.2f}")
        axes.set_xlabel(label)
        axes.legend(title="exponent", frameon=False)
        axes.grid(visible=True, which="both", alpha=0.3)
        for axis in (axes.xaxis, axes.yaxis):
            few = axis is axes.yaxis or name == "k"  # hardly more than one decade
            axis.set_major_locator(LogLocator(subs=(1, 2, 5) if few else (1,)))
            axis.set_major_formatter(StrMethodFormatter("{x:,.10g}"))
            axis.set_minor_formatter(NullFormatter())
    figure.axes[0].set_ylabel("processor seconds")
    figure.savefig(path, dpi=120)


def _centred(values: Array) -> Array:
    return np.asarray(values - values.mean())


if __name__ == "__main__":
    results = json.loads(Path(sys.argv[1]).read_text())["results"]["scale"]
    draw(results[-1]["rows"], Path(sys.argv[2]))
