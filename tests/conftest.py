"""Fixtures that several test files share."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

Loader = Callable[[str], tuple[np.ndarray, np.ndarray]]


@pytest.fixture(scope="session")
def benchmark_data() -> Loader:
    """Loads a benchmark set by name; skips the test where ROWSPARSE_DATA does not have it."""

    def load(name: str) -> tuple[np.ndarray, np.ndarray]:
        folder = os.environ.get("ROWSPARSE_DATA")
        if not folder:
            pytest.skip(f"data set {name}: ROWSPARSE_DATA is not set")
        path = Path(folder) / f"{name}.npz"
        if not path.exists():
            pytest.skip(f"data set {name}: not in ROWSPARSE_DATA")
        with np.load(path) as data:
            return data["X"].astype(np.float64), data["y"]

    return load
