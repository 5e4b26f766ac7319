"""TopK without a ridge: seconds to the best objectives known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.certificate import Array
from benchmarks.data import Data, load
from benchmarks.tables import VERDICT, Table, verdict
from rowsparse._deadline import Deadline
from rowsparse.datasets import MissingDataError
from rowsparse.design import Design, make_design
from rowsparse.selectors.topk.loss_defaults import DEFAULTS
from rowsparse.solvers.choices import Choices
from rowsparse.solvers.losses.squared import SquaredLoss
from rowsparse.solvers.problem import Options, Outcome, Problem
from rowsparse.solvers.search.search import search
from rowsparse.solvers.solution import Monitor, silent

SETS: tuple[str, ...] = ("srbct", "glioma", "allaml", "leu", "lung", "carcinom", "prostate_ge")
SETS += ("lymphoma", "yale", "jaffe", "umist", "warppie10p", "coil20", "isolet", "usps")

DEFAULT_RESTARTS = DEFAULTS["squared"].n_restarts

# Data, k and the best objective known, as printed: found by 40 restarts and kicks. The one of
# coil20 at k = 50 comes from greedy growth and exchange alone.
KNOWN = (
    ("srbct", 1, "41.815"),
    ("srbct", 5, "9.6213"),
    ("srbct", 10, "4.6798"),
    ("srbct", 20, "1.3508"),
    ("glioma", 5, "10.256"),
    ("glioma", 10, "3.9119"),
    ("yale", 10, "99.495"),
    ("yale", 20, "69.667"),
    ("coil20", 10, "893.08"),
    ("coil20", 50, "438.59"),
    ("isolet", 10, "1114.6"),
    ("isolet", 20, "932.97"),
)
QUICK_KNOWN = 5
KNOWN_SECONDS = 2.0
_MANY_RESTARTS = 2000


def standardised(name: str) -> Data:
    """The set with ddof = 1 and both X and Y centred."""
    data = load(name, ddof=1)
    return replace(data, Y=data.Y - data.Y.mean(axis=0))


def each(names: tuple[str, ...], *tables: Table) -> Iterator[Data]:
    """Every set there is; the tables note those that are not."""
    for name in names:
        try:
            yield standardised(name)
        except MissingDataError as missing:
            for table in tables:
                table.notes.append(str(missing))


def search_design(
    design: Design,
    Y: Array,
    k: int,
    *,
    ridge: float = 0.0,
    n_restarts: int = DEFAULT_RESTARTS,
    time_limit: float | None = None,
    monitor: Monitor = silent,
    seed: int = 0,
) -> Outcome:
    """The search with the settings of TopK and a fixed seed."""
    options = Options(n_restarts, seed, deadline=Deadline(time_limit), monitor=monitor)
    return search(posed(design, Y, k, ridge), options)


def posed(design: Design, Y: Array, k: int, ridge: float) -> Problem:
    """The choice of k columns for the squared loss."""
    choices = Choices.from_columns(design.shape[1], k)
    return Problem(SquaredLoss(design, Y), ridge, choices)


def solve(X: Array, Y: Array, k: int, **settings: Any) -> Outcome:
    """From plain arrays to the answer: making the design is timed too."""
    design, _ = make_design(X, center=False, scale=False)
    return search_design(design, Y, k, **settings)


def refitted(X: Array, Y: Array, support: Any, ridge: float = 0.0) -> float:
    """Least ||Y - XW||_F^2 + ridge ||W||_F^2 on a support, from the columns themselves."""
    X_S = X[:, support]
    if ridge:
        X_S = np.vstack([X_S, np.sqrt(ridge) * np.eye(X_S.shape[1])])
        Y = np.vstack([Y, np.zeros((X_S.shape[1], Y.shape[1]))])
    V = np.linalg.lstsq(X_S, Y, rcond=None)[0]
    return float(np.sum((Y - X_S @ V) ** 2))


def run(quick: bool) -> list[Table]:
    formats = {"data": "", "k": "d", "best known": "", "ours": ".6g", "s": ".3f", "starts": "d"}
    table = Table("TopK, alpha = 0, until the best objective known is reached.", formats)
    table.formats |= {VERDICT: ""}
    table.target = f"at or below it, to the digits printed, within {KNOWN_SECONDS:g} s"
    table.notes.append(
        f"Up to {_MANY_RESTARTS} restarts within that time, ended as soon as the value is reached. "
        "That of coil20 at k = 50 is what greedy growth and exchange gave, not a longer search."
    )
    known = KNOWN[:QUICK_KNOWN] if quick else KNOWN
    for data in each(tuple(dict.fromkeys(name for name, _, _ in known)), table):
        for _, k, printed in (entry for entry in known if entry[0] == data.name):
            table.rows.append(_reach(data, k, printed))
    return [table]


def _reach(data: Data, k: int, printed: str) -> dict[str, Any]:
    level = float(printed) + 0.5 * 10.0 ** -len(printed.partition(".")[2])
    settings = {"n_restarts": _MANY_RESTARTS, "time_limit": KNOWN_SECONDS}
    start = perf_counter()
    result = solve(data.X, data.Y, k, monitor=lambda value: value <= level, **settings)
    seconds = perf_counter() - start
    objective = refitted(data.X, data.Y, result.support)
    passed = objective <= level and seconds <= KNOWN_SECONDS
    row = {"data": data.name, "k": k, "best known": printed, "ours": objective, "s": seconds}
    return row | {"starts": result.n_starts, VERDICT: verdict(passed)}
