"""Moments of several parts of the samples, for folds and subsamples, gathered in one pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from copy import copy
from sys import getsizeof
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rowsparse._arrays import Index
from rowsparse.moments.moments import GrowingTargets, Moments, checked_block
from rowsparse.targets import check_sample_weight, target_array

__all__ = ["MomentsInParts", "counted_labels", "merged"]


def merged(parts: Sequence[Moments]) -> Moments:
    """The Moments of the samples of all parts together."""
    if not parts:
        raise ValueError("parts must hold at least one Moments.")
    for part in parts:
        if not isinstance(part, Moments):
            raise TypeError(f"parts must hold rowsparse.Moments; got {type(part).__name__}.")
    if len(parts) == 1:
        return parts[0]
    total = parts[0].copy()
    for part in parts[1:]:
        total.merge(part)
    return total


class MomentsInParts:
    """Samples dealt out to parts in turn, those of each class by themselves.

    The j-th sample of a class, or of all where y holds no classes, is in part j modulo
    ``n_parts``, however the samples come in blocks.

    Parameters
    ----------
    n_parts : int
        Number of parts.
    task : {"auto", "classification", "multilabel", "regression"}
        What y holds.
    products : bool
        Whether X'X is kept, for each part.
    before : Counter, optional
        How many samples of each class were dealt out before these; see :func:`counted_labels`.
    """

    def __init__(
        self, n_parts: int, task: str, *, products: bool, before: Counter[Any] | None = None
    ) -> None:
        self.parts = [Moments(task, products=products) for _ in range(n_parts)]
        self._whole = Moments(task, products=False)
        self._dealt = Counter(before)

    def update(
        self, X: Any, y: Any, sample_weight: Any = None, *, feature_names: Any = None
    ) -> None:
        """Add a block of samples; nothing of it counts if it is refused."""
        values, names = checked_block(X, feature_names)
        n = values.shape[0]
        if n:
            y = target_array(y, n)
        weights = check_sample_weight(sample_weight, n) if n else None
        # What it refuses, no part has seen.
        self._whole.update(values, y, weights, feature_names=names)
        if n == 0:
            return
        by_rows = sp.csr_array(values) if sp.issparse(values) else values
        part = self._part_of(y)
        for p, moments in enumerate(self.parts):
            rows = np.flatnonzero(part == p)
            if weights is not None:
                rows = rows[weights[rows] > 0]
            if rows.size:
                block = None if weights is None else weights[rows]
                moments.update_as(by_rows[rows], y[rows], block, names, self._whole)

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + sum(getsizeof(part) for part in self.parts)

    def merged(self, other: MomentsInParts) -> MomentsInParts:
        """The parts of the samples of both; neither is changed."""
        both = copy(self)
        both._whole = merged([self._whole, other._whole])
        both.parts = [merged(pair) for pair in zip(self.parts, other.parts, strict=True)]
        return both

    def _part_of(self, y: NDArray[Any]) -> Index:
        """The part of each sample."""
        if self._whole.classes is None:
            code, labels = np.zeros(y.shape[0], dtype=np.intp), [None]
        else:
            labels, code = _coded(y)
        part = np.empty(y.shape[0], dtype=np.intp)
        for c, label in enumerate(labels):
            rows = np.flatnonzero(code == c)
            part[rows] = (self._dealt[label] + np.arange(rows.size)) % len(self.parts)
            self._dealt[label] += rows.size
        return part


def counted_labels(y: Any, task: str) -> Counter[Any]:
    """Counts of a block's samples by class; without classes their number, under None."""
    y = target_array(y, len(y))
    if y.shape[0] == 0:
        return Counter()
    if GrowingTargets.from_first_block(y, task).classes is None:
        return Counter({None: y.shape[0]})
    labels, code = _coded(y)
    return Counter(dict(zip(labels, np.bincount(code).tolist(), strict=True)))


def _coded(y: NDArray[Any]) -> tuple[list[Any], Index]:
    labels, code = np.unique(y.ravel(), return_inverse=True)
    return labels.tolist(), code
