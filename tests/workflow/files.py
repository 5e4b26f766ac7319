"""Tables in files for the tests of reading, and the sentence with which one is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from rowsparse.workflow.messages import InputError
from rowsparse.workflow.settings import TableSettings
from rowsparse.workflow.table import Table, read_table

N = 90
X = np.random.default_rng(0).standard_normal((N, 10))
Y = np.array(["healthy", "ill"])[(X[:, 1] + X[:, 4] - X[:, 6] > 0).astype(int)]


def frame(**more: object) -> pl.DataFrame:
    columns = {f"f{j}": X[:, j] for j in range(X.shape[1])}
    return pl.DataFrame({**columns, **more, "outcome": Y})


def csv(path: Path, table: pl.DataFrame) -> Path:
    table.write_csv(path)
    return path


def read(path: Path, target: str | None = None, **settings: Any) -> Table:
    return read_table(path, TableSettings(target=target, **settings))


def refusal(path: Path, target: str | None = "outcome", **settings: Any) -> str:
    with pytest.raises(InputError) as caught:
        read(path, target, **settings)
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert sentence.endswith((".", "?"))
    return sentence
