"""Mutual information between columns of few states, all columns at once.

Joint counts are products of 0/1 matrices while the states are few, else counted or sorted. Values
of x log2 x are integer multiples of a power of two, so that sums are exact and equal information
compares as equal.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rowsparse._arrays import Array, Index

__all__ = ["States"]

_BLOCK_ENTRIES = 1 << 18
# Joint states of a column and a target up to which counting by products is the faster way.
_PRODUCT_CELLS = 512
# Joint states for each sample from which sorting is faster than counting.
_SORTED_SHARE = 16
# Whole numbers beyond this are not exact in float32.
_EXACT_FLOAT32 = 1 << 24
# Bits of the sums of x log2 x.
_BITS = 60


class States:
    """Columns of few states 0, 1, ..., and their mutual information in bits.

    Parameters
    ----------
    codes : array of int, shape (n, d)
        Held as a transposed copy; all else is done in blocks.
    """

    def __init__(self, codes: NDArray[Any]) -> None:
        self._codes = np.ascontiguousarray(codes.T)
        d, self._n = self._codes.shape
        x = np.arange(self._n + 1, dtype=np.float64)
        f = x * np.log2(np.maximum(x, 1.0))
        self._unit = 2.0 ** (_BITS - int(np.ceil(np.log2(max(f[-1], 2.0)))))
        self._f = np.rint(f * self._unit).astype(np.int64)
        self._float = np.float32 if self._n < _EXACT_FLOAT32 else np.float64
        self._own = np.zeros(d, dtype=np.int64)
        alike = np.zeros(self._n, dtype=np.intp)
        for columns, block in self._blocks():
            self._own[columns] = self._joint(block, alike, 1)

    def take(self, columns: Index) -> States:
        """Some of the columns."""
        return States(self._codes[columns].T)

    def with_column(self, j: int) -> Array:
        """I(f; column j) for every column f."""
        return self.with_classes(self._codes[j])

    def with_classes(self, labels: NDArray[Any]) -> Array:
        """I(f; labels) for every column f; labels are numbers from 0."""
        n_classes = int(labels.max()) + 1
        joint = np.empty_like(self._own)
        for columns, block in self._blocks():
            joint[columns] = self._joint(block, labels, n_classes)
        return self._information(joint, self._f[np.bincount(labels)].sum())

    def with_labels(self, Y: Array) -> Array:
        """I(f; label) for every 0/1 column of Y (n, L) and every column f: (L, d)."""
        indicators = Y.astype(self._float)
        joint = np.zeros((Y.shape[1], self._own.size), dtype=np.int64)
        for columns, block in self._blocks():
            for state in range(int(block.max()) + 1):
                members = (block == state).astype(self._float)
                size = members.sum(axis=1).astype(np.intp)
                with_label = (members @ indicators).T.astype(np.intp)
                joint[:, columns] += self._f[with_label] + self._f[size - with_label]
        carried = Y.sum(axis=0).astype(np.intp)
        own = self._f[carried] + self._f[self._n - carried]
        return self._information(joint, own[:, None])

    def _information(self, joint: NDArray[np.int64], target: Any) -> Array:
        # The integer sum is exact: no information is exactly 0.
        total = joint - self._own - target + self._f[self._n]
        return np.maximum(total / (self._unit * self._n), 0.0)

    def _blocks(self) -> Iterator[tuple[slice, NDArray[Any]]]:
        step = max(1, _BLOCK_ENTRIES // self._n)
        for start in range(0, self._codes.shape[0], step):
            columns = slice(start, min(start + step, self._codes.shape[0]))
            yield columns, self._codes[columns]

    def _joint(self, block: NDArray[Any], labels: NDArray[Any], n_labels: int) -> Any:
        """sum of f over the joint counts of each column (a row of ``block``) with the labels."""
        n_states = int(block.max()) + 1
        if n_states * n_labels <= _PRODUCT_CELLS:
            return self._joint_by_products(block, n_states, labels, n_labels)
        return self._joint_by_counting(block, n_states, labels, n_labels)

    def _joint_by_products(
        self, block: NDArray[Any], n_states: int, labels: NDArray[Any], n_labels: int
    ) -> Any:
        indicators = (labels[:, None] == np.arange(n_labels)).astype(self._float)
        # The counts of state 0 are the totals less all other counts.
        left = np.broadcast_to(indicators.sum(axis=0), (block.shape[0], n_labels)).copy()
        total = np.zeros(block.shape[0], dtype=np.int64)
        for state in range(1, n_states):
            counts = (block == state).astype(self._float) @ indicators
            left -= counts
            total += self._f[counts.astype(np.intp)].sum(axis=1)
        return total + self._f[left.astype(np.intp)].sum(axis=1)

    def _joint_by_counting(
        self, block: NDArray[Any], n_states: int, labels: NDArray[Any], n_labels: int
    ) -> Any:
        cells = n_states * n_labels
        total = np.empty(block.shape[0], dtype=np.int64)
        step = max(1, _BLOCK_ENTRIES // max(self._n, min(cells, _SORTED_SHARE * self._n)))
        for start in range(0, block.shape[0], step):
            part = block[start : start + step].astype(np.int64)
            part *= n_labels
            part += labels
            part += np.arange(part.shape[0])[:, None] * cells
            cell, counts = _counted(part, cells)
            # The cumulative sum may wrap around; its differences are exact.
            sums = np.append(0, np.cumsum(self._f[counts]))
            ends = np.searchsorted(cell, np.arange(part.shape[0] + 1) * cells)
            total[start : start + step] = sums[ends[1:]] - sums[ends[:-1]]
        return total


def _counted(part: NDArray[np.int64], cells: int) -> tuple[Index, Index]:
    """The numbers that occur more than once in ``part``, which rise from row to row, and how often.

    A row holds numbers from a range of ``cells``.
    """
    if cells <= _SORTED_SHARE * part.shape[1]:
        counts = np.bincount(part.ravel(), minlength=part.shape[0] * cells)
        cell = np.flatnonzero(counts > 1)
        return cell, counts[cell]
    part.sort(axis=1)
    values = part.ravel()
    first = np.flatnonzero(np.append(True, values[1:] != values[:-1]))
    counts = np.diff(np.append(first, values.size))
    return values[first[counts > 1]], counts[counts > 1]
