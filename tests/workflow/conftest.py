"""One table for each kind of target."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rowsparse.workflow.table import Table

from .planted import SCORE, X, make, make_counts


@pytest.fixture
def classes(tmp_path: Path) -> Table:
    return make(tmp_path, goal=np.array(["a", "b", "c"])[np.digitize(SCORE, [-1, 1])])


@pytest.fixture
def numbers(tmp_path: Path) -> Table:
    return make(tmp_path, goal=SCORE)


@pytest.fixture
def counts(tmp_path: Path) -> Table:
    return make_counts(tmp_path)


@pytest.fixture
def labels(tmp_path: Path) -> Table:
    columns = {f"l{j}": (SCORE + X[:, j] > 0).astype(int) for j in range(3)}
    return make(tmp_path, "l*", **columns)
