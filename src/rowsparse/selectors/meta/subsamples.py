"""Subsamples of the samples, in proportion to classes, and of groups of samples as wholes."""

from __future__ import annotations

from typing import Any

import numpy as np

from rowsparse._arrays import Index


def draw(n: int, share: float, strata: Index | None, rng: np.random.RandomState) -> Index:
    """Rows of a subsample, sorted; the strata keep their shares, to within one sample.

    >>> draw(6, 0.5, np.array([0, 0, 1, 0, 0, 1]), np.random.RandomState(0)).size
    3
    """
    size = min(max(2, round(share * n)), n)
    if strata is None:
        return np.sort(rng.permutation(n)[:size])
    counts = np.bincount(strata)
    wanted = counts * (size / n)
    quota = np.floor(wanted).astype(np.intp)
    if np.count_nonzero(quota == 0) + quota.sum() <= size:
        quota = np.maximum(quota, 1)  # no class goes missing
    lacking = rng.permutation(counts.size)
    lacking = lacking[np.argsort((quota - wanted)[lacking], kind="stable")]
    quota[lacking[: size - quota.sum()]] += 1
    parts = [
        rng.permutation(np.flatnonzero(strata == code))[:most]
        for code, most in enumerate(quota.tolist())
    ]
    return np.sort(np.concatenate(parts))


def draw_groups(
    groups: Any, share: float, strata: Index | None, rng: np.random.RandomState
) -> Index:
    """Rows of a share of the groups, sorted; a group is in the stratum of most of its rows.

    >>> draw_groups(["a", "b", "a", "c", "b", "d"], 0.5, None, np.random.RandomState(0))
    array([3, 5])
    """
    names, codes = np.unique(np.asarray(groups), return_inverse=True)
    if strata is not None:
        counts = np.zeros((names.size, int(strata.max()) + 1), dtype=np.intp)
        np.add.at(counts, (codes, strata), 1)
        # Numbered anew, as no group may be in the stratum of a rare class.
        strata = np.unique(counts.argmax(axis=1), return_inverse=True)[1]
    chosen = draw(names.size, share, strata, rng)
    return np.flatnonzero(np.isin(codes, chosen))
