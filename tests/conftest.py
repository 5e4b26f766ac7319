"""Fixtures that several test files share."""

import os
from collections.abc import Callable
from typing import Any

# Before NumPy is loaded, and for the processes that tests start: the tests run side by side, and
# threads that wait for each other take most of the processor time of small problems.
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

import numpy as np  # noqa: E402
import pytest  # noqa: E402

from rowsparse import datasets  # noqa: E402

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
