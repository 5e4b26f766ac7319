"""Columns of numbers as columns of few states 0, 1, ..., for methods based on counts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rowsparse._arrays import Array, Index
from rowsparse.design.protocol import binary_units
from rowsparse.solvers.filters.mdl import MOST_COUNTS, as_codes, mdl_cuts

__all__ = [
    "BY_LABELS",
    "DISCRETIZATIONS",
    "Codes",
    "Discretization",
    "as_codes",
    "column_blocks",
    "discretize",
    "discretize_block",
    "equal_width_bins",
    "mdl_bins",
    "mean_std_bins",
]

Discretization = Literal["mdl", "weka", "equal_width", "mean_std", "none"]
DISCRETIZATIONS = ("mdl", "weka", "equal_width", "mean_std", "none")
# The methods whose cuts depend on the labels.
BY_LABELS = ("mdl", "weka")

# States from 0 on, in the smallest integer type that holds them.
Codes = NDArray[Any]

_BLOCK_ENTRIES = 1 << 18


def column_blocks(
    X: Any, entries: int = _BLOCK_ENTRIES, least: int = 8
) -> Iterator[tuple[slice, Array]]:
    """Neighbouring columns of X, dense or sparse, as dense float64 copies of limited size."""
    n, d = X.shape
    step = max(least, entries // max(n, 1))
    stored = sp.csc_array(X) if sp.issparse(X) else X
    for start in range(0, d, step):
        columns = slice(start, min(start + step, d))
        block = stored[:, columns]
        dense = block.toarray() if sp.issparse(block) else np.asarray(block)
        yield columns, np.array(dense, dtype=np.float64)


def discretize(
    X: Any,
    method: Discretization,
    *,
    labels: Index | None,
    bins: int,
    bin_width: float,
) -> Codes:
    """All columns of X, dense or sparse, as states.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    method : {"mdl", "weka", "equal_width", "mean_std", "none"}
        :func:`mdl_bins` by the paper or as Weka does, :func:`equal_width_bins`,
        :func:`mean_std_bins` or :func:`as_codes`.
    labels : array of int, shape (n,), or None
        The classes, for "mdl" and "weka".
    bins : int
        Number of bins, for "equal_width".
    bin_width : float
        Distance of the edges of the middle bin from the mean, in standard deviations, for
        "mean_std".

    Returns
    -------
    array of int, shape (n, d)
    """
    entries = _BLOCK_ENTRIES
    if method in BY_LABELS:
        assert labels is not None
        entries = min(entries, MOST_COUNTS // (int(labels.max()) + 1))
    return np.concatenate(
        [
            discretize_block(block, method, labels=labels, bins=bins, bin_width=bin_width)
            for _, block in column_blocks(X, entries, least=1)
        ],
        axis=1,
    )


def discretize_block(
    X: Array,
    method: Discretization,
    *,
    labels: Index | None,
    bins: int,
    bin_width: float,
) -> Codes:
    """As :func:`discretize`, of a dense X at once."""
    if method in BY_LABELS:
        assert labels is not None
        return mdl_bins(X, labels, int(labels.max()) + 1, counts_places=method == "weka")
    if method == "equal_width":
        return equal_width_bins(X, bins)
    if method == "mean_std":
        return mean_std_bins(X, bin_width)
    return as_codes(X)


def mean_std_bins(X: Array, bin_width: float) -> NDArray[np.int8]:
    """Three bins: 0 below mean - bin_width * sd, 2 above mean + bin_width * sd, 1 between.

    Mean and standard deviation (ddof = 0) are those of each column.

    >>> mean_std_bins(np.array([[0.0], [4.0], [5.0], [11.0]]), 0.5).ravel()
    array([0, 1, 1, 2], dtype=int8)
    """
    Z = _rescaled(X)
    Z -= Z.mean(axis=0)
    Z -= Z.mean(axis=0)  # the rounding error of the first mean
    edge = bin_width * np.sqrt(np.einsum("ij,ij->j", Z, Z) / Z.shape[0])
    codes = (edge < Z).astype(np.int8)
    codes += edge >= -Z
    return codes


def equal_width_bins(X: Array, bins: int) -> Codes:
    """Divide the range of every column into equal parts: state b is the b-th part.

    A part contains its lower end, the last one both. A constant column has state 0.

    >>> equal_width_bins(np.array([[0.0], [1.0], [4.9], [10.0]]), 2).ravel()
    array([0, 0, 0, 1], dtype=uint8)
    """
    Z = _rescaled(X)
    Z -= Z.min(axis=0)
    width = Z.max(axis=0)
    Z /= np.where(width > 0, width, 1.0)
    Z *= bins
    return np.minimum(Z, bins - 1).astype(np.min_scalar_type(bins - 1))


def mdl_bins(X: Array, labels: Index, n_classes: int, *, counts_places: bool) -> Codes:
    """The states between the cuts of Fayyad and Irani; 0 throughout where none is accepted.

    ``counts_places`` is Weka's rule, see :func:`rowsparse.solvers.filters.mdl.mdl_cuts`.

    >>> X = np.array([[0.0], [1.0], [2.0], [6.0], [7.0], [9.0]])
    >>> mdl_bins(X, np.array([0, 0, 0, 1, 1, 1]), 2, counts_places=False).ravel()
    array([0, 0, 0, 1, 1, 1], dtype=uint8)
    """
    cuts = next(mdl_cuts(X, [labels], n_classes, counts_places=counts_places))
    n_cuts = np.bincount(cuts.column, minlength=X.shape[1])
    first = np.cumsum(n_cuts) - n_cuts
    codes = np.zeros(X.shape, dtype=np.min_scalar_type(int(n_cuts.max(initial=0))))
    for i in range(int(n_cuts.max(initial=0))):
        cut = np.flatnonzero(n_cuts > i)
        codes[:, cut] += X[:, cut] > cuts.value[first[cut] + i]
    return codes


def _rescaled(X: Array) -> Array:
    """A float64 copy of X, its columns divided by powers of two: no square overflows."""
    return X / binary_units(np.abs(X).max(axis=0, initial=0.0).astype(np.float64))
