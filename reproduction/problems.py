"""Targets and losses that several papers share."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from rowsparse._arrays import Array
from rowsparse.rows import row_norms
from rowsparse.solvers.losses.l21 import geometric_median


def class_matrix(y: Array, labels: str = "one-hot") -> Array:
    """Classes as columns of 0 and 1, or of -1 and 1.

    >>> class_matrix(np.array([3, 5]), "plus-minus").tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    Y = (y[:, None] == np.unique(y)).astype(np.float64)
    return 2.0 * Y - 1.0 if labels == "plus-minus" else Y


def constant_losses(Y: Array) -> tuple[float, float]:
    """sum_i ||y_i - b|| at the best b, and at the mean of the y_i."""
    best = geometric_median(Y, np.ones(Y.shape[0]))
    return float(row_norms(Y - best).sum()), float(row_norms(Y - Y.mean(axis=0)).sum())


def six_digits(values: Iterable[float]) -> list[float]:
    """Values as the text form of the rows keeps them."""
    return [float(f"{value:.6g}") for value in values]


def mean_sd_by_k(cells: Iterable[tuple[int, float, float]]) -> dict[int, tuple[float, float]]:
    """Printed means and standard deviations by k.

    >>> mean_sd_by_k([(1, 1.72, 1.8)])
    {1: (1.72, 1.8)}
    """
    return {k: (mean, sd) for k, mean, sd in cells}
