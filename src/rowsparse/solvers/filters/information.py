"""Information gain: the mutual information of a discretised column and the classes, in bits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from rowsparse._arrays import Array, Index
from rowsparse.solvers.filters.discretize import (
    BY_LABELS,
    Codes,
    Discretization,
    column_blocks,
    discretize_block,
)
from rowsparse.solvers.filters.mdl import MOST_COUNTS, mdl_cuts

__all__ = ["contingency", "entropy", "information_gain", "mutual_information"]

# Entries of a block of columns; larger blocks where there are many labelings, for fewer calls.
_BLOCK_ENTRIES, _LARGE_BLOCK_ENTRIES = 1 << 18, 1 << 20
_MANY = 32


def entropy(counts: Array) -> Array:
    """Entropy in bits along the last axis of counts; 0 where all counts are 0.

    >>> entropy(np.array([[2, 2], [4, 0]]))
    array([1., 0.])
    """
    total = counts.sum(axis=-1, keepdims=True)
    p = counts / np.maximum(total, 1)
    return np.asarray(-(p * np.log2(np.where(p > 0, p, 1.0))).sum(axis=-1)) + 0.0


def contingency(codes: Codes, labels: Index, n_classes: int) -> Array:
    """Counts of the states of each column within each class.

    Parameters
    ----------
    codes : array of int, shape (n, m)
        States from 0 on.
    labels : array of int, shape (n,)
    n_classes : int

    Returns
    -------
    array of int, shape (m, n_states, n_classes)
    """
    m, n_states = codes.shape[1], int(codes.max(initial=0)) + 1
    key = codes.T.astype(np.intp)
    key += n_states * np.arange(m)[:, None]
    key *= n_classes
    key += labels
    return np.bincount(key.ravel(), minlength=m * n_states * n_classes).reshape(
        m, n_states, n_classes
    )


def mutual_information(counts: Array) -> Array:
    """Mutual information, in bits, of the rows and the columns of contingency tables.

    >>> mutual_information(np.array([[[3, 0], [0, 3]], [[2, 2], [1, 1]]]))
    array([1., 0.])
    """
    n_row = counts.sum(axis=-1)
    total = np.maximum(n_row.sum(axis=-1), 1)
    conditional = (n_row * entropy(counts)).sum(axis=-1) / total
    return np.maximum(entropy(counts.sum(axis=-2)) - conditional, 0.0)


def information_gain(
    X: Any,
    labelings: Sequence[Index],
    n_classes: int,
    *,
    discretization: Discretization,
    bins: int,
    bin_width: float,
) -> tuple[Array, Array]:
    """Mutual information, in bits, of every column and every labelling of the samples.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        Sparse data are made dense a few columns at a time.
    labelings : sequence of arrays of int, shape (n,)
        Class numbers below ``n_classes``.
    n_classes : int
    discretization : {"mdl", "weka", "equal_width", "mean_std", "none"}
        How columns get their states, see :mod:`rowsparse.solvers.filters.discretize`.
    bins, bin_width
        Settings of "equal_width" and "mean_std".

    Returns
    -------
    gain : array of shape (n_labelings, d)
    tie_break : array of shape (n_labelings, d)
        The bits of the best single cut; for discretisations without cuts the gain itself.
    """
    shape = (len(labelings), X.shape[1])
    gain, tie_break = np.zeros(shape), np.zeros(shape)
    X = sp.csc_array(X) if sp.issparse(X) else X
    entries = _BLOCK_ENTRIES if len(labelings) <= _MANY else _LARGE_BLOCK_ENTRIES
    if discretization in BY_LABELS:
        entries = min(entries, MOST_COUNTS // n_classes)
    for columns, block in column_blocks(X, entries, least=1):
        if discretization in BY_LABELS:
            weka = discretization == "weka"
            found = mdl_cuts(block, labelings, n_classes, counts_places=weka)
            for i, cuts in enumerate(found):
                gain[i, columns], tie_break[i, columns] = cuts.gain, cuts.best_gain
            continue
        codes = discretize_block(block, discretization, labels=None, bins=bins, bin_width=bin_width)
        for i, labels in enumerate(labelings):
            gain[i, columns] = mutual_information(contingency(codes, labels, n_classes))
            tie_break[i, columns] = gain[i, columns]
    return gain, tie_break
