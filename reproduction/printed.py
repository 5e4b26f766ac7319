"""The numbers that the papers print, from ``printed.toml``."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

__all__ = ["PRINTED", "mean_sd_by_k"]

PRINTED: dict[str, Any] = tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
)


def mean_sd_by_k(cells: list[tuple[int, float, float]]) -> dict[int, tuple[float, float]]:
    """Printed means and standard deviations by k.

    >>> mean_sd_by_k([(1, 1.72, 1.8)])
    {1: (1.72, 1.8)}
    """
    return {k: (mean, sd) for k, mean, sd in cells}
