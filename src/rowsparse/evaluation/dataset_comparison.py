"""Methods compared over many data sets: mean ranks and tests of their differences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from rowsparse._arrays import Array, Mask
from rowsparse._validation import check_number

# For at most this many data sets the signed-rank test is exact.
_EXACT = 50


@dataclass(frozen=True)
class Comparison:
    """Methods over data sets.

    Attributes
    ----------
    methods : tuple of str
        In the order of their mean ranks, the best first.
    mean_ranks : array
        1 is best; ties share the mean of their ranks.
    n_datasets : int
        Number of data sets on which all methods have a score.
    friedman_p : float
        p-value of the hypothesis that all methods are alike (Friedman).
    critical_difference : float
        Difference of mean ranks from which on two methods differ (Nemenyi).
    confidence : float
        At which level.
    wilcoxon_p : array of shape (n_methods, n_methods)
        p-values of the signed-rank test of each pair (:func:`signed_rank_p`), corrected for their
        number (Holm).
    wins : array of int, shape (n_methods, n_methods)
        On how many data sets the first is strictly better than the second.
    """

    methods: tuple[str, ...]
    mean_ranks: Array
    n_datasets: int
    friedman_p: float
    critical_difference: float
    confidence: float
    wilcoxon_p: Array
    wins: Array

    @property
    def alike(self) -> Mask:
        """Pairs that the Nemenyi test does not tell apart."""
        gap = np.abs(self.mean_ranks[:, None] - self.mean_ranks)
        return gap <= self.critical_difference

    @property
    def cliques(self) -> list[tuple[int, int]]:
        """First and last of each longest run of methods that are all alike: the bars to draw."""
        found: list[tuple[int, int]] = []
        for first in range(len(self.methods)):
            last = int(np.flatnonzero(self.alike[first])[-1])
            if last > first and (not found or last > found[-1][1]):
                found.append((first, last))
        return found


def compare_over_datasets(
    scores: Any, methods: Any, *, confidence: float = 0.95, higher_is_better: bool = True
) -> Comparison:
    """Rank methods by their scores on many data sets.

    Parameters
    ----------
    scores : array-like of shape (n_datasets, n_methods)
        One score for each; data sets where a method has none (NaN) are left out.
    methods : sequence of str
        Names of the columns.
    confidence : float, default=0.95
        Level of the critical difference.
    higher_is_better : bool, default=True
        False for errors, objectives and times.

    Returns
    -------
    Comparison

    References
    ----------
    J. Demšar. Statistical comparisons of classifiers over multiple data sets. JMLR 7, 2006.

    Examples
    --------
    >>> scores = [[0.9, 0.8, 0.7], [0.8, 0.9, 0.6], [0.9, 0.7, 0.5], [0.7, 0.6, 0.5]]
    >>> result = compare_over_datasets(scores, ["a", "b", "c"])
    >>> result.methods, result.mean_ranks.tolist()
    (('a', 'b', 'c'), [1.25, 1.75, 3.0])
    """
    table = np.asarray(scores, dtype=np.float64)
    names = tuple(methods)
    if table.ndim != 2 or table.shape[1] != len(names):
        raise ValueError(
            f"scores must have one column for each of the {len(names)} methods; got an array of "
            f"shape {table.shape}."
        )
    check_number("confidence", confidence, low=0.0, high=1.0, low_open=True)
    table = table[~np.isnan(table).any(axis=1)]
    n, m = table.shape
    if n < 2 or m < 2:
        raise ValueError(
            f"At least two methods with scores on two data sets are needed; there are {m} methods "
            f"and {n} data sets without gaps."
        )
    signed = table if higher_is_better else -table
    ranks = stats.rankdata(-signed, axis=1).mean(axis=0)
    order = np.argsort(ranks, kind="stable")
    signed = signed[:, order]
    quantile = float(stats.studentized_range.ppf(confidence, m, np.inf)) / np.sqrt(2.0)
    wins = (signed[:, :, None] > signed[:, None, :]).sum(axis=0)
    return Comparison(
        methods=tuple(names[i] for i in order),
        mean_ranks=ranks[order],
        n_datasets=n,
        friedman_p=_friedman(signed),
        critical_difference=quantile * float(np.sqrt(m * (m + 1) / (6.0 * n))),
        confidence=confidence,
        wilcoxon_p=_pairwise(signed),
        wins=wins,
    )


def _friedman(scores: Array) -> float:
    if scores.shape[1] < 3:
        return float(_pairwise(scores)[0, 1])
    if np.ptp(scores, axis=1).max() == 0:
        return 1.0
    return float(stats.friedmanchisquare(*scores.T).pvalue)


def _pairwise(scores: Array) -> Array:
    """Wilcoxon's signed-rank test of all pairs, with Holm's correction."""
    m = scores.shape[1]
    pairs = [(i, j) for i in range(m) for j in range(i + 1, m)]
    raw = np.ones(len(pairs))
    for at, (i, j) in enumerate(pairs):
        raw[at] = signed_rank_p(scores[:, i] - scores[:, j])
    table = np.ones((m, m))
    for (i, j), p in zip(pairs, holm(raw), strict=True):
        table[i, j] = table[j, i] = p
    return table


def signed_rank_p(differences: Any) -> float:
    """Two-sided p-value of Wilcoxon's signed-rank test.

    Differences are ranked by their size, zeros among them; ties share the mean of their ranks,
    and the ranks of zeros then count for neither side (Pratt). Up to 50 differences the p-value is
    exact, whatever the ties: the share of all ways to give the others a sign whose sum of
    signed ranks is as far from zero. Beyond, it is that of the normal approximation.

    References
    ----------
    J. W. Pratt. Remarks on zeros and ties in the Wilcoxon signed rank procedures. JASA 54, 1959.

    Examples
    --------
    >>> signed_rank_p([0.3, 0.1, 0.2, 0.5, 0.4])
    0.0625
    """
    values = np.asarray(differences, dtype=np.float64)
    if not np.any(values):
        return 1.0
    if values.size > _EXACT:
        return float(stats.wilcoxon(values, method="approx", zero_method="pratt").pvalue)
    # Twice the ranks are whole numbers, with ties too.
    ranks = np.rint(2 * stats.rankdata(np.abs(values))).astype(np.intp)[values != 0]
    signs = np.sign(values[values != 0])
    # share[s]: how probable it is that the positive ranks sum to s.
    share = np.ones(1)
    for rank in ranks:
        longer = np.zeros(share.size + rank)
        longer[: share.size] = share / 2
        longer[rank:] += share / 2
        share = longer
    far = np.abs(2 * np.arange(share.size) - ranks.sum()) >= abs(ranks @ signs)
    return min(1.0, float(share[far].sum()))


def holm(p_values: Any) -> Array:
    """p-values corrected for their number, step by step (Holm 1979).

    >>> holm([0.01, 0.04, 0.03]).round(2).tolist()
    [0.03, 0.06, 0.06]
    """
    raw = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(raw, kind="stable")
    corrected = np.empty(raw.size)
    factors = np.arange(raw.size, 0, -1)
    corrected[order] = np.minimum(np.maximum.accumulate(raw[order] * factors), 1.0)
    return corrected
