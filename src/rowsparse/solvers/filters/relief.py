"""ReliefF: features that differ between near samples of different classes, not of the same.

All samples are visited and every sum is exact up to rounding. The distances are those of
``manhattan.py``; what is added up is w_f = sum_ij c_ij |z_if - z_jf| over neighbours i, j, with
coefficients c that depend on the targets alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rowsparse._arrays import Array, Index
from rowsparse.solvers.filters.manhattan import Scratch, UnitSamples, neighbourhoods, row_blocks

__all__ = ["relief_classes", "relief_label_pairs", "relief_numbers"]

# Distances that are held so that no pair is computed twice: 128 MB, up to 4096 samples.
_PAIRS_IN_MEMORY = 1 << 24


def relief_classes(
    samples: UnitSamples,
    labelings: NDArray[np.intp],
    *,
    n_neighbors: int,
    sigma: float | None,
    n_jobs: int | None,
) -> Array:
    """ReliefF for one or several labelings of the samples with classes.

    Parameters
    ----------
    samples : UnitSamples
    labelings : array of int, shape (L, n)
        Class numbers from 0, each number taken by at least one sample.
    n_neighbors : int
        Nearest samples of every class; all of a class that has fewer.
    sigma : float or None
        Weighs the neighbour of rank r = 1, 2, ... by exp(-(r/sigma)^2); else all weigh the same.
    n_jobs : int or None
        Threads, as in joblib; they do not change the answer.

    Returns
    -------
    array of shape (L, d)
        The weights w of each labeling.
    """
    n, d = samples.shape
    tables = [_ClassTable(codes, n_neighbors, sigma) for codes in labelings]
    distances = _all_distances(samples, n_jobs)

    def block(rows: slice) -> Array:
        total = np.zeros((len(tables), d))
        of_block = distances(rows)
        for l, table in enumerate(tables):
            for near in neighbourhoods(samples, rows, of_block, table.codes, n_neighbors):
                total[l] += table.coefficients(near.i, near.others, near.ranks) @ near.differences
        return total

    return _sum_of_blocks(block, n, n_jobs) / n


class _ClassTable:
    """The coefficient of a neighbour, from the two classes and its rank."""

    def __init__(self, codes: Index, n_neighbors: int, sigma: float | None) -> None:
        self.codes = codes
        counts = np.bincount(codes)
        self._shares = counts / codes.size
        weights = partial(_rank_weights, n_neighbors=n_neighbors, sigma=sigma)
        self._misses = np.array([weights(count) for count in counts])
        self._hits = np.array([weights(count - 1) for count in counts])

    def coefficients(self, i: int, others: Index, ranks: Index) -> Array:
        own, codes = self.codes[i], self.codes[others]
        prior = self._shares[codes] / (1.0 - self._shares[own])
        return np.where(codes == own, -self._hits[codes, ranks], prior * self._misses[codes, ranks])


def _rank_weights(available: int, *, n_neighbors: int, sigma: float | None) -> Array:
    """Weights of the ranks 0, 1, ... that sum to 1, and a last one of 0 for all beyond."""
    ranks = np.arange(1, n_neighbors + 2)
    weights = np.ones(ranks.size)
    if sigma is not None:
        # Scaled so that rank 1 has weight 1: no sigma, however small, makes all weights 0.
        weights = np.exp((1.0 - ranks**2) / max(sigma, 1e-100) ** 2)
    weights[min(n_neighbors, available) :] = 0.0
    return weights / max(weights.sum(), np.finfo(np.float64).tiny)


def _each_block(
    block: Callable[[slice], Array], n: int, n_jobs: int | None
) -> Iterator[NDArray[Any]]:
    """The results of ``block`` for every block of rows, in order."""
    blocks = row_blocks(n)
    if n_jobs in (None, 1) or len(blocks) == 1:
        return map(block, blocks)
    from joblib import Parallel, delayed

    # A generator, so that few results are in memory at a time.
    run = Parallel(n_jobs=n_jobs, require="sharedmem", return_as="generator")
    parts: Iterator[NDArray[Any]] = run(delayed(block)(rows) for rows in blocks)
    return parts


def _sum_of_blocks(block: Callable[[slice], Array], n: int, n_jobs: int | None) -> Array:
    parts = _each_block(block, n, n_jobs)
    total = next(parts)
    for part in parts:
        total += part
    return total


def _all_distances(samples: UnitSamples, n_jobs: int | None) -> Callable[[slice], Array]:
    """Distances of a block of samples to all: each pair once, if all fit into memory."""
    n = samples.shape[0]
    if n * n > _PAIRS_IN_MEMORY or len(row_blocks(n)) == 1:
        return samples.distances
    table = np.empty((n, n))

    def fill(rows: slice) -> Array:
        table[rows, rows.start :] = samples.distances(rows, rows.start)
        table[rows.stop :, rows] = table[rows, rows.stop :].T
        return table[rows]

    for _ in _each_block(fill, n, n_jobs):
        pass
    return table.__getitem__


# --------------------------------------------------------------------------- regression
def relief_numbers(
    samples: UnitSamples,
    Y: Array,
    *,
    n_neighbors: int,
    sigma: float | None,
    n_jobs: int | None,
) -> Array:
    """RReliefF for each column of Y (n, c): weights of shape (c, d).

    With the weights q_ij of the neighbours, of sum 1 for each i, and differences of the targets
    scaled to [0, 1], w = S_CA / S_C - (S_A - S_CA) / (n - S_C), where S_C, S_A and S_CA are the
    sums of q_ij times the difference of the target, of the feature, and of both.
    """
    n, d = samples.shape
    count = min(n_neighbors, n - 1)
    weights = _rank_weights(count, n_neighbors=count, sigma=sigma)
    low, high = Y.min(axis=0), Y.max(axis=0)
    scaled = ((Y - low) / np.where(high > low, high - low, 1.0)).T
    alike = np.zeros(n, dtype=np.intp)
    distances = _all_distances(samples, n_jobs)

    def block(rows: slice) -> Array:
        total = np.zeros((scaled.shape[0] + 1, d + 1))
        for near in neighbourhoods(samples, rows, distances(rows), alike, count):
            weight = weights[near.ranks]
            apart = np.abs(scaled[:, near.others] - scaled[:, near.i, None])
            coefficients = np.vstack([weight, weight * apart])
            total[:, :d] += coefficients @ near.differences
            total[:, d] += coefficients.sum(axis=1)
        return total

    total = _sum_of_blocks(block, n, n_jobs)
    feature, both, target = total[0, :d], total[1:, :d], total[1:, d:]
    return _share(both, target) - _share(feature - both, n - target)


def _share(part: Array, whole: Array) -> Array:
    """part / whole, and 0 where whole is 0 up to rounding."""
    empty = whole <= 1e-12
    return np.where(empty, 0.0, part / np.where(empty, 1.0, whole))


# --------------------------------------------------------------------------- label pairs
def relief_label_pairs(
    samples: UnitSamples,
    Y: Array,
    *,
    n_neighbors: int,
    sigma: float | None,
    n_jobs: int | None,
) -> Array:
    """ReliefF over all ordered pairs of labels (p, q), Y an indicator matrix (n, L).

    For a sample with p and without q the hits are the nearest with p and without q, the misses
    the nearest with q and without p; the pair counts P_q / (sum_r P_r - P_p), P the frequencies
    of the labels. Samples with both or neither label do not take part. One-hot Y gives
    :func:`relief_classes`.

    Returns
    -------
    array of shape (d,)
    """
    n, d = samples.shape
    pairs = _LabelPairs(Y.astype(bool), n_neighbors, sigma)
    distances = _all_distances(samples, n_jobs)

    def block(rows: slice) -> Array:
        total = np.zeros(d)
        of_block, scratch = distances(rows), Scratch(d)
        for r, i in enumerate(range(rows.start, rows.stop)):
            coefficients = pairs.coefficients(i, of_block[r])
            others = np.flatnonzero(coefficients)
            total += coefficients[others] @ samples.differences(i, others, scratch)
        return total

    return _sum_of_blocks(block, n, n_jobs) / n


class _LabelPairs:
    """The coefficients of all other samples for one sample, summed over its pairs of labels."""

    def __init__(self, Y: NDArray[np.bool_], n_neighbors: int, sigma: float | None) -> None:
        self._Y = Y
        self._weights = np.array(
            [
                _rank_weights(count, n_neighbors=n_neighbors, sigma=sigma)
                for count in range(n_neighbors + 1)
            ]
        )
        self._limit = n_neighbors
        # Samples with q and without p, for every p and q.
        carried = Y.astype(np.float64)
        self._sizes = (carried.T @ (1.0 - carried)).T
        frequency = carried.mean(axis=0)
        others = frequency.sum() - frequency
        prior = frequency / np.where(others > 0, others, 1.0)[:, None]
        self._prior = np.where(self._sizes > 0, prior, 0.0)

    def coefficients(self, i: int, distances: Array) -> Array:
        """``distances`` of sample i to all; its own does not matter."""
        Y, total = self._Y, np.zeros(distances.size)
        order = np.argsort(distances, kind="stable")
        order = order[order != i]
        labels, places = np.nonzero(Y[order].T)
        carriers = order[places]
        for p in np.flatnonzero(Y[i]).tolist():
            prior = np.where(Y[i], 0.0, self._prior[p])
            self._add_hits(total, order[Y[order, p]], prior)
            self._add_misses(total, carriers, labels, ~Y[carriers, p], p, prior)
        return total

    def _add_hits(self, total: Array, same: Index, prior: Array) -> None:
        """``same`` carries p, the nearest first; a hit for q if it does not carry q."""
        hits = ~self._Y[same]
        ranks = np.cumsum(hits, axis=0)
        if not ranks.size:
            return
        found = np.minimum(ranks[-1], self._limit)
        weights = self._weights[found, np.clip(ranks - 1, 0, self._limit)]
        total[same] -= np.where(hits, weights, 0.0) @ prior

    def _add_misses(
        self, total: Array, carriers: Index, labels: Index, kept: Array, p: int, prior: Array
    ) -> None:
        """``carriers`` of every label, the nearest first; a miss if ``kept``: without p."""
        passed = np.cumsum(kept)
        before = np.append(0, passed)[np.searchsorted(labels, np.arange(prior.size))]
        ranks = passed - 1 - before[labels]
        found = np.minimum(self._sizes[p].astype(np.intp), self._limit)
        near = np.flatnonzero(kept & (ranks < self._limit) & (prior[labels] > 0))
        q = labels[near]
        amount = prior[q] * self._weights[found[q], ranks[near]]
        total += np.bincount(carriers[near], amount, minlength=total.size)
