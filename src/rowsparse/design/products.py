"""Products of tall dense arrays, a block of rows at a time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dsyrk

from rowsparse._arrays import Array

__all__ = ["centred_gram"]

# Entries of a part of a block: it stays in the cache while it is centred and multiplied.
_PART_ENTRIES = 1 << 18


def centred_gram(
    blocks: Iterable[NDArray[Any]], mean: Array, rest: Array, inv_scale: Array
) -> Array:
    """Z'Z for Z = (X - 1 (mean + rest)') diag(inv_scale), where ``rest`` is the error of the mean.

    X comes in blocks of rows. A symmetric product takes half the operations. X - 1 mean' has the
    column sums n rest, so that n rest rest' is what it has too much.

    >>> X = np.array([[1.0, 2.0], [3.0, 7.0]])
    >>> centred_gram([X], np.array([2.0, 4.0]), np.array([0.0, 0.5]), np.array([1.0, 0.2]))
    array([[2. , 1. ],
           [1. , 0.5]])
    """
    n, d = 0, mean.size
    step = max(1, _PART_ENTRIES // max(d, 1))
    total = np.zeros((d, d), order="F")
    for block in blocks:
        n += len(block)
        for start in range(0, len(block), step):
            Z = block[start : start + step] - mean
            a, trans = (Z, 1) if Z.flags.f_contiguous else (Z.T, 0)
            total = dsyrk(1.0, a, beta=1.0, c=total, trans=trans, overwrite_c=1)
    lower = np.tril_indices(d, -1)
    total[lower] = total.T[lower]
    total -= n * np.outer(rest, rest)
    total *= np.outer(inv_scale, inv_scale)
    return total
