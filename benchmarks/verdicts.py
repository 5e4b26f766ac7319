"""How often a selection from pure noise is said to be better than guessing."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy.stats import binom

from benchmarks.tables import VERDICT, Table, verdict
from rowsparse.evaluation.metrics import METRICS
from rowsparse.workflow.compare import compare
from rowsparse.workflow.results import Verdict
from rowsparse.workflow.select import find_path, select
from rowsparse.workflow.settings import CompareSettings, PathSettings, SelectSettings, TableSettings
from rowsparse.workflow.table import Table as Data
from rowsparse.workflow.table import read_table

# Tables of each kind; of so many, more than this may be called better with a chance of 5 % each.
N_TABLES, QUICK = 200, 10
MOST = 0.05
N_ROWS, N_COLUMNS = 60, 40

Columns = dict[str, Any]


def _classes(shares: list[float]) -> Callable[[np.random.Generator], Columns]:
    sizes = np.round(N_ROWS * np.array(shares)).astype(int)

    def draw(rng: np.random.Generator) -> Columns:
        return {"goal": rng.permutation(np.repeat(list("abcde")[: sizes.size], sizes))}

    return draw


def _labels(rng: np.random.Generator) -> Columns:
    return {
        f"goal{j}": (rng.random(N_ROWS) < share).astype(int)
        for j, share in enumerate((0.5, 0.3, 0.6))
    }


def _numbers(rng: np.random.Generator) -> Columns:
    return {"goal": rng.standard_normal(N_ROWS)}


def _covariate(rng: np.random.Generator) -> Columns:
    """Classes that an age tells, and nothing else does."""
    age = rng.normal(60, 10, N_ROWS)
    return {"age": age, "goal": np.where(age + 8 * rng.standard_normal(N_ROWS) > 60, "ill", "well")}


KINDS: dict[str, tuple[str, Callable[[np.random.Generator], Columns], Columns]] = {
    "2 classes": ("classification", _classes([0.5, 0.5]), {}),
    "2 classes, 70 %": ("classification", _classes([0.7, 0.3]), {}),
    # Of the rare class each fold has a sample, without which there is no area under a curve.
    "2 classes, 92 %": ("classification", _classes([55 / 60, 5 / 60]), {}),
    "5 classes": ("classification", _classes([0.2] * 5), {}),
    "labels": ("multilabel", _labels, {}),
    "numbers": ("regression", _numbers, {}),
    "age tells": ("classification", _covariate, {"adjust": "age"}),
}
WAYS: dict[str, Callable[..., Verdict | None]] = {
    "-k 5": lambda table, **more: select(table, SelectSettings(k=5, stability=0, **more)).verdict,
    "-k auto": lambda table, **more: (
        select(table, SelectSettings(k="auto", k_max=10, stability=0, **more)).verdict
    ),
    "path": lambda table, **more: find_path(table, PathSettings(k_max=10, **more)).verdict,
    "compare": lambda table, **more: (
        compare(
            table, CompareSettings(k=(2, 5, 10), methods=("topk", "fstatistic", "rfs"), **more)
        ).verdict
    ),
}


def noise(draw: Callable[[np.random.Generator], Columns], seed: int, folder: Path) -> Data:
    """Columns of noise with a target that has nothing to do with them."""
    rng = np.random.default_rng(seed)
    columns = {f"x{j}": rng.standard_normal(N_ROWS) for j in range(N_COLUMNS)}
    path = folder / "noise.parquet"
    pl.DataFrame(columns | draw(rng)).write_parquet(path)
    return read_table(path, TableSettings(target="goal*"))


def cases(quick: bool) -> Iterator[tuple[str, str, str]]:
    """Kind of target, metric and way; all metrics with a given k, the usual one otherwise."""
    for kind, (task, _, _) in KINDS.items():
        for metric in METRICS[task]:
            yield kind, metric, "-k 5"
        for way in WAYS if not quick else ("-k auto",):
            if way != "-k 5":
                yield kind, METRICS[task][0], way


def run(quick: bool) -> list[Table]:
    n = QUICK if quick else N_TABLES
    formats = {
        "target": "",
        "metric": "",
        "way": "",
        "better %": ".1f",
        "unclear %": ".1f",
        VERDICT: "",
    }
    table = Table(
        f"Verdicts on {n} tables of pure noise, {N_ROWS} x {N_COLUMNS}, 5 folds.", formats
    )
    table.notes.append(
        f"At most {100 * MOST:.0f} % may be 'better'. A true share of that gives at most "
        f"{100 * binom.ppf(0.975, n, MOST) / n:.1f} % in {n} tables with a probability of 97.5 %."
    )
    with tempfile.TemporaryDirectory() as folder:
        for kind, metric, way in cases(quick):
            draw, options = KINDS[kind][1:]
            options = options | {"metric": metric, "loss": "squared"}
            levels = []
            for seed in range(n):
                data = noise(draw, seed, Path(folder))
                found = WAYS[way](data, **options)
                levels.append(found.level if found else "none")
            share = {level: 100 * levels.count(level) / n for level in ("better", "unclear")}
            row: dict[str, Any] = {"target": kind, "metric": metric, "way": way}
            row |= {"better %": share["better"], "unclear %": share["unclear"]}
            row[VERDICT] = verdict(share["better"] <= 100 * MOST)
            table.rows.append(row)
    return [table]
