"""Filters by single features: passes over X, every set."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.tables import VERDICT, Table, verdict
from benchmarks.timing import race
from rowsparse import FisherScore, FStatistic, InformationGain, TTest
from rowsparse.datasets import MissingDataError, list_datasets, load

MOST_SECONDS = 2.0
K = 10
QUICK_SETS = ("allaml", "isolet", "yeast")
FILTERS = {
    "FStatistic": FStatistic(K),
    "FisherScore": FisherScore(K),
    "TTest": TTest(K),
    "InformationGain": InformationGain(K),
}
# Timed passes before each contestant, every round.
PASSES = 3

Call = Callable[[], Any]


def run(quick: bool) -> list[Table]:
    return [_passes(quick), _every_set(quick)]


# ------------------------------------------------------------------------------ passes over X
def _passes(quick: bool) -> Table:
    n, d = (500, 4000) if quick else (2000, 20_000)
    formats = {"X": "", "n x d x c": "", "X.T @ y s": ".4f"}
    formats |= dict.fromkeys(("FStatistic", "FisherScore", "TTest", "checks"), ".1f")
    table = Table("Seconds of a fit / those of one X.T @ y with a vector.", formats)
    table.notes.append(
        "All sums are in float64, those of float32 data too. The checks of the input, which read "
        "X once more, are a part of the fit; alone they take what the last column says. "
        "The sparse X has 2 % of its entries."
    )
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    y = np.arange(n) % 10
    sparse = sp.random_array((n, d), density=0.02, rng=rng, format="csr")
    table.rows += [
        _passes_row("float64 by rows", X, y),
        _passes_row("float64 by columns", np.asfortranarray(X), y),
        _passes_row("float32 by rows", X.astype(np.float32), y),
        _passes_row("sparse by rows", sparse, y),
    ]
    return table


def _passes_row(what: str, X: Any, y: Any) -> dict[str, Any]:
    vector = y.astype(X.dtype)
    contestants: dict[str, Call] = {}
    for name in ("FStatistic", "FisherScore", "TTest"):
        one_pass = partial(_product, X, vector)
        contestants |= {f"pass {name} {i}": one_pass for i in range(PASSES)}
        contestants[name] = partial(FILTERS[name].fit, X, y)
    contestants["checks"] = partial(FILTERS["FStatistic"]._read, X, y)
    timed = race(contestants, rounds=5)
    one = min(t.best for name, t in timed.items() if name.startswith("pass"))
    row: dict[str, Any] = {"X": what, "n x d x c": f"{X.shape[0]} x {X.shape[1]} x {y.max() + 1}"}
    row |= {"X.T @ y s": one}
    return row | {name: t.best / one for name, t in timed.items() if not name.startswith("pass")}


def _product(X: Any, vector: Any) -> Any:
    return X.T @ vector


# ------------------------------------------------------------------------------ every set
def _every_set(quick: bool) -> Table:
    formats = {"data": "", "n x d x targets": ""} | dict.fromkeys(FILTERS, ".3f") | {VERDICT: ""}
    table = Table(f"Seconds to choose {K} features, from the data as distributed.", formats)
    table.target = f"each at most {MOST_SECONDS:g} s"
    missing = []
    for name in QUICK_SETS if quick else [info.name for info in list_datasets()]:
        try:
            data = load(name, download=False)
        except MissingDataError:
            missing.append(name)
            continue
        table.rows.append(_set_row(name, data.X, data.y))
    if missing:
        table.notes.append(f"Not at hand: {', '.join(missing)}.")
    return table


def _set_row(name: str, X: Any, y: Any) -> dict[str, Any]:
    n_targets = y.shape[1] if y.ndim == 2 else int(y.max()) + 1
    calls: dict[str, Call] = {label: partial(f.fit, X, y) for label, f in FILTERS.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        timed = race(calls, rounds=3, budget=5.0)
    row: dict[str, Any] = {
        "data": name,
        "n x d x targets": f"{X.shape[0]} x {X.shape[1]} x {n_targets}",
    }
    row |= {label: t.best for label, t in timed.items()}
    return row | {VERDICT: verdict(max(t.best for t in timed.values()) <= MOST_SECONDS)}
