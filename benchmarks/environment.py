"""What the figures were measured with."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import scipy.linalg  # noqa: F401  (loads the BLAS libraries, so that they are listed)
from threadpoolctl import threadpool_info

from benchmarks.peers import DISTRIBUTIONS


def describe(peers: dict[str, list[str]] = DISTRIBUTIONS) -> dict[str, Any]:
    """Versions, the processor, the BLAS libraries and how busy the machine is."""
    names = ["rowsparse", "numpy", "scipy", *(n for each in peers.values() for n in each)]
    return {
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in names},
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "blas": sorted({f"{b['internal_api']} {b['version']}" for b in threadpool_info()}),
        "threads": 1,
        "load": load(),
    }


def load() -> float | None:
    """Processes that wanted to run in the last minute, where the system counts them."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else None


def summary(environment: dict[str, Any]) -> str:
    """One line for people."""
    packages = [f"{name} {number}" for name, number in environment["versions"].items() if number]
    python = f"Python {environment['python']}"
    return f"{environment['cpu']}, one thread; {', '.join([python, *packages])}."


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
