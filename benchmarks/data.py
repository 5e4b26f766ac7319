"""Data sets: loaded, standardised, classes as one-hot columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.tables import Table
from rowsparse import datasets
from rowsparse.datasets import MissingDataError


@dataclass(frozen=True)
class Data:
    """X standardised (float64, row-major), y the class numbers, Y one-hot."""

    name: str
    X: NDArray[np.float64]
    y: NDArray[np.intp]
    Y: NDArray[np.float64]

    @property
    def size(self) -> str:
        return f"{self.X.shape[0]} x {self.X.shape[1]} x {self.Y.shape[1]}"


def load(name: str, *, ddof: int = 0) -> Data:
    """The set ``name``, if it is at hand; constant columns become zero."""
    stored = datasets.load(name, download=False)
    X, y = stored.X.astype(np.float64), stored.y.astype(np.intp)
    constant = X.max(axis=0) == X.min(axis=0)
    X -= X.mean(axis=0)
    X[:, constant] = 0.0
    X /= np.where(constant, 1.0, X.std(axis=0, ddof=ddof))
    return Data(name, X, y, np.eye(int(y.max()) + 1)[y])


def for_each(names: Iterable[str], table: Table, measure: Callable[[Data, Table], None]) -> Table:
    """Call ``measure`` with every set there is; the table notes those that are not."""
    for name in names:
        try:
            data = load(name)
        except MissingDataError as missing:
            table.notes.append(str(missing))
        else:
            measure(data, table)
    return table
