"""Fixtures that several test files share."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rowsparse import datasets

Loader = Callable[[str], tuple[np.ndarray, np.ndarray]]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the tests marked posix on Windows."""
    for item in items:
        if os.name == "nt" and item.get_closest_marker("posix"):
            item.add_marker(pytest.mark.skip(reason="needs the signals of POSIX systems"))


@pytest.fixture(scope="session")
def benchmark_data() -> Loader:
    """Loads a benchmark set by name; skips the test where the set is not at hand."""

    def load(name: str) -> tuple[np.ndarray, np.ndarray]:
        try:
            data = datasets.load(name, download=False)
        except datasets.MissingDataError as missing:
            pytest.skip(f"data set {name}: {missing}")
        return data.X.astype(np.float64), data.y

    return load


@pytest.fixture(scope="session")
def torch() -> Any:
    """PyTorch; skips the test where it is not installed."""
    return pytest.importorskip("torch", reason="PyTorch is not installed")
