"""Tables with planted features for the tests of selection."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rowsparse.workflow.results import SelectionResult
from rowsparse.workflow.select import select
from rowsparse.workflow.settings import SelectSettings, TableSettings
from rowsparse.workflow.table import Table, read_table

N, D = 80, 12
_rng = np.random.default_rng(3)
X = _rng.standard_normal((N, D))
SCORE = X[:, 2] + X[:, 5] - X[:, 9] + 0.4 * _rng.standard_normal(N)


def make(folder: Path, target: str = "goal", **columns: Any) -> Table:
    path = folder / "table.csv"
    pl.DataFrame({**{f"f{j}": X[:, j] for j in range(D)}, **columns}).write_csv(path)
    return read_table(path, TableSettings(target=target))


def make_counts(folder: Path) -> Table:
    """Visits whose rate depends on the features of the score."""
    counts = np.random.default_rng(6).poisson(np.exp(0.6 + 0.5 * SCORE))
    make(folder, goal=counts)
    return read_table(folder / "table.csv", TableSettings(target="goal", task="counts"))


def selected(table: Table, k: int | str, **settings: Any) -> SelectionResult:
    return select(table, SelectSettings(k=k, **settings))
